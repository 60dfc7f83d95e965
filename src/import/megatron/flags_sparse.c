/* Sparse attention out of Megatron's flags: --experimental-attention-variant dsa, or D in a hybrid's pattern. Absent flags are
 * those of core/transformer/transformer_config.py: no loss trains the indexer, and its kernels are PyTorch's. */
#include "import/megatron/flags_parts.h"

#include "base/str.h"
#include "import/megatron/words.h"

#include <string.h>

static void forget(struct model *m)
{
    m->index_heads = m->index_dim = m->index_topk = 0;
    m->index_every = m->index_first = m->index_loss = 0;
}

static bool read_loss(struct model *m, const struct words *w, struct error *err)
{
    const char *flag = "--dsa-indexer-loss-coeff", *text = words_value(w, flag);
    double coeff = 0;
    if (text && !model_meaning_parse(MEANING_index_coeff, text, &coeff))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a number from 0 on", flag, text);
    bool chosen = words_has(w, "--dsa-indexer-use-sparse-loss");
    m->index_loss = coeff > 0 ? 1 + chosen : 0;
    m->index_coeff = coeff;
    return true;
}

/* Without kernels of its own scores of all tokens lie in memory, in fp32, whatever --attention-backend says. */
static void read_kernels(struct flags_result *r, const struct words *w)
{
    const char *flag = "--dsa-kernel-backend";
    if (!flags_is(w, flag, "none", "none") || r->strategy.attention == ATTENTION_UNFUSED)
        return;
    r->strategy.attention = ATTENTION_UNFUSED;
    flags_note(r, flag,
               "none, Megatron's default: PyTorch attends with a matrix of scores, planned as "
               "attention=unfused; cudnn and tilelang need far less time and memory");
}

bool flags_read_sparse(struct flags_result *r, const struct words *w, struct error *err)
{
    static const char *const heads = "--dsa-indexer-n-heads";
    const char *pattern = words_value(w, "--hybrid-layer-pattern");
    struct model *m = &r->model;
    if (!flags_is(w, "--experimental-attention-variant", "dsa", NULL) &&
        !(pattern && strchr(pattern, 'D'))) {
        forget(m);
        return true;
    }
    if (!words_has(w, heads) && words_has(w, "--num-layers"))
        return fail(err, ERROR_INPUT, "%s is missing: heads of the indexer of sparse attention",
                    heads);
    if (words_has(w, heads) && !flags_number(w, heads, 1, 4096, &m->index_heads, err))
        return false;
    read_kernels(r, w);
    return read_loss(m, w, err);
}
