/* A query: defaults fill what the options left open, and the queries of the stages are built
 * of it. */
#include "query/query.h"

#include "base/parallel.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/learned.h"
#include "import/hf/hf_flags_in.h"
#include "import/hf/hf_job.h"
#include "import/shell/launch.h"
#include "model/trained.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "search/mixed/mixed.h"

#include <math.h>
#include <string.h>

extern const char embedded_rules_pool_rules[];

/* Of a global batch: what pre-training takes, and fine-tuning, whose samples are few. */
static const double DEFAULT_TOKENS = 4194304, TUNING_TOKENS = 524288;
static const int DEFAULT_SEQ_LEN = 8192;

enum { MAX_FLAG_WORDS = 100000 };

bool options_flags(struct options *o, size_t count, const char *const *words, struct error *err)
{
    if (count > MAX_FLAG_WORDS)
        return fail(err, ERROR_INPUT,
                    "%zu words of Megatron flags are too many, at most %d are read", count,
                    MAX_FLAG_WORDS);
    size_t before = 0;
    const char *const *first = imported_words(o, &before); /* those behind a file are added */
    const char **copy = arena_array(o->mem, before + count + 1, sizeof *copy);
    for (size_t i = 0; i < before + count; i++)
        copy[i] = i < before ? first[i] : arena_string(o->mem, words[i - before]);
    if (!o->imported && hf_is_launch((int)count, words)) {
        o->has_flags = hf_import((int)(before + count), copy, &o->flags, o->mem, err);
        return o->has_flags;
    }
    o->has_flags = (o->imported ? flags_import_file : flags_import)((int)(before + count), copy,
                                                                    &o->flags, o->mem, err);
    o->flags.fork = o->imported ? imported_launch(o)->fork : NULL;
    return o->has_flags;
}

/* The cluster that one may have meant, as far as that is known. */
static bool lacks_cluster(const struct options *o, enum query_kind kind, struct error *err)
{
    const struct launch *l = imported_launch(o);
    bool money =
        o->run.tokens > 0 || o->run.samples > 0 || o->money.budget || o->money.deadline_s > 0;
    int64_t gpus = l ? l->gpus : 0, each = gpus < 8 ? gpus : 8;
    each = gpus > 0 && l->per_node ? l->per_node : each;
    if (gpus > 0 && gpus % each == 0)
        return fail(
            err, ERROR_INPUT,
            "no cluster is given: %s runs on %lldx%lld GPUs, say their type with --gpu, for "
            "example --gpu H100",
            l->path, (long long)(gpus / each), (long long)each);
    return fail(err, ERROR_INPUT, "no cluster is given: add --cluster, for example --cluster %s",
                kind == QUERY_SEARCH && money
                    ? "1..64x8:H100, or --cluster any for every type that has a price"
                    : "8x8:H100");
}

static bool is_whole(const struct options *o, enum query_kind kind, struct error *err)
{
    if (!imported_read(o, err))
        return false;
    if (kind == QUERY_SEARCH && o->has_flags)
        return fail(err, ERROR_INPUT, "search takes no Megatron flags: estimate does");
    if (!o->has_cluster)
        return lacks_cluster(o, kind, err);
    return o->has_model || o->has_flags || /* which say themselves what they lack */
           fail(err, ERROR_INPUT,
                "no model is given: add --model, for example --model llama3-8b (astra models "
                "lists them)");
}

