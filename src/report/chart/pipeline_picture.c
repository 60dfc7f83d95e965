/* A compact picture of one step: a row for each rank, a column for a slice of time.
 *
 *     rank 0  oF0F1F2F3....B0B0F4B1B1F5       oo
 *     rank 1  o..F0F1F2..B0B0F3B1B1F4   ~     oo
 *
 * The passes are those of the event simulation, moved by the delay of the pipeline, the rest is
 * what the trace shows (drawn_step.h). Each column adds up what the rank does in its slice and
 * shows what takes most of it. A pass of two columns and more has its micro-batch behind the
 * letter. Where the step is too long for that, its middle is cut out: in it forward and backward
 * take turns, and the bubbles are at the ends. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "report/report.h"
#include "report/text/typeset.h"
#include "simulate/drawn_step.h"
#include "simulate/events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 16, USUAL_COLUMNS = 80, MOST_COLUMNS = 160, LABEL = 9, CUT = 3 };
enum { MOST_PASSES = 1 << 20 };

enum doing { FORWARD, BACKWARD, OTHER, DOINGS };
static const char LETTER[DOINGS + 1] = "FBo";
static const enum ink INK_OF[DOINGS + 1] = {INK_BAR, INK_WARN, INK_PLAIN, INK_PLAIN};

struct picture_row {
    int rank;
    double (*ticks)[DOINGS]; /* [columns] of each slice */
    char *text;              /* [columns + 1] */
};

/* Two windows of time, one when nothing is cut out: `tail` columns from `resume` on. */
struct pipeline_picture {
    int digits;        /* of the last rank, at least 2 */
    int columns, head; /* head == columns: one window */
    double slice;      /* ticks */
    double resume;
    int rows;
    struct picture_row row[MOST_ROWS];
    const struct drawn_step *step;
};

/* The first and last pass that the windows must show. */
struct ends {
    int pp;
    int64_t first_back, last_forward;
};

static void find_ends(void *context, const struct event *e)
{
    struct ends *ends = context;
    if (e->backward && e->rank == 0 && ends->first_back < 0)
        ends->first_back = e->end;
    if (!e->backward && e->rank == ends->pp - 1 && e->start > ends->last_forward)
        ends->last_forward = e->start;
}

/* Where a moment is, in columns; between the windows at their border. */
static double column_of(const struct pipeline_picture *pic, double ticks)
{
    double at = ticks / pic->slice;
    if (pic->head == pic->columns || at <= pic->head)
        return at;
    return fmax(pic->head, pic->head + CUT + (ticks - pic->resume) / pic->slice);
}

static struct picture_row *row_of(struct pipeline_picture *pic, int rank)
{
    for (int i = 0; i < pic->rows; i++)
        if (pic->row[i].rank == rank)
            return &pic->row[i];
    return NULL;
}

static bool is_cut(const struct pipeline_picture *pic, int column)
{
    return column >= pic->head && column < pic->head + CUT;
}

static void add_work(const struct pipeline_picture *pic, struct picture_row *r, enum doing doing,
                     double start, double end)
{
    double from = column_of(pic, start), to = column_of(pic, end);
    for (int c = (int)from; c < to && c < pic->columns; c++)
        if (!is_cut(pic, c))
            r->ticks[c][doing] += (fmin(to, c + 1) - fmax(from, c)) * pic->slice;
}

static void add_pass(void *context, const struct event *e)
{
    struct pipeline_picture *pic = context;
    struct picture_row *r = row_of(pic, e->rank);
    double delay = (double)pic->step->parts.delay;
    if (r)
        add_work(pic, r, e->backward ? BACKWARD : FORWARD, delay + (double)e->start,
                 delay + (double)e->end);
}

/* What takes most of a column; DOINGS: waiting. */
static enum doing most_of(const struct pipeline_picture *pic, const double ticks[DOINGS])
{
    double most = pic->slice - ticks[FORWARD] - ticks[BACKWARD] - ticks[OTHER];
    enum doing found = DOINGS;
    for (int i = 0; i < DOINGS; i++)
        if (ticks[i] > 0 && ticks[i] >= most) {
            most = ticks[i];
            found = (enum doing)i;
        }
    return found;
}

