/* From one plan to another, a difference at a time: each is applied to what those before it made, so
 * that the changes multiply to the whole, and also to the first plan alone, which shows what they do
 * to each other. Data-parallel ways are no difference of their own: they follow from the GPUs. */
#include "probe/differences.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "probe/probe.h"
#include "query/query.h"

#include <string.h>

/* What can differ beside parameters. */
enum { OF_MODEL = PARAMS, OF_STACK, OF_RUN, OF_CLUSTER, OF_PRICE };

struct comparing {
    const struct side *a, *b;
    struct probe probe;
    bool laid_out; /* one has a layout string: it goes with the number of stages */
};

/* The plan on the way. */
struct waypoint {
    struct scene scene;
    struct strategy strategy;
    const struct layout *layout;
    int64_t gpus;
};

double plan_token_s(const struct plan *p)
{
    return p->step_s / ((double)p->strategy.global_batch * p->strategy.seq_len);
}

/* The parameter whose difference a parameter's is part of. */
static enum param group_of(const struct comparing *w, enum param p)
{
    bool pipeline = p == PARAM_split || p == PARAM_first_layers || p == PARAM_last_layers;
    if (w->laid_out && (pipeline || p == PARAM_vpp))
        return PARAM_pp;
    if (pipeline)
        return PARAM_split;
    return param_info(p)->axis;
}

static bool param_differs(const struct comparing *w, enum param p)
{
    return strategy_get(&w->a->asked->strategy, p) != strategy_get(&w->b->asked->strategy, p);
}

static bool layouts_differ(const struct comparing *w)
{
    struct str a = {0}, b = {0};
    const struct estimate_query *of[] = {w->a->asked, w->b->asked};
    if (of[0]->layout)
        layout_print(of[0]->layout, of[0]->scene.model, &a);
    if (of[1]->layout)
        layout_print(of[1]->layout, of[1]->scene.model, &b);
    bool differ = strcmp(str_text(&a), str_text(&b)) != 0;
    str_release(&a);
    str_release(&b);
    return differ;
}

static bool group_differs(const struct comparing *w, enum param group)
{
    if (group == PARAM_dp)
        return false;
    for (int p = 0; p < PARAMS; p++)
        if (group_of(w, (enum param)p) == group && param_differs(w, (enum param)p))
            return true;
    return w->laid_out && group == PARAM_pp && layouts_differ(w);
}

/* The first parameter of a group that differs: its name stands for the difference. */
static enum param leader(const struct comparing *w, enum param group)
{
    for (int p = 0; p < PARAMS; p++)
        if (group_of(w, (enum param)p) == group && param_differs(w, (enum param)p))
            return (enum param)p;
    return group;
}

static void add_layers(const struct plan *p, struct str *out)
{
    bool alike = true;
    for (int r = 1; r < p->stages; r++)
        alike = alike && p->stage[r].layers == p->stage[0].layers;
    for (int r = 0; r < (alike ? 1 : p->stages); r++)
        str_addf(out, "%s%d", r ? "+" : "", p->stage[r].layers);
    str_add(out, alike ? " layers each" : " layers");
}

/* Values of the parameters of a group that differ, "8", or "4, vpp 2" where there are more. What is
 * at its initial value goes without saying, but for the first. */
static const char *group_text(const struct comparing *w, const struct side *s, enum param group,
                              struct arena *mem)
{
    struct str text = {0};
    enum param first = leader(w, group);
    for (int i = 0; i < PARAMS; i++) {
        enum param p = (enum param)i;
        const struct param_info *info = param_info(p);
        int value = strategy_get(&s->asked->strategy, p);
        if (group_of(w, p) != group || !param_differs(w, p) || (p != first && value == info->init))
            continue;
        bool within = info->shown == SHOWN_WITHIN && p != PARAM_recompute_layers;
        if (p != first)
            str_addf(&text, within ? " " : ", %s ", info->name);
        param_print(p, value, &text);
    }
    if (w->laid_out && group == PARAM_pp) {
        str_add(&text, text.length ? ", " : "");
        add_layers(s->plan, &text);
    }
    return str_keep(&text, mem);
}

