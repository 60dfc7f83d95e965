/* The answer of `estimate` for people: verdict, figures, where the time goes, stage by stage,
 * hints. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "dataset/dataset.h"
#include "dataset/task.h"
#include "export/export.h"
#include "model/trained.h"
#include "price/rent.h"
#include "probe/answer.h"
#include "query/query_file.h"
#include "report/advice_words.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <limits.h>
#include <math.h>

/* The line above has the first mesh's values. */
static void print_meshes(const struct plan *p, const struct report_style *style, struct str *out)
{
    struct str text = {0};
    for (int i = 0; plan_meshes_differ(p) && i < p->meshes->count; i++) {
        const struct mesh *m = &p->meshes->mesh[i];
        struct strategy room, own = *mesh_strategy(m, &p->strategy, &room);
        own.pp = m->stages;
        str_clear(&text);
        str_addf(&text, "on %s: ", m->group->gpu->name);
        add_plan_words(&own, &text);
        str_add(out, "  ");
        typeset_wrap(style, str_text(&text), 4, out);
    }
    str_release(&text);
}

static const char *if_assumed(const struct plan_answer *a, enum param p)
{
    return a->assumed[p] ? " (default)" : "";
}

void table_memory(struct table *t, const struct plan *p)
{
    double used = plan_fullest(p)->device_bytes / p->limit_bytes;
    add_memory_of_limit(p, &t->text);
    table_take(t);
    table_ink(t, used > 1 ? INK_BAD : used > CROWDED ? INK_WARN : INK_PLAIN);
}

void print_plan_query(const struct plan_answer *a, const struct report_style *style,
                      struct str *out)
{
    const struct plan *p = a->plan;
    const struct strategy *s = &p->strategy;
    struct str text = {0};
    add_model_words(p->model, &text);
    str_add(&text, " on ");
    add_gpus(p, &text);
    str_addf(&text, ", sequence %d%s, global batch %d%s (", s->seq_len,
             if_assumed(a, PARAM_seq_len), s->global_batch, if_assumed(a, PARAM_global_batch));
    add_count(&text, (double)s->global_batch * s->seq_len);
    str_add(&text, " tokens), ");
    param_print(PARAM_precision, s->precision, &text);
    str_addf(&text, "%s, stack %s", if_assumed(a, PARAM_precision), plan_stack(p));
    dataset_add_words(p->dataset, &text);
    task_add_words(p->task, &text);
    typeset_wrap(style, str_text(&text), 2, out);
    str_clear(&text);
    strategy_print(s, &text);
    typeset_wrap(style, str_text(&text), 2, out);
    print_meshes(p, style, out);
    str_release(&text);
}

/* Memory of a GPU or a host that is too small is one reason of the plan each; the others are rules. */
static bool is_valid(const struct plan *p)
{
    return p->computed && p->reasons <= plan_shortages(p);
}

void print_source(const struct plan_answer *a, const struct report_style *style, struct str *out)
{
    const struct plan_source *s = a->source;
    struct str text = {0};
    if (!s)
        return;
    if (s->file)
        str_addf(&text, "Read from %s: %s, ", s->file, s->kind);
    else
        str_add(&text, "Read from the command line: ");
    str_addf(&text, "%d flags", s->flags);
    if (s->program)
        str_addf(&text, " of %s", s->program);
    if (s->line)
        str_addf(&text, " (line %d)", s->line);
    str_addf(&text, ", %d of them without effect on time or memory", s->idle);
    if (s->file || s->flags) /* otherwise there is no more than notes */
        typeset_wrap(style, str_text(&text), 2, out);
    for (int i = 0; i < s->notes; i++)
        typeset_item(style, s->note[i], out);
    str_add(out, "\n");
    str_release(&text);
}

void print_advice(const struct advice_section *s, const struct report_style *style, struct str *out)
{
    if (s->items > 0 && *s->heading)
        typeset_heading(style, s->heading, out);
    for (int i = 0; i < s->items; i++)
        typeset_item(style, s->item[i], out);
}

static void print_words(const struct plan *p, void (*add)(const struct plan *, struct str *),
                        const struct report_style *style, struct str *out)
{
    struct str text = {0};
    if (p->computed)
        add(p, &text);
    if (text.length > 0)
        typeset_item(style, str_text(&text), out);
    str_release(&text);
}

void print_verdict(const struct plan_answer *a, const struct report_style *style, struct arena *mem,
                   struct str *out)
{
    const struct plan *p = a->plan;
    const struct advice_section fix = fix_words(a, mem);
    const char *verdict = p->feasible ? "Fits" : is_valid(p) ? "Does not fit" : "Invalid";
    str_add(out, "\n");
    typeset_text(style, p->feasible ? INK_GOOD : INK_BAD, verdict, out);
    if (p->feasible) {
        const struct plan_stage *fullest = plan_fullest(p);
        str_addf(out, ": stage %d, the fullest, needs %.1f of %.1f GiB", (int)(fullest - p->stage),
                 fullest->device_bytes / GIB, p->limit_bytes / GIB);
    }
    str_add(out, "\n");
    for (int i = 0; i < p->reasons; i++)
        typeset_item(style, p->reason[i], out);
    print_words(p, add_expert_room, style, out);
    print_words(p, add_host_memory, style, out);
    for (int i = 0; i < p->notes; i++)
        typeset_item(style, p->note[i], out);
    for (int i = 0; i < p->cautions; i++)
        typeset_item(style, caution_words(p->caution[i], mem), out);
    print_advice(&fix, style, out);
}