static void fill_row(const struct pipeline_picture *pic, struct picture_row *r)
{
    for (int c = 0; c < pic->columns; c++) {
        enum doing doing = most_of(pic, r->ticks[c]);
        r->text[c] = doing == DOINGS ? '.' : LETTER[doing];
        if (is_cut(pic, c))
            r->text[c] = c == pic->head + 1 ? '~' : ' ';
    }
}

/* Columns of a pass, as [from, to), where they show it. */
struct picture_span {
    int from, to;
};

static struct picture_span span_of(const struct pipeline_picture *pic, const struct event *e)
{
    double delay = (double)pic->step->parts.delay;
    double end = column_of(pic, delay + (double)e->end);
    return (struct picture_span){(int)column_of(pic, delay + (double)e->start),
                                 (int)ceil(fmin(end, pic->columns))};
}

/* A pass that takes most of no column is shown where nothing else is. */
static void show_short(void *context, const struct event *e)
{
    struct pipeline_picture *pic = context;
    struct picture_row *r = row_of(pic, e->rank);
    char letter = LETTER[e->backward ? BACKWARD : FORWARD];
    if (!r)
        return;
    struct picture_span s = span_of(pic, e);
    int middle = (s.from + s.to - 1) / 2;
    for (int c = s.from; c < s.to; c++)
        if (r->text[c] == letter)
            return;
    if (s.from < s.to && r->text[middle] == '.')
        r->text[middle] = letter;
}

/* The number of the micro-batch behind the first letter, where it has room. */
static void number_pass(void *context, const struct event *e)
{
    struct pipeline_picture *pic = context;
    struct picture_row *r = row_of(pic, e->rank);
    char number[24], letter = LETTER[e->backward ? BACKWARD : FORWARD];
    double delay = (double)pic->step->parts.delay;
    if (!r)
        return;
    int from = (int)lround(column_of(pic, delay + (double)e->start));
    int to = (int)lround(fmin(column_of(pic, delay + (double)e->end), pic->columns));
    int digits = snprintf(number, sizeof number, "%lld", (long long)e->micro_batch);
    if (from + digits >= to || (from < pic->head && to > pic->head) || is_cut(pic, from))
        return;
    for (int c = from; c <= from + digits; c++)
        if (r->text[c] != letter)
            return;
    memcpy(r->text + from + 1, number, (size_t)digits);
}

/* The first, some of the middle and the last of many ranks. */
static int rank_of_row(int row, int rows, int pp)
{
    enum { FIRST = 6, MIDDLE = 4 };
    if (pp <= rows || row < FIRST)
        return row;
    if (row < FIRST + MIDDLE)
        return pp / 2 - MIDDLE / 2 + row - FIRST;
    return pp - rows + row;
}

static void make_rows(struct pipeline_picture *pic, int pp, struct arena *mem)
{
    pic->rows = pp < MOST_ROWS ? pp : MOST_ROWS;
    for (int i = 0; i < pic->rows; i++) {
        struct picture_row *r = &pic->row[i];
        r->rank = rank_of_row(i, pic->rows, pp);
        r->ticks = arena_array(mem, (size_t)pic->columns, sizeof *r->ticks);
        r->text = arena_alloc(mem, (size_t)pic->columns + 1);
    }
}

/* The head shows the first micro-batch come back and a little more, the tail the last one go. */
static void set_windows(struct pipeline_picture *pic, const struct ends *ends, double end)
{
    double delay = (double)pic->step->parts.delay, more = 1.25;
    double head = more * (delay + (double)ends->first_back);
    double tail = more * (end - delay - (double)ends->last_forward);
    pic->slice = end / pic->columns;
    pic->head = pic->columns;
    if (head + tail > end * (1 - 2.0 * CUT / pic->columns))
        return;
    pic->slice = (head + tail) / (pic->columns - CUT);
    pic->head = (int)lround(head / pic->slice);
    pic->resume = end - (pic->columns - CUT - pic->head) * pic->slice;
}

