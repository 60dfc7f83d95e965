/* The look of text output: headings, paragraphs, lists, bars, colours. Colour is only added where
 * the style asks for it, so that the same text without it is plain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct report_style;
struct str;

enum ink { INK_PLAIN, INK_BOLD, INK_GOOD, INK_BAD, INK_WARN, INK_BAR };

void typeset_ink(const struct report_style *, enum ink, struct str *out);
/* One coloured piece of text, nothing behind it. */
void typeset_text(const struct report_style *, enum ink, const char *text, struct str *out);
/* The end of a colour that lines were written in: before the last line's end. */
void typeset_end(const struct report_style *, struct str *out);
/* A blank line and a bold one, wrapped. */
void typeset_heading(const struct report_style *, const char *text, struct str *out);

/* Breaks at blanks to the style's width; further lines start at column `indent`. The first goes on
 * where `out` stands. Ends in a newline. */
void typeset_wrap(const struct report_style *, const char *text, size_t indent, struct str *out);
/* "  - text", wrapped. */
void typeset_item(const struct report_style *, const char *text, struct str *out);

/* Whether bars are drawn, and how wide they are. */
bool typeset_has_bars(const struct report_style *);
int typeset_bar_width(const struct report_style *);
/* `width` columns, `share` of them full: at least a little for a share above 0. With block
 * characters to an eighth of a column and blank behind, otherwise '#' and '.'. */
void typeset_bar(const struct report_style *, double share, int width, struct str *out);

/* Columns that UTF-8 text takes: characters, not bytes. */
size_t typeset_width(const char *text);
/* Bytes of `text` that fit into `width` columns, broken at a blank, or else behind a dash, where
 * there is one; all of it where it fits. At least one character. */
size_t typeset_cut(const char *text, size_t width);
/* Control characters become '?': names from files must not steer a terminal. */
void typeset_clean(char *text);
