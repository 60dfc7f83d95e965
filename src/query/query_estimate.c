/* The one strategy that is asked about: from --set or Megatron's flags, and where its stages
 * lie. */
#include "query/query.h"

#include "base/str.h"
#include "base/units.h"
#include "import/hf/hf_flags_in.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "rules/fork_rules.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* One strategy has one value of each parameter. */
static bool single_values(const struct query *q, struct error *err)
{
    for (int p = 0; p < PARAMS; p++)
        if (q->terms.settings[p].count > 1)
            return fail(err, ERROR_INPUT,
                        "--set %s has %d values: one strategy has one, search takes more",
                        param_info((enum param)p)->name, q->terms.settings[p].count);
    return true;
}

/* What goes with recompute and offload where an engine has one way of each. */
static void complete_hf(const struct setting settings[PARAMS], struct strategy *s)
{
    if (!strategy_on_hf(s))
        return;
    if (s->recompute == RECOMPUTE_FULL && !settings[PARAM_recompute_method].count)
        s->recompute_method = METHOD_UNIFORM;
    if (s->recompute == RECOMPUTE_FULL && !settings[PARAM_recompute_layers].count)
        s->recompute_layers = 1;
    if (s->engine == ENGINE_FSDP2 && !settings[PARAM_param_offload].count)
        s->param_offload = s->optimizer_offload > 0;
}

/* --set without flags: what is not set has its init value; dp follows from the number of GPUs. */
static bool strategy_from_settings(const struct query *q, int64_t world, struct strategy *s,
                                   struct error *err)
{
    if (!single_values(q, err))
        return false;
    strategy_init(s);
    s->engine = query_engine(q);
    for (int p = 0; p < PARAMS; p++)
        if (q->terms.settings[p].count)
            strategy_set(s, (enum param)p, q->terms.settings[p].value[0]);
        else if (strategy_on_hf(s) && p >= PARAM_FIRST_CELL)
            strategy_set(s, (enum param)p, engine_value(s->engine, (enum param)p));
    complete_hf(q->terms.settings, s);
    if (!q->terms.settings[PARAM_dp].count) {
        int64_t dp = world / ((int64_t)s->tp * s->cp * s->pp);
        s->dp = dp < 1 ? 1 : (int)dp;
    }
    int64_t batch = q->terms.global_batch ? q->terms.global_batch : (int64_t)s->micro_batch * s->dp;
    if (batch > MAX_GLOBAL_BATCH)
        return fail(err, ERROR_INPUT,
                    "micro_batch %d x dp %d is a global batch of %lld; at most %d is allowed",
                    s->micro_batch, s->dp, (long long)batch, MAX_GLOBAL_BATCH);
    s->seq_len = query_seq_len(q);
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
    struct str s = {0};
    str_addf(&s, "%s is ", param_info(p)->name);
    param_print(p, option, &s);
    str_add(&s, " as an option and ");
    param_print(p, flag, &s);
    str_add(&s, " in the flags");
    fail(err, ERROR_INPUT, "%s", str_text(&s));
    str_release(&s);
    return false;
}

static bool options_agree(const struct query *q, const struct flags_result *f, struct error *err)
{
    const struct query_terms *t = &q->terms;
    if (t->stack == STACK_TE && f->stack != STACK_TE)
        return fail(err, ERROR_INPUT, "the stack is te as an option and %s in the flags",
                    stack_name(f->stack));
    return agree(PARAM_global_batch, t->global_batch, 0, f, err) &&
           agree(PARAM_seq_len, t->seq_len, 0, f, err) &&
           agree(PARAM_precision, t->precision, -1, f, err);
}

/* What options say beside the flags. */
static void take_terms(struct flags_result *f, const struct query_terms *t)
{
    if (t->global_batch) {
        f->strategy.global_batch = t->global_batch;
        f->given[PARAM_global_batch] = true;
    }
    if (t->seq_len) {
        f->strategy.seq_len = t->seq_len;
        f->given[PARAM_seq_len] = true;
    }
}

