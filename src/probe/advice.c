/* When a search comes back empty it is asked again with one thing changed at a time, the least
 * intrusive first, until something is found. Searches take milliseconds. What stood in the way is
 * then the reason whose share shrank the most by that change: the largest share alone says little,
 * as most strategies of any space are too large for the pool. */
#include "probe/advice.h"

#include "base/str.h"
#include "base/units.h"
#include "search/mixed/mixed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double WORTH_NAMING = 0.1; /* share of the space that a cause has dropped */

struct advice {
    const struct query *query;
    const struct funnel *failed; /* NULL = no group was large enough to be searched */
    const char *cause;           /* a reason of `failed`; NULL = not known */
    struct found best;           /* what the change finds */
    char where[256];             /* its GPUs, "64 H100" or "24 A100 and 40 H100" */
    int64_t nodes;               /* of them */
};

static double share(const struct funnel *f, const char *reason)
{
    for (int i = 0; i < f->drops; i++)
        if (strcmp(f->drop[i].reason, reason) == 0)
            return f->drop[i].count / f->generated;
    return 0;
}

static const char *relieved(const struct funnel *failed, const struct funnel *better)
{
    const char *cause = NULL;
    double most = 0;
    for (int i = 0; i < failed->drops; i++) {
        const char *reason = failed->drop[i].reason;
        double by = share(failed, reason) - share(better, reason);
        if (by > most) {
            most = by;
            cause = reason;
        }
    }
    return cause;
}

static bool finds_on(struct advice *ad, const struct query *q, int g, struct arena *mem)
{
    struct search_query sq;
    struct search_result result;
    if (!query_search(q, g, mem, &sq, NULL))
        return false;
    sq.top = 1;
    sq.exhaustive = false;
    search_run(&sq, mem, &result);
    if (result.best == 0)
        return false;
    const struct node_group *group = &q->cluster.group[g];
    ad->best = result.found[0];
    ad->nodes = (ad->best.gpus + group->per_node - 1) / group->per_node;
    snprintf(ad->where, sizeof ad->where, "%lld %s", (long long)ad->best.gpus, group->gpu->name);
    if (ad->failed)
        ad->cause = relieved(ad->failed, &result.funnel);
    return true;
}

static void note_meshes(struct advice *ad, const struct mixed_found *x)
{
    size_t used = 0;
    ad->nodes = 0;
    for (int i = 0; i < x->meshes.count && used < sizeof ad->where; i++) {
        const struct mesh *m = &x->meshes.mesh[i];
        int64_t gpus = m->stages * mesh_stage_gpus(m, &x->strategy);
        ad->nodes += (gpus + m->group->per_node - 1) / m->group->per_node;
        used += (size_t)snprintf(ad->where + used, sizeof ad->where - used, "%s%lld %s",
                                 i ? " and " : "", (long long)gpus, m->group->gpu->name);
    }
}

static bool finds_mixed(struct advice *ad, const struct query *q, struct arena *mem)
{
    struct mixed_query mq;
    struct mixed_result result;
    if (!query_mixed(q, mem, &mq, NULL))
        return false;
    mq.top = 1;
    mixed_run(&mq, mem, &result);
    if (result.best == 0)
        return false;
    const struct mixed_found *x = &result.found[0];
    ad->best = (struct found){.step = x->step, .gpus = x->gpus, .strategy = x->strategy};
    note_meshes(ad, x);
    return true;
}

/* Searches the groups until one has a plan, then several at once, in memory of its own. */
static bool finds_in(struct advice *ad, const struct query_terms *terms,
                     const struct cluster *cluster)
{
    bool found = false;
    struct arena mem;
    arena_init(&mem);
    const struct query *q = query_derive(ad->query, terms, cluster, &mem, NULL);
    for (int g = 0; q && g < q->cluster.groups && !found; g++)
        found = finds_on(ad, q, g, &mem);
    found = found || (q && finds_mixed(ad, q, &mem));
    arena_release(&mem);
    return found;
}

static bool finds(struct advice *ad, const struct query_terms *terms)
{
    return finds_in(ad, terms, NULL);
}

static void add_setting(struct str *out, int p, const struct setting *s)
{
    str_addf(out, "--set %s=", param_info((enum param)p)->name);
    for (int i = 0; i < s->count; i++) {
        str_add(out, i ? "," : "");
        param_print((enum param)p, s->value[i], out);
    }
}

static bool advise_settings(struct advice *ad, struct str *out)
{
    const struct query_terms *asked = &ad->query->terms;
    for (int p = PARAM_FIRST_CELL; p < PARAMS; p++) {
        struct query_terms copy = *asked;
        copy.settings[p].count = 0;
        if (asked->settings[p].count == 0 || !finds(ad, &copy))
            continue;
        str_add(out, "without ");
        add_setting(out, p, &asked->settings[p]);
        str_addf(out, " there is a plan with %s=", param_info((enum param)p)->name);
        param_print((enum param)p, strategy_get(&ad->best.strategy, (enum param)p), out);
        return true;
    }
    return false;
}

