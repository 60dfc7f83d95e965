/* The plot in a terminal:
 *
 *     $/Mtoken
 *      $1.2 |                              *
 *           |                         B
 *      $0.8 |          A    A    2
 *           +----+---------+---------+------ tokens/s
 *               50K      100K      200K
 *
 * A letter for each type of GPU, a digit where several plans fall on one place. A budget is a row
 * of dashes, a deadline a column of colons. */
#include "report/chart/front_chart.h"

#include "base/arena.h"
#include "base/str.h"
#include "report/report.h"
#include "report/text/typeset.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum {
    LEAST_POINTS = 3,
    ROWS = 13,
    WIDTH = 76,       /* where the style does not say */
    LEAST_WIDTH = 48, /* a narrower terminal shows nothing */
    MOST_WIDTH = 100, /* a wider one shows no more */
    TICKS = 6
};

struct canvas {
    const struct chart *chart;
    int left, columns; /* of the labels of the y axis; of the field */
    char cell[ROWS][MOST_WIDTH + 1];
    int points[ROWS][MOST_WIDTH];
    char *letter; /* [types] */
};

static int column_of(const struct canvas *c, double x)
{
    return (int)lround(scale_share(&c->chart->x, x) * (c->columns - 1));
}

static int row_of(const struct canvas *c, double y)
{
    return (int)lround((1 - scale_share(&c->chart->y, y)) * (ROWS - 1));
}

/* The first letter of a name as a capital, as a small one where that is taken, otherwise any. */
static void choose_letters(struct canvas *c)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int i = 0; i < c->chart->types; i++) {
        unsigned char first = (unsigned char)c->chart->type[i][0];
        char own[] = {(char)toupper(first), (char)tolower(first), 0};
        const char *from[] = {isalpha(first) ? own : "", LETTERS, "?"};
        for (int k = 0; k < 3 && !c->letter[i]; k++)
            for (const char *l = from[k]; *l && !c->letter[i]; l++)
                if (*l == '?' || !memchr(c->letter, *l, (size_t)i))
                    c->letter[i] = *l;
    }
}

/* The best plan is seen in any case. */
static void put_point(struct canvas *c, const struct chart_point *p)
{
    int row = row_of(c, p->y), column = column_of(c, p->x);
    char *cell = &c->cell[row][column];
    int points = ++c->points[row][column];
    if (p->best)
        *cell = '*';
    else if (*cell != '*')
        *cell = points == 1 ? c->letter[p->type] : points <= 9 ? (char)('0' + points) : '#';
}

static void fill(struct canvas *c)
{
    const struct chart *f = c->chart;
    for (int i = 0; i < ROWS; i++)
        memset(c->cell[i], ' ', (size_t)c->columns);
    for (int i = 0; f->deadline_h > 0 && i < ROWS; i++)
        c->cell[i][column_of(c, f->deadline_h)] = ':';
    for (int i = 0; f->budget_usd > 0 && i < c->columns; i++)
        c->cell[row_of(c, f->budget_usd)][i] = '-';
    for (int i = 0; i < f->count + f->others; i++)
        put_point(c, &f->point[i]);
}

static const char *tick_of_row(const struct canvas *c, int row)
{
    for (int i = 0; i < c->chart->y.ticks; i++)
        if (row_of(c, c->chart->y.tick[i].at) == row)
            return c->chart->y.tick[i].text;
    return "";
}

static void print_rows(const struct canvas *c, struct str *out)
{
    str_addf(out, "  %*s\n", c->left, c->chart->y.brief);
    for (int i = 0; i < ROWS; i++) {
        const char *tick = tick_of_row(c, i);
        int end = c->columns;
        while (end > 0 && c->cell[i][end - 1] == ' ')
            end--;
        str_addf(out, "  %*s %c%.*s\n", c->left, tick, *tick ? '+' : '|', end, c->cell[i]);
    }
}

/* Ticks, and below them those of their texts that have room. */
static void print_x_axis(const struct canvas *c, struct str *out)
{
    const struct scale *x = &c->chart->x;
    int start = 2 + c->left + 2, free = 1;
    char line[MOST_WIDTH];
    struct str below = {0};
    memset(line, '-', (size_t)c->columns);
    for (int i = 0; i < x->ticks; i++) {
        int at = column_of(c, x->tick[i].at), width = (int)strlen(x->tick[i].text);
        int from = start + at - width / 2;
        line[at] = '+';
        if (from <= free)
            continue;
        str_pad(&below, (size_t)from);
        str_add(&below, x->tick[i].text);
        free = from + width;
    }
    str_addf(out, "  %*s +%.*s %s\n%s\n", c->left, "", c->columns, line, x->brief,
             str_text(&below));
    str_release(&below);
}

static void add_limit(enum front_quantity what, double limit, const char *words, struct str *text)
{
    if (limit <= 0)
        return;
    str_add(text, words);
    add_quantity(what, limit, text);
}

static void print_legend(const struct canvas *c, const struct report_style *style, struct str *out)
{
    bool best = memchr(c->cell, '*', sizeof c->cell), several = false;
    struct str text = {0};
    if (best)
        str_add(&text, "* plan 1");
    for (int i = 0; i < c->chart->types; i++)
        if (memchr(c->cell, c->letter[i], sizeof c->cell))
            str_addf(&text, "%s%c %s", text.length ? ", " : "", c->letter[i], c->chart->type[i]);
    for (int i = 0; i < ROWS * MOST_WIDTH; i++)
        several = several || c->points[i / MOST_WIDTH][i % MOST_WIDTH] > 1;
    if (several)
        str_add(&text, ", a digit: so many plans");
    if (memchr(c->cell, '#', sizeof c->cell))
        str_add(&text, ", #: more than 9");
    add_limit(FRONT_USD_TOTAL, c->chart->budget_usd, ", --- budget ", &text);
    add_limit(FRONT_HOURS, c->chart->deadline_h, ", ::: deadline ", &text);
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

/* As wide as the widest text beside the y axis. */
static int left_of(const struct scale *y)
{
    size_t most = strlen(y->brief);
    for (int i = 0; i < y->ticks; i++)
        most = strlen(y->tick[i].text) > most ? strlen(y->tick[i].text) : most;
    return (int)most;
}

void print_front_plot(const struct search_report *r, const struct report_style *style,
                      struct str *out)
{
    int width = style->columns > 0 ? style->columns : WIDTH;
    struct arena mem = {0};
    struct chart f;
    if (r->front < LEAST_POINTS || width < LEAST_WIDTH)
        return;
    chart_init(&f, r, r->best > 0 ? 1 : 0, TICKS, TICKS, &mem);
    struct canvas *c = arena_alloc(&mem, sizeof *c);
    c->chart = &f;
    c->left = left_of(&f.y);
    c->columns = (width < MOST_WIDTH ? width : MOST_WIDTH) - c->left - (int)strlen(f.x.brief) - 5;
    c->letter = arena_array(&mem, (size_t)f.types, 1);
    choose_letters(c);
    fill(c);
    str_add(out, "\n");
    print_rows(c, out);
    print_x_axis(c, out);
    print_legend(c, style, out);
    arena_release(&mem);
}
