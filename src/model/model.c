/* The fields of a model: reached by number through a table of offsets, filled with defaults,
 * checked one by one and against each other. What a loader or importer leaves at 0 is "not given";
 * after model_finish two descriptions of one model have equal fields, whatever their source,
 * because fields without meaning (topk of a dense model) are 0 and derived ones (kv, head_dim) are
 * filled. */
#include "model/model.h"

#include "base/str.h"
#include "model/trained.h"

#include <stdio.h>
#include <string.h>

enum { IS_COUNT, IS_FLAG, DEFAULT_MAX_SEQ = 8192 };

static const struct model_field_info INFO[MODEL_FIELDS] = {
#define FIELD(field, kind, lo, hi, help) {#field, IS_##kind == IS_FLAG, lo, hi, help},
#include "model/fields.def"
#undef FIELD
};

static const size_t OFFSET[MODEL_FIELDS] = {
#define FIELD(field, kind, lo, hi, help) offsetof(struct model, field),
#include "model/fields.def"
#undef FIELD
};

static const char *const NAMES[MODEL_FIELDS] = {
#define FIELD(field, kind, lo, hi, help) #field,
#include "model/fields.def"
#undef FIELD
};

static const struct field_owner OWNERS[] = {
    {MODEL_topk, MODEL_experts},
    {MODEL_expert_ffn, MODEL_experts},
    {MODEL_shared_ffn, MODEL_experts},
    {MODEL_shared_gate, MODEL_shared_ffn},
    {MODEL_expert_bias, MODEL_experts},
    {MODEL_dense_first, MODEL_experts},
    {MODEL_moe_every, MODEL_experts},
    {MODEL_router_groups, MODEL_experts},
    {MODEL_moe_latent, MODEL_experts},
    {MODEL_index_heads, MODEL_mla},
    {MODEL_index_dim, MODEL_index_heads},
    {MODEL_index_topk, MODEL_index_heads},
    {MODEL_index_every, MODEL_index_heads},
    {MODEL_index_first, MODEL_index_heads},
    {MODEL_index_loss, MODEL_index_heads},
    {MODEL_gdn_dim, MODEL_gdn_heads},
    {MODEL_gdn_key_heads, MODEL_gdn_heads},
    {MODEL_gdn_key_dim, MODEL_gdn_heads},
    {MODEL_full_every, MODEL_gdn_heads},
    {MODEL_kda_dim, MODEL_kda_heads},
    {MODEL_mamba_head_dim, MODEL_mamba_heads},
    {MODEL_mamba_groups, MODEL_mamba_heads},
    {MODEL_mamba_state, MODEL_mamba_heads},
    {MODEL_mamba_bare, MODEL_mamba_heads},
    {MODEL_group_topk, MODEL_router_groups},
    {MODEL_sigmoid_router, MODEL_experts},
    {MODEL_q_lora, MODEL_mla},
    {MODEL_kv_lora, MODEL_mla},
    {MODEL_qk_nope, MODEL_mla},
    {MODEL_qk_rope, MODEL_mla},
    {MODEL_v_dim, MODEL_mla},
    {MODEL_window_every, MODEL_window},
    {MODEL_qk_norm_wide, MODEL_qk_norm},
    {MODEL_bare_norm, MODEL_layer_norm},
    {MODEL_shared_norm, MODEL_parallel},
    {MODEL_lora_qkv, MODEL_lora},
    {MODEL_lora_proj, MODEL_lora},
    {MODEL_lora_fc1, MODEL_lora},
    {MODEL_lora_fc2, MODEL_lora},
    {MODEL_lora_in, MODEL_lora},
    {MODEL_lora_out, MODEL_lora},
    {MODEL_lora_dropout, MODEL_lora},
    {MODEL_lora_whole, MODEL_lora},
    {MODEL_lora_each, MODEL_lora},
    {MODEL_frozen_experts, MODEL_experts},
    {MODEL_frozen_router, MODEL_experts},
};

const struct model_field_info *model_field_info(enum model_field f)
{
    return &INFO[f];
}

int model_field_get(const struct model *m, enum model_field f)
{
    return *(const int *)((const char *)m + OFFSET[f]);
}

