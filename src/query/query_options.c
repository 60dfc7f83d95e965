/* The options of a query, one by one (options.def): each is checked when it comes. */
#include "query/query.h"

#include "base/str.h"
#include "base/units.h"
#include "cost/learned.h"
#include "query/query_parts.h"
#include "search/mixed/mixed.h"

#include <math.h>
#include <string.h>

static bool set_model(struct query *q, const char *v, struct error *err)
{
    q->has_model = model_load(&q->model, v, &q->mem, err);
    return q->has_model;
}

static bool set_cluster(struct query *q, const char *v, struct error *err)
{
    q->has_cluster = cluster_load(&q->cluster, v, &q->mem, err);
    return q->has_cluster;
}

/* A whole amount in [lo, hi], "1.5K" too. */
static bool whole(const char *option, const char *v, double lo, double hi, double *out,
                  struct error *err)
{
    if (!parse_amount(v, out) || *out != floor(*out) || *out < lo || *out > hi)
        return fail(err, ERROR_INPUT, "--%s is '%s', expected a whole number from %.0f to %.0f",
                    option, v, lo, hi);
    return true;
}

static bool set_gpus(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("gpus", v, 1, 1e8, &n, err))
        return false;
    q->gpus = (int64_t)n;
    return true;
}

static bool set_global_batch(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("global-batch", v, 1, MAX_GLOBAL_BATCH, &n, err))
        return false;
    q->global_batch = (int)n;
    return true;
}

static bool set_seq_len(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("seq-len", v, 1, 1 << 26, &n, err))
        return false;
    q->seq_len = (int)n;
    return true;
}

static bool set_precision(struct query *q, const char *v, struct error *err)
{
    return param_parse(PARAM_precision, v, &q->precision, err);
}

static bool set_stack(struct query *q, const char *v, struct error *err)
{
    if (strcmp(v, "te") != 0 && strcmp(v, "torch") != 0)
        return fail(err, ERROR_INPUT, "--stack is '%s', expected te or torch", v);
    q->te = strcmp(v, "te") == 0;
    return true;
}

static bool set_memory_margin(struct query *q, const char *v, struct error *err)
{
    if (!parse_real(v, &q->memory_margin) || q->memory_margin < 0 || q->memory_margin >= 1)
        return fail(err, ERROR_INPUT,
                    "--memory-margin is '%s', expected a fraction from 0 to below 1", v);
    return true;
}

/* Beyond all tokens on one rank there is nothing; no pool has so many ranks. */
static bool set_expert_imbalance(struct query *q, const char *v, struct error *err)
{
    if (!parse_real(v, &q->imbalance) || q->imbalance < 1 || q->imbalance > 4096)
        return fail(err, ERROR_INPUT,
                    "--expert-imbalance is '%s', expected a factor from 1 (balanced) to 4096", v);
    return true;
}

static bool has_value(const struct setting *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->value[i] == value)
            return true;
    return false;
}

/* Parsed on its own first, to see whether it was given before. */
static bool set_set(struct query *q, const char *v, struct error *err)
{
    struct setting given[PARAMS] = {0};
    if (q->sets == QUERY_SETS)
        return fail(err, ERROR_INPUT, "--set is given more than %d times", QUERY_SETS);
    if (!setting_parse(given, v, err))
        return false;
    if (has_value(&given[PARAM_split], SPLIT_LAYOUT))
        return fail(
            err, ERROR_INPUT,
            "--set %s: a layout comes as --pipeline-model-parallel-layout, among the Megatron "
            "flags of estimate and explain",
            v);
    for (int p = 0; p < PARAMS; p++) {
        if (given[p].count == 0)
            continue;
        if (q->settings[p].count > 0)
            return fail(err, ERROR_INPUT,
                        "--set %s: %s is set already, give its values in one list", v,
                        param_info((enum param)p)->name);
        q->settings[p] = given[p];
    }
    q->set[q->sets++] = arena_string(&q->mem, v);
    return true;
}

static bool set_rules(struct query *q, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--rules is empty, expected the name of a file");
    return rules_add_file(&q->rules, v, &q->mem, err);
}

static bool set_price(struct query *q, const char *v, struct error *err)
{
    if (q->prices == QUERY_PRICES)
        return fail(err, ERROR_INPUT, "--price is given more than %d times", QUERY_PRICES);
    q->price[q->prices++] = arena_string(&q->mem, v);
    return true;
}

static bool set_top(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("top", v, 1, 10000, &n, err))
        return false;
    q->top = (int)n;
    return true;
}

