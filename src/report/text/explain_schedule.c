/* What the schedule hands on: the layers, warm-up and end of every rank, and a picture of the step
 * (pipeline_picture.c). */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "probe/answer.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "simulate/drawn_step.h"

/* "20", or "5+5+5+5" for virtual stages. */
static void add_layers(const struct partition *f, int rank, struct str *out)
{
    for (int i = rank; i < f->layout.stages; i += f->strategy.pp)
        str_addf(out, "%s%d", i > rank ? "+" : "", f->layout.layers[i]);
}

static void add_rank_row(struct table *t, const struct partition *f, const struct pass_times *time,
                         const struct pipeline *p, int rank)
{
    int c = f->class_of[rank];
    const int64_t ticks[] = {time->rank_forward[c], time->rank_backward[c], f->send[rank],
                             time->end[rank]};
    table_add(t, "%d", rank);
    table_add(t, "%s", f->mesh[f->mesh_of[rank]].costing.group->gpu->name);
    add_layers(f, rank, &t->text);
    table_take(t);
    table_add(t, "%lld", (long long)pipeline_warmup(p, rank));
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        table_seconds(t, (double)ticks[i] / TICKS_PER_S);
}

static void print_ranks(const struct partition *f, const struct pass_times *time,
                        const struct pipeline *p, const struct report_style *style, struct str *out)
{
    enum { TYPE = 1 };
    static const struct table_column columns[] = {
        {"rank", TABLE_RIGHT, 0},    {"GPU", TABLE_LEFT, 0},      {"layers", TABLE_LEFT, 0},
        {"warm-up", TABLE_RIGHT, 1}, {"forward", TABLE_RIGHT, 0}, {"backward", TABLE_RIGHT, 0},
        {"send", TABLE_RIGHT, 2},    {"done at", TABLE_RIGHT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int r = 0; r < p->pp; r++)
        add_rank_row(&t, f, time, p, r);
    if (!f->scene->meshes)
        table_hide(&t, TYPE);
    typeset_heading(
        style, "Ranks of the pipeline (times of one micro-batch, communication included)", out);
    table_print(&t, style, out);
}

void explain_schedule(const struct plan_answer *a, const struct report_style *style,
                      struct arena *mem, struct str *out)
{
    const struct drawn_step *d = a->step;
    const struct strategy *s = d->strategy;
    const struct pipeline *p = &d->pipeline;
    struct str title = {0};
    str_addf(&title, "%s of %lld micro-batches, pp %d", s->vpp > 1 ? "Interleaved 1F1B" : "1F1B",
             (long long)p->micro_batches, p->pp);
    if (s->vpp > 1)
        str_addf(&title, " with %d virtual stages each, groups of %d", p->vpp, p->group);
    str_add(out, "\n");
    typeset_wrap(style, str_text(&title), 2, out);
    str_release(&title);
    print_ranks(d->partition, &d->pass_times, p, style, out);
    print_pipeline(d, style, mem, out);
}
