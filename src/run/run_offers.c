/* What to rent: beside the plan that was chosen, the best one of every type of GPU that was asked
 * about, and why it is not the one. Each type is searched once more on its own, for its best plan
 * alone: types that lose are cut off early in the search over all of them. */
#include "run/commands.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "query/query.h"
#include "report/plan_words.h"
#include "search/results.h"

#include <math.h>

/* The best plan of one type under these limits; NULL: there is none. The front is not asked for: a
 * plan that costs no time and no money keeps everything else off it. */
static const struct plan *best_of(const struct query *q, int g, const struct limits *limits,
                                  struct arena *mem)
{
    static const struct found nothing = {.score = {0, 0}};
    struct search_query *sq = arena_alloc(mem, sizeof *sq);
    struct search_result found;
    struct results results;
    struct found first;
    struct plan *p = NULL;
    if (!query_search(q, g, mem, sq, NULL))
        return NULL;
    results_init(&results, limits, 1, mem);
    front_add(&results.front, &nothing);
    sq->top = 1;
    sq->limits = limits;
    sq->results = &results;
    search_run(sq, mem, &found);
    if (shortlist_rank(&results.best, &first) > 0) {
        p = arena_alloc(mem, sizeof *p);
        plan_evaluate(&sq->scene, &first.strategy, NULL, mem, p);
    }
    results_release(&results);
    return p;
}

static double run_of(enum objective objective, const struct plan *p)
{
    return objective == OBJECTIVE_COST ? p->usd_per_mtoken : 1 / p->net_tokens_per_s;
}

/* "takes 12 % longer" */
static const char *behind(enum objective objective, const struct plan *p, const struct plan *best,
                          double resolution, struct arena *mem)
{
    bool cost = objective == OBJECTIVE_COST;
    double more = run_of(objective, p) / run_of(objective, best) - 1;
    if (more <= resolution)
        return "as good: other criteria decided";
    if (more >= 1)
        return arena_format(mem, "%s %.1f times as %s", cost ? "costs" : "takes", 1 + more,
                            cost ? "much" : "long");
    return arena_format(mem, "%s %.*f %% %s", cost ? "costs" : "takes", more < 0.1 ? 1 : 0,
                        100 * more, cost ? "more" : "longer");
}

/* No plan of the type keeps the limits: the one that comes nearest, and what it breaks. */
static void say_broken(const struct query *q, int g, struct limits limits, struct offer *out,
                       struct arena *mem)
{
    struct str s = {0};
    limits.most_usd = limits.most_time = INFINITY;
    limits.objective = q->budget_usd > 0 ? OBJECTIVE_COST : OBJECTIVE_SPEED;
    out->plan = best_of(q, g, &limits, mem);
    if (!out->plan) {
        out->why = "no plan is valid and fits";
        return;
    }
    if (q->budget_usd > 0 && out->plan->usd_total > q->budget_usd) {
        str_add(&s, "its cheapest plan is over the budget by ");
        add_usd(&s, out->plan->usd_total - q->budget_usd);
    } else if (q->deadline_s > 0 && out->plan->hours * 3600 > q->deadline_s &&
               !(q->budget_usd > 0)) {
        str_add(&s, "its fastest plan misses the deadline by ");
        add_seconds(&s, out->plan->hours * 3600 - q->deadline_s);
    } else {
        str_add(&s, "no plan stays within budget and deadline");
    }
    out->why = str_keep(&s, mem);
}

static bool is_of(const struct plan *p, const struct node_group *g)
{
    return !p->meshes && p->group == g;
}

static void fill_offer(const struct query *q, int g, const struct limits *limits,
                       const struct plan *best, struct offer *out, struct arena *mem)
{
    *out = (struct offer){.group = &q->cluster.group[g], .rent = &q->rent[g]};
    if (is_of(best, out->group)) {
        out->plan = best;
        out->within = true;
        out->why = "plan 1";
        return;
    }
    out->plan = best_of(q, g, limits, mem);
    out->within = out->plan;
    if (!out->plan)
        say_broken(q, g, *limits, out, mem);
    else
        out->why = behind(limits->objective, out->plan, best, limits->resolution, mem);
}