static bool finish_flags(struct query *q, struct flags_result *f, int64_t world, struct error *err)
{
    const struct options *o = q->given;
    if (o->times[OPTION_set] > 0)
        return fail(err, ERROR_INPUT,
                    "--set and Megatron flags together: put the value into the flags");
    if (f->job) {
        take_terms(f, &q->terms);
        return hf_finish(f, o->has_model ? &o->model : NULL, world, err) &&
               options_agree(q, f, err);
    }
    if (!imported_settle(o, f, err))
        return false;
    if (!flags_model(f, o->has_model ? &o->model : NULL, err))
        return imported_name_place(o, err);
    if (!options_agree(q, f, err))
        return false;
    take_terms(f, &q->terms);
    if (!flags_finish(f, world, err))
        return imported_name_place(o, err);
    return imported_holds(o, f, world, err);
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
static bool world_of(const struct query *q, int64_t *world, struct error *err)
{
    int64_t most = used_gpus(&q->cluster);
    if (q->terms.gpus > most)
        return fail(err, ERROR_INPUT, "--gpus is %lld, the cluster has %lld",
                    (long long)q->terms.gpus, (long long)most);
    if (q->terms.gpus && q->terms.gpus < most && q->cluster.groups > 1)
        return fail(err, ERROR_INPUT,
                    "--gpus is %lld, but all %lld GPUs of a pool of several groups are estimated: "
                    "shorten the pool instead",
                    (long long)q->terms.gpus, (long long)most);
    if (most > INT_MAX)
        return fail(err, ERROR_INPUT, "the pool has %lld GPUs, at most %d can be estimated",
                    (long long)most, INT_MAX);
    *world = q->terms.gpus ? q->terms.gpus : most;
    return true;
}

/* A file is of some release or fork; flags behind -- and those of a release that is named are Megatron-LM's. */
static bool follows_fork(const struct query *q)
{
    return q->flags && q->flags->of_file && (q->flags->fork || q->terms.release <= 0);
}

/* What its fork runs is no reason to refuse it. */
static void lift_reasons(const struct query *q, struct flags_result *f)
{
    int kept = 0;
    for (int i = 0; i < f->reasons.count; i++) {
        const char *runs = fork_runs(f->reasons.text[i], f->fork, f->mem);
        if (runs && follows_fork(q))
            add_text(&f->notes,
                     arena_format(f->mem, "refused by Megatron-LM as it is today: %s; %s",
                                  f->reasons.text[i], runs));
        else
            f->reasons.text[kept++] = f->reasons.text[i];
    }
    f->reasons.count = kept;
}

/* What is planned where samples have lengths that nobody says. */
static const char *unknown_lengths(const struct flags_result *f)
{
    static const char *const TEXTS[] = {
        [FILLING_PADDED] =
            "every sample is planned as long as the sequence: shorter ones take less "
            "(--lengths says how long they are, as in --lengths uniform:512..4096)",
        [FILLING_PACKED] = "samples are packed: sequences are planned full, as packs nearly are, "
                           "and attention over all of them, which takes less within each sample "
                           "(--lengths says how long they are, as in --lengths uniform:512..4096)"};
    return TEXTS[f->filling];
}

/* The model and the stack are those of the flags, where there are any. */
bool query_set_flags(struct query *q, struct arena *mem, struct error *err)
{
    const struct options *o = q->given;
    int64_t world;
    if (q->kind == QUERY_VERIFY)
        q->terms.stack = STACK_OPEN;
    if (!imported_options_count(o, err) || !world_of(q, &world, err))
        return false;
    if (!o->has_flags)
        return true;
    int64_t most = world;
    if (q->cluster.groups == 1 && !q->terms.gpus)
        world = imported_world(o, most);
    q->terms.gpus = world < most ? world : q->terms.gpus;
    struct flags_result *f = arena_alloc(mem, sizeof *f);
    *f = o->flags;
    if (!finish_flags(q, f, world, err))
        return false;
    if (world < most)
        add_text(&f->notes,
                 arena_format(mem,
                              "planned on the %s that the file names: its "
                              "parallelism and batch do not go into the %lld of the cluster",
                              world == 1 ? "GPU" : arena_format(mem, "%lld GPUs", (long long)world),
                              (long long)most));
    if (o->dataset.lengths.count == 0 && f->filling != FILLING_UNSAID)
        add_text(&f->notes, unknown_lengths(f));
    q->flags = f;
    lift_reasons(q, f);
    q->model = f->model;
    if (q->terms.stack == STACK_OPEN)
        q->terms.stack = f->stack;
    return true;
}

static void strategy_from_flags(const struct query *q, struct estimate_query *out)
{
    const struct flags_result *f = q->flags;
    out->strategy = f->strategy;
    if (!f->given[PARAM_seq_len])
        out->strategy.seq_len = query_default_seq_len(q);
    out->layout = f->has_layout ? &f->layout : NULL;
    out->reasons = f->reasons;
}

/* Why a stage has no group to itself, and what would be right. */
static const char *straddle_text(const struct query *q, const struct strategy *s, int stage,
                                 int from, int to, struct arena *mem)
{
    const struct cluster *c = &q->cluster;
    long long block = (long long)s->tp * s->cp * s->dp;
    int64_t divisor = 0;
    for (int g = 0; g < c->groups; g++)
        divisor = common_divisor(group_gpus(&c->group[g]), divisor);
    return arena_format(
        mem,
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
static bool place_stages(const struct query *q, const struct strategy *s, struct mesh_list *meshes,
                         struct flags_texts *reasons, struct arena *mem)
{
    const struct cluster *c = &q->cluster;
    int64_t block = (int64_t)s->tp * s->cp * s->dp;
    for (int r = 0; r < s->pp; r++) {
        int from = group_of(c, r * block), to = group_of(c, (r + 1) * block - 1);
        if ((r + 1) * block > used_gpus(c))
            return false;
        if (from != to) {
            add_text(reasons, straddle_text(q, s, r, from, to, mem));
            return false;
        }
        meshes->mesh[from].stages++;
    }
    return true;
}

/* A job on several groups: each has a mesh, those without stages only where nothing can be
 * placed. */
static void set_meshes(const struct query *q, struct arena *mem, struct estimate_query *out)
{
    struct mesh_list *meshes = arena_alloc(mem, sizeof *meshes);
    int kept = 0;
    meshes->count = q->cluster.groups;
    for (int g = 0; g < meshes->count; g++)
        meshes->mesh[g].group = &q->cluster.group[g];
    out->scene.meshes = meshes;
    out->scene.cluster = &q->cluster;
    out->placed = place_stages(q, &out->strategy, meshes, &out->reasons, mem);
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
static bool match_meshes(const struct query *q, struct mesh_list *meshes, struct arena *mem,
                         struct error *err)
{
    const struct cluster *c = &q->cluster;
    const struct strategy *s = &q->flags->strategy;
    if (meshes->count != c->groups)
        return fail(err, ERROR_INPUT,
                    "--hetero-process-meshes has %d meshes, the cluster has %d groups of nodes: "
                    "one each, in the same order, is right",
                    meshes->count, c->groups);
    for (int i = 0; i < meshes->count; i++) {
        struct mesh *m = &meshes->mesh[i];
        long long gpus = (long long)(m->stages * mesh_stage_gpus(m, s));
        m->group = &c->group[i];
        if (!names_group(q->flags->device_type[i], m->group, mem))
            return fail(err, ERROR_INPUT,
                        "--hetero-device-types: the type of mesh %d is '%s', group %d of the "
                        "cluster has %s",
                        i + 1, q->flags->device_type[i], i + 1, m->group->gpu->name);
        if (c->groups > 1 && gpus != group_gpus(m->group)) /* of one, --gpus may name a part */
            return fail(err, ERROR_INPUT,
                        "--hetero-process-meshes: tp x cp x dp x pp of mesh %d is %lld GPUs, group "
                        "%d of the cluster has %lld",
                        i + 1, gpus, i + 1, (long long)group_gpus(m->group));
    }
    return true;
}

static bool take_meshes(const struct query *q, struct arena *mem, struct estimate_query *out,
                        struct error *err)
{
    struct mesh_list *meshes = arena_alloc(mem, sizeof *meshes);
    *meshes = q->flags->meshes;
    if (!match_meshes(q, meshes, mem, err))
        return false;
    if (meshes->count > 1) {
        out->scene.meshes = meshes;
        out->scene.cluster = &q->cluster;
    }
    return true;
}

int estimate_groups(const struct estimate_query *e)
{
    return e->scene.meshes ? e->scene.cluster->groups : 1;
}

const struct node_group *estimate_group(const struct estimate_query *e, int g)
{
    return e->scene.meshes ? &e->scene.cluster->group[g] : e->scene.group;
}

void estimate_slots(const struct estimate_query *e, int g, double values[SLOTS])
{
    const struct node_group *group = estimate_group(e, g);
    slots_set_fixed(values, e->scene.model, group, e->scene.meshes ? group->nodes_max : e->nodes,
                    scene_stack(&e->scene));
    values[SLOT_release] = scene_release(&e->scene);
    estimate_set_strategy(e, g, &e->strategy, values);
}

void estimate_set_strategy(const struct estimate_query *e, int g, const struct strategy *s,
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

bool query_estimate(const struct query *q, struct arena *mem, struct estimate_query *out,
                    struct error *err)
{
    const struct node_group *group = &q->cluster.group[0];
    struct strategy *s = &out->strategy;
    int64_t world = 0;
    memset(out, 0, sizeof *out);
    if (!world_of(q, &world, err))
        return false;
    if (q->flags)
        strategy_from_flags(q, out);
    else if (!strategy_from_settings(q, world, s, err))
        return false;
    if (q->terms.precision >= 0)
        s->precision = q->terms.precision;
    bool hetero = q->flags && q->flags->hetero; /* whose GPUs are counted by mesh */
    if (!hetero && strategy_gpus(s) != world)
        add_text(&out->reasons,
                 arena_format(mem, "tp %d x cp %d x pp %d x dp %d is %lld GPUs, the %s %lld", s->tp,
                              s->cp, s->pp, s->dp, (long long)strategy_gpus(s),
                              q->terms.gpus ? "job has" : "cluster has", (long long)world));
    out->scene = query_scene(q, group);
    out->nodes = (int)((world + group->per_node - 1) / group->per_node);
    out->gpus = world;
    out->placed = true;
    if (q->cluster.groups > 1)
        out->nodes = group->nodes_max;
    if (hetero && !take_meshes(q, mem, out, err))
        return false;
    if (!hetero && q->cluster.groups > 1)
        set_meshes(q, mem, out);
    return query_rules(q, false, mem, &out->rules, err) &&
           query_cautions(q, mem, &out->cautions, err) &&
           (!follows_fork(q) || rules_lift(&out->rules, &out->cautions, q->flags->fork, mem, err));
}
