/* What a model means out of Megatron's flags: lines of megatron.def, and what is said by several
 * flags together. Absent flags are Megatron's defaults. Nothing is asked for: these flags have no
 * effect on time or memory. */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"

#include <limits.h>
#include <string.h>

static bool says(const struct words *w, const char *flag, const char *word)
{
    const char *value = words_peek(w, flag, 0);
    return value && strcmp(value, word) == 0;
}

static bool read_value(struct model *m, enum model_meaning f, const char *flag,
                       const struct words *w, struct error *err)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    const char *text = words_peek(w, flag, 0);
    double value;
    if (!text)
        return true;
    if (!model_meaning_parse(f, text, &value))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a number from %.15g to %.15g (%s)",
                    flag, text, info->lo, info->hi, info->help);
    model_meaning_set(m, f, value);
    return true;
}

/* One line of megatron.def. Of several coefficients or kinds the first is kept. */
static bool read_line(struct flags_result *r, const struct meaning_flag *f, const struct words *w,
                      struct error *err)
{
    if (f->kind == NONE)
        return true;
    r->meaning_given[f->field] = words_there(w, f->flag);
    if (f->kind == OWN || !words_there(w, f->flag))
        return true;
    if (words_peek(w, f->flag, 1))
        flags_note(r, f->flag, "the first of its values is kept");
    if (f->kind == SWITCH)
        model_meaning_set(&r->model, f->field, 1);
    return f->kind == SWITCH || read_value(&r->model, f->field, f->flag, w, err);
}

static bool read_yarn(struct model *m, const struct words *w, struct error *err)
{
    m->rope_scaling = ROPE_YARN;
    m->rope_factor = 1;
    if (!read_value(m, MEANING_rope_factor, "--rotary-scaling-factor", w, err) ||
        !read_value(m, MEANING_mscale, "--mscale", w, err) ||
        !read_value(m, MEANING_mscale_all, "--mscale-all-dim", w, err))
        return false;
    if (m->mla)
        return true;
    m->yarn_exact = words_there(w, "--no-yarn-correction-range-round-to-int");
    return read_value(m, MEANING_rope_original, "--yarn-original-max-position-embeddings", w,
                      err) &&
           read_value(m, MEANING_beta_fast, "--yarn-beta-fast", w, err) &&
           read_value(m, MEANING_beta_slow, "--yarn-beta-slow", w, err);
}

static bool read_scaling(struct model *m, const struct words *w, struct error *err)
{
    static const char linear[] = "--rotary-seq-len-interpolation-factor";
    bool yarn =
        m->mla ? !says(w, "--rope-type", "rope") : says(w, "--position-embedding-type", "yarn");
    if (yarn)
        return read_yarn(m, w, err);
    if (m->mla)
        return true;
    if (words_there(w, "--use-rope-scaling")) {
        m->rope_scaling = ROPE_LLAMA3;
        return read_value(m, MEANING_rope_factor, "--rope-scaling-factor", w, err);
    }
    if (words_there(w, linear))
        m->rope_scaling = ROPE_LINEAR;
    return !words_there(w, linear) || read_value(m, MEANING_rope_factor, linear, w, err);
}

/* A number; lists of layers are not kept. */
static bool read_unrotated(struct flags_result *r, const struct words *w, struct error *err)
{
    const char *flag = "--no-rope-freq", *text = words_peek(w, flag, 0);
    if (text && strchr(text, '[')) {
        flags_note(r, flag, "which layers are not rotated is not kept");
        return true;
    }
    return read_value(&r->model, MEANING_nope_every, flag, w, err);
}

bool flags_read_meaning(struct flags_result *r, const struct words *w, struct error *err)
{
    struct model *m = &r->model;
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!read_line(r, &MEANING_FLAGS[i], w, err))
            return false;
    m->activation = words_there(w, "--quick-geglu")    ? ACTIVATION_QUICK_GELU
                    : words_there(w, "--swiglu")       ? ACTIVATION_SILU
                    : words_there(w, "--squared-relu") ? ACTIVATION_RELU2
                                                       : ACTIVATION_GELU;
    m->index_hadamard = !words_there(w, "--no-dsa-indexer-rotate-activation") &&
                        !words_there(w, "--disable-dsa-indexer-rotate-activation");
    r->meaning_given[MEANING_index_hadamard] = m->index_hadamard == 0;
    m->attention_dropout = r->attention_dropout;
    m->hidden_dropout = r->hidden_dropout;
    return read_value(m, MEANING_rope_theta, "--rotary-base", w, err) &&
           read_value(m, MEANING_clamp, "--activation-func-clamp-value", w, err) &&
           read_scaling(m, w, err) && read_unrotated(r, w, err);
}

/* Dropout has its own place in the result. */
static bool is_compared(const struct model *given, enum model_meaning f)
{
    return f != MEANING_attention_dropout && f != MEANING_hidden_dropout &&
           model_meaning_counts(given, f) && !meaning_untold(given, f, INT_MAX);
}

/* Settings of a run, not of the weights: another run of the same model may have others. */
static bool is_of_run(enum model_meaning f)
{
    return f == MEANING_init_std || f == MEANING_embed_init || f == MEANING_aux_loss ||
           f == MEANING_balance || f == MEANING_z_loss || f == MEANING_bias_rate ||
           f == MEANING_mtp_loss || f == MEANING_index_coeff;
}

static bool meaning_agrees(struct flags_result *r, enum model_meaning f, struct model *given,
                           struct error *err)
{
    enum model_meaning from = f;
    char said[160];
    struct model one = *given; /* that differs in this field alone */
    model_meaning_set(&one, f, model_meaning_get(&r->model, f));
    if (!is_compared(given, f) || model_means_same(&one, given, &from, said, sizeof said))
        return true;
    if (r->meaning_given[f] && (is_of_run(f) || r->model_named)) {
        model_meaning_set(given, f, model_meaning_get(&r->model, f));
        flags_note(r, MEANING_FLAGS[f].flag, arena_format(r->mem, "planned as given: %s", said));
    } else if (r->meaning_given[f]) {
        return fail(err, ERROR_INPUT, "%s and --model %s disagree: %s", MEANING_FLAGS[f].flag,
                    given->name, said);
    } else if (r->has_model && !r->model_named) {
        flags_note(r, MEANING_FLAGS[f].flag,
                   arena_format(r->mem, "not there, and the model's is planned: %s", said));
    }
    return true;
}

bool flags_meaning_agrees(struct flags_result *r, struct model *given, struct error *err)
{
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!meaning_agrees(r, (enum model_meaning)i, given, err))
            return false;
    return true;
}
