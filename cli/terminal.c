/* What is known of the terminal, and the progress bar. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double PATIENCE_S = 0.5, REDRAW_S = 0.1;

enum { BAR = 30, USUAL_COLUMNS = 80, LEAST_COLUMNS = 40 };

bool is_terminal(int descriptor)
{
    return isatty(descriptor) == 1;
}

/* NO_COLOR counts when it is not empty (no-color.org). */
bool colour_wanted(const struct request *r)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    return is_terminal(1) && !r->no_color && !(no_color && *no_color) && !dumb;
}

int terminal_columns(void)
{
    struct winsize size;
    int columns = ioctl(1, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    if (columns == 0)
        return USUAL_COLUMNS;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *p)
{
    *p = (struct progress){.start_s = now_s()};
}

void progress_draw(void *context, double done)
{
    struct progress *p = context;
    double now = now_s();
    if (now - p->start_s < PATIENCE_S || now - p->drawn_s < REDRAW_S)
        return;
    double share = done < 0 ? 0 : done > 1 ? 1 : done;
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < share * BAR ? '#' : '.';
    bar[BAR] = 0;
    fprintf(stderr, "\r[%s] %3.0f %%", bar, 100 * share);
    p->drawn_s = now;
    p->drawn = true;
}

void progress_end(struct progress *p)
{
    if (p->drawn)
        fprintf(stderr, "\r%*s\r", BAR + 8, "");
}
