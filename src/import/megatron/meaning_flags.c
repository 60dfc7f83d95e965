/* Which fields of a model's meaning a release of Megatron can be told. Most are one line of
 * megatron.def; what is left here depends on other fields. Rotary scaling in Megatron
 * (rotary_pos_embedding.py, yarn_rotary_pos_embedding.py, argument_utils.py):
 *     linear   a whole factor; the trainer hands it on since 0.19
 *     llama3   since 0.10, always by 8 from 8192: the trainer never hands --rope-scaling-factor on
 *     yarn     under multi-latent attention with factor and mscales alone; elsewhere since 0.19 */
#include "import/megatron/param_flags.h"

#include <math.h>

enum { LINEAR_SINCE = 19, LLAMA3_SINCE = 10, YARN_SINCE = 19, QUICK_GEGLU_SINCE = 15 };

const struct meaning_flag MEANING_FLAGS[MODEL_MEANINGS] = {
#define MEGATRON_MEANING(field, kind, flag, since) {MEANING_##field, kind, flag, since},
#include "import/megatron/megatron.def"
};

/* Not there in the release, and its default is another value. */
static const char *untold_yet(const struct model *m, enum model_meaning f, int release)
{
    bool plain = model_meaning_get(m, f) == model_meaning_info(f)->init;
    return plain || release >= MEANING_FLAGS[f].since ? NULL : "the flag is newer than the release";
}

static const char *untold_base(const struct model *m)
{
    return m->rope_theta == floor(m->rope_theta) ? NULL : "--rotary-base takes whole numbers";
}

static const char *untold_scaling(const struct model *m, int release)
{
    int kind = (int)m->rope_scaling;
    if (m->mla)
        return kind == ROPE_YARN ? NULL : "Megatron's multi-latent attention knows yarn alone";
    if (kind == ROPE_LINEAR)
        return m->rope_factor != floor(m->rope_factor)
                   ? "--rotary-seq-len-interpolation-factor takes whole numbers"
               : release >= LINEAR_SINCE ? NULL
                                         : "Megatron's trainer knows it since 0.19";
    if (kind == ROPE_LLAMA3)
        return release >= LLAMA3_SINCE ? NULL : "--use-rope-scaling is there since 0.10";
    if (kind == ROPE_YARN)
        return release >= YARN_SINCE ? NULL : "--position-embedding-type yarn works since 0.19";
    return "Megatron has no such scaling";
}

/* Of fields that say more about rope_scaling. */
static const char *untold_detail(const struct model *m, enum model_meaning f, int release)
{
    bool llama3 = m->rope_scaling == ROPE_LLAMA3;
    if (untold_scaling(m, release))
        return "";
    if (f == MEANING_rope_factor)
        return llama3 && m->rope_factor != 8
                   ? "Megatron's trainer stretches by 8, whatever --rope-scaling-factor says"
                   : NULL;
    if (f == MEANING_mscale || f == MEANING_mscale_all)
        return untold_yet(m, f, release);
    if (f == MEANING_rope_original && llama3)
        return m->rope_original == 8192 ? NULL : "Megatron's llama3 scaling has 8192";
    if (f == MEANING_rope_original)
        return m->mla && m->rope_original != 4096 ? "Megatron's multi-latent attention has 4096"
                                                  : NULL;
    return m->mla && model_meaning_get(m, f) != model_meaning_info(f)->init
               ? "Megatron's multi-latent attention has its default"
               : NULL;
}

static const char *untold_activation(const struct model *m, int release)
{
    int kind = (int)m->activation;
    if (!m->gated)
        return kind == ACTIVATION_GELU || kind == ACTIVATION_RELU2
                   ? NULL
                   : "Megatron's MLPs without a gate have gelu or relu2";
    if (kind == ACTIVATION_QUICK_GELU && release < QUICK_GEGLU_SINCE)
        return "--quick-geglu is there since 0.15";
    return kind == ACTIVATION_SILU || kind == ACTIVATION_QUICK_GELU
               ? NULL
               : "Megatron's gated MLPs have silu or quick_gelu";
}

const char *meaning_untold(const struct model *m, enum model_meaning f, int release)
{
    if (!model_meaning_counts(m, f))
        return NULL;
    switch ((int)f) {
    case MEANING_rope_theta:
        return untold_base(m) ? untold_base(m) : untold_yet(m, f, release);
    case MEANING_rope_scaling:
        return m->rope_scaling == ROPE_PLAIN ? NULL : untold_scaling(m, release);
    case MEANING_rope_factor:
    case MEANING_rope_original:
    case MEANING_beta_fast:
    case MEANING_beta_slow:
    case MEANING_mscale:
    case MEANING_mscale_all:
    case MEANING_yarn_exact:
        return untold_detail(m, f, release);
    case MEANING_activation:
        return untold_activation(m, release);
    case MEANING_clamp: /* the release is held to it by `clamped` */
        return NULL;
    default:
        break;
    }
    if (MEANING_FLAGS[f].kind != NONE)
        return untold_yet(m, f, release);
    return model_meaning_get(m, f) == model_meaning_info(f)->init ? NULL : MEANING_FLAGS[f].flag;
}
