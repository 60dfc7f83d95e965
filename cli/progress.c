/* How far a long search is, in one line of standard error that is wiped at the end:
 *
 *     [##########....................]  33 %, about 40 s left
 *
 * What is left is told by the mean speed so far: parts of a search differ in speed a hundredfold,
 * and the speed of late would jump from minutes to an hour and back. A new estimate takes the
 * place of the old one within seconds, and is rounded to what people can use. On a narrow terminal
 * the bar is shorter, or the rest is left out. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const double PATIENCE_S = 1, REDRAW_S = 0.1;
static const double LEAST_DONE = 0.02; /* before it nothing can be said about the rest */
static const double FADING_S = 3;      /* in which an old estimate is forgotten */

enum { BAR = 30, LEAST_BAR = 5, PERCENT = 8 /* with the bar's brackets */, LEFT = 21 };

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

/* 47 s is "45 s", 100 s "2 min": as exact as it is known. */
static void say_left(double left_s, char *out, size_t size)
{
    static const struct {
        double least_s, step_s, unit_s;
        const char *unit;
    } units[] = {{5400, 1800, 3600, "h"}, {90, 60, 60, "min"}, {10, 5, 1, "s"}, {0, 1, 1, "s"}};
    size_t i = 0;
    while (left_s < units[i].least_s)
        i++;
    double rounded = fmax(1, round(left_s / units[i].step_s)) * units[i].step_s;
    snprintf(out, size, ", about %.3g %s left", rounded / units[i].unit_s, units[i].unit);
}

static void estimate(struct progress *p, double now)
{
    double left_s = (now - p->start_s) * (1 - p->done) / p->done;
    double passed = now - p->drawn_s, trust = p->left_s > 0 ? 1 - exp(-passed / FADING_S) : 1;
    p->left_s = fmax(0, p->left_s - passed);
    p->left_s += trust * (left_s - p->left_s);
}

/* In at most `columns`; returns how many were written. */
static int draw_line(double done, const char *left, int columns)
{
    char hashes[BAR + 1], dots[BAR + 1];
    int rest = columns >= LEAST_BAR + PERCENT + LEFT ? LEFT : 0;
    int bar = columns - PERCENT - rest;
    bar = bar > BAR ? BAR : bar;
    if (bar < 1)
        return 0;
    memset(hashes, '#', BAR);
    memset(dots, '.', BAR);
    int full = (int)(done * bar);
    return fprintf(stderr, "\r[%.*s%.*s] %3.0f %%%-*.*s", full, hashes, bar - full, dots,
                   floor(100 * done), rest, rest, left) -
           1;
}

void progress_draw(void *context, double done)
{
    struct progress *p = context;
    double now = now_s();
    char left[64] = "";
    p->done = fmin(fmax(done, p->done), 1); /* never back */
    if (now - p->start_s < PATIENCE_S || now - p->drawn_s < REDRAW_S)
        return;
    if (p->done >= LEAST_DONE && p->done < 1) {
        estimate(p, now);
        say_left(p->left_s, left, sizeof left);
    }
    p->drawn = draw_line(p->done, left, columns_of(2) - 1); /* the last column would wrap */
    p->drawn_s = now;
}

void progress_end(struct progress *p)
{
    if (p->drawn > 0)
        fprintf(stderr, "\r%*s\r", p->drawn, "");
}