void model_field_set(struct model *m, enum model_field f, int value)
{
    *(int *)((char *)m + OFFSET[f]) = value;
}

int model_field_find(const char *name)
{
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (same_name(name, NAMES[i]))
            return i;
    return -1;
}

const char *model_field_near(const char *name)
{
    return did_you_mean(name, model_all_names(), MODEL_FIELDS + MODEL_MEANINGS);
}

const struct field_owner *model_field_unused(const struct model *m)
{
    for (size_t i = 0; i < sizeof OWNERS / sizeof *OWNERS; i++)
        if (model_field_get(m, OWNERS[i].field) && !model_field_get(m, OWNERS[i].owner))
            return &OWNERS[i];
    return NULL;
}

static void clear_unused(struct model *m)
{
    const struct field_owner *unused;
    if (m->router_groups == 1) /* one group is no grouping */
        m->router_groups = 0;
    if (m->linear_bias) /* has it too */
        m->proj_bias = 0;
    while ((unused = model_field_unused(m)))
        model_field_set(m, unused->field, 0);
}

/* MLA has a key for every head, as wide as its two parts together. */
static void fill_defaults(struct model *m)
{
    if (!m->kv || m->mla)
        m->kv = m->heads;
    if (m->mla)
        m->head_dim = m->qk_nope + m->qk_rope;
    else if (!m->head_dim && m->heads > 0 && m->hidden % m->heads == 0)
        m->head_dim = m->hidden / m->heads;
    if (!m->max_seq)
        m->max_seq = DEFAULT_MAX_SEQ;
    if (m->mamba_heads) { /* Megatron's, and every model's so far but for the state of one */
        m->mamba_head_dim = m->mamba_head_dim ? m->mamba_head_dim : 64;
        m->mamba_groups = m->mamba_groups ? m->mamba_groups : 8;
        m->mamba_state = m->mamba_state ? m->mamba_state : 128;
    }
    if (m->experts && !m->expert_ffn)
        m->expert_ffn = m->ffn;
    if (!m->family[0])
        snprintf(m->family, sizeof m->family, "gpt");
}

static bool check_range(const struct model *m, enum model_field f, struct error *err)
{
    const struct model_field_info *info = &INFO[f];
    int v = model_field_get(m, f);
    if (v == 0 && info->lo > 0)
        return fail(err, ERROR_INPUT, "%s is missing (%s)", info->name, info->help);
    if (v < info->lo || v > info->hi)
        return fail(err, ERROR_INPUT, "%s is %d, expected %d to %d (%s)", info->name, v, info->lo,
                    info->hi, info->help);
    return true;
}

/* `skip_derived` leaves out what fill_defaults may still set. */
static bool check_ranges(const struct model *m, bool skip_derived, struct error *err)
{
    for (int i = 0; i < MODEL_FIELDS; i++) {
        bool derived = i == MODEL_kv || i == MODEL_head_dim || i == MODEL_max_seq;
        if (derived && skip_derived && (m->mla || !model_field_get(m, (enum model_field)i)))
            continue;
        if (!check_range(m, (enum model_field)i, err))
            return false;
    }
    return true;
}

static bool check_attention(const struct model *m, struct error *err)
{
    if (!m->mla && !m->head_dim)
        return fail(
            err, ERROR_INPUT,
            "head_dim is missing, and hidden (%d) is no multiple of heads (%d) to derive it",
            m->hidden, m->heads);
    if (m->heads % m->kv)
        return fail(err, ERROR_INPUT, "heads is %d, expected a multiple of kv (%d)", m->heads,
                    m->kv);
    return true;
}

static bool check_mla(const struct model *m, struct error *err)
{
    static const enum model_field needed[] = {MODEL_kv_lora, MODEL_qk_nope, MODEL_qk_rope,
                                              MODEL_v_dim};
    for (size_t i = 0; m->mla && i < sizeof needed / sizeof *needed; i++)
        if (!model_field_get(m, needed[i]))
            return fail(err, ERROR_INPUT, "%s is missing (%s)", NAMES[needed[i]],
                        INFO[needed[i]].help);
    return true;
}

