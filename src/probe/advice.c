/* When a search comes back empty it is asked again with one thing changed at a time, the least
 * intrusive first, until something is found. Searches take milliseconds. What stood in the way is
 * then the reason whose share shrank the most by that change: the largest share alone says little,
 * as most strategies of any space are too large for the pool. */
#include "probe/advice.h"

#include "base/str.h"
#include "base/units.h"
#include "probe/probe.h"
#include "search/mixed/mixed.h"

#include <math.h>
#include <string.h>

static const double WORTH_NAMING = 0.1; /* share of the space that a cause has dropped */

/* A change of what was asked, and what came of it. */
struct advice {
    const struct query *query;
    const struct funnel *failed; /* NULL = no group was large enough to be searched */
    const char *cause;           /* a reason of `failed`; NULL = not known */
    int option;                  /* of the move that is tried */
    struct query_terms terms;
    struct cluster cluster;
    struct probe_found found;
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

static void add_setting(struct str *out, int p, const struct setting *s)
{
    str_addf(out, "--set %s=", param_info((enum param)p)->name);
    for (int i = 0; i < s->count; i++) {
        str_add(out, i ? "," : "");
        param_print((enum param)p, s->value[i], out);
    }
}

static enum param setting_of(const struct advice *ad)
{
    return (enum param)(PARAM_FIRST_CELL + ad->option);
}

static bool drop_setting(struct advice *ad)
{
    struct setting *s = &ad->terms.settings[setting_of(ad)];
    bool set = s->count > 0;
    s->count = 0;
    return set;
}

static void say_setting(const struct advice *ad, struct str *out)
{
    enum param p = setting_of(ad);
    str_add(out, "without ");
    add_setting(out, p, &ad->query->terms.settings[p]);
    str_addf(out, " there is a plan with %s=", param_info(p)->name);
    param_print(p, strategy_get(&ad->found.best.strategy, p), out);
}

static bool drop_rules(struct advice *ad)
{
    bool any = ad->terms.rules.count > 0;
    rules_init(&ad->terms.rules);
    return any;
}

static void say_rules(const struct advice *ad, struct str *out)
{
    str_addf(out, "without the rules of %s there is a plan", ad->query->terms.rules.rule[0].file);
}

static bool drop_gpus(struct advice *ad)
{
    bool asked = ad->terms.gpus > 0;
    ad->terms.gpus = 0;
    return asked;
}

static void say_where(const struct advice *ad, struct str *out)
{
    str_addf(out, "without --gpus there is a plan on %s", ad->found.where);
}

/* The numbers of GPUs next to the one asked for that several types can be used with: less and more
 * by turns. */
enum { NEAR_TRIES = 32 };

static bool near_gpus(struct advice *ad)
{
    const struct cluster *c = &ad->cluster;
    int64_t asked = ad->terms.gpus, most = cluster_max_gpus(c), step = c->group[0].per_node;
    if (asked == 0 || c->groups < 2)
        return false;
    for (int g = 1; g < c->groups; g++)
        step = c->group[g].per_node < step ? c->group[g].per_node : step;
    step = asked % step == 0 ? step : 1;
    int64_t first = asked > most ? (asked - most + step - 1) / step : 1, i = first + ad->option / 2;
    ad->terms.gpus = asked + (ad->option % 2 ? i : -i) * step;
    return ad->terms.gpus >= 1 && ad->terms.gpus <= most;
}

static void say_near_gpus(const struct advice *ad, struct str *out)
{
    str_addf(out, "the nearest number that works is %lld: %s", (long long)ad->terms.gpus,
             ad->found.where);
}

static bool no_margin(struct advice *ad)
{
    bool any = ad->terms.memory_margin != 0;
    ad->terms.memory_margin = 0;
    return any;
}

static void say_margin(const struct advice *ad, struct str *out)
{
    (void)ad;
    str_add(out, "with --memory-margin 0 there is a plan, with no memory to spare");
}

static bool other_stack(struct advice *ad)
{
    ad->terms.stack = query_stack(ad->query) == STACK_TE ? STACK_TORCH : STACK_TE;
    return query_engine(ad->query) == ENGINE_MEGATRON;
}

static void say_stack(const struct advice *ad, struct str *out)
{
    str_addf(out, "with --stack %s there is a plan", stack_name((enum stack)ad->terms.stack));
}

static bool other_precision(struct advice *ad)
{
    static const int formats[] = {PRECISION_BF16, PRECISION_FP16};
    ad->terms.settings[PARAM_precision].count = 0;
    ad->terms.precision = formats[ad->option];
    return true;
}

static void say_precision(const struct advice *ad, struct str *out)
{
    str_add(out, "with --precision ");
    param_print(PARAM_precision, ad->terms.precision, out);
    str_add(out, " there is a plan");
}

static bool longest_sequence(struct advice *ad)
{
    int longest = ad->query->model.max_seq;
    bool shorter = ad->terms.seq_len > longest;
    ad->terms.settings[PARAM_seq_len].count = 0;
    ad->terms.global_batch = query_global_batch(ad->query);
    ad->terms.seq_len = longest;
    return shorter;
}

static void say_sequence(const struct advice *ad, struct str *out)
{
    str_addf(out, "with --seq-len %d, the model's longest, there is a plan", ad->terms.seq_len);
}

/* Nodes of an odd size hold numbers of GPUs that do not split well: a power of two may. */
enum { POWERS = 62, DOUBLINGS = 6 };

static bool power_of_gpus(struct advice *ad)
{
    int per_node = ad->cluster.group[0].per_node;
    int64_t n = 1, most = cluster_max_gpus(&ad->cluster);
    if (ad->terms.gpus || (per_node & (per_node - 1)) == 0)
        return false;
    while (2 * n <= most)
        n *= 2;
    ad->terms.gpus = n >> ad->option;
    return ad->terms.gpus > 1;
}

static void say_gpus(const struct advice *ad, struct str *out)
{
    str_addf(out, "with --gpus %lld there is a plan", (long long)ad->terms.gpus);
}

static bool more_nodes(struct advice *ad)
{
    ad->terms.gpus = 0;
    for (int g = 0; g < ad->cluster.groups; g++) {
        int *nodes = &ad->cluster.group[g].nodes_max;
        if (*nodes > CLUSTER_MAX_NODES >> (ad->option + 1))
            return false;
        *nodes <<= ad->option + 1;
    }
    return true;
}

static void say_nodes(const struct advice *ad, struct str *out)
{
    str_addf(out, "%s (%lld nodes) would do", ad->found.where, (long long)ad->found.nodes);
}

static bool larger_batch(struct advice *ad)
{
    int asked = query_global_batch(ad->query);
    ad->terms.settings[PARAM_global_batch].count = 0;
    if (asked < 1 << 24)
        ad->terms.global_batch = asked << (ad->option + 1);
    return asked < 1 << 24;
}

static void say_batch(const struct advice *ad, struct str *out)
{
    str_addf(out, "with --global-batch %d there is a plan", ad->terms.global_batch);
}

/* The least intrusive first. */
static const struct advice_move {
    bool (*apply)(struct advice *); /* false: there is nothing to change that way */
    int options;
    void (*say)(const struct advice *, struct str *out);
    bool nodes; /* the cluster is another one */
} MOVES[] = {
    {near_gpus, 2 * NEAR_TRIES, say_near_gpus, false},
    {drop_setting, PARAMS - PARAM_FIRST_CELL, say_setting, false},
    {drop_rules, 1, say_rules, false},
    {drop_gpus, 1, say_where, false},
    {no_margin, 1, say_margin, false},
    {other_stack, 1, say_stack, false},
    {other_precision, 2, say_precision, false},
    {longest_sequence, 1, say_sequence, false},
    {power_of_gpus, POWERS, say_gpus, false},
    {more_nodes, DOUBLINGS, say_nodes, true},
    {larger_batch, DOUBLINGS, say_batch, false},
};

/* Whether the move finds a plan; says so. */
static bool helps(struct advice *ad, const struct advice_move *move, int option, struct str *out)
{
    struct arena scratch = {0};
    ad->option = option;
    ad->terms = ad->query->terms;
    ad->cluster = ad->query->cluster;
    if (!move->apply(ad))
        return false;
    probe_search(ad->query, &ad->terms, move->nodes ? &ad->cluster : NULL, ANY_GROUP, &scratch,
                 &ad->found, NULL);
    if (ad->found.found && ad->failed && ad->found.funnel.generated > 0)
        ad->cause = relieved(ad->failed, &ad->found.funnel);
    if (ad->found.found)
        move->say(ad, out);
    arena_release(&scratch);
    return ad->found.found;
}

/* The first change that helps, in words; empty when none does. */
static void find_advice(struct advice *ad, struct str *out)
{
    bool found = false;
    for (size_t i = 0; i < sizeof MOVES / sizeof *MOVES && !found; i++)
        for (int k = 0; k < MOVES[i].options && !found; k++)
            found = helps(ad, &MOVES[i], k, out);
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

static void add_memory(const struct query *q, const struct search_result *r, struct str *out)
{
    bool hosts = false;
    for (int g = 0; g < q->cluster.groups; g++)
        hosts |= q->cluster.group[g].host_bytes > 0;
    if (r->fullness >= HOPELESS) {
        str_add(out, "no strategy fits in memory; what may be used does not even hold the driver's "
                     "context and "
                     "communication buffers");
        return;
    }
    str_addf(out, "no strategy fits in memory; what came nearest needs %.2f times what %s: ",
             r->fullness, hosts ? "GPU or host has" : "may be allocated");
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
    struct str advice = {0}, s = {0};
    find_advice(&ad, &advice);
    if (!nearest)
        add_size(q, &s);
    else if (isfinite(nearest->fullness))
        add_memory(q, nearest, &s);
    else
        add_drop(&ad, &s);
    str_addf(&s, "; %s",
             advice.length ? str_text(&advice) : "no single change of the options helps");
    fail(err, ERROR_INFEASIBLE, "%s", str_text(&s));
    str_release(&advice);
    str_release(&s);
}
