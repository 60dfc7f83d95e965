/* A file is read once, piece by piece. Behind a brace it is a result of verify; everything else is
 * taken as the log of a training, for its arguments, its steps and its memory. */
#include "calibrate/calibrate_input.h"

#include "base/file.h"
#include "base/str.h"
#include "import/log/train_log.h"
#include "import/log/train_steps.h"
#include "query/query_file.h"
#include "simulate/vary.h"

#include <math.h>
#include <string.h>

/* A run that gets slower or faster by more, from its first to its last quarter, is no figure. */
static const double MOST_TREND = 0.10;

struct input_pieces {
    bool begun, json;
    bool told;       /* no more arguments can follow */
    struct str text; /* of JSON */
    struct train_log log;
    struct train_steps steps;
};

static bool take_piece(void *context, const char *data, size_t length)
{
    struct input_pieces *p = context;
    size_t blank = 0;
    while (!p->begun && blank < length && strchr(" \t\r\n", data[blank]) && data[blank])
        blank++;
    if (!p->begun && blank < length) {
        p->begun = true;
        p->json = data[blank] == '{';
    }
    if (p->json) {
        str_add_bytes(&p->text, data, length);
        return p->text.length <= FILE_LIMIT;
    }
    p->told = p->told || !train_log_feed(&p->log, data, length);
    train_steps_feed(&p->steps, data, length);
    return true;
}

void calibrate_refuse(struct calibrate_input *in, struct arena *mem, const char *why)
{
    in->refusal = arena_room(mem, in->refusal, in->refusals, &in->refusal_capacity, sizeof why);
    in->refusal[in->refusals++] = why;
}

void calibrate_observe(struct calibrate_input *in, struct arena *mem, struct observation o)
{
    in->observation =
        arena_room(mem, in->observation, in->observations, &in->observation_capacity, sizeof o);
    in->observation[in->observations++] = o;
}

/* False where one factor cannot stand for all groups. */
static bool one_type(const struct cluster *c)
{
    for (int g = 1; g < c->groups; g++)
        if (c->group[g].gpu != c->group[0].gpu)
            return false;
    return true;
}

/* Why the strategy has no figures; NULL = it has. */
static const char *not_computed(struct calibrate_input *in, struct arena *mem)
{
    struct arena scratch = {0};
    struct plan p;
    const char *why = NULL;
    plan_evaluate(&in->asked.scene, &in->asked.strategy, in->asked.layout, &scratch, &p);
    in->stated = p.expected_error;
    if (!p.computed && p.reasons > 0)
        why = arena_string(mem, p.reason[0]);
    else if (!p.computed || !in->asked.placed)
        why = "astra explain says why";
    arena_release(&scratch);
    return why;
}

bool calibrate_ask(struct calibrate_input *in, struct resources *resources, struct arena *mem,
                   struct error *err)
{
    struct query *q = &in->query;
    struct error inner = {0};
    const char *why;
    if (!query_resolve(&in->options, QUERY_ESTIMATE, resources, mem, q, &inner) ||
        !query_estimate(q, mem, &in->asked, &inner))
        return fail(err, inner.kind, "%s%s%s", inner.in_file ? "" : in->path,
                    inner.in_file ? "" : ": ", inner.text);
    in->gpu = q->cluster.group[0].gpu;
    in->stack = query_stack(q);
    if (!one_type(&q->cluster))
        calibrate_refuse(in, mem,
                         "runs on several types of GPU, which one step does not tell apart");
    else if ((why = not_computed(in, mem)))
        calibrate_refuse(in, mem, arena_format(mem, "its strategy cannot be predicted: %s", why));
    return true;
}

/* Steps of another batch than the arguments say: those of a ramp. */
static bool take_batch(struct calibrate_input *in, int global_batch, struct arena *mem)
{
    struct strategy *s = &in->asked.strategy;
    int64_t once = (int64_t)s->micro_batch * s->dp;
    if (global_batch == 0 || global_batch == s->global_batch)
        return true;
    if (global_batch % once != 0) {
        calibrate_refuse(in, mem,
                         arena_format(mem,
                                      "its steps have a batch of %d, no multiple of micro-batch x "
                                      "dp = %lld",
                                      global_batch, (long long)once));
        return false;
    }
    s->global_batch = global_batch;
    const char *why = not_computed(in, mem);
    if (why)
        calibrate_refuse(
            in, mem,
            arena_format(mem,
                         "its steps have a batch of %d, with which its strategy cannot "
                         "be predicted: %s",
                         global_batch, why));
    return !why;
}

static bool has_flag(const struct options *o, const char *flag)
{
    size_t count;
    const char *const *word = imported_words(o, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(word[i], flag) == 0)
            return true;
    return false;
}

/* Megatron's default order of ranks has the pipeline outermost; the other one replicas. */
static int64_t stage_of(const struct calibrate_input *in, int64_t rank, bool pipeline_inside)
{
    const struct strategy *s = &in->asked.strategy;
    int64_t per_stage = in->asked.gpus / s->pp;
    if (pipeline_inside)
        return rank / ((int64_t)s->tp * s->cp) % s->pp;
    return per_stage > 0 ? rank / per_stage : s->pp;
}

