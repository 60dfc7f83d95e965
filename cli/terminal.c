/* What is known of the terminal. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "cli.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, LEAST_COLUMNS = 40 };

bool is_terminal(int descriptor)
{
    return isatty(descriptor) == 1;
}

static bool has_utf8(void)
{
    bool utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C");
    return utf8;
}

bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || strcmp(term, "dumb") == 0;
}

/* NO_COLOR counts when it is not empty (no-color.org), unless --color always was said. */
enum astra_look look_wanted(const struct request *r)
{
    const char *no_color = getenv("NO_COLOR");
    bool can = is_terminal(1) && !(no_color && *no_color) && !is_dumb();
    if (r->color == COLOR_NEVER || (r->color == COLOR_AUTO && !can))
        return ASTRA_PLAIN;
    return has_utf8() ? ASTRA_COLOUR_UTF8 : ASTRA_COLOUR;
}

int columns_of(int descriptor)
{
    struct winsize size;
    int columns = ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    return columns > 0 ? columns : USUAL_COLUMNS;
}

int terminal_columns(void)
{
    int columns = columns_of(1);
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}
