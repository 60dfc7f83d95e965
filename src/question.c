/* Takes options one by one (options.def), fills defaults, and builds the questions of the
 * stages. */
#include "question.h"

#include "base/parallel.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/learned.h"
#include "search/mixed.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern const char embedded_rules_pool_rules[];

static const double DEFAULT_TOKENS = 4194304; /* of a global batch */
static const int DEFAULT_SEQ_LEN = 8192;

enum { MAX_FLAG_WORDS = 100000, MAX_GLOBAL_BATCH = 1 << 30 };

static bool set_model(struct question *q, const char *v, struct error *err)
{
    q->has_model = model_load(&q->model, v, &q->mem, err);
    return q->has_model;
}

static bool set_cluster(struct question *q, const char *v, struct error *err)
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

static bool set_gpus(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("gpus", v, 1, 1e8, &n, err))
        return false;
    q->gpus = (int64_t)n;
    return true;
}

static bool set_global_batch(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("global-batch", v, 1, MAX_GLOBAL_BATCH, &n, err))
        return false;
    q->global_batch = (int)n;
    return true;
}

static bool set_seq_len(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("seq-len", v, 1, 1 << 26, &n, err))
        return false;
    q->seq_len = (int)n;
    return true;
}

static bool set_precision(struct question *q, const char *v, struct error *err)
{
    return param_parse(PARAM_precision, v, &q->precision, err);
}

static bool set_stack(struct question *q, const char *v, struct error *err)
{
    if (strcmp(v, "te") != 0 && strcmp(v, "torch") != 0)
        return fail(err, ERROR_INPUT, "--stack is '%s', expected te or torch", v);
    q->te = strcmp(v, "te") == 0;
    return true;
}

static bool set_memory_margin(struct question *q, const char *v, struct error *err)
{
    if (!parse_real(v, &q->memory_margin) || q->memory_margin < 0 || q->memory_margin >= 1)
        return fail(err, ERROR_INPUT,
                    "--memory-margin is '%s', expected a fraction from 0 to below 1", v);
    return true;
}

/* Beyond all tokens on one rank there is nothing; no pool has so many ranks. */
static bool set_expert_imbalance(struct question *q, const char *v, struct error *err)
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
static bool set_set(struct question *q, const char *v, struct error *err)
{
    struct setting given[PARAMS] = {0};
    if (q->sets == QUESTION_SETS)
        return fail(err, ERROR_INPUT, "--set is given more than %d times", QUESTION_SETS);
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

static bool set_rules(struct question *q, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--rules is empty, expected the name of a file");
    return rules_add_file(&q->rules, v, &q->mem, err);
}

static bool set_price(struct question *q, const char *v, struct error *err)
{
    if (q->prices == QUESTION_PRICES)
        return fail(err, ERROR_INPUT, "--price is given more than %d times", QUESTION_PRICES);
    q->price[q->prices++] = arena_string(&q->mem, v);
    return true;
}

static bool set_top(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("top", v, 1, 10000, &n, err))
        return false;
    q->top = (int)n;
    return true;
}

static bool set_engine(struct question *q, const char *v, struct error *err)
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

static bool set_mix(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("mix", v, 1, MIX_MAX, &n, err))
        return false;
    q->mix = (int)n;
    return true;
}

static bool set_threads(struct question *q, const char *v, struct error *err)
{
    double n;
    if (!whole("threads", v, 1, 256, &n, err))
        return false;
    q->threads = (int)n;
    return true;
}

static bool set_exhaustive(struct question *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->exhaustive = true;
    return true;
}

static bool set_check(struct question *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->check = true;
    return true;
}

static bool set_stats(struct question *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->stats = true;
    return true;
}

static bool set_alone(struct question *q, const char *v, struct error *err)
{
    (void)v, (void)err;
    q->alone = true;
    return true;
}

static bool set_measured(struct question *q, const char *v, struct error *err)
{
    if (q->measured == QUESTION_TABLES)
        return fail(err, ERROR_INPUT, "more than %d tables are given", QUESTION_TABLES);
    q->measured_file[q->measured++] = arena_string(&q->mem, v);
    return true;
}