/* A single --set of these three stands for the option. */
static bool take_setting(struct query *q, enum param p, int *option, int unset, struct error *err)
{
    const struct setting *s = &q->terms.settings[p];
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

/* --engine and --set engine say the same; the layers of other engines than Megatron are no --stack. */
static bool take_engine(struct query *q, struct error *err)
{
    const struct setting *s = &q->terms.settings[PARAM_engine];
    int *asked = &q->terms.engine;
    if (s->count > 1)
        return fail(err, ERROR_INPUT, "engine is one for a query: --set engine has one value");
    int set = s->count == 0 || s->value[0] == ENGINE_MEGATRON
                  ? *asked
                  : s->value[0] - ENGINE_FSDP2 + ASK_FSDP2;
    if (s->count && *asked != ASK_MEGATRON && *asked != set)
        return fail(err, ERROR_INPUT, "engine is given twice, as an option and with --set");
    *asked = set;
    if (*asked >= ASK_FSDP2 && q->terms.stack != STACK_OPEN)
        return fail(err, ERROR_INPUT,
                    "--stack names layers of Megatron-LM; engines fsdp2, zero2 and zero3 run "
                    "transformers' layers: leave it out");
    return true;
}

static bool take_settings(struct query *q, struct error *err)
{
    struct query_terms *t = &q->terms;
    return take_setting(q, PARAM_global_batch, &t->global_batch, 0, err) &&
           take_setting(q, PARAM_seq_len, &t->seq_len, 0, err) &&
           take_setting(q, PARAM_precision, &t->precision, -1, err) && take_engine(q, err);
}

/* Rotary positions have no end of their own: a longer sequence is planned, and said. */
static void take_length(struct query *q)
{
    if (q->given->has_model && !q->model.learned_pos && q->terms.seq_len > q->model.max_seq)
        q->model.max_seq = q->terms.seq_len;
}

const char *query_length_note(const struct query *q, struct arena *mem)
{
    int most = q->given->has_model ? q->given->model.max_seq : 0;
    if (most == 0 || q->terms.seq_len <= most || q->model.max_seq < q->terms.seq_len)
        return NULL;
    return arena_format(
        mem,
        "the sequence of %d tokens is longer than the %d that %s was made for: its rotary "
        "positions need scaling or training; time and memory do not depend on that",
        q->terms.seq_len, most, q->model.name);
}

static int query_threads(const struct query *q)
{
    return q->search.threads ? q->search.threads : parallel_cores();
}

/* Residual factors, and learned times where the groups do not have them. */
static bool time_groups(struct query *q, struct error *err)
{
    struct learned *learned;
    if (!q->resources)
        return true;
    if (!query_set_residuals(q, err) ||
        !resources_models(q->resources, q->given->efficiency, &learned, err))
        return false;
    for (int g = 0; g < q->cluster.groups; g++)
        if (!q->costing[g].costs &&
            !resources_time(q->resources, &q->cluster.group[g], learned, &q->costing[g].costs, err))
            return false;
    return true;
}

static const char *trained_words(const struct model *m, struct arena *mem)
{
    struct str s = {0};
    model_add_trained(m, &s);
    return str_keep(&s, mem);
}

/* One of the ways to say it, beside another: they must agree. */
static bool add_trained(struct query *q, const char *words, const char *from, struct arena *mem,
                        struct error *err)
{
    struct model said = q->model;
    struct error inner;
    if (!words)
        return true;
    if (!model_set_trained(&q->model, words, &inner))
        return fail(err, inner.kind, "%s: %s", from, inner.text);
    const char *before = trained_words(&said, mem), *after = trained_words(&q->model, mem);
    return model_trains_all(&said) || strcmp(before, after) == 0 ||
           fail(err, ERROR_INPUT, "%s: %s is to be trained, and %s by what is given beside it",
                from, after, before);
}

bool query_set_trained(struct query *q, struct arena *mem, struct error *err)
{
    const struct launch *l = imported_launch(q->given);
    const char *file = l && l->train ? l->train : q->given->file_train;
    return add_trained(q, file, l ? l->path : "the plan", mem, err) &&
           add_trained(q, q->given->train, "--train", mem, err);
}

bool query_resolve(const struct options *o, enum query_kind kind, struct resources *resources,
                   struct arena *mem, struct query *q, struct error *err)
{
    if (!is_whole(o, kind, err))
        return false;
    *q = (struct query){.kind = kind,
                        .given = o,
                        .resources = resources,
                        .model = o->model,
                        .cluster = o->cluster,
                        .terms = o->terms,
                        .run = o->run,
                        .search = o->search,
                        .deadline_s = o->money.deadline_s};
    if (!query_set_prices(q, mem, err) || !query_set_outages(q, err) || !query_set_budget(q, err) ||
        !take_settings(q, err))
        return false;
    take_length(q);
    if (kind == QUERY_SEARCH)
        rents_join_alike(q->rent, &q->cluster);
    else if (!query_set_flags(q, mem, err))
        return false;
    return query_set_trained(q, mem, err) && query_set_task(q, mem, err) &&
           query_set_dataset(q, mem, err) && time_groups(q, err);
}

/* Whether times of the one are those of the other. */
static bool same_nodes(const struct node_group *a, const struct node_group *b)
{
    return a->gpu == b->gpu && a->per_node == b->per_node && a->domain == b->domain &&
           a->link_bs == b->link_bs && a->nic_bs == b->nic_bs &&
           a->oversubscription == b->oversubscription && a->host_speed == b->host_speed;
}

const struct query *query_derive(const struct query *from, const struct query_terms *terms,
                                 const struct cluster *cluster, struct arena *mem,
                                 struct error *err)
{
    struct query *q = arena_alloc(mem, sizeof *q);
    *q = *from;
    q->terms = *terms;
    if (cluster)
        q->cluster = *cluster;
    for (int g = 0; g < q->cluster.groups; g++)
        if (!same_nodes(&q->cluster.group[g], &from->cluster.group[g]))
            q->costing[g].costs = NULL;
    return query_set_dataset(q, mem, err) && time_groups(q, err) ? q : NULL;
}

static const struct node_group *same_group(const struct query *from, const struct query *to,
                                           const struct node_group *g)
{
    return &to->cluster.group[g - from->cluster.group];
}

struct scene query_rebase(const struct query *from, const struct query *to, const struct scene *sc,
                          struct arena *mem)
{
    struct scene out = *sc;
    out.group = same_group(from, to, sc->group);
    out.cluster = sc->cluster ? &to->cluster : NULL;
    out.dataset = to->dataset;
    out.costing = to->costing;
    out.rent = to->rent;
    if (sc->meshes) {
        struct mesh_list *meshes = arena_alloc(mem, sizeof *meshes);
        *meshes = *sc->meshes;
        for (int i = 0; i < meshes->count; i++)
            meshes->mesh[i].group = same_group(from, to, meshes->mesh[i].group);
        out.meshes = meshes;
    }
    return out;
}

double query_release(const struct query *q)
{
    return q->terms.release > 0 ? q->terms.release : RELEASE_HEAD;
}

int query_engine(const struct query *q)
{
    if (q->flags)
        return q->flags->strategy.engine;
    return q->terms.engine < ASK_FSDP2 ? ENGINE_MEGATRON
                                       : q->terms.engine - ASK_FSDP2 + ENGINE_FSDP2;
}

static bool on_hf(const struct query *q)
{
    return query_engine(q) != ENGINE_MEGATRON;
}

enum stack query_stack(const struct query *q)
{
    if (on_hf(q))
        return STACK_TORCH;
    return q->terms.stack == STACK_OPEN ? STACK_TE : (enum stack)q->terms.stack;
}

int default_seq_len(const struct model *m)
{
    return m->max_seq < DEFAULT_SEQ_LEN ? m->max_seq : DEFAULT_SEQ_LEN;
}

int query_seq_len(const struct query *q)
{
    return q->terms.seq_len ? q->terms.seq_len : query_default_seq_len(q);
}

/* FLOP/s that the pool has at its best, of the type that has most: jobs on several are as good as one
 * in what follows. */
static double pool_peak(const struct cluster *c)
{
    double most = 0;
    for (int g = 0; g < c->groups; g++) {
        const struct gpu *gpu = c->group[g].gpu;
        double tflops = fmax(gpu->bf16_tflops, gpu->fp16_tflops);
        most = fmax(most, 1e12 * tflops * c->group[g].nodes_max * c->group[g].per_node);
    }
    return most;
}

/* Tokens of a step of a minute, at half of that and six FLOP a parameter and token. */
static double tokens_of_a_minute(const struct query *q)
{
    static const double share = 0.5, step_s = 60, flop = 6;
    return share * step_s * pool_peak(&q->cluster) /
           (flop * (double)model_params_active(&q->model));
}

static int power_of_two(double most)
{
    int n = 1;
    while (2.0 * n <= most)
        n *= 2;
    return n;
}

static double default_tokens(const struct query *q)
{
    bool tunes = q->dataset || q->run.samples > 0 || !model_trains_all(&q->model);
    return tunes ? TUNING_TOKENS : DEFAULT_TOKENS;
}

/* A power of two: about 4 M tokens; on a small pool those of a minute, but a sequence for each GPU. */
static int default_global_batch(const struct query *q)
{
    double seq_len = query_seq_len(q), gpus = (double)cluster_max_gpus(&q->cluster);
    double tokens = fmax(tokens_of_a_minute(q), gpus * seq_len);
    return power_of_two(fmin(tokens, default_tokens(q)) / seq_len);
}

int query_global_batch(const struct query *q)
{
    return q->terms.global_batch ? q->terms.global_batch : default_global_batch(q);
}

/* Held back for routing that drops no token: how uneven it gets is known only when the job runs. */
static const double RESERVED_IMBALANCE = 1.2;

double query_imbalance(const struct query *q)
{
    return q->terms.imbalance > 0 ? q->terms.imbalance : 1;
}

double query_memory_imbalance(const struct query *q)
{
    bool even = q->model.experts == 0 || (q->flags && q->flags->switches.even_experts);
    return q->terms.imbalance > 0 || even ? query_imbalance(q) : RESERVED_IMBALANCE;
}

bool query_rules(const struct query *q, bool search, struct arena *mem, struct rules *rules,
                 struct error *err)
{
    bool hf = on_hf(q);
    rules_init(rules);
    if (hf ? !rules_add_hf(rules, mem, err)
           : !rules_add_megatron(rules, mem, err) || !rules_add_engine(rules, mem, err))
        return false;
    if (search && (!rules_add(rules, embedded_rules_pool_rules, strlen(embedded_rules_pool_rules),
                              "pool.rules", mem, err) ||
                   (!hf && !rules_add_sense(rules, mem, err))))
        return false;
    rules_append(rules, &q->terms.rules, mem);
    return true;
}

bool query_cautions(const struct query *q, struct arena *mem, struct rules *cautions,
                    struct error *err)
{
    rules_init(cautions);
    if (!q->terms.no_cautions && !rules_add_cautions(cautions, mem, err))
        return false;
    rules_append(cautions, &q->terms.cautions, mem);
    return true;
}

struct scene query_scene(const struct query *q, const struct node_group *group)
{
    return (struct scene){
        .model = &q->model,
        .group = group,
        .te = query_stack(q) == STACK_TE,
        .stock = query_stack(q) == STACK_LOCAL,
        .release = q->terms.release,
        .memory_margin = q->terms.memory_margin,
        .imbalance = query_imbalance(q),
        .memory_imbalance = query_memory_imbalance(q),
        .attention_dropout = q->flags ? q->flags->attention_dropout : q->model.attention_dropout,
        .hidden_dropout = q->flags ? q->flags->hidden_dropout : q->model.hidden_dropout,
        .switches = q->flags ? q->flags->switches : (struct run_switches){0},
        .dataset = q->dataset,
        .task = q->task,
        .run = &q->run,
        .costing = q->costing,
        .rent = q->rent};
}

/* Fixed pools are mixed as far as they go; ranges, of which the fastest is asked, one type at a
 * time unless --mix says otherwise. */
static int mix_of(const struct query *q)
{
    const struct cluster *c = &q->cluster;
    int most = c->groups < MIX_MAX ? c->groups : MIX_MAX;
    if (q->terms.mix)
        return q->terms.mix < most ? q->terms.mix : most;
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
    base->precision = q->terms.precision < 0 ? PRECISION_BF16 : q->terms.precision;
    base->engine = query_engine(q);
}

bool query_mixes(const struct query *q)
{
    return mix_of(q) >= 2 && !on_hf(q) &&
           q->terms.settings[PARAM_split].count == 0; /* mixed jobs have layouts */
}

bool query_mixed(const struct query *q, struct arena *mem, struct mixed_query *out,
                 struct error *err)
{
    struct rules *rules = arena_alloc(mem, sizeof *rules);
    struct rules *cautions = arena_alloc(mem, sizeof *cautions);
    memset(out, 0, sizeof *out);
    if (!query_mixes(q))
        return false;
    if (!query_rules(q, true, mem, rules, err) || !query_cautions(q, mem, cautions, err))
        return false;
    out->scene = query_scene(q, &q->cluster.group[0]);
    out->cluster = &q->cluster;
    set_base(q, &out->base);
    out->settings = q->terms.settings;
    out->production = q->terms.numerics == NUMERICS_PRODUCTION;
    out->rules = rules;
    out->cautions = cautions;
    out->gpus = q->terms.gpus;
    out->mix = mix_of(q);
    out->layouts = q->terms.engine != ASK_FLAGSCALE;
    out->per_type_meshes = q->terms.engine != ASK_MEGATRON;
    out->top = q->search.top;
    out->threads = query_threads(q);
    return true;
}

bool query_search(const struct query *q, int g, struct arena *mem, struct search_query *out,
                  struct error *err)
{
    struct rules *rules = arena_alloc(mem, sizeof *rules);
    struct rules *cautions = arena_alloc(mem, sizeof *cautions);
    const struct node_group *group = &q->cluster.group[g];
    int64_t most = (int64_t)group->nodes_max * group->per_node;
    bool range = group->nodes_min < group->nodes_max;
    memset(out, 0, sizeof *out);
    if (!query_rules(q, true, mem, rules, err) || !query_cautions(q, mem, cautions, err))
        return false;
    out->scene = query_scene(q, group);
    set_base(q, &out->base);
    out->settings = q->terms.settings;
    out->production = q->terms.numerics == NUMERICS_PRODUCTION;
    out->rules = rules;
    out->cautions = cautions;
    out->gpus_max = most;
    out->gpus_min = (int64_t)(range ? group->nodes_min : 1) * group->per_node;
    if (q->terms.gpus) {
        out->gpus_max = out->gpus_min = q->terms.gpus;
        out->any_gpus = q->terms.gpus % group->per_node != 0;
    }
    out->top = q->search.top;
    out->threads = query_threads(q);
    out->exhaustive =
        q->search.exhaustive || on_hf(q); /* a small space, whose bounds nobody needs */
    return q->terms.gpus <= most ||
           fail(err, ERROR_INFEASIBLE, "%lld GPUs are asked for, the pool has %lld %s",
                (long long)q->terms.gpus, (long long)most, group->gpu->name);
}

/* What is asked of the run. */
static void add_terms(const struct query *q, struct str *s)
{
    bool failures = false, interruptions = false;
    for (int g = 0; g < q->cluster.groups; g++) {
        failures |= q->rent[g].mtbf_h > 0;
        interruptions |= q->rent[g].interruptions_per_h > 0;
    }
    dataset_add_words(q->dataset, s);
    task_add_words(q->task, s);
    if (q->run.tokens > 0) {
        str_add(s, ", a run of ");
        add_count(s, q->run.samples > 0 ? q->run.samples : q->run.tokens);
        str_add(s, q->run.samples > 0 ? " samples" : " tokens");
    }
    if (query_objective(q) == OBJECTIVE_COST)
        str_add(s, ", the cheapest first");
    str_add(s, failures ? ", failures counted" : "");
    str_add(s, interruptions ? ", interruptions counted" : "");
}

bool query_assumes(const struct query *q, enum param p)
{
    const struct query_terms *t = &q->terms;
    bool option = (p == PARAM_global_batch && t->global_batch > 0) ||
                  (p == PARAM_seq_len && t->seq_len > 0) ||
                  (p == PARAM_precision && t->precision >= 0) || t->settings[p].count > 0;
    return p != PARAM_engine && !option && !(q->flags && q->flags->given[p]);
}

static const char *if_default(const struct query *q, enum param p)
{
    if (!query_assumes(q, p))
        return "";
    bool batch = p == PARAM_global_batch && q->kind == QUERY_SEARCH;
    bool small = batch && 2.0 * query_global_batch(q) * query_seq_len(q) <= default_tokens(q);
    if (batch && !small && default_tokens(q) < DEFAULT_TOKENS)
        return " (default: half a million tokens, as in fine-tuning)";
    return small ? " (default: steps of a minute at half of peak)" : " (default)";
}

const char *query_line(const struct query *q, const struct strategy *base, struct arena *mem)
{
    struct str s = {0};
    add_model_words(&q->model, &s);
    str_addf(&s, " on %s, ", q->cluster.text);
    if (q->terms.gpus)
        str_addf(&s, "exactly %lld GPUs, ", (long long)q->terms.gpus);
    str_addf(&s, "sequence %d%s, global batch %d%s (", base->seq_len, if_default(q, PARAM_seq_len),
             base->global_batch, if_default(q, PARAM_global_batch));
    add_count(&s, (double)base->global_batch * base->seq_len);
    str_add(&s, " tokens), ");
    param_print(PARAM_precision, base->precision, &s);
    str_addf(&s, "%s, %s %s, %.0f %% of memory left free", if_default(q, PARAM_precision),
             on_hf(q) ? "engine" : "stack",
             on_hf(q) ? engine_title(query_engine(q)) : stack_name(query_stack(q)),
             100 * q->terms.memory_margin);
    if (q->terms.numerics == NUMERICS_PRODUCTION)
        str_add(&s, ", production numerics");
    if (q->terms.release > 0 && q->terms.release < RELEASE_HEAD)
        str_addf(&s, ", Megatron core 0.%d", (int)q->terms.release);
    if (query_memory_imbalance(q) > 1 && q->model.experts > 0)
        str_addf(&s, ", %sexperts %.4g times as full as balanced ones",
                 query_imbalance(q) > 1 ? "the fullest rank's " : "room for ",
                 query_memory_imbalance(q));
    add_terms(q, &s);
    return str_keep(&s, mem);
}