static const char *run_text(const struct scene *sc, struct arena *mem)
{
    return arena_format(mem, "imbalance %g, dropout %g and %g%s", sc->imbalance,
                        sc->attention_dropout, sc->hidden_dropout,
                        sc->switches.even_experts ? ", balanced experts" : "");
}

static bool runs_differ(const struct scene *a, const struct scene *b)
{
    return a->imbalance != b->imbalance || a->memory_imbalance != b->memory_imbalance ||
           a->attention_dropout != b->attention_dropout || a->hidden_dropout != b->hidden_dropout ||
           a->switches.softmax_fp32 != b->switches.softmax_fp32 ||
           a->switches.softmax_fused != b->switches.softmax_fused ||
           a->switches.separate_wgrads != b->switches.separate_wgrads ||
           a->switches.batch_mask != b->switches.batch_mask ||
           a->switches.offload != b->switches.offload ||
           a->switches.newton_steps != b->switches.newton_steps ||
           a->switches.deferred_wgrads != b->switches.deferred_wgrads ||
           a->switches.even_experts != b->switches.even_experts ||
           a->switches.whole_init != b->switches.whole_init;
}

static bool same_nodes(const struct node_group *a, const struct node_group *b)
{
    return a->gpu == b->gpu && a->per_node == b->per_node && a->domain == b->domain &&
           a->link_bs == b->link_bs && a->nic_bs == b->nic_bs &&
           a->oversubscription == b->oversubscription && a->host_speed == b->host_speed &&
           a->usable_bytes == b->usable_bytes;
}

static bool pools_differ(const struct side *a, const struct side *b)
{
    const struct cluster *x = &a->query->cluster, *y = &b->query->cluster;
    if (a->asked->gpus != b->asked->gpus || x->groups != y->groups)
        return true;
    for (int g = 0; g < x->groups; g++)
        if (!same_nodes(&x->group[g], &y->group[g]))
            return true;
    return false;
}

static const char *pool_text(const struct side *s, struct arena *mem)
{
    const struct cluster *c = &s->query->cluster;
    struct str text = {0};
    if (s->asked->gpus < cluster_max_gpus(c))
        str_addf(&text, "%lld GPUs of ", (long long)s->asked->gpus);
    for (int g = 0; g < c->groups; g++)
        str_addf(&text, "%s%dx%d:%s", g ? "," : "", c->group[g].nodes_max, c->group[g].per_node,
                 c->group[g].gpu->name);
    return str_keep(&text, mem);
}

static const char *price_text(const struct side *s, struct arena *mem)
{
    double usd = s->plan->gpus > 0 ? s->plan->usd_per_hour / (double)s->plan->gpus : 0;
    return usd > 0 ? arena_format(mem, "$%.2f a GPU-hour", usd) : "unknown";
}

static void add(struct differences *d, const char *name, int what, const char *from, const char *to)
{
    d->difference[d->count++] = (struct difference){name, from, to, what};
}

static const char *model_text(const struct model *m, struct arena *mem)
{
    struct str text = {0};
    str_addf(&text, "%s (", m->name);
    add_count(&text, (double)model_params_total(m));
    str_add(&text, ")");
    return str_keep(&text, mem);
}

static void list_query(struct differences *d, struct arena *mem)
{
    const struct scene *a = &d->a->asked->scene, *b = &d->b->asked->scene;
    char difference[256] = "";
    if (!model_same(a->model, b->model, difference, sizeof difference))
        add(d, "model", OF_MODEL, model_text(a->model, mem), model_text(b->model, mem));
    if (scene_stack(a) != scene_stack(b))
        add(d, "stack", OF_STACK, stack_name(scene_stack(a)), stack_name(scene_stack(b)));
    if (runs_differ(a, b))
        add(d, "run", OF_RUN, run_text(a, mem), run_text(b, mem));
    const char *from = price_text(d->a, mem), *to = price_text(d->b, mem);
    if (pools_differ(d->a, d->b))
        add(d, "cluster", OF_CLUSTER, pool_text(d->a, mem), pool_text(d->b, mem));
    else if (strcmp(from, to) != 0)
        add(d, "price", OF_PRICE, from, to);
}

