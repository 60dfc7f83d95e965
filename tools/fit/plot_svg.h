/* Elements of a plot in SVG with pens and fonts of their own, begun by plot_begin() and ended by
 * svg_end(). Coordinates are whole units of the view box; colours are "#rrggbb". Texts are ours:
 * nothing in them has to be escaped. */
#pragma once

struct str;

/* White ground, so that a picture reads on light and dark pages alike. `title` is what a screen
 * reader says. Shown at half its units wide. */
void plot_begin(struct str *, int width, int height, const char *title);

struct plot_pen {
    const char *colour;
    int width;
    const char *dashes; /* "8 6", or NULL */
};
void plot_line(struct str *, int x1, int y1, int x2, int y2, const struct plot_pen *);
void plot_frame(struct str *, int x, int y, int width, int height, const struct plot_pen *);

/* Round dots of one colour are one path: begin, any number of dots, end. About ten bytes each. */
void plot_dots_begin(struct str *, const struct plot_pen *);
void plot_dot(struct str *, int x, int y);
void plot_dots_end(struct str *);

enum plot_anchor { PLOT_START, PLOT_MIDDLE, PLOT_END };
struct plot_font {
    int size;
    enum plot_anchor anchor;
    int turn; /* degrees clockwise */
};
void plot_text(struct str *, int x, int y, const struct plot_font *, const char *text);
