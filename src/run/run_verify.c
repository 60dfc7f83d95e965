/* A plan is asked about as it is, then as one rank alone runs it here: its stack, what can be
 * there, few micro-batches. Ranks run, and what they measured is judged. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include "run/commands.h"

#include "base/file.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/group.h"
#include "export/export.h"
#include "query/query.h"
#include "report/plan_words.h"
#include "simulate/memory.h"
#include "verify/harness.h"
#include "verify/verify.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the GPU's memory in use: more than what the check itself takes is someone else's. */
static const double OTHERS_BYTES = 2 * GIB;

/* A strategy in a scene, and the rules there. */
struct ruled {
    struct estimate_query asked;
    struct verify_case which;
    double (*values)[SLOTS]; /* of each group */
};

struct work {
    const struct verifying *v;
    const struct verify_options *given;
    const struct query *q;
    struct arena *mem;
    struct verify_report *out;
    struct error *err;
    int stack; /* asked for */
    struct ruled plan, ran, local;
    struct harness harness;
    bool open;
    struct node_group here; /* nodes of this machine's GPUs */
    struct costing costing_here;
    const struct plan *on_local; /* NULL = not needed, or the GPU is not known */
    /* of the plan as it runs: lone ranks are evaluated with factors that do not count as fitted */
    double expected_error, expected_error_here;
};

static bool rules_allow(void *context, const struct strategy *s, const char **why)
{
    struct ruled *r = context;
    int groups = estimate_groups(&r->asked);
    for (int g = 0; g < groups; g++)
        estimate_set_strategy(&r->asked, g, s, r->values[g]);
    for (int i = 0; i < r->asked.rules.count; i++)
        for (int g = 0; g < groups; g++)
            if (!rule_allows(&r->asked.rules.rule[i], r->values[g])) {
                *why = r->asked.rules.rule[i].reason;
                return false;
            }
    return true;
}

/* Once scene and strategy of `asked` are as they should be. */
static void rule(struct ruled *r, struct arena *mem)
{
    int groups = estimate_groups(&r->asked);
    r->values = arena_array(mem, (size_t)groups, sizeof *r->values);
    for (int g = 0; g < groups; g++)
        estimate_slots(&r->asked, g, r->values[g]);
    r->which = (struct verify_case){.scene = r->asked.scene,
                                    .strategy = r->asked.strategy,
                                    .layout = r->asked.layout,
                                    .allowed = rules_allow,
                                    .context = r};
}

/* The plan by its own stack, whatever is asked to run. */
static bool ask(struct work *w)
{
    struct query *q = arena_alloc(w->mem, sizeof *q);
    w->stack = w->v->options->terms.stack;
    w->q = q;
    return query_resolve(w->v->options, QUERY_VERIFY, w->v->resources, w->mem, q, w->err) &&
           query_estimate(q, w->mem, &w->plan.asked, w->err);
}

static bool is_sound(struct work *w, const struct plan *p)
{
    const char *why = NULL;
    if (w->plan.asked.reasons.count > 0)
        why = w->plan.asked.reasons.text[0];
    else if (!p->computed)
        why = p->reasons > 0 ? p->reason[0] : "it cannot be computed";
    else if (rules_allow(&w->plan, &p->strategy, &why))
        why = NULL;
    if (why)
        return fail(w->err, ERROR_INFEASIBLE, "the plan is not feasible: %s", why);
    if (p->model->pattern[0])
        return fail(w->err, ERROR_INPUT,
                    "verify builds what pretrain_gpt.py builds, and the plan is of a hybrid "
                    "(--hybrid-layer-pattern): compare its log instead, astra calibrate run.log");
    if (plan_on_flagscale(p))
        return fail(w->err, ERROR_INPUT,
                    "the plan is for FlagScale, whose meshes verify cannot run: it runs stock "
                    "Megatron, with one tp, dp and micro-batch for all stages");
    return true;
}

