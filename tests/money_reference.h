/* The plainest search for what to rent: every plan on each type alone and on several, what its run
 * takes and costs by arithmetic of its own, then loops over all of them. The judge of the real
 * one. */
#pragma once

#include "asked.h"
#include "mixed_reference.h"
#include "reference.h"

/* What the test has asked for, in its own numbers. */
struct money_type {
    const char *name;
    double usd;                     /* per GPU-hour */
    double mtbf_h, interruptions_h; /* of a GPU, 0 = never; of a node in an hour */
};

struct money_terms {
    int types;
    struct money_type type[3];
    double tokens;
    double write_s, restart_s, interval_s; /* of a checkpoint; 0 = the best interval */
};

struct money_limits {
    double usd, seconds; /* INFINITY = none */
};

/* The best of one kind of plan. */
struct money_plan {
    int64_t step, gpus;
    double hours, usd; /* of the run */
    bool mixed;
    const struct node_group *group; /* where it is on one */
    struct strategy strategy;
};

struct money_reference {
    const struct money_terms *terms;
    const struct cluster *cluster;
    int count, capacity;
    struct money_plan *plan; /* owned */
    bool whole;              /* false: more plans than brute force should walk */
    int fronts;
    struct money_plan *front; /* owned; fastest first */
};

static const struct money_type *money_type_of(const struct money_terms *t,
                                              const struct node_group *g)
{
    for (int i = 0; i < t->types; i++)
        if (gpu_find(t->type[i].name, NULL) == g->gpu)
            return &t->type[i];
    return NULL;
}

/* Seconds of wall clock for one of training, when checkpoints are tau seconds of it apart. */
static double money_stretch(const struct money_terms *t, double between_s, double tau)
{
    return between_s * exp(t->restart_s / between_s) * expm1((tau + t->write_s) / between_s) / tau;
}

/* With given intervals by the formula, else by looking for the least. */
static double money_slowdown(const struct money_terms *t, double outages_per_h)
{
    double between_s = 3600 / outages_per_h, low = 0, high = between_s;
    if (outages_per_h == 0)
        return t->interval_s > 0 ? (t->interval_s + t->write_s) / t->interval_s : 1;
    if (t->interval_s > 0)
        return money_stretch(t, between_s, t->interval_s);
    if (t->write_s == 0)
        return exp(t->restart_s / between_s);
    for (int i = 0; i < 300; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (money_stretch(t, between_s, a) < money_stretch(t, between_s, b))
            high = b;
        else
            low = a;
    }
    return money_stretch(t, between_s, (low + high) / 2);
}

/* `gpus` of each group of the cluster; nodes are whole. */
static void money_price(const struct money_reference *r, const int64_t gpus[],
                        struct money_plan *out)
{
    const struct money_terms *t = r->terms;
    double usd_per_h = 0, outages_per_h = 0;
    double batch = (double)out->strategy.global_batch * out->strategy.seq_len;
    for (int g = 0; g < r->cluster->groups; g++) {
        const struct node_group *group = &r->cluster->group[g];
        const struct money_type *type = money_type_of(t, group);
        int64_t nodes = gpus[g] / group->per_node + (gpus[g] % group->per_node > 0);
        double failures = type->mtbf_h > 0 ? group->per_node / type->mtbf_h : 0;
        usd_per_h += (double)(nodes * group->per_node) * type->usd;
        outages_per_h += (double)nodes * (failures + type->interruptions_h);
    }
    out->hours = ceil(t->tokens / batch) * ((double)out->step / TICKS_PER_S) *
                 money_slowdown(t, outages_per_h) / 3600;
    out->usd = out->hours * usd_per_h;
}

static struct money_plan *money_room(struct money_reference *r)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 256;
        r->plan = memory_grow(r->plan, (size_t)r->capacity * sizeof *r->plan);
    }
    return &r->plan[r->count++];
}

/* A plan on one type. */
static void money_take(void *context, const struct plan *p)
{
    struct money_reference *r = context;
    struct money_plan x = {.step = llround(p->step_s * TICKS_PER_S),
                           .gpus = strategy_gpus(&p->strategy),
                           .group = p->group,
                           .strategy = p->strategy};
    int64_t gpus[CLUSTER_MAX_GROUPS] = {0};
    int at = 0;
    while (at < r->count && !(r->plan[at].group == x.group &&
                              strategy_same_kind(&r->plan[at].strategy, &x.strategy)))
        at++;
    if (at < r->count && r->plan[at].step <= x.step)
        return;
    gpus[x.group - r->cluster->group] = x.gpus;
    money_price(r, gpus, &x);
    *(at < r->count ? &r->plan[at] : money_room(r)) = x;
}

