/* What the schedule hands on: the layers, warm-up and end of every rank, and a picture of the
 * beginning of the step, one row a rank:
 *
 *     rank 0  FFFF....BFBFBFBF
 *     rank 1  .FFFF..BFBFBFBF.        F forward, B backward, . waiting
 *
 * The picture samples the event simulation: each character is what the rank does in the middle of
 * its slice of time. */
#include "report/explain.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "report/report.h"
#include "report/table.h"
#include "report/typeset.h"
#include "simulate/events.h"
#include "simulate/frame.h"

#include <string.h>

enum { PICTURE_RANKS = 16, PICTURE_COLUMNS = 84, PICTURE_PASSES = 1 << 20 };

struct picture {
    int ranks;
    int64_t window; /* ticks shown */
    char row[PICTURE_RANKS][PICTURE_COLUMNS + 1];
};

/* The first slice whose middle is not before `ticks`. */
static int64_t slice_of(const struct picture *pic, int64_t ticks)
{
    double slice = (double)pic->window / PICTURE_COLUMNS;
    double at = (double)ticks / slice - 0.5;
    return at <= 0 ? 0 : (int64_t)at + (at > (double)(int64_t)at);
}

static void draw(void *context, const struct event *e)
{
    struct picture *pic = context;
    if (e->rank >= pic->ranks || e->start >= pic->window)
        return;
    for (int64_t i = slice_of(pic, e->start); i < slice_of(pic, e->end) && i < PICTURE_COLUMNS; i++)
        pic->row[e->rank][i] = e->backward ? 'B' : 'F';
}

static void print_picture(const struct picture *pic, int64_t end, const struct report_style *style,
                          struct str *out)
{
    struct str title;
    str_init(&title);
    str_add(&title, "The first ");
    add_seconds(&title, (double)pic->window / TICKS_PER_S);
    str_add(&title, " of ");
    add_seconds(&title, (double)end / TICKS_PER_S);
    str_add(&title, " (F forward, B backward, . waiting)");
    typeset_heading(style, str_text(&title), out);
    str_release(&title);
    for (int r = 0; r < pic->ranks; r++)
        str_addf(out, "  rank %2d  %s\n", r, pic->row[r]);
}

/* Enough to see the warm-up and the steady state. */
static int64_t window_of(const struct pipeline *p, int64_t end)
{
    int64_t shown = 2 * (int64_t)p->pp + 4;
    return shown < p->micro_batches
               ? (int64_t)((double)end * (double)shown / (double)p->micro_batches)
               : end;
}

static void add_picture(const struct pipeline *p, int64_t end, const struct report_style *style,
                        struct str *out)
{
    struct picture pic = {.ranks = p->pp < PICTURE_RANKS ? p->pp : PICTURE_RANKS,
                          .window = window_of(p, end)};
    if (2.0 * p->pp * p->vpp * (double)p->micro_batches > PICTURE_PASSES || pic.window <= 0)
        return;
    for (int r = 0; r < pic.ranks; r++)
        memset(pic.row[r], '.', PICTURE_COLUMNS);
    if (events_run(p, draw, &pic) >= 0)
        print_picture(&pic, end, style, out);
}

/* "20", or "5+5+5+5" for virtual stages. */
static void add_layers(const struct frame *f, int rank, struct str *out)
{
    for (int i = rank; i < f->layout.stages; i += f->strategy.pp)
        str_addf(out, "%s%d", i > rank ? "+" : "", f->layout.layers[i]);
}

static void add_rank_row(struct table *t, const struct frame *f, const struct timing *time,
                         const struct pipeline *p, int rank)
{
    int c = f->class_of[rank];
    const int64_t ticks[] = {time->rank_forward[c], time->rank_backward[c], f->send[rank],
                             time->end[rank]};
    struct str cell;
    str_init(&cell);
    table_add(t, "%d", rank);
    table_add(t, "%s", f->mesh[f->mesh_of[rank]].group->gpu->name);
    add_layers(f, rank, &cell);
    table_take(t, &cell);
    table_add(t, "%lld", (long long)pipeline_warmup(p, rank));
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        add_seconds(&cell, (double)ticks[i] / TICKS_PER_S);
        table_take(t, &cell);
    }
    str_release(&cell);
}

static int64_t print_ranks(const struct frame *f, const struct timing *time,
                           const struct pipeline *p, const struct report_style *style,
                           struct arena *mem, struct str *out)
{
    struct table t;
    int64_t latest = 0;
    table_init(&t, mem);
    table_column(&t, "rank", TABLE_RIGHT, 0);
    int type = table_column(&t, "GPU", TABLE_LEFT, 0);
    table_column(&t, "layers", TABLE_LEFT, 0);
    table_column(&t, "warm-up", TABLE_RIGHT, 1);
    table_column(&t, "forward", TABLE_RIGHT, 0);
    table_column(&t, "backward", TABLE_RIGHT, 0);
    table_column(&t, "send", TABLE_RIGHT, 2);
    table_column(&t, "done at", TABLE_RIGHT, 0);
    for (int r = 0; r < p->pp; r++) {
        add_rank_row(&t, f, time, p, r);
        latest = time->end[r] > latest ? time->end[r] : latest;
    }
    if (!f->scene->meshes)
        table_hide(&t, type);
    typeset_heading(
        style, "Ranks of the pipeline (times of one micro-batch, communication included)", out);
    table_print(&t, style, out);
    return latest;
}

void explain_schedule(const struct plan *plan, const struct report_style *style, struct arena *mem,
                      struct str *out)
{
    const struct strategy *s = &plan->strategy;
    const struct scene scene = plan_scene(plan);
    struct frame *f = frame_new(&scene, s, &plan->layout, mem, NULL);
    struct timing time;
    if (!f)
        return; /* cannot be: the plan was computed on the same frame */
    timing_of(f, s, mem, &time);
    timing_stages(f, s, mem, &time);
    timing_run(f, s, mem, &time);
    struct pipeline p = timing_pipeline(f, s, &time);
    str_addf(out, "\n%s of %lld micro-batches, pp %d", s->vpp > 1 ? "Interleaved 1F1B" : "1F1B",
             (long long)p.micro_batches, p.pp);
    if (s->vpp > 1)
        str_addf(out, " with %d virtual stages each, groups of %d", p.vpp, p.group);
    str_add(out, "\n");
    add_picture(&p, print_ranks(f, &time, &p, style, mem, out), style, out);
}