/* The first of its types without a price. */
static const char *without_price(const struct plan *p)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part), i = 0;
    while (i < parts - 1 && rent_of(p->rent, part[i].group)->usd_per_hour > 0)
        i++;
    return part[i].group->gpu->name;
}

static void add_money_row(struct table *t, const struct plan *p)
{
    table_add(t, "money");
    if (p->usd_per_hour > 0)
        add_usd(&t->text, p->usd_per_hour);
    if (p->usd_per_hour > 0 && isfinite(p->usd_per_mtoken))
        str_addf(&t->text, " per hour, $%.*f per million tokens", p->usd_per_mtoken < 0.1 ? 4 : 3,
                 p->usd_per_mtoken);
    else if (p->usd_per_hour > 0)
        str_add(&t->text, " per hour; with these outages no run is expected to finish");
    else
        str_addf(&t->text, "no price of %s is known (--price %s=USD)", without_price(p),
                 without_price(p));
    table_take(t);
    add_run_rows(t, p);
}

void print_figures(const struct plan *p, const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {{"", TABLE_LEFT, 0}, {"", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    table_add(&t, "step");
    add_seconds(&t.text, p->step_s);
    str_addf(&t.text, " ±%.0f %% (%s)", 100 * p->expected_error, p->provenance);
    table_take(&t);
    table_add(&t, "speed");
    add_count(&t.text, p->tokens_per_s);
    str_addf(&t.text, " tokens/s, %.0f per GPU", p->tokens_per_s_per_gpu);
    table_take(&t);
    if (plan_has_samples(p)) {
        table_add(&t, "samples");
        add_sample_words(p, &t.text);
        table_take(&t);
        table_add(&t, "memory");
        add_spare_words(p, &t.text);
        table_take(&t);
    }
    if (p->late_s > 0) {
        table_add(&t, "waits");
        add_seconds(&t.text, p->late_s);
        str_add(&t.text, " of the step for the rank with the longest samples");
        table_take(&t);
    }
    table_add(&t, "compute");
    str_addf(&t.text, "%.1f TFLOP/s per GPU", p->tflops_per_gpu);
    if (p->mfu > 0)
        str_addf(&t.text, ", MFU %.1f %%", 100 * p->mfu);
    table_take(&t);
    add_money_row(&t, p);
    str_add(out, "\n");
    table_print(&t, style, out);
    print_profile(p, 1, style, out);
}

void print_breakdown(const struct plan *p, const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {
        {"", TABLE_LEFT, 0}, {"", TABLE_RIGHT, 0}, {"", TABLE_RIGHT, 0}, {"", TABLE_BAR, 1}};
    struct table t;
    struct str title = {0};
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < BREAKDOWN_PARTS; i++) {
        double share = p->breakdown[i] / p->step_s;
        if (p->breakdown[i] <= 0)
            continue;
        table_add(&t, "%s", breakdown_name((enum breakdown_part)i));
        table_seconds(&t, p->breakdown[i]);
        table_add(&t, "%.1f %%", 100 * share);
        table_bar(&t, style, share);
    }
    str_addf(&title, "Where the step's time goes (stage %d, the busiest)", p->busiest);
    typeset_heading(style, str_text(&title), out);
    table_print(&t, style, out);
    str_release(&title);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

static bool alike(const struct plan_stage *a, const struct plan_stage *b)
{
    return a->group == b->group && a->gpus == b->gpus && a->layers == b->layers &&
           a->fits == b->fits && near(a->forward_s, b->forward_s) &&
           near(a->backward_s, b->backward_s) && near(a->idle_s, b->idle_s) &&
           near(a->device_bytes, b->device_bytes);
}

int end_of_run(const struct plan *p, int from)
{
    int end = from + 1;
    while (end < p->stages && alike(&p->stage[from], &p->stage[end]))
        end++;
    return end;
}

void add_run(int from, int end, struct str *out)
{
    str_addf(out, "%d", from);
    if (end - from > 1)
        str_addf(out, "-%d", end - 1);
}

/* As the mesh of a rank runs it. */
static void add_ways_cells(struct table *t, const struct plan *p, int rank)
{
    struct strategy room;
    const struct strategy *s = &p->strategy;
    for (int i = 0, end = 0; p->meshes && i < p->meshes->count && end <= rank; i++) {
        s = mesh_strategy(&p->meshes->mesh[i], &p->strategy, &room);
        end += p->meshes->mesh[i].stages;
    }
    table_add(t, "%d", s->tp);
    table_add(t, "%d", s->dp);
    table_add(t, "%d", s->micro_batch);
}

static void add_stage_row(struct table *t, const struct plan *p, int from, int end)
{
    const struct plan_stage *s = &p->stage[from];
    const double seconds[] = {s->forward_s, s->backward_s, s->compute_step_s, fmax(0, s->idle_s)};
    add_run(from, end, &t->text);
    table_take(t);
    table_add(t, "%s", s->group->gpu->name);
    table_add(t, "%d", s->gpus);
    table_add(t, "%d", s->layers);
    add_ways_cells(t, p, from);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        table_seconds(t, seconds[i]);
    table_add(t, "%.1f GiB", s->peak_bytes / GIB);
    table_add(t, "%.1f GiB", s->device_bytes / GIB);
    table_add(t, "%.1f GiB", s->limit_bytes / GIB);
    table_add(t, "%.0f %%%s", 100 * s->device_bytes / s->limit_bytes, s->fullness <= 1 ? "" : " !");
}

void print_bottleneck(const struct plan *p, const struct report_style *style, struct str *out)
{
    int idlest = 0;
    struct str text = {0};
    if (!p->meshes || p->stages < 2)
        return;
    for (int r = 1; r < p->stages; r++)
        if (p->stage[r].idle_s > p->stage[idlest].idle_s)
            idlest = r;
    const struct plan_stage *busy = &p->stage[p->busiest], *idle = &p->stage[idlest];
    str_addf(&text,
             "stage %d (%s) is the bottleneck: busy %.1f %% of the step; stage %d (%s) is busy "
             "least, %.1f %%",
             p->busiest, busy->group->gpu->name, 100 * (1 - busy->idle_s / p->step_s), idlest,
             idle->group->gpu->name, 100 * (1 - idle->idle_s / p->step_s));
    typeset_item(style, str_text(&text), out);
    str_release(&text);
}

static void print_stages(const struct plan *p, const struct report_style *style, struct str *out)
{
    /* The same for all stages unless the job is mixed. */
    enum { TYPE = 1, TP = 4, MICRO_BATCH = 6, FORWARD, IDLE = 10, LIMIT = 13 };
    static const struct table_column columns[] = {
        {"stage", TABLE_LEFT, 0},       {"GPU", TABLE_LEFT, 0},
        {"GPUs", TABLE_RIGHT, 1},       {"layers", TABLE_RIGHT, 0},
        {"tp", TABLE_RIGHT, 0},         {"dp", TABLE_RIGHT, 0},
        {"mbs", TABLE_RIGHT, 0},        {"forward", TABLE_RIGHT, 4},
        {"backward", TABLE_RIGHT, 4},   {"compute/step", TABLE_RIGHT, 3},
        {"idle/step", TABLE_RIGHT, 0},  {"allocated", TABLE_RIGHT, 3},
        {"on the GPU", TABLE_RIGHT, 2}, {"limit", TABLE_RIGHT, 3},
        {"of limit", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int from = 0, end; from < p->stages; from = end) {
        end = end_of_run(p, from);
        add_stage_row(&t, p, from, end);
    }
    if (!p->meshes) {
        table_hide(&t, TYPE);
        table_hide(&t, LIMIT);
    }
    for (int c = TP; c <= MICRO_BATCH && !plan_meshes_differ(p); c++)
        table_hide(&t, c);
    for (int c = FORWARD; c <= IDLE && !p->feasible; c++)
        table_hide(&t, c);
    typeset_heading(
        style, p->feasible ? "Stages (forward and backward of one micro-batch)" : "Stages", out);
    table_print(&t, style, out);
    if (p->feasible)
        print_bottleneck(p, style, out);
}

/* What flags cannot say of the model. */
static void print_untold(const struct plan *p, const struct report_style *style, struct arena *mem,
                         struct str *out)
{
    struct model all = *p->model; /* other trainers say what is trained */
    model_set_trained(&all, "full", NULL);
    const char *untold = export_untold_text(&all, INT_MAX, mem);
    if (!untold)
        return;
    str_add(out, "\nnote: ");
    typeset_wrap(style,
                 arena_format(mem, "%s: %s",
                              model_lacks(p->model) ? "nothing launches this plan"
                                                    : "flags would be for timing, not for training",
                              untold),
                 2, out);
}

void report_plan_text(const struct plan_answer *a, const struct report_style *style,
                      struct str *out)
{
    const struct plan *p = a->plan;
    struct arena mem = {0};
    const struct advice_section hints = hint_words(a), better = better_words(a, &mem);
    print_source(a, style, out);
    print_plan_query(a, style, out);
    print_verdict(a, style, &mem, out);
    if (p->feasible) { /* what does not run has no speed */
        print_figures(p, style, out);
        print_breakdown(p, style, out);
    }
    if (p->computed)
        print_stages(p, style, out);
    print_advice(&hints, style, out);
    print_advice(&better, style, out);
    print_untold(p, style, &mem, out);
    arena_release(&mem);
}
