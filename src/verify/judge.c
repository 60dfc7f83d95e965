/* What the measurements say of the plan: errors of every stage, what looks wrong about a
 * measurement, and one verdict, the worst first. */
#include "verify/verify.h"

#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "simulate/memory.h"

#include <math.h>

/* Memory may be this much above the prediction, steps this far apart. A GPU that computes draws
 * nearly all it may: less than this share of it, and it waits. */
static const double MEMORY_ABOVE = 0.02, SPREAD = 0.10, LITTLE_POWER = 0.8;

static void suspect(struct verify_stage *s, bool is, const char *why)
{
    if (is && s->suspects < VERIFY_SUSPECTS)
        s->suspect[s->suspects++] = why;
}

static void compare(struct verify_stage *s)
{
    const struct rank_result *m = &s->measured;
    s->compute_error = s->memory_error = NAN;
    if (s->outcome != VERIFY_OK)
        return;
    s->memory_error = s->peak_bytes / (m->peak_mib * MIB) - 1;
    if (s->timed && m->compute_ms > 0)
        s->compute_error = s->compute_s / (m->compute_ms / 1e3) - 1;
    suspect(s, m->loss_not_finite, "the loss is not finite");
    suspect(s, !(m->compute_ms > 0), "no time was measured");
    suspect(s, isnan(m->sm_mhz) || isnan(m->watts), "clock or power are not known");
    suspect(s, m->watts < LITTLE_POWER * m->watt_limit,
            "power is far below the limit: the GPU waits for the host");
    suspect(s, m->spread > SPREAD, "steps differ by more than 10 %");
}

static double mean_of(const struct verify_report *r, bool memory)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < r->stages; i++) {
        double e = memory ? r->stage[i].memory_error : r->stage[i].compute_error;
        sum += isnan(e) ? 0 : fabs(e);
        n += !isnan(e);
    }
    return n ? sum / n : NAN;
}

/* What a stage of the plan needs on its own GPU by what was measured. */
static double measured_device(const struct plan_stage *planned, const struct verify_stage *s)
{
    const struct rank_result *m = &s->measured;
    double reserved = isnan(m->reserved_mib) ? 0 : m->reserved_mib;
    return fmax(m->peak_mib, reserved) * MIB + planned->memory.part[MEMORY_context] +
           planned->memory.part[MEMORY_communicators];
}

/* Verdicts on one stage: what is wrong with it, or NULL. Worst first. */

static const char *ran_out(const struct verify_report *r, const struct verify_stage *s,
                           struct arena *mem)
{
    if (s->outcome != VERIFY_FULL)
        return NULL;
    return arena_format(mem, "stage %d ran out of memory, %.1f GiB were predicted of %.1f GiB",
                        s->stage, s->lone_bytes / GIB, r->check.total_mib * MIB / GIB);
}

static const char *is_too_big(const struct verify_report *r, const struct verify_stage *s,
                              struct arena *mem)
{
    const struct plan_stage *planned = &r->plan->stage[s->stage];
    if (s->outcome != VERIFY_OK || plan_stack_kind(r->plan) != plan_stack_kind(r->run) ||
        measured_device(planned, s) <= planned->group->usable_bytes)
        return NULL;
    return arena_format(mem,
                        "stage %d does not fit on %s: with what was measured it needs "
                        "%.1f GiB of %.1f GiB",
                        s->stage, planned->group->gpu->name, measured_device(planned, s) / GIB,
                        planned->group->usable_bytes / GIB);
}

static const char *failed(const struct verify_report *r, const struct verify_stage *s,
                          struct arena *mem)
{
    (void)r;
    return s->outcome != VERIFY_FAILED
               ? NULL
               : arena_format(mem, "stage %d failed: %s", s->stage, s->status);
}

static const char *needs_more(const struct verify_report *r, const struct verify_stage *s,
                              struct arena *mem)
{
    (void)r;
    if (!(s->memory_error < -MEMORY_ABOVE))
        return NULL;
    return arena_format(mem,
                        "stage %d needs %.1f %% more memory than predicted (%.1f GiB instead "
                        "of %.1f GiB)",
                        s->stage, 100 * (1 / (1 + s->memory_error) - 1),
                        s->measured.peak_mib * MIB / GIB, s->peak_bytes / GIB);
}

static const char *is_off(const struct verify_report *r, const struct verify_stage *s,
                          struct arena *mem)
{
    (void)r;
    if (!(fabs(s->compute_error) > s->expected_error))
        return NULL;
    return arena_format(mem,
                        "stage %d computes %.1f %% %s than predicted, %.0f %% are expected at "
                        "most",
                        s->stage, 100 * fabs(1 / (1 + s->compute_error) - 1),
                        s->compute_error < 0 ? "longer" : "shorter", 100 * s->expected_error);
}

