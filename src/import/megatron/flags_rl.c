/* Reinforcement learning in Megatron (train_rl.py, megatron/rl): between two training steps the model generates and its
 * log-probabilities are taken, with graphs and buffers of their own. What is planned is the training step. */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "import/megatron/words.h"

#include <string.h>

static const char BUFFER[] = "--inference-dynamic-batching-buffer-size-gb";

/* The flag that tells it; NULL = none does. A log has those of every training, with their defaults. */
static const char *mark(const struct words *w)
{
    static const struct {
        const char *flag, *usual;
    } FLAGS[] = {{"--rl-offload-optimizer-during-inference", NULL},
                 {"--rl-persist-cuda-graphs", NULL},
                 {"--rl-use-sequence-packing", NULL},
                 {"--langrl-env-config", NULL},
                 {"--grpo-iterations", "2"},
                 {"--grpo-group-size", "2"},
                 {"--grpo-prompts-per-step", "32"},
                 {"--perform-rl-step", NULL}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++) {
        const char *value = words_peek(w, FLAGS[i].flag, 0), *usual = FLAGS[i].usual;
        bool set = words_there(w, FLAGS[i].flag) && !(usual && value && strcmp(value, usual) == 0);
        if (set && words_has(w, FLAGS[i].flag)) /* asked for: it is not without effect */
            found = FLAGS[i].flag;
    }
    return found;
}

/* Graphs are for generation unless training is asked for as well (prepare_data_for_update in megatron/rl/rl_utils.py). */
static void drop_graphs(struct flags_result *r, const struct words *w)
{
    if (words_has(w, "--rl-training-cuda-graphs") || r->strategy.cuda_graph == GRAPH_NONE)
        return;
    r->strategy.cuda_graph = GRAPH_NONE;
    flags_note(r, "--cuda-graph-impl",
               "CUDA graphs are for generation alone without --rl-training-cuda-graphs: training "
               "is planned without them");
}

void flags_read_rl(struct flags_result *r, const struct words *w)
{
    const char *flag = mark(w);
    if (!flag)
        return;
    const char *buffer = words_value(w, BUFFER);
    flags_note(r, flag,
               arena_format(r->mem,
                            "reinforcement learning: only the training step is planned, every "
                            "sequence at its longest; generation, log-probabilities and the "
                            "reference model are left out, and so is the memory that they keep "
                            "(%s GB for keys and values on each GPU, %s)",
                            buffer ? buffer : "40", buffer ? BUFFER : "by default"));
    drop_graphs(r, w);
}
