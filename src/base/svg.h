/* Pictures as SVG text: the few elements that a plot needs. Coordinates are whole units of the view
 * box. Texts are escaped. */
#pragma once

struct str;

/* `title` is what a screen reader says. Shown at half its units wide. Light and dark: elements have
 * classes, whose looks the style sheet says. */
void svg_begin(struct str *, int width, int height, const char *title, const char *css);
void svg_end(struct str *);
void svg_rect(struct str *, const char *class, int x, int y, int width, int height);
void svg_path(struct str *, const char *class, const char *data);
void svg_words(struct str *, const char *class, int x, int y, const char *text);

enum svg_shape { SVG_CIRCLE, SVG_SQUARE, SVG_UP, SVG_DIAMOND, SVG_DOWN, SVG_HEXAGON, SVG_SHAPES };
/* `title` is what a browser shows of it; NULL = nothing. */
void svg_mark(struct str *, const char *class, enum svg_shape, int x, int y, int radius,
              const char *title);
