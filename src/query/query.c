/* A query: defaults fill what the options left open, and the queries of the stages are built
 * of it. */
#include "query/query.h"

#include "base/parallel.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/learned.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "search/mixed/mixed.h"

#include <math.h>
#include <string.h>

extern const char embedded_rules_pool_rules[];

static const double DEFAULT_TOKENS = 4194304; /* of a global batch */
static const int DEFAULT_SEQ_LEN = 8192;

enum { MAX_FLAG_WORDS = 100000 };

void query_init(struct query *q)
{
    memset(q, 0, sizeof *q);
    arena_init(&q->mem);
    rules_init(&q->rules);
    q->precision = q->stack = q->objective = -1;
    query_defaults(q);
}

void query_release(struct query *q)
{
    query_drop_changed(q);
    query_drop_costs(q);
    learned_free(q->learned);
    arena_release(&q->mem);
}

bool query_flags(struct query *q, size_t count, const char *const *words, struct error *err)
{
    if (count > MAX_FLAG_WORDS)
        return fail(err, ERROR_INPUT,
                    "%zu words of Megatron flags are too many, at most %d are read", count,
                    MAX_FLAG_WORDS);
    size_t before = 0;
    const char *const *first = imported_words(q, &before); /* those behind a file are added */
    const char **copy = arena_array(&q->mem, before + count + 1, sizeof *copy);
    for (size_t i = 0; i < before + count; i++)
        copy[i] = i < before ? first[i] : arena_string(&q->mem, words[i - before]);
    q->has_flags = flags_import((int)(before + count), copy, &q->flags, &q->mem, err);
    return q->has_flags;
}

/* A single --set of these three stands for the option. */
static bool take_setting(struct query *q, enum param p, int *option, int unset, struct error *err)
{
    const struct setting *s = &q->settings[p];
    if (s->count == 0)
        return true;
    if (s->count > 1)
        return fail(err, ERROR_INPUT, "--set %s takes one value", param_info(p)->name);
    if (*option != unset && *option != s->value[0])
        return fail(err, ERROR_INPUT, "%s is given twice, as an option and with --set",
                    param_info(p)->name);
    *option = s->value[0];
    return true;
}

bool query_ready(struct query *q, struct error *err)
{
    query_drop_costs(q);
    if (!q->has_cluster)
        return fail(err, ERROR_INPUT,
                    "no cluster is given: add --cluster, for example --cluster 8x8:H100");
    if (!q->has_model && !q->has_flags) /* flags say themselves what they lack */
        return fail(err, ERROR_INPUT,
                    "no model is given: add --model, for example --model llama3-8b (astra models "
                    "lists them)");
    if (!query_set_prices(q, err) || !query_set_outages(q, err) || !query_set_budget(q, err))
        return false;
    return take_setting(q, PARAM_global_batch, &q->global_batch, 0, err) &&
           take_setting(q, PARAM_seq_len, &q->seq_len, 0, err) &&
           take_setting(q, PARAM_precision, &q->precision, -1, err);
}

int default_seq_len(const struct model *m)
{
    return m->max_seq < DEFAULT_SEQ_LEN ? m->max_seq : DEFAULT_SEQ_LEN;
}

/* The largest power of two whose tokens do not exceed the default. */
static int default_global_batch(int seq_len)
{
    int batch = 1;
    while (2.0 * batch * seq_len <= DEFAULT_TOKENS)
        batch *= 2;
    return batch;
}

int query_seq_len(const struct query *q)
{
    return q->seq_len ? q->seq_len : default_seq_len(&q->model);
}

int query_global_batch(const struct query *q)
{
    return q->global_batch ? q->global_batch : default_global_batch(query_seq_len(q));
}

bool query_rules(struct query *q, bool search, struct rules *rules, struct error *err)
{
    rules_init(rules);
    if (!rules_add_megatron(rules, &q->mem, err) || !rules_add_engine(rules, &q->mem, err))
        return false;
    if (search && (!rules_add(rules, embedded_rules_pool_rules, strlen(embedded_rules_pool_rules),
                              "pool.rules", &q->mem, err) ||
                   !rules_add_sense(rules, &q->mem, err)))
        return false;
    rules_append(rules, &q->rules, &q->mem);
    return true;
}

struct scene query_scene(const struct query *q, const struct node_group *group)
{
    return (struct scene){.model = &q->model,
                          .group = group,
                          .te = q->stack != STACK_TORCH,
                          .memory_margin = q->memory_margin,
                          .imbalance = q->imbalance,
                          .attention_dropout = q->has_flags ? q->flags.attention_dropout : 0,
                          .hidden_dropout = q->has_flags ? q->flags.hidden_dropout : 0,
                          .whole_init = q->has_flags && q->flags.whole_init,
                          .run = &q->run};
}

/* Fixed pools are mixed as far as they go; ranges, of which the fastest is asked, one type at a
 * time unless --mix says otherwise. */
