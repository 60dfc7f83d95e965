/* The front of speed and money drawn with characters, for a terminal. */
#ifndef ASTRA_FRONT_PLOT_H
#define ASTRA_FRONT_PLOT_H

struct report_style;
struct search_report;
struct str;

/* Nothing where the front has fewer than three points, or the terminal is too narrow. */
void print_front_plot(const struct search_report *, const struct report_style *, struct str *out);

#endif
