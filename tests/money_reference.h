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
    double resolution;
};

struct money_limits {
    double usd, seconds; /* INFINITY = none */
};

/* The best of one row with one trouble. */
struct money_plan {
    int64_t step, gpus;
    double hours, usd;               /* of the run */
    const struct mixed_found *mixed; /* NULL: on one group */
    const struct node_group *group;  /* the first one's */
    struct strategy strategy;
    unsigned trouble;
};

struct money_reference {
    const struct money_terms *terms;
    const struct cluster *cluster;
    struct limits limits; /* none, but for the order */
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

static bool money_same_row(const struct money_plan *a, const struct money_plan *b)
{
    struct found x = {.strategy = a->strategy, .group = a->group, .mixed = a->mixed};
    struct found y = {.strategy = b->strategy, .group = b->group, .mixed = b->mixed};
    return choices_same_row(&x, &y, ROW_LAYOUT);
}

/* A plan on one type. */
static void money_take(void *context, const struct plan *p, const struct found *f)
{
    struct money_reference *r = context;
    struct money_plan x = {.step = f->step,
                           .gpus = f->gpus,
                           .group = p->group,
                           .strategy = p->strategy,
                           .trouble = f->trouble};
    int64_t gpus[CLUSTER_MAX_GROUPS] = {0};
    int at = 0;
    while (at < r->count && (r->plan[at].trouble != x.trouble || !money_same_row(&r->plan[at], &x)))
        at++;
    if (at < r->count && r->plan[at].step <= x.step)
        return;
    gpus[x.group - r->cluster->group] = x.gpus;
    money_price(r, gpus, &x);
    *(at < r->count ? &r->plan[at] : money_room(r)) = x;
}

static void money_take_mixed(struct money_reference *r, const struct found *f, struct arena *mem)
{
    struct mixed_found *own = arena_alloc(mem, sizeof *own);
    struct money_plan x = {.step = f->step,
                           .gpus = f->gpus,
                           .mixed = own,
                           .group = f->group,
                           .strategy = f->strategy,
                           .trouble = f->trouble};
    int64_t gpus[CLUSTER_MAX_GROUPS] = {0};
    *own = *f->mixed;
    for (int i = 0; i < own->meshes.count; i++) {
        const struct mesh *m = &own->meshes.mesh[i];
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
    r->limits = SPEED_ALONE;
    r->limits.resolution = r->terms->resolution;
    for (int g = 0; g < q->cluster.groups && r->whole; g++) {
        struct search_query sq;
        struct reference one = {.limit = limit, .each = money_take, .context = r};
        if (!query_search(q, g, &asked->mem, &sq, &err))
            continue; /* fewer GPUs than asked for */
        sq.limits = &r->limits;
        reference_run(&one, &sq, &asked->mem);
        reference_release(&one);
        r->whole = one.valid < limit;
    }
    if (r->whole && query_mixed(q, &asked->mem, &mq, &err)) {
        struct mixed_reference several = {.limit = limit, .limits = &r->limits};
        mixed_reference_run(&several, &mq);
        r->whole = !reference_gave_up(&several);
        for (int i = 0; i < several.choices.count; i++)
            money_take_mixed(r, &several.choices.x[i], &asked->mem);
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

/* What the order compares. */
static double money_key(const struct money_plan *p, bool cheap)
{
    return (cheap ? p->usd : p->hours) * (trouble_cautions(p->trouble) ? 1.10 : 1);
}

static bool money_before(const struct money_plan *a, const struct money_plan *b, bool cheap)
{
    double x = money_key(a, cheap), y = money_key(b, cheap);
    if (a->trouble != b->trouble)
        return a->trouble < b->trouble;
    return x != y ? x < y : cheap ? a->hours < b->hours : a->usd < b->usd;
}

/* The first of those that are left, by the definition of the order. */
static const struct money_plan *money_next(const struct money_reference *r, struct money_limits l,
                                           bool cheap, const struct money_plan *const *taken,
                                           int count)
{
    const struct money_plan *best = NULL;
    double least = INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->count; i++) {
            const struct money_plan *x = &r->plan[i];
            bool left = money_keeps(x, l);
            for (int k = 0; k < count; k++)
                left = left && !money_same_row(x, taken[k]);
            if (left && pass == 0)
                least = fmin(least, money_key(x, cheap));
            else if (left && money_key(x, cheap) <= least * (1 + r->limits.resolution) &&
                     (!best || money_before(x, best, cheap)))
                best = x;
        }
    return best;
}

/* The best `top` plans within the limits, best first; how many there are. */
static int money_best(const struct money_reference *r, struct money_limits l, bool cheap, int top,
                      const struct money_plan *out[])
{
    int count = 0;
    while (count < top && (out[count] = money_next(r, l, cheap, out, count)))
        count++;
    return count;
}

/* The fastest or the cheapest within the limits, to the second and the cent; NULL: none. */
static const struct money_plan *money_exact(const struct money_reference *r, struct money_limits l,
                                            bool cheap)
{
    const struct money_plan *best = NULL;
    for (int i = 0; i < r->count; i++) {
        const struct money_plan *x = &r->plan[i];
        double a = cheap ? x->usd : x->hours, b = !best   ? INFINITY
                                                  : cheap ? best->usd
                                                          : best->hours;
        double c = cheap ? x->hours : x->usd, d = !best   ? INFINITY
                                                  : cheap ? best->hours
                                                          : best->usd;
        if (money_keeps(x, l) && (a < b || (a == b && c < d)))
            best = x;
    }
    return best;
}