static bool check_wide(const struct model *m, struct error *err)
{
    return m->wide_first + m->wide_last <= m->layers ||
           fail(err, ERROR_INPUT,
                "wide_first and wide_last are %d and %d, expected at most %d (layers) together",
                m->wide_first, m->wide_last, m->layers);
}

static bool check_router(const struct model *m, struct error *err)
{
    if (m->experts && !m->topk)
        return fail(err, ERROR_INPUT, "topk is missing: how many of the %d experts a token uses",
                    m->experts);
    if (m->topk > m->experts)
        return fail(err, ERROR_INPUT, "topk is %d, expected at most experts (%d)", m->topk,
                    m->experts);
    if (m->router_groups && m->experts % m->router_groups)
        return fail(err, ERROR_INPUT, "router_groups is %d, expected a divisor of experts (%d)",
                    m->router_groups, m->experts);
    if (m->group_topk > m->router_groups)
        return fail(err, ERROR_INPUT, "group_topk is %d, expected at most router_groups (%d)",
                    m->group_topk, m->router_groups);
    return true;
}

static bool check_gdn(const struct model *m, struct error *err)
{
    if (!m->gdn_heads)
        return true;
    if (!m->gdn_dim || !m->gdn_key_heads || !m->gdn_key_dim)
        return fail(err, ERROR_INPUT,
                    "gdn_heads is %d: gdn_dim, gdn_key_heads and gdn_key_dim are needed too",
                    m->gdn_heads);
    if (m->gdn_heads % m->gdn_key_heads)
        return fail(err, ERROR_INPUT, "gdn_key_heads is %d, expected a divisor of gdn_heads (%d)",
                    m->gdn_key_heads, m->gdn_heads);
    return true;
}

static bool check_indexer(const struct model *m, struct error *err)
{
    if (!m->index_heads)
        return true;
    if (!m->index_dim || !m->index_topk)
        return fail(err, ERROR_INPUT, "index_heads is %d: index_dim and index_topk are needed too",
                    m->index_heads);
    if (m->index_dim < m->qk_rope)
        return fail(err, ERROR_INPUT, "index_dim is %d, expected at least qk_rope (%d)",
                    m->index_dim, m->qk_rope);
    return !m->pattern[0] || m->index_every <= 1 ||
           fail(err, ERROR_INPUT,
                "index_every is %d, and a pattern has layers that choose tokens (D) alone",
                m->index_every);
}

static bool check_mamba(const struct model *m, struct error *err)
{
    if (m->mamba_heads && m->mamba_heads % m->mamba_groups)
        return fail(err, ERROR_INPUT, "mamba_groups is %d, expected a divisor of mamba_heads (%d)",
                    m->mamba_groups, m->mamba_heads);
    return true;
}

static void pattern_of_symbols(const struct model *m, struct layer_pattern *p)
{
    for (int i = 0; i < m->layers; i++) {
        struct layer_kind kind = layer_of_symbol(m->pattern[i]);
        p->mixer[i] = (uint8_t)kind.mixer;
        p->feed[i] = (uint8_t)kind.feed;
        p->window[i] = m->window > 0 && mixer_attends(kind.mixer);
    }
}

enum mixer model_attention_of(const struct model *m, int layer)
{
    int first = m->index_first > 1 ? m->index_first : 1, behind = layer + 1 - first;
    if (!m->index_heads)
        return MIXER_ATTENTION;
    return m->index_every > 1 && behind > 0 && behind % m->index_every ? MIXER_REUSE : MIXER_DSA;
}

static void pattern_of_fields(const struct model *m, struct layer_pattern *p)
{
    int every = m->moe_every > 1 ? m->moe_every : 1;
    for (int i = 0; i < m->layers; i++) {
        int rest = i - m->dense_first;
        bool full = m->full_every == 0 || (i + 1) % m->full_every == 0;
        p->mixer[i] = (uint8_t)(full ? model_attention_of(m, i) : MIXER_GDN);
        p->feed[i] = m->experts > 0 && rest >= 0 && rest % every == 0 ? FEED_MOE : FEED_MLP;
        p->window[i] = m->window > 0 && !(m->window_every > 0 && (i + 1) % m->window_every == 0);
    }
}

