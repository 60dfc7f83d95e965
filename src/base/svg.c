#include "base/svg.h"

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the character at `text` where XML takes it, 0 where it does not: what is no UTF-8, and
 * control characters. */
static size_t character(const char *text)
{
    static const uint32_t least[] = {0, 0x20, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t code = length > 1 ? first & (0x7Fu >> length) : first;
    if (length == 0 || first >= 0xF8)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | ((unsigned char)text[i] & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code < 0xE000, none = code == 0xFFFE || code == 0xFFFF;
    return code < least[length] || code > 0x10FFFF || surrogate || none ? 0 : length;
}

static void escaped(struct str *s, const char *text)
{
    static const char *const ENTITY[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    while (*text) {
        size_t length = character(text);
        if (length == 0)
            str_add(s, "?");
        else if (length == 1 && ENTITY[(unsigned char)*text])
            str_add(s, ENTITY[(unsigned char)*text]);
        else
            str_add_bytes(s, text, length);
        text += length > 0 ? length : 1;
    }
}

void svg_end(struct str *s)
{
    str_add(s, "</svg>\n");
}

void svg_begin(struct str *s, int width, int height, const char *title, const char *css)
{
    str_addf(s,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
             width / 2, height / 2, width, height);
    escaped(s, title);
    str_addf(s, "</title>\n<style>\n%s</style>\n", css);
}

void svg_rect(struct str *s, const char *class, int x, int y, int width, int height)
{
    str_addf(s, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y,
             width, height);
}

void svg_path(struct str *s, const char *class, const char *data)
{
    str_addf(s, "<path class=\"%s\" d=\"%s\"/>\n", class, data);
}

void svg_words(struct str *s, const char *class, int x, int y, const char *text)
{
    str_addf(s, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
    escaped(s, text);
    str_add(s, "</text>\n");
}

/* Corners by hundredths of the radius; shapes look equally large. A circle is two arcs. */
static void add_shape(struct str *s, enum svg_shape shape, int x, int y, int radius)
{
    static const struct {
        int corners;
        signed char corner[6][2];
    } SHAPE[SVG_SHAPES] = {
        [SVG_SQUARE] = {4, {{-88, -88}, {88, -88}, {88, 88}, {-88, 88}}},
        [SVG_UP] = {3, {{0, -120}, {110, 80}, {-110, 80}}},
        [SVG_DIAMOND] = {4, {{0, -125}, {115, 0}, {0, 125}, {-115, 0}}},
        [SVG_DOWN] = {3, {{0, 120}, {110, -80}, {-110, -80}}},
        [SVG_HEXAGON] = {6, {{-55, -95}, {55, -95}, {110, 0}, {55, 95}, {-55, 95}, {-110, 0}}},
    };
    if (shape == SVG_CIRCLE) {
        str_addf(s, "M%d %da%d %d 0 1 0 %d 0a%d %d 0 1 0 %d 0z", x - radius, y, radius, radius,
                 2 * radius, radius, radius, -2 * radius);
        return;
    }
    for (int i = 0; i < SHAPE[shape].corners; i++)
        str_addf(s, "%c%d %d", i ? 'L' : 'M', x + SHAPE[shape].corner[i][0] * radius / 100,
                 y + SHAPE[shape].corner[i][1] * radius / 100);
    str_add(s, "z");
}

void svg_mark(struct str *s, const char *class, enum svg_shape shape, int x, int y, int radius,
              const char *title)
{
    str_addf(s, "<path class=\"%s\" d=\"", class);
    add_shape(s, shape, x, y, radius);
    str_add(s, title ? "\"><title>" : "\"/>\n");
    if (!title)
        return;
    escaped(s, title);
    str_add(s, "</title></path>\n");
}