static bool set_engine(struct query *q, const char *v, struct error *err)
{
    static const char *const engines[] = {
        [ENGINE_MEGATRON] = "megatron", [ENGINE_FLAGSCALE] = "flagscale", [ENGINE_ANY] = "any"};
    for (int i = 0; i <= ENGINE_ANY; i++)
        if (strcmp(v, engines[i]) == 0) {
            q->engine = (enum engine)i;
            return true;
        }
    return fail(err, ERROR_INPUT, "--engine is '%s', expected megatron, flagscale or any%s", v,
                did_you_mean(v, engines, sizeof engines / sizeof *engines));
}

static bool set_mix(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("mix", v, 1, MIX_MAX, &n, err))
        return false;
    q->mix = (int)n;
    return true;
}

static bool set_threads(struct query *q, const char *v, struct error *err)
{
    double n;
    if (!whole("threads", v, 1, 256, &n, err))
        return false;
    q->threads = (int)n;
    return true;
}

static bool set_exhaustive(struct query *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->exhaustive = true;
    return true;
}

static bool set_check(struct query *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->check = true;
    return true;
}

static bool set_stats(struct query *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->stats = true;
    return true;
}

static bool set_alone(struct query *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->alone = true;
    return true;
}

static bool set_measured(struct query *q, const char *v, struct error *err)
{
    if (q->measured == QUERY_TABLES)
        return fail(err, ERROR_INPUT, "more than %d tables are given", QUERY_TABLES);
    q->measured_file[q->measured++] = arena_string(&q->mem, v);
    return true;
}

static bool set_folder(struct query *q, const char *option, const char *v, const char **out,
                       struct error *err)
{
    *out = arena_string(&q->mem, v);
    return *v || fail(err, ERROR_INPUT, "--%s is empty, expected a folder", option);
}

static bool set_into(struct query *q, const char *v, struct error *err)
{
    return set_folder(q, "into", v, &q->into, err);
}

static bool set_sources(struct query *q, const char *v, struct error *err)
{
    return set_folder(q, "sources", v, &q->sources, err);
}

static bool set_plots(struct query *q, const char *v, struct error *err)
{
    return set_folder(q, "plots", v, &q->plots, err);
}

static bool set_efficiency(struct query *q, const char *v, struct error *err)
{
    const char *folder;
    struct learned *l;
    if (!set_folder(q, "efficiency", v, &folder, err) || !learned_load(&l, folder, err))
        return false;
    query_drop_costs(q); /* they look at the models of before */
    learned_free(q->learned);
    q->learned = l;
    q->efficiency = folder;
    return true;
}

static bool set_stage(struct query *q, const char *v, struct error *err)
{
    static const char *const stages[] = {"ops", "cost", "schedule", "memory"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(v, stages[i]) == 0) {
            q->stage = stages[i];
            return true;
        }
    return fail(err, ERROR_INPUT, "--stage is '%s', expected ops, cost, schedule or memory%s", v,
                did_you_mean(v, stages, sizeof stages / sizeof *stages));
}

/* A file that is written beside the answer. */
static bool set_file(struct query *q, const char *option, const char *v, const char **out,
                     struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--%s is empty, expected the name of a file", option);
    if (strcmp(v, "-") == 0)
        return fail(err, ERROR_INPUT,
                    "--%s is '-', expected the name of a file: the answer goes to standard output",
                    option);
    *out = arena_string(&q->mem, v);
    return true;
}

static bool set_trace(struct query *q, const char *v, struct error *err)
{
    return set_file(q, "trace", v, &q->trace, err);
}

static bool set_plot(struct query *q, const char *v, struct error *err)
{
    return set_file(q, "plot", v, &q->plot, err);
}

static bool set_report(struct query *q, const char *v, struct error *err)
{
    return set_file(q, "report", v, &q->report, err);
}

static const struct {
    const char *name;
    bool (*set)(struct query *, const char *value, struct error *);
} OPTIONS[] = {
#define OPTION(id, name, argument, commands, help) {name, set_##id},
#include "query/options.def"
#undef OPTION
};

/* Remembered, so that another query can be asked that differs in one thing (what_if.c). */
static void remember(struct query *q, const char *option, const char *value)
{
    struct given *g = arena_alloc(&q->mem, sizeof *g);
    *g = (struct given){option, arena_string(&q->mem, value), NULL};
    if (q->last_given)
        q->last_given->next = g;
    else
        q->given = g;
    q->last_given = g;
}

bool query_set(struct query *q, const char *option, const char *value, struct error *err)
{
    const char *names[sizeof OPTIONS / sizeof *OPTIONS];
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        if (strcmp(OPTIONS[i].name, option) == 0) {
            if (!OPTIONS[i].set(q, value ? value : "", err))
                return false;
            remember(q, OPTIONS[i].name, value ? value : "");
            return true;
        }
        names[i] = OPTIONS[i].name;
    }
    return fail(err, ERROR_INPUT, "no option is called --%s%s", option,
                did_you_mean(option, names, sizeof OPTIONS / sizeof *OPTIONS));
}
