/* What the stages ops and cost hand on: every operator of every kind of block, as the simulation
 * sees it, for one micro-batch on one GPU. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cost/cost.h"
#include "probe/answer.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "simulate/partition.h"

static const char *const OP_KINDS[] = {
    [OP_GEMM] = "product",  [OP_GROUPED] = "grouped", [OP_ATTENTION] = "attention",
    [OP_SCORES] = "scores", [OP_MEMORY] = "memory",   [OP_COMM] = "comm",
    [OP_SCAN] = "scan",
};
static const char *const COMM_KINDS[] = {
    [COMM_ALL_REDUCE] = "all-reduce",
    [COMM_ALL_GATHER] = "all-gather",
    [COMM_REDUCE_SCATTER] = "reduce-scatter",
    [COMM_ALL_TO_ALL] = "all-to-all",
    [COMM_SEND] = "send",
};

typedef void block_printer(const struct scene *, const struct costing *, const struct block_shape *,
                           const struct report_style *, struct str *out);

static block_printer print_times;

static void print_title(const struct block_shape *b, const struct report_style *style,
                        struct str *out)
{
    struct str title = {0};
    str_addf(&title, "%s", block_name(b->kind));
    if (b->kind == BLOCK_ATTENTION && b->window > 0)
        str_addf(&title, " (window %d)", b->window);
    if (b->wide)
        str_add(&title, " of layers in 16 bits");
    typeset_heading(style, str_text(&title), out);
    str_release(&title);
}

/* Whether a kind of layer before k has the same mixer. */
static bool mixer_seen(const struct model *m, int k)
{
    const struct layer_kind *x = m->kind;
    for (int i = 0; i < k; i++)
        if (x[i].mixer == x[k].mixer && x[i].window == x[k].window && x[i].wide == x[k].wide)
            return true;
    return false;
}

/* Whether a kind of layer before k has the same feed-forward part. */
static bool feed_seen(const struct model *m, int k)
{
    for (int i = 0; i < k; i++)
        if (m->kind[i].feed == m->kind[k].feed && m->kind[i].wide == m->kind[k].wide)
            return true;
    return false;
}

/* A block of the k-th kind of layers. */
static struct block_shape layer_shape(const struct model *m, const struct strategy *s,
                                      const struct block_shape *like, int k, enum block_kind kind)
{
    struct block_shape shape = *like;
    shape.kind = kind;
    shape.window = kind == BLOCK_ATTENTION ? m->kind[k].window : 0;
    shape.wide = m->kind[k].wide && precision_is_narrow(s->precision);
    shape.precision = layer_precision(s->precision, shape.wide);
    return shape;
}

/* What the load of a layer makes of its operators' seconds. */
static void print_clocks(const struct scene *scene, const struct strategy *s, struct str *out)
{
    struct layer_costs costs;
    layer_costs_of(scene, s, &costs);
    for (int k = 0; k < scene->model->kinds; k++)
        if (costs.clock[k] != 1 && !mixer_seen(scene->model, k))
            str_addf(out, "%sA layer%s takes %.3f times as long: its load sets the clock\n",
                     k == 0 ? "\n" : "", k > 0 ? " of the next kind" : "", costs.clock[k]);
}

/* The blocks as one mesh runs them; of a job on one type, mesh 0. */
static void each_block(const struct plan *p, int mesh, block_printer *print,
                       const struct report_style *style, struct str *out)
{
    const struct model *m = p->model;
    const struct mesh *own = p->meshes ? &p->meshes->mesh[mesh] : NULL;
    struct strategy room;
    const struct strategy *s = own ? mesh_strategy(own, &p->strategy, &room) : &p->strategy;
    const bool present[] = {
        [BLOCK_EMBEDDING] = true, [BLOCK_HEAD] = true, [BLOCK_MTP] = m->mtp > 0};
    const struct scene whole = plan_scene(p);
    const struct scene scene = scene_on(&whole, own ? own->group : p->group);
    const struct costing on = placed_costing(&scene, scene.group, s);
    struct block_shape shape = block_shape_of(&scene, s, BLOCK_ATTENTION);
    struct sequence_work work;
    if (print == print_times) /* of average sequences; what operators keep is of full ones */
        shape.work = scene_work(&scene, s, &work);
    for (int k = 0; k < m->kinds; k++) {
        const struct block_shape layer =
            layer_shape(m, s, &shape, k, mixer_block(m->kind[k].mixer));
        if (layer.kind != BLOCK_NONE && !mixer_seen(m, k))
            print(&scene, &on, &layer, style, out);
    }
    for (int feed = 0; feed < FEED_NONE; feed++)
        for (int k = 0; k < m->kinds; k++) {
            const struct block_shape layer =
                layer_shape(m, s, &shape, k, feed_block((enum feed)feed));
            if (m->kind[k].feed == (enum feed)feed && !feed_seen(m, k))
                print(&scene, &on, &layer, style, out);
        }
    for (int kind = BLOCK_EMBEDDING; kind <= BLOCK_MTP; kind++) {
        shape.kind = (enum block_kind)kind;
        shape.precision = layer_precision(s->precision, kind == BLOCK_HEAD);
        if (present[kind])
            print(&scene, &on, &shape, style, out);
    }
    if (print == print_times)
        print_clocks(&scene, s, out);
}