static bool advise_rules(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    if (copy.rules.count == 0)
        return false;
    rules_init(&copy.rules);
    if (!finds(ad, &copy))
        return false;
    str_addf(out, "without the rules of %s there is a plan", ad->query->terms.rules.rule[0].file);
    return true;
}

static bool advise_fewer_gpus(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    copy.gpus = 0;
    if (ad->query->terms.gpus == 0 || !finds(ad, &copy))
        return false;
    str_addf(out, "without --gpus there is a plan on %s", ad->where);
    return true;
}

/* The number of GPUs next to the one asked for that several types can be used with. */
static bool advise_near_gpus(struct advice *ad, struct str *out)
{
    enum { TRIES = 32 };
    struct query_terms copy = ad->query->terms;
    const struct cluster *c = &ad->query->cluster;
    int64_t asked = copy.gpus, most = cluster_max_gpus(c), step = c->group[0].per_node;
    if (asked == 0 || c->groups < 2)
        return false;
    for (int g = 1; g < c->groups; g++)
        step = c->group[g].per_node < step ? c->group[g].per_node : step;
    step = asked % step == 0 ? step : 1;
    for (int64_t i = asked > most ? (asked - most + step - 1) / step : 1, n = 0; n < TRIES;
         i++, n++)
        for (int side = 0; side < 2; side++) {
            copy.gpus = asked + (side ? i : -i) * step;
            if (copy.gpus < 1 || copy.gpus > most || !finds(ad, &copy))
                continue;
            str_addf(out, "the nearest number that works is %lld: %s", (long long)copy.gpus,
                     ad->where);
            return true;
        }
    return false;
}

static bool advise_margin(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    copy.memory_margin = 0;
    if (ad->query->terms.memory_margin == 0 || !finds(ad, &copy))
        return false;
    str_add(out, "with --memory-margin 0 there is a plan, with no memory to spare");
    return true;
}

static bool advise_stack(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    copy.stack = copy.stack == STACK_TORCH ? STACK_TE : STACK_TORCH;
    if (!finds(ad, &copy))
        return false;
    str_addf(out, "with --stack %s there is a plan", copy.stack == STACK_TE ? "te" : "torch");
    return true;
}

static bool advise_precision(struct advice *ad, struct str *out)
{
    static const int formats[] = {PRECISION_BF16, PRECISION_FP16};
    struct query_terms copy = ad->query->terms;
    copy.settings[PARAM_precision].count = 0;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        copy.precision = formats[i];
        if (!finds(ad, &copy))
            continue;
        str_add(out, "with --precision ");
        param_print(PARAM_precision, copy.precision, out);
        str_add(out, " there is a plan");
        return true;
    }
    return false;
}

static bool advise_seq_len(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    copy.settings[PARAM_seq_len].count = 0;
    copy.global_batch = query_global_batch(ad->query);
    copy.seq_len = ad->query->model.max_seq;
    if (ad->query->terms.seq_len <= copy.seq_len || !finds(ad, &copy))
        return false;
    str_addf(out, "with --seq-len %d, the model's longest, there is a plan", copy.seq_len);
    return true;
}

/* Nodes of an odd size hold numbers of GPUs that do not split well: a power of two may. */
static bool advise_some_gpus(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    int per_node = ad->query->cluster.group[0].per_node;
    int64_t n = 1, most = cluster_max_gpus(&ad->query->cluster);
    if (copy.gpus || (per_node & (per_node - 1)) == 0)
        return false;
    while (2 * n <= most)
        n *= 2;
    for (; n > 1; n /= 2) {
        copy.gpus = n;
        if (!finds(ad, &copy))
            continue;
        str_addf(out, "with --gpus %lld there is a plan", (long long)n);
        return true;
    }
    return false;
}

static bool double_nodes(struct cluster *c)
{
    for (int g = 0; g < c->groups; g++) {
        if (c->group[g].nodes_max > CLUSTER_MAX_NODES / 2)
            return false;
        c->group[g].nodes_max *= 2;
    }
    return true;
}

static bool advise_more_nodes(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    struct cluster cluster = ad->query->cluster;
    copy.gpus = 0;
    for (int doubled = 0; doubled < 6 && double_nodes(&cluster); doubled++) {
        if (!finds_in(ad, &copy, &cluster))
            continue;
        str_addf(out, "%s (%lld nodes) would do", ad->where, (long long)ad->nodes);
        return true;
    }
    return false;
}

