/* The plainest search there is: every strategy of the product, each judged from scratch by all
 * rules and a whole evaluation. The judge of the real search in tests, and what the benchmark
 * compares it with. */
#pragma once

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cautions_met.h"
#include "order_reference.h"
#include "search/search.h"

#include <math.h>
#include <string.h>

struct reference {
    const struct search_query *query;
    struct space space;
    double values[SLOTS];
    struct strategy strategy;
    struct arena scratch;
    const struct limits *limits;
    struct choices choices; /* owned: reference_release() */
    struct front front;     /* owned */
    double tried, valid, fitting;
    double limit; /* stop after so many strategies that the rules allow; 0 = never */
    /* Told of all that fit; may be NULL. */
    void (*each)(void *context, const struct plan *, const struct found *);
    void *context;
};

static bool reference_valid(struct reference *r)
{
    const struct rules *rules = r->query->rules;
    slots_set_strategy(r->values, &r->strategy);
    for (int i = 0; i < rules->count; i++)
        if (!rule_allows(&rules->rule[i], r->values))
            return false;
    return true;
}

static void reference_try(struct reference *r)
{
    struct plan p;
    r->tried++;
    if (!reference_valid(r))
        return;
    r->valid++;
    plan_evaluate(&r->query->scene, &r->strategy, NULL, &r->scratch, &p);
    if (p.computed && p.feasible) {
        const struct node_group *group = r->query->scene.group;
        struct found x = {.step = llround(p.step_s * TICKS_PER_S),
                          .gpus = strategy_gpus(&r->strategy),
                          .strategy = r->strategy,
                          .group = group};
        struct rental h = rental_of(r->limits, r->query->scene.rent, group, x.gpus);
        x.trouble = choices_trouble(r->limits, &p, cautions_met(r->query->cautions, r->values),
                                    strategy_complexity(&r->strategy));
        found_judge(&x, r->limits, &h);
        r->fitting++;
        choices_add(&r->choices, &x, r->limits->row);
        front_add(&r->front, &x);
        if (r->each)
            r->each(r->context, &p, &x);
    }
    arena_clear(&r->scratch);
}

static void reference_walk_from(struct reference *r, int axis)
{
    const struct axis *a = &r->space.axis[axis];
    if (axis == r->space.axes) {
        reference_try(r);
        return;
    }
    for (int i = 0; i < a->options && !(r->limit > 0 && r->valid >= r->limit); i++) {
        for (int j = 0; j < a->params; j++)
            strategy_set(&r->strategy, a->param[j], a->value[i * a->params + j]);
        reference_walk_from(r, axis + 1);
    }
}

static void reference_run(struct reference *r, const struct search_query *q, struct arena *mem)
{
    r->query = q;
    r->tried = r->valid = r->fitting = 0;
    arena_init(&r->scratch);
    r->limits = q->limits ? q->limits : &SPEED_ALONE;
    r->choices = (struct choices){0};
    front_init(&r->front);
    search_fixed(q, r->values);
    search_space(q, mem, &r->space);
    reference_walk_from(r, 0);
    arena_release(&r->scratch);
}

static inline void reference_release(struct reference *r)
{
    choices_release(&r->choices);
    front_release(&r->front);
}
