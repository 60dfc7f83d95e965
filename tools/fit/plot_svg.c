#include "fit/plot_svg.h"

#include "base/str.h"

void plot_begin(struct str *s, int width, int height, const char *title)
{
    str_addf(s,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" fill=\"#222222\" role=\"img\">\n"
             "<title>",
             width / 2, height / 2, width, height);
    str_add(s, title);
    str_addf(s, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height);
}

static void stroke(struct str *s, const struct plot_pen *pen)
{
    str_addf(s, " fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"", pen->colour, pen->width);
    if (pen->dashes)
        str_addf(s, " stroke-dasharray=\"%s\"", pen->dashes);
}

void plot_line(struct str *s, int x1, int y1, int x2, int y2, const struct plot_pen *pen)
{
    str_addf(s, "<path d=\"M%d %dL%d %d\"", x1, y1, x2, y2);
    stroke(s, pen);
    str_add(s, "/>\n");
}

void plot_frame(struct str *s, int x, int y, int width, int height, const struct plot_pen *pen)
{
    str_addf(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x, y, width, height);
    stroke(s, pen);
    str_add(s, "/>\n");
}

/* A line of no length with round ends is a dot. */
void plot_dots_begin(struct str *s, const struct plot_pen *pen)
{
    str_add(s, "<path stroke-linecap=\"round\" stroke-opacity=\"0.6\"");
    stroke(s, pen);
    str_add(s, " d=\"");
}

void plot_dot(struct str *s, int x, int y)
{
    str_addf(s, "M%d %dh0", x, y);
}

void plot_dots_end(struct str *s)
{
    str_add(s, "\"/>\n");
}

/* A white rim keeps letters apart from lines behind them. */
void plot_text(struct str *s, int x, int y, const struct plot_font *font, const char *text)
{
    static const char *const ANCHOR[] = {"start", "middle", "end"};
    str_addf(s,
             "<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"%s\" stroke=\"#ffffff\" "
             "stroke-width=\"6\" paint-order=\"stroke\"",
             x, y, font->size, ANCHOR[font->anchor]);
    if (font->turn)
        str_addf(s, " transform=\"rotate(%d %d %d)\"", font->turn, x, y);
    str_add(s, ">");
    str_add(s, text);
    str_add(s, "</text>\n");
}
