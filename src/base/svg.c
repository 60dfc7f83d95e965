#include "base/svg.h"

#include "base/str.h"

static void escaped(struct str *s, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            str_add(s, "&amp;");
        else if (*text == '<')
            str_add(s, "&lt;");
        else if (*text == '>')
            str_add(s, "&gt;");
        else
            str_add_bytes(s, text, 1);
    }
}

void svg_begin(struct str *s, int width, int height, const char *title)
{
    str_addf(s,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" fill=\"#222222\" role=\"img\">\n"
             "<title>",
             width / 2, height / 2, width, height);
    escaped(s, title);
    str_addf(s, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height);
}

void svg_end(struct str *s)
{
    str_add(s, "</svg>\n");
}

static void stroke(struct str *s, const struct svg_pen *pen)
{
    str_addf(s, " fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"", pen->colour, pen->width);
    if (pen->dashes)
        str_addf(s, " stroke-dasharray=\"%s\"", pen->dashes);
}

void svg_line(struct str *s, int x1, int y1, int x2, int y2, const struct svg_pen *pen)
{
    str_addf(s, "<path d=\"M%d %dL%d %d\"", x1, y1, x2, y2);
    stroke(s, pen);
    str_add(s, "/>\n");
}

void svg_frame(struct str *s, int x, int y, int width, int height, const struct svg_pen *pen)
{
    str_addf(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x, y, width, height);
    stroke(s, pen);
    str_add(s, "/>\n");
}

/* A line of no length with round ends is a dot. */
void svg_dots_begin(struct str *s, const struct svg_pen *pen)
{
    str_add(s, "<path stroke-linecap=\"round\" stroke-opacity=\"0.6\"");
    stroke(s, pen);
    str_add(s, " d=\"");
}

void svg_dot(struct str *s, int x, int y)
{
    str_addf(s, "M%d %dh0", x, y);
}

void svg_dots_end(struct str *s)
{
    str_add(s, "\"/>\n");
}

/* A white rim keeps letters apart from lines behind them. */
void svg_text(struct str *s, int x, int y, const struct svg_font *font, const char *text)
{
    static const char *const ANCHOR[] = {"start", "middle", "end"};
    str_addf(s,
             "<text x=\"%d\" y=\"%d\" font-size=\"%d\" text-anchor=\"%s\" stroke=\"#ffffff\" "
             "stroke-width=\"6\" paint-order=\"stroke\"",
             x, y, font->size, ANCHOR[font->anchor]);
    if (font->turn)
        str_addf(s, " transform=\"rotate(%d %d %d)\"", font->turn, x, y);
    str_add(s, ">");
    escaped(s, text);
    str_add(s, "</text>\n");
}
