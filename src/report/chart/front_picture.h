/* What the two files that draw the front share: the picture under way, and where its parts are. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/svg.h"
#include "report/chart/front_chart.h"
#include "report/chart/front_labels.h"

struct search_report;

/* Units of the view box, two to a pixel. */
enum {
    PICTURE_WIDTH = 1800,
    PICTURE_LEFT = 130, /* of the axes */
    PICTURE_RIGHT = PICTURE_WIDTH - 50,
    MARK_RADIUS = 11,
    SMALL_RADIUS = 7, /* of plans that are not on the front */
    FONT = 26,
    LABEL_FONT = 23
};

struct picture {
    const struct search_report *report;
    struct chart chart;
    int top, bottom; /* of the axes */
    struct label_field field;
    struct arena mem;
    struct str text; /* of one element */
    struct str *out;
};

/* The text put together so far, kept; the next one begins empty. */
const char *picture_text(struct picture *);
/* Of a wide typeface: which one is shown is not known. */
int picture_width(const char *text, int font);
int picture_x(const struct picture *, double x);
int picture_y(const struct picture *, double y);
enum svg_shape picture_shape(int type);
const char *picture_class(struct picture *, const char *kind, int type);
/* Labels avoid it where they can. */
void picture_take_line(struct picture *, int x1, int y1, int x2, int y2);

/* Places the axes below the legend; then everything behind the points. */
void frame_place(struct picture *);
void frame_draw(struct picture *);
/* Beside the lines of budget and deadline, where no label is. */
void frame_name_limits(struct picture *);