static bool advise_batch(struct advice *ad, struct str *out)
{
    struct query_terms copy = ad->query->terms;
    int asked = query_global_batch(ad->query);
    copy.settings[PARAM_global_batch].count = 0;
    for (int factor = 2; factor <= 64 && asked < 1 << 24; factor *= 2) {
        copy.global_batch = asked * factor;
        if (!finds(ad, &copy))
            continue;
        str_addf(out, "with --global-batch %d there is a plan", copy.global_batch);
        return true;
    }
    return false;
}

/* The first change that helps, in words; empty when none does. */
static void find_advice(struct advice *ad, struct str *out)
{
    static bool (*const advisers[])(struct advice *, struct str *) = {
        advise_near_gpus, advise_settings,   advise_rules,     advise_fewer_gpus,
        advise_margin,    advise_stack,      advise_precision, advise_seq_len,
        advise_some_gpus, advise_more_nodes, advise_batch};
    for (size_t i = 0; i < sizeof advisers / sizeof *advisers && out->length == 0; i++)
        advisers[i](ad, out);
}

static void add_drop(const struct advice *ad, struct str *out)
{
    const struct funnel *f = ad->failed;
    const char *reason = ad->cause ? ad->cause : f->drops > 0 ? f->drop[0].reason : NULL;
    str_add(out, "no strategy is feasible");
    if (!reason || share(f, reason) < WORTH_NAMING)
        return;
    str_add(out, "; ");
    add_count(out, share(f, reason) * f->generated);
    str_add(out, " of ");
    add_count(out, f->generated);
    str_addf(out, " were dropped: %s", reason);
}

static void add_memory(const struct search_result *r, struct str *out)
{
    if (r->fullness >= HOPELESS) {
        str_add(out, "no strategy fits in memory; what may be used does not even hold the driver's "
                     "context and "
                     "communication buffers");
        return;
    }
    str_addf(
        out,
        "no strategy fits in memory; what came nearest needs %.2f times what may be allocated: ",
        r->fullness);
    strategy_print(&r->nearest, out);
}

static bool has_ranges(const struct cluster *c)
{
    for (int g = 0; g < c->groups; g++)
        if (c->group[g].nodes_min < c->group[g].nodes_max)
            return true;
    return false;
}

/* Why no job on several types has as many GPUs. */
static const char *why_not_mixed(const struct query *q)
{
    const struct setting *pp = &q->terms.settings[PARAM_pp];
    if (q->terms.mix == 1)
        return "--mix 1 allows no job on several types";
    if (q->terms.mix == 0 && has_ranges(&q->cluster))
        return "with ranges of nodes one type is used at a time: --mix 2 allows two in one job";
    if (q->terms.settings[PARAM_split].count > 0)
        return "jobs on several types have layouts, which --set split excludes";
    if (pp->count == 1 && pp->value[0] == 1)
        return "one stage (--set pp=1) cannot be on several types";
    if (!cluster_one_maker(&q->cluster, ~0u))
        return "GPUs of different makers do not work in one job";
    if (q->cluster.groups > MIX_MAX)
        return "at most four types work in one job";
    return "no stages of tp x cp x dp GPUs of one type each make that number of several, pass the "
           "rules on each type and fit in memory";
}

static void add_size(const struct query *q, struct str *out)
{
    int64_t most = 0, all = cluster_max_gpus(&q->cluster);
    for (int g = 0; g < q->cluster.groups; g++) {
        int64_t here = (int64_t)q->cluster.group[g].nodes_max * q->cluster.group[g].per_node;
        most = here > most ? here : most;
    }
    str_addf(out, "%lld GPUs are asked for, the pool has ", (long long)q->terms.gpus);
    if (q->cluster.groups == 1)
        str_addf(out, "at most %lld of one type", (long long)all);
    else if (q->terms.gpus > all)
        str_addf(out, "%lld", (long long)all);
    else
        str_addf(out, "at most %lld of one type, and %s", (long long)most, why_not_mixed(q));
}

/* The group that came nearest to an answer. */
static const struct search_result *nearest_of(const struct search_result *results, int count)
{
    const struct search_result *nearest = count > 0 ? results : NULL;
    for (int i = 1; i < count; i++)
        if (isfinite(results[i].fullness) && !(results[i].fullness >= nearest->fullness))
            nearest = &results[i];
    return nearest;
}

void advice_write(const struct query *q, const struct search_result *results, int count,
                  struct error *err)
{
    const struct search_result *nearest = nearest_of(results, count);
    struct advice ad = {.query = q, .failed = nearest ? &nearest->funnel : NULL};
    struct str advice, s;
    str_init(&advice);
    str_init(&s);
    find_advice(&ad, &advice);
    if (!nearest)
        add_size(q, &s);
    else if (isfinite(nearest->fullness))
        add_memory(nearest, &s);
    else
        add_drop(&ad, &s);
    str_addf(&s, "; %s",
             advice.length ? str_text(&advice) : "no single change of the options helps");
    fail(err, ERROR_INFEASIBLE, "%s", str_text(&s));
    str_release(&advice);
    str_release(&s);
}
