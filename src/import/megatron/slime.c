/* slime hands Megatron's flags on, but for what it works out itself (slime 624b824a, 2026-08-21,
 * slime/utils/arguments.py and dp_schedule.py): the batch of a step as rollout batch x samples / steps where it is not said; sequences of any length, packed into
 * micro-batches of --max-tokens-per-gpu for each rank of context parallelism. --seq-length says nothing there: planned
 * is the longest sequence that a rollout may give. */
#include "import/megatron/slime.h"

#include "base/str.h"
#include "import/shell/launch.h"
#include "import/shell/launch_translation.h"

#include <string.h>

bool slime_is(const struct launch *l)
{
    return launch_mentions(l, "--actor-num-gpus-per-node") ||
           launch_mentions(l, "--actor-num-nodes") ||
           (launch_mentions(l, "--rollout-batch-size") &&
            launch_mentions(l, "--n-samples-per-prompt"));
}

/* -1 = it is not there, not known, or no number. */
static int64_t number(const struct launch *l, const char *flag)
{
    const char *text = launch_value(l, flag);
    int64_t n;
    return text && parse_int(text, &n) && n > 0 && n < 1 << 28 ? n : -1;
}

int64_t slime_batch(const struct launch *l)
{
    int64_t prompts = number(l, "--rollout-batch-size"),
            steps = number(l, "--num-steps-per-rollout");
    int64_t samples =
        launch_mentions(l, "--n-samples-per-prompt") ? number(l, "--n-samples-per-prompt") : 1;
    if (launch_mentions(l, "--global-batch-size") || prompts < 1 || samples < 1 || steps < 1)
        return -1;
    return prompts * samples / steps;
}

/* The longest sequence of a rollout; without one, what is said, or all that goes into a micro-batch. */
static int64_t sequence_of(const struct launch *l, int64_t room)
{
    int64_t all = number(l, "--rollout-max-context-len");
    int64_t answer = number(l, "--rollout-max-response-len");
    int64_t prompt = number(l, "--rollout-max-prompt-len");
    bool rolls = !launch_mentions(l, "--loss-type") || !launch_value(l, "--loss-type") ||
                 strcmp(launch_value(l, "--loss-type"), "sft_loss") != 0;
    if (rolls && all > 0)
        return all;
    if (rolls && answer > 0)
        return answer + (prompt > 0 ? prompt : 0);
    return number(l, "--seq-length") > 0 ? number(l, "--seq-length") : room;
}

bool slime_sequences(const struct launch *l, int64_t *longest, int64_t *micro)
{
    int64_t cp =
        launch_mentions(l, "--context-parallel-size") ? number(l, "--context-parallel-size") : 1;
    int64_t tokens = number(l, "--max-tokens-per-gpu"), batch = slime_batch(l);
    bool dynamic = launch_mentions(l, "--use-dynamic-batch-size");
    int64_t room = dynamic && tokens > 0 && cp > 0 ? tokens * cp : -1;
    batch = batch > 0 ? batch : number(l, "--global-batch-size");
    *longest = sequence_of(l, room);
    *micro = 0;
    if (*longest < 1)
        return false;
    if (dynamic)
        for (*micro = room > *longest ? room / *longest : 1;
             *micro > 1 && batch > 0 && batch % *micro;)
            --*micro;
    return true;
}

void slime_count_gpus(struct launch *l)
{
    int64_t nodes = launch_mentions(l, "--actor-num-nodes") ? number(l, "--actor-num-nodes") : 1;
    int64_t each = launch_mentions(l, "--actor-num-gpus-per-node")
                       ? number(l, "--actor-num-gpus-per-node")
                       : 8;
    if (l->gpus || nodes < 1 || each < 1 || nodes > 1 << 20 || each > 1 << 10)
        return;
    l->nodes = nodes;
    l->per_node = each;
    l->gpus = nodes * each;
}