static void money_take_mixed(struct money_reference *r, const struct mixed_found *f)
{
    struct money_plan x = {
        .step = f->step, .gpus = f->gpus, .mixed = true, .strategy = f->strategy};
    int64_t gpus[CLUSTER_MAX_GROUPS] = {0};
    for (int i = 0; i < f->meshes.count; i++) {
        const struct mesh *m = &f->meshes.mesh[i];
        gpus[m->group - r->cluster->group] += mesh_stage_gpus(m, &f->strategy) * m->stages;
    }
    money_price(r, gpus, &x);
    *money_room(r) = x;
}

static bool money_beats(const struct money_plan *a, const struct money_plan *b)
{
    return a->hours <= b->hours && a->usd <= b->usd && (a->hours < b->hours || a->usd < b->usd);
}

static int money_by_hours(const void *x, const void *y)
{
    const struct money_plan *a = x, *b = y;
    return a->hours < b->hours ? -1 : a->hours > b->hours;
}

/* Every plan against every other; of equal ones the first. */
static void money_filter(struct money_reference *r)
{
    r->front = memory_grow(NULL, (size_t)(r->count + 1) * sizeof *r->front);
    for (int i = 0; i < r->count; i++) {
        const struct money_plan *x = &r->plan[i];
        bool beaten = !(x->usd < INFINITY);
        for (int j = 0; j < r->count && !beaten; j++)
            beaten = money_beats(&r->plan[j], x) ||
                     (j < i && r->plan[j].hours == x->hours && r->plan[j].usd == x->usd);
        if (!beaten)
            r->front[r->fronts++] = *x;
    }
    qsort(r->front, (size_t)r->fronts, sizeof *r->front, money_by_hours);
}

/* The query is resolved, without limits. */
static void money_reference_run(struct money_reference *r, struct asked *asked, double limit)
{
    struct mixed_query mq;
    const struct query *q = &asked->query;
    struct error err = {0};
    r->cluster = &q->cluster;
    r->whole = true;
    for (int g = 0; g < q->cluster.groups && r->whole; g++) {
        struct search_query sq;
        struct reference one = {.limit = limit, .each = money_take, .context = r};
        if (!query_search(q, g, &asked->mem, &sq, &err))
            continue; /* fewer GPUs than asked for */
        reference_run(&one, &sq, &asked->mem);
        results_release(&one.results);
        r->whole = one.valid < limit;
    }
    if (r->whole && query_mixed(q, &asked->mem, &mq, &err)) {
        struct mixed_reference several = {.limit = limit};
        mixed_reference_run(&several, &mq);
        r->whole = !reference_gave_up(&several);
        for (int i = 0; i < several.kinds; i++)
            money_take_mixed(r, &several.kind[i]);
        mixed_reference_release(&several);
    }
    money_filter(r);
}

static void money_reference_release(struct money_reference *r)
{
    free(r->plan);
    free(r->front);
}

/* Totals are whole cents. */
static bool money_keeps(const struct money_plan *p, struct money_limits l)
{
    return p->usd < l.usd + 0.005 && p->hours * 3600 <= l.seconds;
}

static bool money_before(const struct money_plan *a, const struct money_plan *b, bool cheap)
{
    double x = cheap ? a->usd : a->hours, y = cheap ? b->usd : b->hours;
    return x != y ? x < y : cheap ? a->hours < b->hours : a->usd < b->usd;
}

/* The best `top` plans within the limits, best first; how many there are. */
static int money_best(const struct money_reference *r, struct money_limits l, bool cheap, int top,
                      const struct money_plan *out[])
{
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        const struct money_plan *x = &r->plan[i];
        int at = count;
        while (at > 0 && money_before(x, out[at - 1], cheap))
            at--;
        if (at == top || !money_keeps(x, l))
            continue;
        count += count < top;
        memmove(&out[at + 1], &out[at], (size_t)(count - 1 - at) * sizeof *out);
        out[at] = x;
    }
    return count;
}