static bool set_folder(struct question *q, const char *option, const char *v, const char **out,
                       struct error *err)
{
    *out = arena_string(&q->mem, v);
    return *v || fail(err, ERROR_INPUT, "--%s is empty, expected a folder", option);
}

static bool set_into(struct question *q, const char *v, struct error *err)
{
    return set_folder(q, "into", v, &q->into, err);
}

static bool set_sources(struct question *q, const char *v, struct error *err)
{
    return set_folder(q, "sources", v, &q->sources, err);
}

static bool set_plots(struct question *q, const char *v, struct error *err)
{
    return set_folder(q, "plots", v, &q->plots, err);
}

static bool set_efficiency(struct question *q, const char *v, struct error *err)
{
    const char *folder;
    struct learned *l;
    if (!set_folder(q, "efficiency", v, &folder, err) || !learned_load(&l, folder, err))
        return false;
    question_drop_costs(q); /* they look at the models of before */
    learned_free(q->learned);
    q->learned = l;
    q->efficiency = folder;
    return true;
}

static bool set_stage(struct question *q, const char *v, struct error *err)
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

static bool set_trace(struct question *q, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--trace is empty, expected the name of a file");
    if (strcmp(v, "-") == 0)
        return fail(err, ERROR_INPUT,
                    "--trace is '-', expected the name of a file: the answer goes to standard "
                    "output");
    q->trace = arena_string(&q->mem, v);
    return true;
}

static const struct {
    const char *name;
    bool (*set)(struct question *, const char *value, struct error *);
} OPTIONS[] = {
#define OPTION(id, name, argument, commands, help) {name, set_##id},
#include "options.def"
#undef OPTION
};

void question_init(struct question *q)
{
    memset(q, 0, sizeof *q);
    arena_init(&q->mem);
    rules_init(&q->rules);
    q->precision = q->te = -1;
    q->memory_margin = 0.04;
    q->imbalance = 1;
    q->top = 10;
}

void question_release(struct question *q)
{
    question_drop_costs(q);
    learned_free(q->learned);
    arena_release(&q->mem);
}

bool question_set(struct question *q, const char *option, const char *value, struct error *err)
{
    const char *names[sizeof OPTIONS / sizeof *OPTIONS];
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        if (strcmp(OPTIONS[i].name, option) == 0)
            return OPTIONS[i].set(q, value ? value : "", err);
        names[i] = OPTIONS[i].name;
    }
    return fail(err, ERROR_INPUT, "no option is called --%s%s", option,
                did_you_mean(option, names, sizeof OPTIONS / sizeof *OPTIONS));
}