/* Of a stage's ranks the fullest. */
static void observe_ranks(struct calibrate_input *in, const struct step_summary *sum,
                          struct arena *mem)
{
    int pp = in->asked.strategy.pp;
    bool inside = has_flag(&in->options, "--use-tp-pp-dp-mapping");
    double *most = arena_array(mem, (size_t)pp, sizeof *most);
    for (int i = 0; i < sum->ranks; i++) {
        int64_t stage = stage_of(in, sum->rank[i].rank, inside);
        if (stage < pp)
            most[stage] = fmax(most[stage], sum->rank[i].allocated_bytes);
    }
    for (int stage = 0; stage < pp; stage++)
        if (most[stage] > 0)
            calibrate_observe(
                in, mem,
                (struct observation){.stage = stage, .memory = true, .measured = most[stage]});
}

static void observe_steps(struct calibrate_input *in, const struct step_summary *sum,
                          struct arena *mem)
{
    if (fabs(sum->trend) > MOST_TREND) {
        calibrate_refuse(in, mem,
                         arena_format(mem,
                                      "its steps change by %+.0f %% on the way: no one figure "
                                      "stands for them",
                                      100 * sum->trend));
        return;
    }
    calibrate_observe(in, mem,
                      (struct observation){.stage = -1,
                                           .measured = sum->step_s,
                                           .noise = sum->spread / sqrt((double)sum->steps)});
}

static bool read_log(struct calibrate_input *in, struct resources *resources,
                     struct input_pieces *p, struct arena *mem, struct error *err)
{
    struct options *o = &in->options;
    struct step_summary sum = {0};
    struct error inner = {0};
    in->kind = "training log";
    if (!o->has_cluster && !o->gpu)
        return fail(err, ERROR_INPUT,
                    "%s: a log does not say on which GPUs it ran: add --gpu, as in --gpu H100, or "
                    "--cluster",
                    in->path);
    if (!import_log(o, &p->log, in->path, err))
        return false;
    if (!train_steps_end(&p->steps, &sum, &inner))
        return fail(err, ERROR_INPUT, "%s: %s", in->path, inner.text);
    if (!calibrate_ask(in, resources, mem, err))
        return false;
    in->steps = sum.steps;
    in->notes = sum.notes;
    in->note = sum.note;
    if (in->refusals == 0 && take_batch(in, sum.global_batch, mem)) {
        observe_steps(in, &sum, mem);
        observe_ranks(in, &sum, mem);
    }
    return true;
}

static bool is_place(const char *option)
{
    return strcmp(option, "cluster") == 0 || strcmp(option, "gpu") == 0 ||
           strcmp(option, "gpus") == 0;
}

bool calibrate_input_begin(struct calibrate_input *in, const struct options *from, bool placed,
                           struct arena *mem, struct error *err)
{
    options_init(&in->options, mem);
    for (const struct given *g = from->first; g; g = g->next)
        if (g->option->use == ASKS && option_takes(g->option, "calibrate") &&
            !(placed && is_place(g->option->name)) &&
            !options_set(&in->options, g->option->name, g->value, err))
            return false;
    return true;
}

static bool read_pieces(struct calibrate_input *in, struct resources *resources,
                        struct input_pieces *p, struct arena *mem, struct error *err)
{
    if (!p->begun)
        return fail(err, ERROR_INPUT, "%s: is empty, expected a training log or a result of verify",
                    in->path);
    if (p->text.length > FILE_LIMIT)
        return fail(err, ERROR_INPUT,
                    "%s: begins with { and is larger than %d MiB: no result of "
                    "verify",
                    in->path, FILE_LIMIT >> 20);
    return p->json
               ? calibrate_read_verify(in, resources, str_text(&p->text), p->text.length, mem, err)
               : read_log(in, resources, p, mem, err);
}

bool calibrate_input_read(struct calibrate_input *in, const struct options *from,
                          struct resources *resources, const char *path, struct arena *mem,
                          struct error *err)
{
    struct input_pieces p = {0};
    *in = (struct calibrate_input){.path = path};
    str_init(&p.text);
    train_log_init(&p.log, mem);
    train_steps_init(&p.steps, mem);
    bool ok = calibrate_input_begin(in, from, false, mem, err) &&
              file_stream(path, take_piece, &p, err) && read_pieces(in, resources, &p, mem, err);
    if (ok)
        calibrate_sift(in, mem);
    train_steps_release(&p.steps);
    train_log_release(&p.log);
    str_release(&p.text);
    return ok;
}

double calibrate_predict(const struct calibrate_input *in, const struct observation *o,
                         const double *log_factor)
{
    struct arena scratch = {0};
    struct varied *v = arena_alloc(&scratch, sizeof *v);
    struct plan *p = arena_alloc(&scratch, sizeof *p);
    double times[RESIDUALS], value = 0;
    for (int i = 0; i < RESIDUALS; i++)
        times[i] = log_factor && i < FIT_FACTORS ? exp(log_factor[i]) : 1;
    if (o->alone)
        times[RESIDUAL_intra] = times[RESIDUAL_inter] = 0;
    scene_vary(v, &in->asked.scene, ALL_MESHES, times);
    plan_evaluate(&v->scene, &in->asked.strategy, in->asked.layout, &scratch, p);
    if (p->computed && o->stage < p->stages)
        value = o->stage < 0 ? p->step_s
                : o->memory  ? p->stage[o->stage].peak_bytes
                             : p->stage[o->stage].compute_step_s;
    arena_release(&scratch);
    return value;
}
