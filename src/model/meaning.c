/* What a model means without costing anything: the fields of meaning.def. All are doubles, so that
 * one walk over the table reads, checks, compares and prints them. After model_finish two
 * descriptions of one model are equal here too: a field that says nothing has its init, and what
 * follows from other fields (the activation of a gated MLP) is filled in. */
#include "model/model.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum meaning_need {
    NEED_ANY,
    NEED_UNLEARNED, /* no learned positions */
    NEED_ROTARY,
    NEED_SCALED,
    NEED_ORIGINAL, /* a scaling that looks at the length before */
    NEED_LLAMA3,
    NEED_YARN,
    NEED_WINDOWED,
    NEED_CLAMPING,
    NEED_GATED,
    NEED_EXPERTS,
    NEED_BIASED,
    NEED_SOFTMAX,
    NEED_SIGMOID,
    NEED_INDEXER,
    NEED_LEARNED_INDEX,
    NEED_PREDICTS
};

static const char *const LACKS[] = {
    [NEED_ANY] = "",
    [NEED_UNLEARNED] = "learned_pos=0",
    [NEED_ROTARY] = "rotary positions",
    [NEED_SCALED] = "rope_scaling",
    [NEED_ORIGINAL] = "rope_scaling=llama3 or yarn",
    [NEED_LLAMA3] = "rope_scaling=llama3",
    [NEED_YARN] = "rope_scaling=yarn",
    [NEED_WINDOWED] = "a window and rotary positions",
    [NEED_CLAMPING] = "clamped",
    [NEED_GATED] = "gated",
    [NEED_EXPERTS] = "experts",
    [NEED_BIASED] = "expert_bias",
    [NEED_SOFTMAX] = "experts and a softmax router",
    [NEED_SIGMOID] = "sigmoid_router",
    [NEED_INDEXER] = "index_heads",
    [NEED_LEARNED_INDEX] = "index_loss",
    [NEED_PREDICTS] = "mtp",
};

static const struct model_meaning_info INFO[MODEL_MEANINGS] = {
#define MEANING(field, kind, lo, hi, init, need, words, help)                                      \
    {#field, MEANING_##kind, lo, hi, init, words, help},
#include "model/meaning.def"
};

static const enum meaning_need NEED[MODEL_MEANINGS] = {
#define MEANING(field, kind, lo, hi, init, need, words, help) NEED_##need,
#include "model/meaning.def"
};

static const size_t OFFSET[MODEL_MEANINGS] = {
#define MEANING(field, kind, lo, hi, init, need, words, help) offsetof(struct model, field),
#include "model/meaning.def"
};

static const char *const ALL_NAMES[] = {
#define FIELD(field, kind, lo, hi, help) #field,
#include "model/fields.def"
#undef FIELD
#define MEANING(field, kind, lo, hi, init, need, words, help) #field,
#include "model/meaning.def"
    NULL,
};

const char *const *model_all_names(void)
{
    return ALL_NAMES;
}

const struct model_meaning_info *model_meaning_info(enum model_meaning f)
{
    return &INFO[f];
}

double model_meaning_get(const struct model *m, enum model_meaning f)
{
    return *(const double *)((const char *)m + OFFSET[f]);
}

void model_meaning_set(struct model *m, enum model_meaning f, double value)
{
    *(double *)((char *)m + OFFSET[f]) = value;
}

int model_meaning_find(const char *name)
{
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (same_name(name, INFO[i].name))
            return i;
    return -1;
}

const char *model_meaning_lacks(enum model_meaning f)
{
    return LACKS[NEED[f]];
}

static bool is_rotary(const struct model *m)
{
    return !m->learned_pos && m->alibi == 0;
}

static bool has_scaling(const struct model *m, int kind)
{
    return is_rotary(m) && m->rope_scaling == kind;
}

bool model_meaning_counts(const struct model *m, enum model_meaning f)
{
    const bool has[] = {
        [NEED_ANY] = true,
        [NEED_UNLEARNED] = !m->learned_pos,
        [NEED_ROTARY] = is_rotary(m),
        [NEED_SCALED] = is_rotary(m) && !has_scaling(m, ROPE_PLAIN),
        [NEED_ORIGINAL] = has_scaling(m, ROPE_LLAMA3) || has_scaling(m, ROPE_YARN),
        [NEED_LLAMA3] = has_scaling(m, ROPE_LLAMA3),
        [NEED_YARN] = has_scaling(m, ROPE_YARN),
        [NEED_WINDOWED] = is_rotary(m) && m->window,
        [NEED_CLAMPING] = m->clamped,
        [NEED_GATED] = m->gated,
        [NEED_EXPERTS] = m->experts,
        [NEED_BIASED] = m->experts && m->expert_bias,
        [NEED_SOFTMAX] = m->experts && !m->sigmoid_router,
        [NEED_SIGMOID] = m->experts && m->sigmoid_router,
        [NEED_INDEXER] = m->index_heads,
        [NEED_LEARNED_INDEX] = m->index_heads && m->index_loss,
        [NEED_PREDICTS] = m->mtp,
    };
    return has[NEED[f]];
}

static bool find_word(const char *words, const char *word, double *out)
{
    char known[32];
    for (int i = 0; next_word(&words, known, sizeof known); i++)
        if (same_name(word, known)) {
            *out = i;
            return true;
        }
    return false;
}

bool model_meaning_parse(enum model_meaning f, const char *text, double *out)
{
    const struct model_meaning_info *info = &INFO[f];
    if (info->kind == MEANING_WORD)
        return find_word(info->words, text, out);
    return parse_real(text, out) && *out >= info->lo && *out <= info->hi &&
           (info->kind == MEANING_REAL || *out == floor(*out));
}

/* The shortest digits that give the number back. */
static void print_number(double value, char *out, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        double again = 0;
        snprintf(out, size, "%.*g", digits, value);
        if (parse_real(out, &again) && again == value)
            return;
    }
}