static int mix_of(const struct query *q)
{
    const struct cluster *c = &q->cluster;
    int most = c->groups < MIX_MAX ? c->groups : MIX_MAX;
    if (q->mix)
        return q->mix < most ? q->mix : most;
    for (int g = 0; g < c->groups; g++)
        if (c->group[g].nodes_min < c->group[g].nodes_max)
            return 1;
    return most;
}

static void set_base(const struct query *q, struct strategy *base)
{
    strategy_init(base);
    base->seq_len = query_seq_len(q);
    base->global_batch = query_global_batch(q);
    base->precision = q->precision < 0 ? PRECISION_BF16 : q->precision;
}

bool query_mixes(const struct query *q)
{
    return mix_of(q) >= 2 && q->settings[PARAM_split].count == 0; /* mixed jobs have layouts */
}

bool query_mixed(struct query *q, struct rules *rules, struct mixed_query *out, struct error *err)
{
    memset(out, 0, sizeof *out);
    if (!query_mixes(q))
        return false;
    for (int g = 0; g < q->cluster.groups; g++)
        if (!query_costs(q, g, err))
            return false;
    if (!query_rules(q, true, rules, err))
        return false;
    out->scene = query_scene(q, &q->cluster.group[0]);
    out->cluster = &q->cluster;
    set_base(q, &out->base);
    out->settings = q->settings;
    out->rules = rules;
    out->gpus = q->gpus;
    out->mix = mix_of(q);
    out->layouts = q->engine != ENGINE_FLAGSCALE;
    out->per_type_meshes = q->engine != ENGINE_MEGATRON;
    out->front = query_asks_front(q);
    out->top = q->top;
    out->threads = q->threads ? q->threads : parallel_cores();
    return true;
}

bool query_search(struct query *q, int g, struct rules *rules, struct search_query *out,
                  struct error *err)
{
    const struct node_group *group = &q->cluster.group[g];
    int64_t most = (int64_t)group->nodes_max * group->per_node;
    bool range = group->nodes_min < group->nodes_max;
    memset(out, 0, sizeof *out);
    if (!query_costs(q, g, err) || !query_rules(q, true, rules, err))
        return false;
    out->scene = query_scene(q, group);
    set_base(q, &out->base);
    out->settings = q->settings;
    out->rules = rules;
    out->gpus_max = most;
    out->gpus_min = (int64_t)(range ? group->nodes_min : 1) * group->per_node;
    if (q->gpus) {
        out->gpus_max = out->gpus_min = q->gpus;
        out->any_gpus = q->gpus % group->per_node != 0;
    }
    out->top = q->top;
    out->threads = q->threads ? q->threads : parallel_cores();
    out->exhaustive = q->exhaustive;
    return q->gpus <= most ||
           fail(err, ERROR_INFEASIBLE, "%lld GPUs are asked for, the pool has %lld %s",
                (long long)q->gpus, (long long)most, group->gpu->name);
}

/* What is asked of the run. */
static void add_terms(const struct query *q, struct str *s)
{
    bool failures = false, interruptions = false;
    for (int g = 0; g < q->cluster.groups; g++) {
        failures |= q->cluster.group[g].mtbf_h > 0;
        interruptions |= q->cluster.group[g].interruptions_per_h > 0;
    }
    if (q->run.tokens > 0) {
        str_add(s, ", a run of ");
        add_count(s, q->run.tokens);
        str_add(s, " tokens");
    }
    if (query_objective(q) == OBJECTIVE_COST)
        str_add(s, ", the cheapest first");
    str_add(s, failures ? ", failures counted" : "");
    str_add(s, interruptions ? ", interruptions counted" : "");
}

const char *query_line(struct query *q, const struct strategy *base, struct arena *mem)
{
    struct str s;
    str_init(&s);
    str_addf(&s, "%s (", q->model.name);
    add_count(&s, (double)model_params_total(&q->model));
    str_addf(&s, " parameters) on %s, ", q->cluster.text);
    if (q->gpus)
        str_addf(&s, "exactly %lld GPUs, ", (long long)q->gpus);
    str_addf(&s, "sequence %d%s, global batch %d%s (", base->seq_len,
             q->seq_len ? "" : " (default)", base->global_batch,
             q->global_batch ? "" : " (default)");
    add_count(&s, (double)base->global_batch * base->seq_len);
    str_add(&s, " tokens), ");
    param_print(PARAM_precision, base->precision, &s);
    str_addf(&s, "%s, stack %s, %.0f %% of memory left free", q->precision < 0 ? " (default)" : "",
             q->stack == STACK_TORCH ? "torch" : "te", 100 * q->memory_margin);
    if (q->imbalance > 1 && q->model.experts > 0)
        str_addf(&s, ", the fullest rank's experts %.2f times as full as balanced ones",
                 q->imbalance);
    add_terms(q, &s);
    const char *line = arena_string(mem, str_text(&s));
    str_release(&s);
    return line;
}