static bool read_plan(struct work *w)
{
    struct plan *p = arena_alloc(w->mem, sizeof *p);
    if (!w->v->options->has_flags)
        return fail(w->err, ERROR_INPUT,
                    "a plan is missing, as in astra verify plan.json --megatron Megatron-LM");
    if (!ask(w))
        return false;
    rule(&w->plan, w->mem);
    plan_evaluate(&w->plan.asked.scene, &w->plan.asked.strategy, w->plan.asked.layout, w->mem, p);
    p->flagscale = w->q->flags->hetero;
    w->out->plan = p;
    w->out->all_micro_batches = strategy_micro_batches(&p->strategy);
    return is_sound(w, p);
}

/* An absolute name, so that the harness finds it from anywhere. */
static bool find_megatron(struct work *w)
{
    const char *folder = w->given->megatron;
    if (!folder)
        return w->out->dry_run ||
               fail(w->err, ERROR_INPUT,
                    "no checkout of Megatron-LM is given: add --megatron FOLDER (or --dry-run)");
    w->out->megatron = folder;
    if (w->out->dry_run)
        return true;
    char *whole = realpath(folder, NULL);
    bool there = whole && file_exists(arena_format(w->mem, "%s/pretrain_gpt.py", whole));
    if (there)
        w->out->megatron = arena_string(w->mem, whole);
    free(whole);
    return there ||
           fail(w->err, ERROR_INPUT,
                "--megatron %s: is not a checkout of Megatron-LM (pretrain_gpt.py is not in "
                "it)",
                folder);
}

static bool look_around(struct work *w)
{
    struct rank_check *c = &w->out->check;
    w->harness = (struct harness){.mem = w->mem,
                                  .python = w->out->python,
                                  .megatron = w->out->megatron,
                                  .limit_s = w->given->limit_s};
    if (w->out->dry_run)
        return true;
    w->open = true;
    if (!harness_open(&w->harness, w->err) || !harness_check(&w->harness, c, w->err) ||
        !harness_suffices(&w->harness, c, w->err))
        return false;
    w->out->gpu = gpu_of_device(c->gpu);
    return true;
}

static bool choose_stack(struct work *w, enum stack *stack)
{
    const struct plan *p = w->out->plan;
    bool there = w->out->dry_run || *w->out->check.te;
    if (w->stack == STACK_TE && !p->te)
        return fail(w->err, ERROR_INPUT, "--stack is te, the plan is for %s", plan_stack(p));
    if (w->stack == STACK_TE && !there)
        return fail(w->err, ERROR_SYSTEM,
                    "--stack is te, %s has no TransformerEngine (--stack torch runs without)",
                    w->out->python);
    *stack = w->stack != STACK_OPEN ? (enum stack)w->stack
             : p->te && !there      ? STACK_TORCH
                                    : plan_stack_kind(p);
    const char *why = w->stack == STACK_OPEN
                          ? "TransformerEngine is not installed"
                          : arena_format(w->mem, "--stack %s", stack_name(*stack));
    if (plan_stack_kind(p) != *stack)
        verify_note(w->out, w->mem,
                    arena_format(w->mem,
                                 "%s: the stack that runs is %s, and predictions beside "
                                 "measurements are for it; those of the plan itself are for %s",
                                 why, stack_name(*stack), plan_stack(p)));
    return true;
}

static bool refuse(struct work *w, const char *why)
{
    enum stack stack = scene_stack(&w->ran.asked.scene);
    if (stack == STACK_TE)
        return fail(w->err, ERROR_INFEASIBLE, "one rank alone cannot run the plan: %s", why);
    if (w->stack != STACK_OPEN || !w->out->plan->te)
        return fail(w->err, ERROR_INPUT, "the %s stack cannot run the plan: %s", stack_name(stack),
                    why);
    return fail(w->err, ERROR_SYSTEM,
                "%s has no TransformerEngine, and without it the plan cannot run: %s",
                w->out->python, why);
}

