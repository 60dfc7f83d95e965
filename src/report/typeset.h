/* The look of text output: headings, paragraphs, lists, bars, colours. Colour is only added where
 * the style asks for it, so that the same text without it is plain. */
#ifndef ASTRA_TYPESET_H
#define ASTRA_TYPESET_H

#include <stddef.h>

struct report_style;
struct str;

enum ink { INK_PLAIN, INK_BOLD, INK_GOOD, INK_BAD, INK_WARN };

void typeset_ink(const struct report_style *, enum ink, struct str *out);
/* One coloured piece of text, nothing behind it. */
void typeset_text(const struct report_style *, enum ink, const char *text, struct str *out);
/* A blank line and a bold one. */
void typeset_heading(const struct report_style *, const char *text, struct str *out);

/* Breaks at blanks to the style's width; further lines start at column `indent`. The first goes on
 * where `out` stands. Ends in a newline. */
void typeset_wrap(const struct report_style *, const char *text, size_t indent, struct str *out);
/* "  - text", wrapped. */
void typeset_item(const struct report_style *, const char *text, struct str *out);

/* `width` characters, `share` of them '#': at least one for a share above 0. */
void typeset_bar(double share, int width, struct str *out);

/* Columns that UTF-8 text takes: characters, not bytes. */
size_t typeset_width(const char *text);
/* Control characters become '?': names from files must not steer a terminal. */
void typeset_clean(char *text);

#endif
