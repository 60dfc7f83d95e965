/* Where memory goes: every part of every stage as a table and as a bar against the limit, and for
 * the fullest stage what it consists of, how many micro-batches are in flight, when it is fullest
 * and at which operator. The operator is found as block_cost_sum finds the peak, over the blocks
 * that run at that moment. */

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cost/residual.h"
#include "probe/answer.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/plan_text.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "simulate/drawn_step.h"

#include <math.h>

/* Of a stacked bar, and columns beside it. */
enum { STACKED_BAR = 60, LEAST_BAR = 20, BAR_MARGIN = 34 };

/* The letter in bars; which columns go first where there is no room. */
static const struct {
    char letter;
    int drop;
} LOOKS[MEMORY_PARTS] = {
    [MEMORY_weights] = {'W', 2},        [MEMORY_gradients] = {'G', 2},
    [MEMORY_optimizer] = {'O', 2},      [MEMORY_activations] = {'A', 0},
    [MEMORY_temporary] = {'T', 3},      [MEMORY_buffers] = {'B', 3},
    [MEMORY_expert_reserve] = {'E', 3}, [MEMORY_reserve] = {'R', 4},
    [MEMORY_context] = {'C', 4},        [MEMORY_communicators] = {'N', 4},
};

/* Of most plans nothing. */
static bool shows_part(const struct plan *p, int part)
{
    bool any = part != MEMORY_expert_reserve;
    for (int r = 0; r < p->stages; r++)
        any |= p->stage[r].memory.part[part] > 0;
    return any;
}

static void add_part_columns(struct table *t, const struct plan *p, bool framework, const char *sum)
{
    for (int i = 0; i < MEMORY_PARTS; i++) {
        const struct memory_part_info *info = memory_part_info((enum memory_part)i);
        if (info->framework == framework && shows_part(p, i))
            table_column(t, info->name, TABLE_RIGHT, LOOKS[i].drop);
    }
    table_column(t, sum, TABLE_RIGHT, framework);
}

/* The framework's parts, their sum, the others, the sum of all, the limit. */
static void add_part_cells(struct table *t, const struct plan *p, int rank, bool framework)
{
    const struct plan_stage *s = &p->stage[rank];
    for (int i = 0; i < MEMORY_PARTS; i++)
        if (memory_part_info((enum memory_part)i)->framework == framework && shows_part(p, i))
            table_add(t, "%.2f", s->memory.part[i] / GIB);
    table_add(t, "%.2f", (framework ? s->peak_bytes : s->device_bytes) / GIB);
}

static void add_fullness_cells(struct table *t, const struct plan_stage *s)
{
    table_add(t, "%.0f %%%s", 100 * s->device_bytes / s->limit_bytes, s->fullness <= 1 ? "" : " !");
    table_add(t, "%s", moment_words(s->moment));
}