/* Routing is forced to balance: a lone rank has no others' tokens. */
static void balance(struct work *w, struct scene *sc)
{
    if (sc->model->experts == 0)
        return;
    sc->imbalance = 1;
    sc->memory_imbalance = 0;
    verify_note(w->out, w->mem,
                "tokens are spread evenly over the experts: a single rank has no tokens of others");
}

/* What runs is predicted with the factors of its stack; the plan, which is evaluated, keeps its
 * figures. */
static bool take_factors(struct work *w, enum stack stack)
{
    struct query_terms terms = w->q->terms;
    struct scene *scene[] = {&w->ran.asked.scene, &w->plan.which.scene};
    terms.stack = stack;
    const struct query *run = query_derive(w->q, &terms, NULL, w->mem, w->err);
    for (int i = 0; run && i < 2; i++)
        *scene[i] = query_rebase(w->q, run, scene[i], w->mem);
    return run;
}

static bool settle_strategy(struct work *w)
{
    struct estimate_query *e = &w->ran.asked;
    const char *why;
    enum stack stack = STACK_TE;
    *e = w->plan.asked;
    if (!choose_stack(w, &stack))
        return false;
    e->scene.te = stack == STACK_TE;
    e->scene.stock = stack == STACK_LOCAL;
    if (!take_factors(w, stack))
        return false;
    balance(w, &e->scene);
    if (!verify_as_run(e->scene.model, stack, &e->strategy, w->out, w->mem, &why))
        return refuse(w, why);
    rule(&w->ran, w->mem);
    return rules_allow(&w->ran, &e->strategy, &why) || refuse(w, why);
}

/* Stages are chosen with all micro-batches, and run with few. */
static bool settle_size(struct work *w)
{
    struct plan *whole = arena_alloc(w->mem, sizeof *whole),
                *run = arena_alloc(w->mem, sizeof *run);
    struct verify_case *c = &w->ran.which;
    const char *which = w->given->stages ? w->given->stages : "distinct";
    plan_evaluate(&c->scene, &c->strategy, c->layout, w->mem, whole);
    if (!whole->computed)
        return refuse(w, whole->reasons > 0 ? whole->reason[0] : "it cannot be computed");
    if (!verify_choose(whole, which, w->out, w->mem, w->err))
        return false;
    w->out->micro_batches = verify_shrink(c, w->out);
    c->strategy.global_batch =
        (int)(w->out->micro_batches * c->strategy.micro_batch * c->strategy.dp);
    w->ran.asked.strategy = c->strategy;
    verify_alone(c, w->mem, run);
    w->out->run = run;
    w->expected_error = plan_stack_kind(run) == plan_stack_kind(w->out->plan)
                            ? w->out->plan->expected_error
                            : whole->expected_error;
    return true;
}

static bool is_of_another_type(const struct work *w)
{
    for (int i = 0; i < w->out->stages; i++)
        if (w->out->run->stage[w->out->stage[i].stage].group->gpu != w->out->gpu)
            return true;
    return false;
}

static void note_type(struct work *w)
{
    struct str text = {0};
    add_gpu_names(w->out->plan, &text);
    verify_note(
        w->out, w->mem,
        arena_format(w->mem,
                     "this GPU is of type %s, the plan is for %s: memory carries over; times %s",
                     w->out->gpu ? w->out->gpu->name : w->out->check.gpu, str_text(&text),
                     w->out->gpu ? "do not: where the type differs they are compared with "
                                   "what is predicted for this GPU"
                                 : "do not, and Astra knows none of this GPU: they are not "
                                   "compared"));
    str_release(&text);
}