bool question_flags(struct question *q, size_t count, const char *const *words, struct error *err)
{
    if (count > MAX_FLAG_WORDS)
        return fail(err, ERROR_INPUT,
                    "%zu words of Megatron flags are too many, at most %d are read", count,
                    MAX_FLAG_WORDS);
    const char **copy = arena_array(&q->mem, count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_string(&q->mem, words[i]);
    q->has_flags = flags_import((int)count, copy, &q->flags, &q->mem, err);
    return q->has_flags;
}

/* A single --set of these three stands for the option. */
static bool take_setting(struct question *q, enum param p, int *option, int unset,
                         struct error *err)
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

bool question_ready(struct question *q, struct error *err)
{
    question_drop_costs(q);
    if (!q->has_cluster)
        return fail(err, ERROR_INPUT,
                    "no cluster is given: add --cluster, for example --cluster 8x8:H100");
    if (!q->has_model && !q->has_flags) /* flags say themselves what they lack */
        return fail(err, ERROR_INPUT,
                    "no model is given: add --model, for example --model llama3-8b (astra models "
                    "lists them)");
    for (int i = 0; i < q->prices; i++)
        if (!cluster_set_price(&q->cluster, q->price[i], err))
            return false;
    return take_setting(q, PARAM_global_batch, &q->global_batch, 0, err) &&
           take_setting(q, PARAM_seq_len, &q->seq_len, 0, err) &&
           take_setting(q, PARAM_precision, &q->precision, -1, err);
}

static int default_seq_len(const struct model *m)
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

static int question_seq_len(const struct question *q)
{
    return q->seq_len ? q->seq_len : default_seq_len(&q->model);
}

int question_global_batch(const struct question *q)
{
    return q->global_batch ? q->global_batch : default_global_batch(question_seq_len(q));
}

static bool add_rules(struct question *q, bool search, struct rules *rules, struct error *err)
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

static struct scene scene_of(const struct question *q, const struct node_group *group)
{
    return (struct scene){.model = &q->model,
                          .group = group,
                          .te = q->te != 0,
                          .memory_margin = q->memory_margin,
                          .imbalance = q->imbalance,
                          .attention_dropout = q->has_flags ? q->flags.attention_dropout : 0,
                          .hidden_dropout = q->has_flags ? q->flags.hidden_dropout : 0,
                          .whole_init = q->has_flags && q->flags.whole_init};
}

/* Fixed pools are mixed as far as they go; ranges, of which the fastest is asked, one type at a time
 * unless --mix says otherwise. */
static int mix_of(const struct question *q)
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

static void set_base(const struct question *q, struct strategy *base)
{
    strategy_init(base);
    base->seq_len = question_seq_len(q);
    base->global_batch = question_global_batch(q);
    base->precision = q->precision < 0 ? PRECISION_BF16 : q->precision;
}

bool question_mixed(struct question *q, struct rules *rules, struct mixed_question *out,
                    struct error *err)
{
    memset(out, 0, sizeof *out);
    if (mix_of(q) < 2 || q->settings[PARAM_split].count > 0) /* mixed jobs have layouts */
        return false;
    for (int g = 0; g < q->cluster.groups; g++)
        if (!question_costs(q, g, err))
            return false;
    if (!add_rules(q, true, rules, err))
        return false;
    out->scene = scene_of(q, &q->cluster.group[0]);
    out->cluster = &q->cluster;
    set_base(q, &out->base);
    out->settings = q->settings;
    out->rules = rules;
    out->gpus = q->gpus;
    out->mix = mix_of(q);
    out->layouts = q->engine != ENGINE_FLAGSCALE;
    out->own_meshes = q->engine != ENGINE_MEGATRON;
    out->top = q->top;
    out->threads = q->threads ? q->threads : parallel_cores();
    return true;
}

bool question_search(struct question *q, int g, struct rules *rules, struct search_question *out,
                     struct error *err)
{
    const struct node_group *group = &q->cluster.group[g];
    int64_t most = (int64_t)group->nodes_max * group->per_node;
    bool range = group->nodes_min < group->nodes_max;
    memset(out, 0, sizeof *out);
    if (!question_costs(q, g, err) || !add_rules(q, true, rules, err))
        return false;
    out->scene = scene_of(q, group);
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

/* One strategy has one value of each parameter. */
static bool single_values(const struct question *q, struct error *err)
{
    for (int p = 0; p < PARAMS; p++)
        if (q->settings[p].count > 1)
            return fail(err, ERROR_INPUT,
                        "--set %s has %d values: one strategy has one, search takes more",
                        param_info((enum param)p)->name, q->settings[p].count);
    return true;
}

/* --set without flags: what is not set has its init value; dp follows from the number of GPUs. */
static bool strategy_from_settings(const struct question *q, int64_t world, struct strategy *s,
                                   struct error *err)
{
    if (!single_values(q, err))
        return false;
    strategy_init(s);
    for (int p = 0; p < PARAMS; p++)
        if (q->settings[p].count)
            strategy_set(s, (enum param)p, q->settings[p].value[0]);
    if (!q->settings[PARAM_dp].count) {
        int64_t dp = world / ((int64_t)s->tp * s->cp * s->pp);
        s->dp = dp < 1 ? 1 : (int)dp;
    }
    int64_t batch = q->global_batch ? q->global_batch : (int64_t)s->micro_batch * s->dp;
    if (batch > MAX_GLOBAL_BATCH)
        return fail(err, ERROR_INPUT,
                    "micro_batch %d x dp %d is a global batch of %lld, at most %d is right",
                    s->micro_batch, s->dp, (long long)batch, MAX_GLOBAL_BATCH);
    s->seq_len = question_seq_len(q);
    s->global_batch = (int)batch;
    return true;
}

static void add_text(struct flags_texts *t, const char *text)
{
    if (t->count < FLAGS_MAX_TEXTS)
        t->text[t->count++] = text;
}

/* An option given beside flags must not contradict them. */
static bool agree(enum param p, int option, int unset, const struct flags_result *f,
                  struct error *err)
{
    int flag = strategy_get(&f->strategy, p);
    if (option == unset || option == flag || !f->given[p])
        return true;
    struct str s;
    str_init(&s);
    str_addf(&s, "%s is ", param_info(p)->name);
    param_print(p, option, &s);
    str_add(&s, " as an option and ");
    param_print(p, flag, &s);
    str_add(&s, " in the flags");
    fail(err, ERROR_INPUT, "%s", str_text(&s));
    str_release(&s);
    return false;
}

static bool options_agree(const struct question *q, const struct flags_result *f, struct error *err)
{
    if (q->te == 1 && f->stack_torch)
        return fail(err, ERROR_INPUT, "the stack is te as an option and torch in the flags");
    return agree(PARAM_global_batch, q->global_batch, 0, f, err) &&
           agree(PARAM_seq_len, q->seq_len, 0, f, err) &&
           agree(PARAM_precision, q->precision, -1, f, err);
}

static bool strategy_from_flags(struct question *q, int64_t world, struct estimate_question *out,
                                struct error *err)
{
    struct flags_result *f = &q->flags;
    if (q->sets > 0)
        return fail(err, ERROR_INPUT,
                    "--set and Megatron flags together: put the value into the flags");
    if (!flags_model(f, q->has_model ? &q->model : NULL, err))
        return false;
    q->model = f->model;
    q->has_model = true;
    if (!options_agree(q, f, err))
        return false;
    if (q->global_batch) {
        f->strategy.global_batch = q->global_batch;
        f->given[PARAM_global_batch] = true;
    }
    if (q->seq_len) {
        f->strategy.seq_len = q->seq_len;
        f->given[PARAM_seq_len] = true;
    }
    if (!flags_finish(f, world, err))
        return false;
    out->strategy = f->strategy;
    if (!f->given[PARAM_seq_len])
        out->strategy.seq_len = default_seq_len(&q->model);
    out->layout = f->has_layout ? &f->layout : NULL;
    out->reasons = f->reasons;
    if (q->te < 0)
        q->te = !f->stack_torch;
    return true;
}

static int64_t group_gpus(const struct node_group *g)
{
    int64_t all = (int64_t)g->nodes_max * g->per_node;
    return g->gpus > 0 && g->gpus < all ? g->gpus : all;
}

/* That an estimate is about: all, but where a plan uses only some of a group. */
static int64_t used_gpus(const struct cluster *c)
{
    int64_t sum = 0;
    for (int g = 0; g < c->groups; g++)
        sum += group_gpus(&c->group[g]);
    return sum;
}

/* The GPUs of the job: the whole cluster, unless --gpus names a part of one type. */
static bool world_of(const struct question *q, int64_t *world, struct error *err)
{
    int64_t most = used_gpus(&q->cluster);
    if (q->gpus > most)
        return fail(err, ERROR_INPUT, "--gpus is %lld, the cluster has %lld", (long long)q->gpus,
                    (long long)most);
    if (q->gpus && q->gpus < most && q->cluster.groups > 1)
        return fail(err, ERROR_INPUT,
                    "--gpus is %lld, but all %lld GPUs of a pool of several groups are estimated: "
                    "shorten the pool instead",
                    (long long)q->gpus, (long long)most);
    if (most > INT_MAX)
        return fail(err, ERROR_INPUT, "the pool has %lld GPUs, at most %d can be estimated",
                    (long long)most, INT_MAX);
    *world = q->gpus ? q->gpus : most;
    return true;
}

/* Why a stage has no group to itself, and what would be right. */
static const char *straddle_text(struct question *q, const struct strategy *s, int stage, int from,
                                 int to)
{
    const struct cluster *c = &q->cluster;
    long long block = (long long)s->tp * s->cp * s->dp;
    int64_t divisor = 0;
    for (int g = 0; g < c->groups; g++)
        divisor = common_divisor(group_gpus(&c->group[g]), divisor);
    return arena_format(
        &q->mem,
        "stage %d straddles group %d (%lld %s) and group %d (%lld %s): it is tp x cp x dp = %lld "
        "consecutive GPUs, so every group needs a multiple of %lld GPUs, or tp x cp x dp must "
        "divide %lld",
        stage, from + 1, (long long)group_gpus(&c->group[from]), c->group[from].gpu->name, to + 1,
        (long long)group_gpus(&c->group[to]), c->group[to].gpu->name, block, block,
        (long long)divisor);
}

/* The group of a GPU, counted in rank order; the last one's for those beyond the pool. */
static int group_of(const struct cluster *c, int64_t gpu)
{
    int g = 0;
    while (g < c->groups - 1 && gpu >= group_gpus(&c->group[g]))
        gpu -= group_gpus(&c->group[g++]);
    return g;
}

/* Deals the stages out to the groups, in rank order. False when one straddles groups, which is a
 * reason, or there are more than the pool has GPUs for, which is said already. */
static bool place_stages(struct question *q, const struct strategy *s, struct mesh_list *meshes,
                         struct flags_texts *reasons)
{
    const struct cluster *c = &q->cluster;
    int64_t block = (int64_t)s->tp * s->cp * s->dp;
    for (int r = 0; r < s->pp; r++) {
        int from = group_of(c, r * block), to = group_of(c, (r + 1) * block - 1);
        if ((r + 1) * block > used_gpus(c))
            return false;
        if (from != to) {
            add_text(reasons, straddle_text(q, s, r, from, to));
            return false;
        }
        meshes->mesh[from].stages++;
    }
    return true;
}

/* A job on several groups: each has a mesh, those without stages only where nothing can be
 * placed. */
static void set_meshes(struct question *q, struct estimate_question *out)
{
    struct mesh_list *meshes = arena_alloc(&q->mem, sizeof *meshes);
    int kept = 0;
    meshes->count = q->cluster.groups;
    for (int g = 0; g < meshes->count; g++)
        meshes->mesh[g].group = &q->cluster.group[g];
    out->scene.meshes = meshes;
    out->scene.cluster = &q->cluster;
    out->placed = place_stages(q, &out->strategy, meshes, &out->reasons);
    for (int g = 0; g < meshes->count; g++)
        if (!out->placed)
            meshes->mesh[g].stages = 0;
        else if (meshes->mesh[g].stages > 0)
            meshes->mesh[kept++] = meshes->mesh[g];
    if (out->placed)
        meshes->count = kept;
}

/* Whether FlagScale's name of a device type is that of the group's GPUs; a number may follow, which
 * tells groups of one type apart. */
static bool names_group(const char *type, const struct node_group *g, struct arena *mem)
{
    const char *dash = strrchr(type, '-');
    int64_t number;
    const struct gpu *gpu = gpu_find(type, NULL);
    if (!gpu && dash && parse_int(dash + 1, &number))
        gpu = gpu_find(arena_copy(mem, type, (size_t)(dash - type)), NULL);
    return gpu == g->gpu;
}

/* The meshes of FlagScale's flags on the groups of the pool, one each, in this order. */
static bool match_meshes(struct question *q, struct mesh_list *meshes, struct error *err)
{
    const struct cluster *c = &q->cluster;
    const struct strategy *s = &q->flags.strategy;
    if (meshes->count != c->groups)
        return fail(err, ERROR_INPUT,
                    "--hetero-process-meshes has %d meshes, the cluster has %d groups of nodes: "
                    "one each, in the same order, is right",
                    meshes->count, c->groups);
    for (int i = 0; i < meshes->count; i++) {
        struct mesh *m = &meshes->mesh[i];
        long long gpus = (long long)(m->stages * mesh_stage_gpus(m, s));
        m->group = &c->group[i];
        if (!names_group(q->flags.device_type[i], m->group, &q->mem))
            return fail(err, ERROR_INPUT,
                        "--hetero-device-types: the type of mesh %d is '%s', group %d of the "
                        "cluster has %s",
                        i + 1, q->flags.device_type[i], i + 1, m->group->gpu->name);
        if (c->groups > 1 && gpus != group_gpus(m->group)) /* of one, --gpus may name a part */
            return fail(err, ERROR_INPUT,
                        "--hetero-process-meshes: tp x cp x dp x pp of mesh %d is %lld GPUs, group "
                        "%d of the cluster has %lld",
                        i + 1, gpus, i + 1, (long long)group_gpus(m->group));
    }
    return true;
}

static bool take_meshes(struct question *q, struct estimate_question *out, struct error *err)
{
    struct mesh_list *meshes = arena_alloc(&q->mem, sizeof *meshes);
    *meshes = q->flags.meshes;
    if (!match_meshes(q, meshes, err))
        return false;
    if (meshes->count > 1) {
        out->scene.meshes = meshes;
        out->scene.cluster = &q->cluster;
    }
    return true;
}

int estimate_groups(const struct estimate_question *e)
{
    return e->scene.meshes ? e->scene.cluster->groups : 1;
}

const struct node_group *estimate_group(const struct estimate_question *e, int g)
{
    return e->scene.meshes ? &e->scene.cluster->group[g] : e->scene.group;
}

void estimate_slots(const struct estimate_question *e, int g, double values[SLOTS])
{
    const struct node_group *group = estimate_group(e, g);
    slots_set_fixed(values, e->scene.model, group, e->scene.meshes ? group->nodes_max : e->nodes,
                    e->scene.te);
    estimate_set_strategy(e, g, &e->strategy, values);
}

void estimate_set_strategy(const struct estimate_question *e, int g, const struct strategy *s,
                           double values[SLOTS])
{
    const struct mesh_list *l = e->scene.meshes;
    struct strategy room;
    for (int i = 0; l && i < l->count; i++)
        if (l->mesh[i].group == estimate_group(e, g)) {
            slots_set_strategy(values, mesh_strategy(&l->mesh[i], s, &room));
            return;
        }
    slots_set_strategy(values, s);
}

static bool all_costs(struct question *q, struct error *err)
{
    for (int g = 0; g < q->cluster.groups; g++)
        if (!question_costs(q, g, err))
            return false;
    return true;
}

bool question_estimate(struct question *q, struct estimate_question *out, struct error *err)
{
    struct node_group *group = &q->cluster.group[0];
    struct strategy *s = &out->strategy;
    int64_t world = 0;
    memset(out, 0, sizeof *out);
    if (!world_of(q, &world, err) || !(q->has_flags ? strategy_from_flags(q, world, out, err)
                                                    : strategy_from_settings(q, world, s, err)))
        return false;
    if (q->precision >= 0)
        s->precision = q->precision;
    bool hetero = q->has_flags && q->flags.hetero; /* whose GPUs are counted by mesh */
    if (!hetero && strategy_gpus(s) != world)
        add_text(&out->reasons,
                 arena_format(&q->mem, "tp %d x cp %d x pp %d x dp %d is %lld GPUs, the %s %lld",
                              s->tp, s->cp, s->pp, s->dp, (long long)strategy_gpus(s),
                              q->gpus ? "job has" : "cluster has", (long long)world));
    out->scene = scene_of(q, group);
    out->nodes = (int)((world + group->per_node - 1) / group->per_node);
    out->gpus = world;
    out->placed = true;
    if (q->cluster.groups > 1)
        out->nodes = group->nodes_max;
    if (hetero && !take_meshes(q, out, err))
        return false;
    if (!hetero && q->cluster.groups > 1)
        set_meshes(q, out);
    return all_costs(q, err) && add_rules(q, false, &out->rules, err);
}

const char *question_line(struct question *q, const struct strategy *base, struct arena *mem)
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
             q->te == 0 ? "torch" : "te", 100 * q->memory_margin);
    if (q->imbalance > 1 && q->model.experts > 0)
        str_addf(&s, ", the fullest rank's experts %.2f times as full as balanced ones",
                 q->imbalance);
    const char *line = arena_string(mem, str_text(&s));
    str_release(&s);
    return line;
}