static void print_parts(const struct plan *p, const struct report_style *style, struct str *out)
{
    enum { TYPE = 1 };
    static const struct table_column columns[] = {{"stage", TABLE_LEFT, 0}, {"GPU", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    add_part_columns(&t, p, true, "allocated");
    add_part_columns(&t, p, false, "on the GPU");
    table_column(&t, "limit", TABLE_RIGHT, 0);
    table_column(&t, "of it", TABLE_RIGHT, 0);
    table_column(&t, "fullest", TABLE_LEFT, 5);
    for (int from = 0, end; from < p->stages; from = end) {
        end = end_of_run(p, from);
        add_run(from, end, &t.text);
        table_take(&t);
        table_add(&t, "%s", p->stage[from].group->gpu->name);
        add_part_cells(&t, p, from, true);
        add_part_cells(&t, p, from, false);
        table_add(&t, "%.2f", p->stage[from].limit_bytes / GIB);
        add_fullness_cells(&t, &p->stage[from]);
    }
    if (!p->meshes)
        table_hide(&t, TYPE);
    typeset_heading(style, "Memory of each stage (GiB of one GPU, at its fullest moment)", out);
    table_print(&t, style, out);
}

/* The letter of what lies at `bytes` from the bottom, '.' above everything. */
static char part_at(const struct memory_use *m, double bytes)
{
    double sum = 0;
    for (int i = 0; i < MEMORY_PARTS; i++) {
        sum += m->part[i];
        if (bytes < sum)
            return LOOKS[i].letter;
    }
    return '.';
}

/* Where bars end: the largest limit, or beyond it what is needed. */
static double bar_end(const struct plan *p)
{
    double end = 0;
    for (int i = 0; i < p->stages; i++)
        end = fmax(end, fmax(p->stage[i].limit_bytes, p->stage[i].device_bytes));
    return end;
}

/* '|' stands at the stage's limit and what lies beyond does not fit. */
static void add_stacked_bar(const struct plan *p, const struct plan_stage *s, int width,
                            const struct report_style *style, struct str *out)
{
    double scale = bar_end(p) / width;
    int limit = (int)lround(s->limit_bytes / scale);
    for (int i = 0; i < width; i++) {
        char c = part_at(&s->memory, (i + 0.5) * scale);
        if (i == limit) {
            str_add(out, "|");
            typeset_ink(style, INK_BAD, out);
        }
        str_add_bytes(out, i >= limit && c == '.' ? " " : &c, 1);
    }
    if (limit < width)
        typeset_ink(style, INK_PLAIN, out);
    else
        str_add(out, "|");
}

static int bar_width(const struct report_style *style)
{
    int room = style->columns > 0 ? style->columns - BAR_MARGIN : STACKED_BAR;
    return room > STACKED_BAR ? STACKED_BAR : room < LEAST_BAR ? LEAST_BAR : room;
}

static void print_bars(const struct plan *p, const struct report_style *style, struct str *out)
{
    struct str line = {0}, label = {0};
    if (p->meshes)
        str_add(&line, "Against the limit of each stage (|):");
    else
        str_addf(&line, "Against the limit (| at %.1f GiB):", p->limit_bytes / GIB);
    for (int i = 0; i < MEMORY_PARTS; i++)
        if (shows_part(p, i))
            str_addf(&line, "%s %c %s", i ? "," : "", LOOKS[i].letter,
                     memory_part_info((enum memory_part)i)->name);
    str_add(out, "\n  ");
    typeset_wrap(style, str_text(&line), 2, out);
    for (int from = 0, end; from < p->stages; from = end) {
        const struct plan_stage *s = &p->stage[from];
        end = end_of_run(p, from);
        str_clear(&label);
        add_run(from, end, &label);
        str_addf(out, "  %-7s  ", str_text(&label));
        add_stacked_bar(p, s, bar_width(style), style, out);
        str_addf(out, "  %3.0f %%%s", 100 * s->device_bytes / s->limit_bytes,
                 s->fullness <= 1 ? "" : ", does not fit");
        str_add(out, "\n");
    }
    str_release(&line);
    str_release(&label);
}

/* Why memory is fullest then, for someone who has not seen a pipeline run. */
static const char *const WHY[MOMENTS] = {
    [MOMENT_embedding] = "backward of the embedding fills a gradient as large as its matrix, "
                         "however few of its rows were used",
    [MOMENT_layer] = "every layer has run forward and keeps what its backward needs; backward "
                     "begins with the last one, whose temporary tensors come on top of all that "
                     "is kept",
    [MOMENT_recompute] = "recomputed layers keep only the input of each group (of one layer, "
                         "unless recompute_layers says more); backward computes a group again, and "
                         "what that keeps and needs comes on top of all inputs",
    [MOMENT_mtp] = "multi-token prediction runs a layer and a loss of its own behind the last "
                   "layer, on top of all that the layers keep",
    [MOMENT_head] = "logits and loss take bytes for every token and every word of the "
                    "vocabulary, while the layers before them keep what their backward needs",
    [MOMENT_step] = "gradients kept in 16 bits are copied to fp32 for the optimizer; activations "
                    "are gone by then",
    [MOMENT_setup] = "the optimizer's buffers for weights and gradients are filled from weights "
                     "that still exist beside them; there are no activations yet",
};

/* Blocks of an MTP depth, its projection and the head. */
enum { PARTS_MAX = 2 * MTP_MAX_LAYERS + 2 };

/* Operators that run one after the other at the fullest moment. */
struct part_run {
    struct op op[PARTS_MAX * OPS_MAX];
    const char *block[PARTS_MAX * OPS_MAX]; /* the name of each operator's block */
    int count;
    double forward_beside; /* as block_peak_of takes it */
};

static void add_block(struct part_run *r, struct block_shape shape, enum block_kind kind,
                      int window)
{
    shape.kind = kind;
    shape.window = window;
    int n = kind == BLOCK_NONE ? 0 : block_ops(&shape, r->op + r->count);
    for (int i = 0; i < n; i++)
        r->block[r->count + i] = kind == BLOCK_HEAD ? "output layer" : block_name(kind);
    r->count += n;
}

static void add_layer(struct part_run *r, const struct model *m, struct block_shape shape,
                      int layer_kind)
{
    const struct layer_kind *kind = &m->kind[layer_kind];
    shape.precision = layer_precision(shape.precision, kind->wide);
    add_block(r, shape, mixer_block(kind->mixer), kind->window);
    add_block(r, shape, feed_block(kind->feed), 0);
}

/* The layer of a rank that has most bytes alive at once, its predecessors' included: of those that
 * are recomputed whole, or of the others. */
static int fullest_layer(const struct partition *f, const struct strategy *s, int rank, bool again)
{
    int found = f->layout.first[rank], modules = effective_modules(s);
    double most = -1;
    for (int stage = rank; stage < f->layout.stages; stage += s->pp) {
        const struct layer_costs *costs = f->mesh[f->mesh_of[rank]].costs;
        int layers = f->layout.layers[stage], whole = layers_again(s, layers);
        double before = 0;
        for (int i = again ? 0 : whole; i < (again ? whole : layers); i++) {
            int layer = f->layout.first[stage] + i;
            const struct block_cost *b = &costs->kind[f->scene->model->layer[layer]];
            if (before + b->peak >= most) {
                most = before + b->peak;
                found = layer;
            }
            before += again ? 0 : b->saved - block_dropped(b, modules);
        }
    }
    return found;
}

static void collect(const struct partition *f, const struct strategy *all, int rank,
                    enum memory_moment moment, struct part_run *r)
{
    const struct model *m = f->scene->model;
    struct strategy room;
    const struct strategy *s = partition_strategy(f, f->mesh_of[rank], all, &room);
    struct block_shape shape = block_shape_of(f->scene, s, BLOCK_ATTENTION);
    r->count = 0;
    r->forward_beside = 0;
    if (moment == MOMENT_embedding)
        add_block(r, shape, BLOCK_EMBEDDING, 0);
    if (moment == MOMENT_mtp)
        add_block(r, shape, BLOCK_MTP, 0);
    if (moment == MOMENT_layer || moment == MOMENT_recompute)
        add_layer(r, m, shape, m->layer[fullest_layer(f, s, rank, moment == MOMENT_recompute)]);
    for (int i = 0; i < m->mtp_layers && moment == MOMENT_mtp; i++)
        add_layer(r, m, shape, m->mtp_layer[i]);
    if (moment == MOMENT_head || moment == MOMENT_mtp)
        add_block(r, shape, BLOCK_HEAD, 0);
    if (moment == MOMENT_recompute || (moment == MOMENT_head && s->pp > 1))
        r->forward_beside = f->mesh[f->mesh_of[rank]].costs->boundary_bytes;
}

static void print_moment(const struct partition *f, const struct plan *p, int rank,
                         const struct report_style *style, struct arena *mem, struct str *out)
{
    enum memory_moment moment = p->stage[rank].moment;
    double factor = residual_of(&f->mesh[f->mesh_of[rank]].costing, RESIDUAL_memory);
    struct part_run *r = arena_alloc(mem, sizeof *r);
    struct str text = {0};
    str_addf(&text, "fullest %s: %s", moment_words(moment), WHY[moment]);
    typeset_item(style, str_text(&text), out);
    str_clear(&text);
    collect(f, &p->strategy, rank, moment, r);
    if (r->count > 0) {
        struct block_peak at = block_peak_of(r->op, (size_t)r->count, r->forward_beside);
        str_addf(&text, "at the operator '%s' of the %s, %s: it has ", r->op[at.op].name,
                 r->block[at.op], at.backward ? "backward" : "forward");
        add_bytes(&text, factor * at.own);
        str_add(&text, " alive, beside ");
        add_bytes(&text, factor * at.before);
        str_addf(&text, " that the operators before it keep%s",
                 moment == MOMENT_layer || moment == MOMENT_recompute ? " in this layer" : "");
        typeset_item(style, str_text(&text), out);
    }
    str_release(&text);
}

/* Passes that have run forward and not yet backward, at most; each keeps its activations. */
static void print_in_flight(const struct partition *f, const struct plan *p, int rank,
                            const struct report_style *style, struct str *out)
{
    const struct strategy *s = &p->strategy;
    struct pass_times none = {0};
    struct pipeline pipe = pass_times_pipeline(f, s, &none);
    int64_t total = pipe.micro_batches * pipe.vpp, passes = pipeline_warmup(&pipe, rank) + 1;
    struct str text = {0};
    passes = passes < total ? passes : total;
    str_addf(&text, "in flight: %lld ", (long long)passes);
    if (s->vpp > 1)
        str_addf(&text,
                 "forward passes at most wait for their backward, each of one of the %d "
                 "virtual stages and one of %lld micro-batches",
                 s->vpp, (long long)pipe.micro_batches);
    else
        str_addf(&text, "of %lld micro-batches at most %s run forward here but not yet backward",
                 (long long)pipe.micro_batches, passes > 1 ? "have" : "has");
    if (s->vpp == 1) {
        str_add(&text, "; each keeps ");
        add_bytes(&text, p->stage[rank].memory.part[MEMORY_activations] / (double)passes);
    }
    if (s->pp > 1)
        str_addf(&text, "; %s",
                 rank < s->pp - 1
                     ? "a micro-batch's backward returns only after the later stages have run it"
                     : "the last stage runs each micro-batch's backward right after its forward");
    typeset_item(style, str_text(&text), out);
    str_release(&text);
}

static void print_fullest_parts(const struct plan_stage *s, const struct report_style *style,
                                struct str *out)
{
    static const struct table_column columns[] = {{"part", TABLE_LEFT, 0},
                                                  {"bytes", TABLE_RIGHT, 0},
                                                  {"of the limit", TABLE_BAR, 1},
                                                  {"what it is", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < MEMORY_PARTS; i++) {
        const struct memory_part_info *info = memory_part_info((enum memory_part)i);
        if (s->memory.part[i] <= 0)
            continue;
        table_add(&t, "%s", info->name);
        table_add(&t, "%.2f GiB", s->memory.part[i] / GIB);
        table_bar(&t, style, s->memory.part[i] / s->limit_bytes);
        table_add(&t, "%s", info->help);
    }
    table_print(&t, style, out);
}

static void print_fullest(const struct plan_answer *a, const struct report_style *style,
                          struct arena *mem, struct str *out)
{
    const struct plan *p = a->plan;
    const struct partition *f = a->step->partition;
    const struct plan_stage *s = plan_fullest(p);
    int rank = (int)(s - p->stage);
    struct str title = {0};
    str_addf(&title, "What fills stage %d, the fullest", rank);
    typeset_heading(style, str_text(&title), out);
    str_release(&title);
    print_fullest_parts(s, style, out);
    str_add(out, "\n");
    if (s->moment != MOMENT_step && s->moment != MOMENT_setup)
        print_in_flight(f, p, rank, style, out);
    print_moment(f, p, rank, style, mem, out);
}

void explain_memory(const struct plan_answer *a, const struct report_style *style,
                    struct arena *mem, struct str *out)
{
    const struct plan *p = a->plan;
    print_parts(p, style, out);
    if (typeset_has_bars(style))
        print_bars(p, style, out);
    print_fullest(a, style, mem, out);
}
