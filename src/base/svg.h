/* Pictures as SVG text: the few elements that a plot needs. Coordinates are whole units of the view
 * box; colours are "#rrggbb". Texts are escaped. */
#ifndef ASTRA_SVG_H
#define ASTRA_SVG_H

struct str;

/* White ground, so that a picture reads on light and dark pages alike. `title` is what a screen
 * reader says. Shown at half its units wide. */
void svg_begin(struct str *, int width, int height, const char *title);
void svg_end(struct str *);

struct svg_pen {
    const char *colour;
    int width;
    const char *dashes; /* "8 6", or NULL */
};
void svg_line(struct str *, int x1, int y1, int x2, int y2, const struct svg_pen *);
void svg_frame(struct str *, int x, int y, int width, int height, const struct svg_pen *);

/* Round dots of one colour are one path: begin, any number of dots, end. About ten bytes each. */
void svg_dots_begin(struct str *, const struct svg_pen *);
void svg_dot(struct str *, int x, int y);
void svg_dots_end(struct str *);

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };
struct svg_font {
    int size;
    enum svg_anchor anchor;
    int turn; /* degrees clockwise */
};
void svg_text(struct str *, int x, int y, const struct svg_font *, const char *text);

/* Pictures in light and dark: elements have classes, whose looks the style sheet says. */
void svg_begin_styled(struct str *, int width, int height, const char *title, const char *css);
void svg_rect(struct str *, const char *class, int x, int y, int width, int height);
void svg_path(struct str *, const char *class, const char *data);
void svg_words(struct str *, const char *class, int x, int y, const char *text);

enum svg_shape { SVG_CIRCLE, SVG_SQUARE, SVG_UP, SVG_DIAMOND, SVG_DOWN, SVG_HEXAGON, SVG_SHAPES };
/* `title` is what a browser shows of it; NULL = nothing. */
void svg_mark(struct str *, const char *class, enum svg_shape, int x, int y, int radius,
              const char *title);

#endif