/* "4096 x 8192 x 1024", "32 of ...", or the collective. */
static void add_shape(const struct op *o, struct str *out)
{
    if (o->kind == OP_COMM) {
        str_addf(out, "%s over %d ranks, ", COMM_KINDS[o->comm], o->ranks);
        add_bytes(out, o->bytes);
    } else if (o->kind == OP_MEMORY) {
        add_bytes(out, o->bytes);
    } else {
        if (o->count != 1)
            str_addf(out, "%.0f of ", o->count);
        str_addf(out, "%.0f x %.0f x %.0f", o->m, o->n, o->k);
    }
}

/* Nothing for 0, so that the numbers that matter stand out. */
static void take_bytes(struct table *t, double bytes)
{
    if (bytes > 0)
        add_bytes(&t->text, bytes);
    table_take(t);
}

static void print_ops(const struct scene *scene, const struct costing *on,
                      const struct block_shape *b, const struct report_style *style,
                      struct str *out)
{
    static const struct table_column columns[] = {{"operator", TABLE_LEFT, 0},
                                                  {"kind", TABLE_LEFT, 2},
                                                  {"m x n x k, or bytes", TABLE_LEFT, 0},
                                                  {"saved", TABLE_RIGHT, 0},
                                                  {"temporary", TABLE_RIGHT, 1},
                                                  {"in backward", TABLE_RIGHT, 1}};
    struct op ops[OPS_MAX];
    struct table t;
    int n = block_ops(b, ops);
    (void)scene;
    (void)on;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n; i++) {
        table_add(&t, "%s", ops[i].name);
        table_add(&t, "%s", OP_KINDS[ops[i].kind]);
        add_shape(&ops[i], &t.text);
        table_take(&t);
        take_bytes(&t, ops[i].saved);
        take_bytes(&t, ops[i].temporary);
        take_bytes(&t, ops[i].temporary_back);
    }
    print_title(b, style, out);
    table_print(&t, style, out);
}

static void add_time_row(struct table *t, const char *name, const char *kind,
                         const struct op_time *time)
{
    const double seconds[] = {time->forward_s, time->backward_s, time->weight_s};
    table_add(t, "%s", name);
    table_add(t, "%s", kind);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        if (seconds[i] > 0)
            add_seconds(&t->text, seconds[i]);
        table_take(t);
    }
}

static void print_times(const struct scene *scene, const struct costing *on,
                        const struct block_shape *b, const struct report_style *style,
                        struct str *out)
{
    static const struct table_column columns[] = {{"operator", TABLE_LEFT, 0},
                                                  {"kind", TABLE_LEFT, 1},
                                                  {"forward", TABLE_RIGHT, 0},
                                                  {"backward", TABLE_RIGHT, 0},
                                                  {"of it weights", TABLE_RIGHT, 0}};
    struct op ops[OPS_MAX];
    struct op_time time[OPS_MAX], sum = {0};
    struct table t;
    int n = block_ops(b, ops);
    cost_predict(on, b->precision, scene->te, ops, (size_t)n, time);
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n; i++) {
        add_time_row(&t, ops[i].name, OP_KINDS[ops[i].kind], &time[i]);
        sum.forward_s += time[i].forward_s;
        sum.backward_s += time[i].backward_s;
        sum.weight_s += time[i].weight_s;
    }
    add_time_row(&t, "sum, nothing hidden", "", &sum);
    print_title(b, style, out);
    table_print(&t, style, out);
}

/* Once, or for each mesh of a mixed job where they differ. */
static void each_mesh(const struct plan *p, bool differ, block_printer *print,
                      const struct report_style *style, struct str *out)
{
    int rank = 0;
    if (!differ)
        each_block(p, 0, print, style, out);
    for (int i = 0; differ && i < p->meshes->count; i++) {
        const struct mesh *m = &p->meshes->mesh[i];
        str_addf(out, "\nOn %s", m->group->gpu->name);
        if (m->stages > 0)
            str_addf(out, ", stage%s %d", m->stages > 1 ? "s" : "", rank);
        if (m->stages > 1)
            str_addf(out, " to %d", rank + m->stages - 1);
        str_add(out, "\n");
        rank += m->stages;
        each_block(p, i, print, style, out);
    }
}

void explain_ops(const struct plan_answer *a, const struct report_style *style, struct arena *mem,
                 struct str *out)
{
    const struct plan *p = a->plan;
    (void)mem;
    str_add(out, "\n");
    typeset_wrap(style, "Operators of each block: one micro-batch on one GPU", 2, out);
    each_mesh(p, p->meshes && !mesh_list_uniform(p->meshes), print_ops, style, out);
}

void explain_cost(const struct plan_answer *a, const struct report_style *style, struct arena *mem,
                  struct str *out)
{
    const struct plan *p = a->plan;
    str_add(out, "\n");
    typeset_wrap(style,
                 arena_format(mem, "Seconds of each operator: one micro-batch on one GPU (%s)",
                              p->provenance),
                 2, out);
    each_mesh(p, p->meshes, print_times, style, out);
}