static void list_params(const struct comparing *w, struct differences *d, struct arena *mem)
{
    for (int i = 0; i < PARAMS; i++) {
        enum param p = (enum param)i;
        if (group_of(w, p) != p || !group_differs(w, p))
            continue;
        add(d, param_info(leader(w, p))->name, p, group_text(w, w->a, p, mem),
            group_text(w, w->b, p, mem));
    }
}

static void put_param(const struct comparing *w, struct waypoint *s, enum param group)
{
    for (int p = 0; p < PARAMS; p++)
        if (group_of(w, (enum param)p) == group)
            strategy_set(&s->strategy, (enum param)p,
                         strategy_get(&w->b->asked->strategy, (enum param)p));
    if (w->laid_out && group == PARAM_pp)
        s->layout = w->b->asked->layout;
}

static void put_run(struct scene *s, const struct scene *b)
{
    s->imbalance = b->imbalance;
    s->memory_imbalance = b->memory_imbalance;
    s->attention_dropout = b->attention_dropout;
    s->hidden_dropout = b->hidden_dropout;
    s->switches = b->switches;
}

static void put_cluster(const struct comparing *w, struct waypoint *s, const struct scene *b)
{
    s->scene.group = b->group;
    s->scene.costing = b->costing;
    s->scene.rent = b->rent;
    s->gpus = strategy_gpus(&w->b->asked->strategy);
}

/* What of the second plan a difference puts in. */
static void put(const struct comparing *w, struct waypoint *s, const struct difference *d)
{
    const struct scene *b = &w->b->asked->scene;
    if (d->what < PARAMS)
        put_param(w, s, (enum param)d->what);
    else if (d->what == OF_STACK)
        s->scene.te = b->te, s->scene.stock = b->stock;
    else if (d->what == OF_RUN)
        put_run(&s->scene, b);
    else
        put_cluster(w, s, b);
}

static struct waypoint start(const struct comparing *w)
{
    const struct estimate_query *e = w->a->asked;
    return (struct waypoint){e->scene, e->strategy, e->layout, strategy_gpus(&e->strategy)};
}

/* NULL where the GPUs do not come out, or the stages cannot be laid out. */
static const struct plan *plan_at(const struct comparing *w, struct waypoint *s)
{
    int64_t ways = (int64_t)s->strategy.tp * s->strategy.cp * s->strategy.pp;
    if (s->gpus % ways != 0)
        return NULL;
    s->strategy.dp = (int)(s->gpus / ways);
    const struct plan *p = probe_plan(&w->probe, &s->scene, &s->strategy, s->layout);
    return p->computed ? p : NULL;
}

static void take_steps(const struct comparing *w, struct differences *d)
{
    struct waypoint now = start(w);
    for (int i = 0, first = 0; i < d->count; i++) {
        put(w, &now, &d->difference[i]);
        bool last = i == d->count - 1;
        const struct plan *p = last ? d->b->plan : plan_at(w, &now);
        if (!p)
            continue; /* together with the next one */
        struct difference_step *step = &d->step[d->steps++];
        struct waypoint alone = start(w);
        for (int k = first; k <= i; k++)
            put(w, &alone, &d->difference[k]);
        *step = (struct difference_step){first, i - first + 1, p, plan_at(w, &alone)};
        first = i + 1;
    }
}

static const char *not_taken_apart(const struct differences *d)
{
    const struct side *a = d->a, *b = d->b;
    if (d->count > 0 && d->difference[0].what == OF_MODEL)
        return "they train different models";
    if (a->asked->scene.meshes || b->asked->scene.meshes)
        return "a job on several groups of nodes is compared as a whole";
    if (!a->plan->computed || !b->plan->computed)
        return "one of them has no valid layout";
    return NULL;
}

const struct differences *differences_of(const struct side *a, const struct side *b,
                                         struct arena *mem, struct error *err)
{
    struct differences *d = arena_alloc(mem, sizeof *d);
    struct comparing w = {.a = a, .b = b, .laid_out = a->asked->layout || b->asked->layout};
    *d = (struct differences){.a = a, .b = b};
    if (!probe_init(&w.probe, b->query, b->plan, false, mem, err))
        return NULL;
    list_query(d, mem);
    list_params(&w, d, mem);
    d->why_not = not_taken_apart(d);
    if (!d->why_not)
        take_steps(&w, d);
    return d;
}