/* The same ranks on nodes of this machine's GPU. */
static bool predict_here(struct work *w)
{
    struct estimate_query *e = &w->local.asked;
    struct plan *p = arena_alloc(w->mem, sizeof *p), *all = arena_alloc(w->mem, sizeof *all);
    struct learned *learned;
    const char *why;
    *e = w->ran.asked;
    group_init(&w->here, w->out->gpu, e->scene.group->per_node);
    w->costing_here.residual = query_residual(w->q, w->out->gpu, scene_stack(&e->scene));
    e->nodes = (int)((e->gpus + w->here.per_node - 1) / w->here.per_node);
    w->here.nodes_min = w->here.nodes_max = e->nodes;
    if (!resources_models(w->v->resources, w->v->options->efficiency, &learned, w->err) ||
        !resources_time(w->v->resources, &w->here, learned, &w->costing_here.costs, w->err))
        return false;
    e->scene.group = &w->here;
    e->scene.costing = &w->costing_here;
    e->scene.rent = NULL;
    e->scene.meshes = NULL;
    e->scene.cluster = NULL;
    rule(&w->local, w->mem);
    if (!rules_allow(&w->local, &e->strategy, &why))
        return fail(w->err, ERROR_SYSTEM, "%s cannot run the plan: %s", w->out->gpu->name, why);
    verify_alone(&w->local.which, w->mem, p);
    plan_evaluate(&e->scene, &e->strategy, e->layout, w->mem, all);
    w->on_local = p;
    w->expected_error_here = all->expected_error;
    return true;
}

static void predict_stage(const struct work *w, struct verify_stage *s)
{
    const struct plan *own = w->out->run;
    bool here = w->on_local && own->stage[s->stage].group->gpu != w->out->gpu;
    const struct plan *p = here ? w->on_local : own;
    const struct plan_stage *x = &p->stage[s->stage];
    s->predicted_for = x->group->gpu;
    s->timed = w->out->dry_run || x->group->gpu == w->out->gpu;
    s->compute_s = x->compute_step_s;
    s->peak_bytes = x->peak_bytes;
    s->lone_bytes = x->device_bytes - x->memory.part[MEMORY_communicators];
    s->expected_error = here ? w->expected_error_here : w->expected_error;
    s->compute_error = s->memory_error = NAN;
}

static bool predict(struct work *w)
{
    if (!w->out->dry_run && is_of_another_type(w)) {
        note_type(w);
        if (w->out->gpu && !predict_here(w))
            return false;
    }
    for (int i = 0; i < w->out->stages; i++)
        predict_stage(w, &w->out->stage[i]);
    return verify_note_factors(w->q, w->out, w->mem, w->err);
}

/* With experts the router is told to balance. */
static bool write_flags(struct work *w)
{
    static const char *const balanced[] = {"--moe-router-force-load-balancing",
                                           "--moe-router-load-balancing-type", "none"};
    struct verify_report *out = w->out;
    const char **flag;
    if (!plan_flags_for(out->plan, NULL, w->mem, &out->plan_flag, &out->plan_flags, w->err) ||
        !plan_flags_for(out->run, NULL, w->mem, &flag, &out->flags, w->err))
        return false;
    size_t more = out->run->model->experts > 0 ? sizeof balanced / sizeof *balanced : 0;
    out->flag = arena_array(w->mem, out->flags + more + 1, sizeof *out->flag);
    memcpy(out->flag, flag, out->flags * sizeof *flag);
    for (size_t i = 0; i < more; i++)
        out->flag[out->flags++] = balanced[i];
    const char *gap = export_untold_text(out->run->model, INT_MAX, w->mem);
    if (gap)
        verify_note(out, w->mem,
                    arena_format(w->mem, "the nearest model that Megatron has runs: %s", gap));
    return true;
}

static void write_commands(struct work *w)
{
    for (int i = 0; i < w->out->stages; i++) {
        struct verify_stage *s = &w->out->stage[i];
        struct harness_run run = {.world = w->out->run->gpus,
                                  .rank = s->rank,
                                  .steps = VERIFY_STEPS,
                                  .stack = plan_stack_kind(w->out->run),
                                  .flags = w->out->flags,
                                  .flag = w->out->flag};
        s->command = harness_words(&w->harness, &run);
    }
}