bool model_finish(struct model *m, struct error *err)
{
    struct layer_pattern pattern;
    if (m->pattern[0] && (size_t)m->layers != strlen(m->pattern))
        return fail(err, ERROR_INPUT, "layers is %d, and the pattern has %zu", m->layers,
                    strlen(m->pattern));
    if (m->pattern[0] && m->mtp && !m->mtp_pattern[0])
        return fail(err, ERROR_INPUT,
                    "mtp is %d, but the pattern has no layers for it: add them behind a '/'",
                    m->mtp);
    clear_unused(m);
    if (!check_ranges(m, true, err))
        return false;
    if (!check_mla(m, err))
        return false;
    fill_defaults(m);
    if (!check_attention(m, err) || !check_ranges(m, false, err) || !check_router(m, err) ||
        !check_mamba(m, err) || !check_gdn(m, err) || !check_indexer(m, err) ||
        !check_wide(m, err) || !model_finish_meaning(m, err))
        return false;
    if (m->pattern[0])
        pattern_of_symbols(m, &pattern);
    else
        pattern_of_fields(m, &pattern);
    return model_set_pattern(m, &pattern, err) && model_finish_trained(m, err);
}

/* Fields that change neither time nor memory nor the count of this model, or whose meaning is in
 * `layer`, compared by same_layers. */
static bool is_idle(const struct model *m, enum model_field f)
{
    return (f == MODEL_max_seq && !m->learned_pos) ||
           (f == MODEL_ffn && !model_has_feed(m, FEED_MLP)) || f == MODEL_sigmoid_router ||
           f == MODEL_text_part || f == MODEL_dense_first || f == MODEL_moe_every ||
           f == MODEL_full_every || f == MODEL_window_every || f == MODEL_index_every ||
           f == MODEL_index_first;
}

static const char *const MIXER_NAMES[] = {
#define MIXER(id, symbol, part, name, lacks) [MIXER_##id] = name,
#define FEED(...)
#include "model/layer_kinds.def"
    [MIXER_NONE] = "no mixer",
};
static const char *const FEED_NAMES[] = {
#define MIXER(...)
#define FEED(id, symbol, part, name, lacks) [FEED_##id] = name,
#include "model/layer_kinds.def"
    [FEED_NONE] = "no feed-forward part",
};

static bool same_layers(const struct model *a, const struct model *b, char *difference, size_t size)
{
    for (int i = 0; i < a->layers; i++) {
        const struct layer_kind *x = &a->kind[a->layer[i]], *y = &b->kind[b->layer[i]];
        bool moe = x->feed == FEED_MOE, experts = moe != (y->feed == FEED_MOE);
        const char *what = experts ? "experts" : x->window != y->window ? "a window" : NULL;
        bool here = experts ? moe : x->window > 0;
        if (x->mixer != y->mixer || (!experts && x->feed != y->feed)) {
            snprintf(difference, size, "layer %d has %s and %s here, %s and %s there", i + 1,
                     MIXER_NAMES[x->mixer], FEED_NAMES[x->feed], MIXER_NAMES[y->mixer],
                     FEED_NAMES[y->feed]);
            return false;
        }
        if (what) {
            snprintf(difference, size, "layer %d has %s %s and not %s", i + 1, what,
                     here ? "here" : "there", here ? "there" : "here");
            return false;
        }
    }
    if (strcmp(a->mtp_pattern, b->mtp_pattern) != 0) {
        snprintf(difference, size, "MTP layers are '%s' here and '%s' there", a->mtp_pattern,
                 b->mtp_pattern);
        return false;
    }
    return true;
}

bool model_same(const struct model *a, const struct model *b, char *difference, size_t size)
{
    for (int i = 0; i < MODEL_FIELDS; i++) {
        enum model_field f = (enum model_field)i;
        int x = model_field_get(a, f), y = model_field_get(b, f);
        if (x == y || (is_idle(a, f) && is_idle(b, f)))
            continue;
        snprintf(difference, size, "%s is %d here and %d there", NAMES[i], x, y);
        return false;
    }
    return same_layers(a, b, difference, size);
}
