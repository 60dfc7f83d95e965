/* What the program that a plan's flags start does not do with its samples. */
#include "export/export.h"

#include "base/arena.h"
#include "dataset/dataset.h"
#include "dataset/task.h"
#include "simulate/plan.h"

const char *export_data_gap(const struct plan *p, bool takes_samples, struct arena *mem)
{
    if (!task_is_plain(p->task))
        return arena_format(mem,
                            "it trains by next tokens, not on %s: start the trainer of that task "
                            "with this layout",
                            p->task->what);
    if (p->dataset && !takes_samples)
        return arena_format(mem,
                            "pretrain_gpt.py fills every sequence, it %s no samples: "
                            "Megatron-Bridge and ms-swift do",
                            p->dataset->packing ? "packs" : "pads");
    return NULL;
}

const char *export_join_gaps(const char *a, const char *b, struct arena *mem)
{
    return a && b ? arena_format(mem, "%s; %s", a, b) : a ? a : b;
}