/* Why a stage cannot run on this GPU; NULL when it can. One that is planned for such a GPU is
 * tried. */
static const char *no_room(const struct work *w, const struct verify_stage *s)
{
    double total = w->out->check.total_mib * MIB, free_bytes = w->out->check.free_mib * MIB;
    bool planned = w->out->run->stage[s->stage].group->gpu == w->out->gpu;
    if (s->lone_bytes > total && !planned)
        return arena_format(w->mem, "it needs %.1f GiB, this GPU has %.1f GiB", s->lone_bytes / GIB,
                            total / GIB);
    if (s->peak_bytes > free_bytes && s->lone_bytes <= total && total - free_bytes > OTHERS_BYTES)
        return arena_format(w->mem,
                            "it needs %.1f GiB, of the %.1f GiB of this GPU %.1f GiB are free: "
                            "other processes have the rest",
                            s->lone_bytes / GIB, total / GIB, free_bytes / GIB);
    return NULL;
}

static void take_result(const struct work *w, const struct harness_rank *r, struct verify_stage *s)
{
    s->log = r->log;
    s->measured = r->result;
    s->outcome = VERIFY_FAILED;
    if (r->outcome == HARNESS_LATE) {
        s->status = arena_format(w->mem, "it took longer than %.0f s (--timeout allows more)",
                                 w->harness.limit_s);
    } else if (r->outcome != HARNESS_ENDED) {
        s->status = r->why;
    } else if (strcmp(r->result.status, "out of memory") == 0) {
        s->outcome = VERIFY_FULL;
        s->status = "out of memory";
    } else if (strcmp(r->result.status, "ok") != 0) {
        s->status = arena_string(w->mem, r->result.status);
    } else if (!(r->result.peak_mib > 0)) {
        s->status = "no memory was measured";
    } else {
        s->outcome = VERIFY_OK;
        s->status = "ok";
    }
}

static bool run_ranks(struct work *w)
{
    int n = 0, stages = w->out->stages;
    struct harness_rank *rank = arena_array(w->mem, (size_t)stages, sizeof *rank);
    int *which = arena_array(w->mem, (size_t)stages, sizeof *which);
    const char **env;
    size_t envs;
    for (int i = 0; i < stages; i++) {
        struct verify_stage *s = &w->out->stage[i];
        const char *why = no_room(w, s);
        if (why) {
            s->outcome = VERIFY_SKIPPED;
            s->status = why;
            continue;
        }
        which[n] = i;
        rank[n++].words = s->command;
    }
    plan_environment(w->out->run, w->mem, &env, &envs);
    if (!harness_run_all(&w->harness, rank, n, env, envs, w->v->progress, w->v->progress_context,
                         w->err))
        return false;
    for (int i = 0; i < n; i++)
        take_result(w, &rank[i], &w->out->stage[which[i]]);
    return true;
}

static bool answer(struct work *w)
{
    if (!read_plan(w) || !find_megatron(w) || !look_around(w) || !settle_strategy(w) ||
        !settle_size(w) || !predict(w) || !write_flags(w))
        return false;
    write_commands(w);
    w->out->mean_compute_error = w->out->mean_memory_error = w->out->step_s = NAN;
    w->out->verdict = "not run";
    w->out->confirmed = w->out->dry_run;
    if (w->out->dry_run)
        return true;
    if (!run_ranks(w))
        return false;
    verify_judge(w->out, &w->plan.which, w->mem);
    return true;
}

bool run_verify(const struct verifying *v)
{
    struct work *w = arena_alloc(v->mem, sizeof *w);
    const struct verify_options *given = &v->options->verify;
    *w = (struct work){.v = v, .given = given, .mem = v->mem, .out = v->report, .err = v->err};
    *v->report = (struct verify_report){.dry_run = given->dry_run,
                                        .python = given->python ? given->python : "python3"};
    bool ok = answer(w);
    if (w->open)
        harness_close(&w->harness);
    return ok;
}
