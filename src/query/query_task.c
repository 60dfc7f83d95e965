/* What a sample is trained for: --task, --reference, --generation-seconds. */
#include "query/query.h"

#include "model/trained.h"
#include "query/query_parts.h"

enum { REFERENCE_OPEN, REFERENCE_MODEL, REFERENCE_BASE, REFERENCE_NONE };

/* Options that say nothing of this task. */
static bool fits_task(const struct query *q, const struct task *t, struct error *err)
{
    const int *times = q->given->times;
    if (times[OPTION_reference] && !t->reference)
        return fail(err, ERROR_INPUT, "--reference is of --task dpo and grpo: %s has no reference",
                    t->word);
    if (times[OPTION_generation_seconds] && q->given->task.kind != TASK_grpo)
        return fail(err, ERROR_INPUT,
                    "--generation-seconds is of --task grpo: %s generates nothing", t->word);
    if (q->given->task.reference == REFERENCE_BASE && q->model.lora == 0)
        return fail(err, ERROR_INPUT,
                    "--reference base is the model without its adapters: add --train lora:r=16, or "
                    "take --reference model");
    return true;
}

/* Where adapters can be switched off, the base is the reference unless another one is asked for. */
static void set_reference(const struct query *q, struct task *t)
{
    int asked = q->given->task.reference;
    int which = asked != REFERENCE_OPEN ? asked
                : q->model.lora > 0     ? REFERENCE_BASE
                                        : REFERENCE_MODEL;
    static const char *const words[] = {
        [REFERENCE_MODEL] = "model", [REFERENCE_BASE] = "base", [REFERENCE_NONE] = "none"};
    t->compared = t->reference ? words[which] : NULL;
    t->forwards += t->reference && which != REFERENCE_NONE;
    t->reference = t->reference && which == REFERENCE_MODEL;
}

bool query_set_task(struct query *q, struct arena *mem, struct error *err)
{
    struct task *t = arena_alloc(mem, sizeof *t);
    *t = *task_of((enum task_kind)q->given->task.kind);
    if (!fits_task(q, t, err))
        return false;
    set_reference(q, t);
    t->generation_s = q->given->task.generation_s;
    q->model.reference = t->reference;
    if (t->outputs > 0) {
        q->model.outputs = t->outputs;
        q->model.tied = 0;
    }
    if (q->given->times[OPTION_task])
        q->task = t;
    return true;
}