static void draw(struct pipeline_picture *pic)
{
    const struct drawn_step *d = pic->step;
    struct drawn_edge edge[DRAWN_EDGES];
    events_run(&d->pipeline, add_pass, pic);
    for (int i = 0; i < pic->rows; i++) {
        int count = drawn_step_edges(d, pic->row[i].rank, edge);
        for (int k = 0; k < count; k++)
            add_work(pic, &pic->row[i], OTHER, (double)edge[k].start, (double)edge[k].end);
        fill_row(pic, &pic->row[i]);
    }
    events_run(&d->pipeline, show_short, pic);
    events_run(&d->pipeline, number_pass, pic);
}

static enum ink ink_at(char c, enum ink before)
{
    const char *letter = strchr(LETTER, c);
    if (c >= '0' && c <= '9')
        return before;
    return letter ? INK_OF[letter - LETTER] : INK_PLAIN;
}

static void print_row(const struct picture_row *r, int digits, const struct report_style *style,
                      struct str *out)
{
    enum ink ink = INK_PLAIN;
    str_addf(out, "  rank %*d  ", digits, r->rank);
    for (const char *c = r->text; *c; c++) {
        enum ink next = ink_at(*c, ink);
        if (next != ink)
            typeset_ink(style, next, out);
        ink = next;
        str_add_bytes(out, c, 1);
    }
    if (ink != INK_PLAIN)
        typeset_ink(style, INK_PLAIN, out);
    str_add(out, "\n");
}

static void print_legend(const struct pipeline_picture *pic, double end,
                         const struct report_style *style, struct str *out)
{
    const struct report_style narrow = {style->columns > 0 ? style->columns : USUAL_COLUMNS,
                                        style->look};
    struct str text = {0};
    str_add(&text, "a column is ");
    add_seconds(&text, pic->slice / TICKS_PER_S);
    str_add(&text, " of ");
    add_seconds(&text, end / TICKS_PER_S);
    str_add(&text, " and shows what takes most of it: F forward and B backward, with the "
                   "micro-batch where there is room, o other work (gathers, gradients, "
                   "optimizer), . waiting");
    if (pic->head < pic->columns) {
        str_add(&text, "; ~ leaves out ");
        add_seconds(&text, (pic->resume - pic->head * pic->slice) / TICKS_PER_S);
    }
    str_add(out, "  ");
    typeset_wrap(&narrow, str_text(&text), 2, out);
    str_release(&text);
}

static void print_picture(const struct pipeline_picture *pic, double end,
                          const struct report_style *style, struct str *out)
{
    typeset_heading(style, "One step of the pipeline", out);
    for (int i = 0; i < pic->rows; i++) {
        if (i > 0 && pic->row[i].rank > pic->row[i - 1].rank + 1)
            str_add(out, "  ...\n");
        print_row(&pic->row[i], pic->digits, style, out);
    }
    print_legend(pic, end, style, out);
}

void print_pipeline(const struct drawn_step *d, const struct report_style *style, struct arena *mem,
                    struct str *out)
{
    const struct pipeline *p = &d->pipeline;
    int width = style->columns > 0 ? style->columns : USUAL_COLUMNS;
    double end = (double)drawn_step_end(d);
    struct ends ends = {p->pp, -1, 0};
    if (2.0 * p->pp * p->vpp * (double)p->micro_batches > MOST_PASSES || end <= 0 ||
        events_run(p, find_ends, &ends) < 0)
        return;
    struct pipeline_picture *pic = arena_alloc(mem, sizeof *pic);
    pic->step = d;
    pic->digits = p->pp > 1000 ? 4 : p->pp > 100 ? 3 : 2;
    pic->columns = (width < MOST_COLUMNS ? width : MOST_COLUMNS) - LABEL - pic->digits;
    set_windows(pic, &ends, end);
    make_rows(pic, p->pp, mem);
    draw(pic);
    print_picture(pic, end, style, out);
}