/* The type that wins under these prices: group `first` unless another is better than the resolution.
 * NULL: none has a plan. */
static const struct plan *winner(const struct query *q, const struct limits *limits, int first,
                                 struct arena *mem)
{
    const struct plan *best = best_of(q, first, limits, mem);
    for (int g = 0; g < q->cluster.groups; g++) {
        bool asked = g != first && q->rent[g].usd_per_hour > 0;
        const struct plan *p = asked ? best_of(q, g, limits, mem) : NULL;
        if (p && (!best || run_of(limits->objective, p) <
                               run_of(limits->objective, best) * (1 - limits->resolution)))
            best = p;
    }
    return best;
}

/* Whether the other rule for prices (cheapest instead of median, or the other way) chooses another
 * type. */
static const char *other_offer(const struct query *q, const struct limits *limits,
                               const struct plan *best, struct arena *mem)
{
    struct query *other = arena_alloc(mem, sizeof *other);
    struct price_list list;
    struct price_ask ask;
    struct str s = {0};
    *other = *q;
    if (best->meshes || !options_price_list(q->given, mem, &list, &ask, NULL))
        return NULL;
    ask.cheapest = !ask.cheapest;
    rents_apply(other->rent, &other->cluster, &list, &ask, false, NULL);
    const struct plan *then = winner(other, limits, best->group->index, mem);
    if (!then || then->group->gpu == best->group->gpu)
        return NULL;
    str_addf(&s, "with --offer %s %s wins: ", ask.cheapest ? "cheapest" : "median",
             then->group->gpu->name);
    add_gpus(then, &s);
    if (then->hours > 0) {
        str_add(&s, ", ");
        add_seconds(&s, 3600 * then->hours);
        str_add(&s, ", ");
        add_usd(&s, then->usd_total);
    }
    str_addf(&s, " at $%.4g a GPU-hour", other->rent[then->group->index].usd_per_hour);
    return str_keep(&s, mem);
}

/* Those that keep the limits first, and of these the best; then as they were asked. */
static bool comes_before(const struct limits *limits, const struct offer *a, const struct offer *b)
{
    if (a->within != b->within || !a->within)
        return a->within && !b->within;
    return run_of(limits->objective, a->plan) < run_of(limits->objective, b->plan);
}

static void sort_offers(const struct limits *limits, struct offers *o)
{
    for (int i = 1; i < o->count; i++)
        for (int k = i; k > 0 && comes_before(limits, &o->offer[k], &o->offer[k - 1]); k--) {
            struct offer x = o->offer[k];
            o->offer[k] = o->offer[k - 1];
            o->offer[k - 1] = x;
        }
}

/* Where a budget shuts nothing out, cheaper prices change nothing. */
static bool prices_matter(const struct query *q, const struct limits *limits,
                          const struct offers *o, bool binds)
{
    bool refused = false;
    for (int i = 0; i < o->count; i++)
        refused |= !o->offer[i].within;
    return limits->objective == OBJECTIVE_COST ||
           (q->budget_usd > 0 && (binds || refused || q->given->money.offer > 0));
}

const struct offers *offers_of(const struct query *q, const struct plan *best, bool binds,
                               struct arena *mem)
{
    struct offers *o = arena_alloc(mem, sizeof *o);
    struct limits limits;
    if (q->cluster.groups < 2 || !query_limits(q, &limits, NULL))
        return NULL;
    *o = (struct offers){.count = q->cluster.groups,
                         .offer = arena_array(mem, (size_t)q->cluster.groups, sizeof *o->offer)};
    for (int g = 0; g < o->count; g++)
        fill_offer(q, g, &limits, best, &o->offer[g], mem);
    sort_offers(&limits, o);
    if (prices_matter(q, &limits, o, binds))
        o->other = other_offer(q, &limits, best, mem);
    return o;
}