void model_meaning_print(enum model_meaning f, double value, char *out, size_t size)
{
    const char *words = INFO[f].words;
    if (INFO[f].kind == MEANING_WORD) {
        for (int i = 0; i <= (int)value; i++)
            next_word(&words, out, size);
    } else if (value == floor(value) && fabs(value) < 1e15) {
        snprintf(out, size, "%.0f", value);
    } else {
        print_number(value, out, size);
    }
}

void model_init(struct model *m)
{
    *m = (struct model){0};
    for (int i = 0; i < MODEL_MEANINGS; i++)
        model_meaning_set(m, (enum model_meaning)i, INFO[i].init);
}

static bool check_range(struct model *m, enum model_meaning f, struct error *err)
{
    const struct model_meaning_info *info = &INFO[f];
    double v = model_meaning_get(m, f);
    char text[40];
    if (v == 0 && info->lo > 0)
        model_meaning_set(m, f, info->init); /* of a model that model_init has not seen */
    else if (v < info->lo || v > info->hi || (info->kind != MEANING_REAL && v != floor(v))) {
        snprintf(text, sizeof text, "%.15g", v);
        return fail(err, ERROR_INPUT, "%s is %s, expected %g to %g (%s)", info->name, text,
                    info->lo, info->hi, info->help);
    }
    return true;
}

/* Two ways to say one thing become one of them. */
static void fill_rotary(struct model *m)
{
    bool stretches = m->rope_scaling == ROPE_LINEAR || m->rope_scaling == ROPE_YARN;
    if (stretches && m->rope_factor > 0 && m->rope_factor <= 1)
        m->rope_scaling = ROPE_PLAIN;
    if (m->rope_scaling == ROPE_LLAMA3 && m->rope_factor == 0)
        m->rope_factor = 8;
    if (m->rope_original == 0)
        m->rope_original = m->rope_scaling == ROPE_LLAMA3 ? 8192 : 4096;
    if (m->rope_local == m->rope_theta)
        m->rope_local = 0;
}

static void fill_others(struct model *m)
{
    if (m->activation == ACTIVATION_AUTO)
        m->activation = m->gated ? ACTIVATION_SILU : ACTIVATION_GELU;
    if (m->clamp == 0)
        m->clamp = 7; /* of the only family that clamps */
    if (m->query_scale == m->head_dim)
        m->query_scale = 0;
    if (m->embed_init == m->init_std)
        m->embed_init = 0;
    if (m->topk == 1) /* normalized, the weight of a single expert would always be 1 */
        m->pre_softmax = 1;
}

bool model_finish_meaning(struct model *m, struct error *err)
{
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!check_range(m, (enum model_meaning)i, err))
            return false;
    fill_rotary(m);
    fill_others(m);
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!model_meaning_counts(m, (enum model_meaning)i))
            model_meaning_set(m, (enum model_meaning)i, INFO[i].init);
    if ((m->rope_scaling == ROPE_LINEAR || m->rope_scaling == ROPE_YARN) && m->rope_factor == 0)
        return fail(err, ERROR_INPUT, "rope_factor is missing: how far rope_scaling stretches");
    return true;
}

bool model_means_same(const struct model *a, const struct model *b, enum model_meaning *from,
                      char *difference, size_t size)
{
    char x[40], y[40];
    for (int i = (int)*from; i < MODEL_MEANINGS; i++) {
        enum model_meaning f = (enum model_meaning)i;
        if (model_meaning_get(a, f) == model_meaning_get(b, f))
            continue;
        *from = f;
        model_meaning_print(f, model_meaning_get(a, f), x, sizeof x);
        model_meaning_print(f, model_meaning_get(b, f), y, sizeof y);
        snprintf(difference, size, "%s is %s here and %s there", INFO[i].name, x, y);
        return false;
    }
    return true;
}
