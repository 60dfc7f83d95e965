/* The front of speed and money as points on two axes: what its picture, its plot in a terminal and a
 * page share. Axes are tokens per second and dollars per million tokens, or hours and dollars of the run
 * where its length is known; GPUs stand for dollars where no price is known. */
#pragma once

#include "base/error.h"
#include "report/chart/front_axes.h"

struct arena;
struct plan;
struct report_style;
struct search_report;

struct chart_point {
    double x, y;
    const struct plan *plan;
    int type;  /* in chart.type */
    bool best; /* the first plan of the list */
};

struct chart {
    struct scale x, y;
    int count, others;             /* points of the front, then listed plans that are not on it */
    struct chart_point *point;     /* [count + others] the front by x, others in the list's order */
    double deadline_h, budget_usd; /* 0 = none, or too far away to be shown */
    int types;
    const char **type; /* [types] "H100", "A100+H100", in the order of their points */
};

/* The report has a plan; `listed` of its list are on the chart. Everything goes to the arena. */
void chart_init(struct chart *, const struct search_report *, int listed, int x_ticks, int y_ticks,
                struct arena *);

/* "512 x H100", "16 x A100 + 16 x H100". */
void add_brief_gpus(const struct plan *, struct str *out);
/* "tp4 pp8 dp16"; more where other ways are above 1. */
void add_brief_ways(const struct plan *, struct str *out);

/* front_svg.c: one SVG file that needs nothing else. The report has at least one plan. */
void front_draw(const struct search_report *, struct str *out);
bool front_write(const struct search_report *, const char *path, struct error *); /* whole or not */

/* front_plot.c: drawn with characters, for a terminal. Nothing where the front has fewer than three
 * points, or the terminal is too narrow. */
void print_front_plot(const struct search_report *, const struct report_style *, struct str *out);