static const char *not_run(const struct verify_report *r, const struct verify_stage *s,
                           struct arena *mem)
{
    (void)r;
    return s->outcome == VERIFY_OK
               ? NULL
               : arena_format(mem, "stage %d was not run: %s", s->stage, s->status);
}

static const char *first_fault(const struct verify_report *r, struct arena *mem)
{
    static const char *(*const faults[])(const struct verify_report *, const struct verify_stage *,
                                         struct arena *) = {ran_out,    is_too_big, failed,
                                                            needs_more, is_off,     not_run};
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (int i = 0; i < r->stages; i++) {
            const char *why = faults[f](r, &r->stage[i], mem);
            if (why)
                return why;
        }
    return NULL;
}

static const char *verdict_of(struct verify_report *r, struct arena *mem)
{
    bool own = plan_stack_kind(r->plan) == plan_stack_kind(r->run);
    const char *stack = own ? "" : arena_format(mem, " for the %s stack", plan_stack(r->run));
    const char *fault = first_fault(r, mem);
    r->confirmed = !fault;
    if (fault)
        return arena_format(mem, "not confirmed%s: %s", stack, fault);
    if (isnan(r->mean_compute_error))
        return arena_format(mem,
                            "memory confirmed%s: %.1f %% off on average; times were not "
                            "compared",
                            stack, 100 * r->mean_memory_error);
    return arena_format(mem, "confirmed%s: compute is %.1f %% off on average, memory %.1f %%",
                        stack, 100 * r->mean_compute_error, 100 * r->mean_memory_error);
}

/* Every stage's compute as its kind was measured. Only where that is the plan's own: its stack, the
 * GPU of each stage. */
static double step_as_measured(const struct verify_report *r, const struct verify_case *plan)
{
    double factor[SCHEDULE_MAX_RANKS];
    if (plan_stack_kind(r->plan) != plan_stack_kind(r->run))
        return NAN;
    for (int stage = 0; stage < r->plan->stages; stage++) {
        const struct verify_stage *s = verify_like(r, stage);
        if (!s || isnan(s->compute_error) || s->predicted_for != r->plan->stage[stage].group->gpu)
            return NAN;
        factor[stage] = 1 / (1 + s->compute_error);
    }
    return verify_scaled_step(plan, factor);
}

/* Whether so many bytes fit beside the margin, only without it, or not at all (is_too_big()). */
static const char *room_for(const struct plan_stage *planned, double bytes, struct arena *mem)
{
    double usable = planned->group->usable_bytes;
    if (bytes > usable)
        return "it does not fit";
    if (bytes <= planned->limit_bytes)
        return "it fits";
    return arena_format(mem, "it fits, but less than the margin is left: %.1f GiB of %.1f GiB",
                        (usable - bytes) / GIB, (usable - planned->limit_bytes) / GIB);
}

/* The stage that is fullest on the plan's own GPUs. */
static void note_room(struct verify_report *r, struct arena *mem)
{
    const struct plan_stage *fullest = NULL;
    double bytes = 0;
    for (int i = 0; i < r->stages && plan_stack_kind(r->plan) == plan_stack_kind(r->run); i++) {
        const struct plan_stage *planned = &r->plan->stage[r->stage[i].stage];
        double needed = measured_device(planned, &r->stage[i]);
        if (r->stage[i].outcome != VERIFY_OK ||
            (fullest &&
             needed * fullest->group->usable_bytes <= bytes * planned->group->usable_bytes))
            continue;
        fullest = planned;
        bytes = needed;
    }
    if (fullest)
        verify_note(r, mem,
                    arena_format(mem,
                                 "by what was measured the fullest stage that ran needs %.1f GiB "
                                 "of the %.1f GiB of each %s: %s",
                                 bytes / GIB, fullest->group->usable_bytes / GIB,
                                 fullest->group->gpu->name, room_for(fullest, bytes, mem)));
}

void verify_judge(struct verify_report *r, const struct verify_case *plan, struct arena *mem)
{
    for (int i = 0; i < r->stages; i++)
        compare(&r->stage[i]);
    r->mean_compute_error = mean_of(r, false);
    r->mean_memory_error = mean_of(r, true);
    r->step_s = step_as_measured(r, plan);
    r->verdict = verdict_of(r, mem);
    note_room(r, mem);
}
