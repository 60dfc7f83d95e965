/* Families whose layers have a mixer and a feed-forward part, and mixers of several kinds. They are written as Megatron-LM's
 * hybrids are, one half a layer: "M-M-*-" are three layers of Bamba, two with a state space and one with attention. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Where a family says which layers have attention. */
enum source {
    NAMED,    /* a list of names a layer: layer_types, layers_block_type; else every `every`-th */
    NUMBERED, /* attn_layer_indices: numbers of the layers with attention, from 0 */
    MARKED, /* attn_type_list: 1 or 0 a layer; else as NAMED, and of MiniMax the first, third ... */
    GROUPED, /* the last of every layer_group_size, and those behind the last whole group */
    NOWHERE, /* all are alike */
    LISTED   /* linear_attn_config.full_attn_layers: numbers from 1 */
};

static const struct pair_family {
    const char *families;
    char linear; /* symbol of the layers without attention */
    enum source source;
    int every; /* 0: none */
} FAMILIES[] = {
    {"granitemoehybrid", 'M', NAMED, 0}, {"olmo_hybrid", 'G', NAMED, 4},
    {"bamba", 'M', NUMBERED, 0},         {"minimax minimax_text_01 minimax_m1", 'L', MARKED, 2},
    {"falcon_h1", 'H', NOWHERE, 0},      {"bailing_moe_linear", 'L', GROUPED, 0},
    {"kimi_linear", 'K', LISTED, 0},
};

static const struct pair_family *family_of(const char *type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (is_one_of(type, FAMILIES[i].families))
            return &FAMILIES[i];
    return NULL;
}

static bool read_named(const struct hf_config *c, const struct pair_family *f, int layers,
                       bool *attention, struct error *err)
{
    const char *key = hf_get(c, "layer_types") ? "layer_types" : "layers_block_type";
    const struct json *list = hf_get(c, key);
    if (list && (!json_is_array(list) || json_count(list) != (size_t)layers))
        return fail(err, ERROR_INPUT, "%s: %s is no list of %d names, one for each layer", c->name,
                    key, layers);
    for (int i = 0; i < layers; i++) {
        const char *name = list ? json_text(json_at(list, (size_t)i)) : "";
        attention[i] = list ? is_one_of(name, "attention full_attention")
                            : f->every > 0 && (i + (f->source == NAMED)) % f->every == 0;
        if (list && (!*name || (!attention[i] && !is_one_of(name, "mamba linear_attention"))))
            return fail(err, ERROR_INPUT,
                        "%s: %s[%d] is '%.80s', expected attention (full_attention) or mamba "
                        "(linear_attention)",
                        c->name, key, i, name);
    }
    return true;
}

static bool read_numbered(const struct hf_config *c, const char *key, const struct json *list,
                          int first, int layers, bool *attention, struct error *err)
{
    if (list && !json_is_array(list))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected a list of layers' numbers", c->name,
                    key, hf_type_name(list));
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_at(list, i);
        int64_t layer = json_integer_of(item) - first;
        if (!json_is_integer(item) || layer < 0 || layer >= layers)
            return fail(err, ERROR_INPUT, "%s: %s[%zu] is no layer number from %d to %d", c->name,
                        key, i, first, layers - 1 + first);
        attention[layer] = true;
    }
    return true;
}

static bool read_marked(const struct hf_config *c, const struct pair_family *f, int layers,
                        bool *attention, struct error *err)
{
    const struct json *list = hf_get(c, "attn_type_list");
    if (!list)
        return read_named(c, f, layers, attention, err);
    if (!json_is_array(list) || json_count(list) != (size_t)layers)
        return fail(err, ERROR_INPUT,
                    "%s: attn_type_list is no list of %d numbers, one for each layer", c->name,
                    layers);
    for (int i = 0; i < layers; i++) {
        const struct json *item = json_at(list, (size_t)i);
        attention[i] = json_integer_of(item) == 1;
        if (!json_is_integer(item) || (!attention[i] && json_integer_of(item) != 0))
            return fail(err, ERROR_INPUT, "%s: attn_type_list[%d] is neither 0 nor 1", c->name, i);
    }
    return true;
}

static bool read_grouped(const struct hf_config *c, int layers, bool *attention, struct error *err)
{
    int group = 1;
    if (!hf_get(c, "layer_group_size"))
        return fail(err, ERROR_INPUT,
                    "%s: layer_group_size is missing: which layers have attention", c->name);
    if (!hf_count(c, "layer_group_size", 1, MODEL_MAX_LAYERS, &group, err))
        return false;
    for (int i = 0; i < layers; i++)
        attention[i] = (i + 1) % group == 0 || i >= layers / group * group;
    return true;
}

/* Kimi-Linear has both lists, of which one says all: they must be each other's rest. */
static bool read_listed(const struct hf_config *c, int layers, bool *attention, struct error *err)
{
    static const char KEY[] = "linear_attn_config";
    const struct json *o = hf_get(c, KEY), *linear = json_get(o, "kda_layers");
    bool other[MODEL_MAX_LAYERS / 2] = {false};
    if (!json_is_object(o) || !json_is_array(json_get(o, "full_attn_layers")))
        return fail(err, ERROR_INPUT,
                    "%s: %s.full_attn_layers is missing: which layers have attention", c->name,
                    KEY);
    if (!read_numbered(c, KEY, json_get(o, "full_attn_layers"), 1, layers, attention, err) ||
        !read_numbered(c, KEY, json_is_null(linear) ? NULL : linear, 1, layers, other, err))
        return false;
    for (int i = 0; i < layers && !json_is_null(linear); i++)
        if (other[i] == attention[i])
            return fail(err, ERROR_INPUT, "%s: %s: layer %d is in both lists or in none", c->name,
                        KEY, i + 1);
    return true;
}

static bool read_attention(const struct hf_config *c, const struct pair_family *f, int layers,
                           bool *attention, struct error *err)
{
    static const char INDICES[] = "attn_layer_indices";
    switch (f->source) {
    case NAMED:
        return read_named(c, f, layers, attention, err);
    case NUMBERED:
        return read_numbered(c, INDICES, hf_get(c, INDICES), 0, layers, attention, err);
    case MARKED:
        return read_marked(c, f, layers, attention, err);
    case GROUPED:
        return read_grouped(c, layers, attention, err);
    case NOWHERE:
        return true;
    case LISTED:
        break;
    }
    return read_listed(c, layers, attention, err);
}

/* The sizes of Kimi delta attention, in an object of their own. */
static bool read_kda(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct json *o = hf_get(c, "linear_attn_config");
    const int64_t heads = json_integer_of(json_get(o, "num_heads")),
                  dim = json_integer_of(json_get(o, "head_dim")),
                  conv = json_is_null(json_get(o, "short_conv_kernel_size"))
                             ? 4
                             : json_integer_of(json_get(o, "short_conv_kernel_size"));
    if (heads < 1 || heads > 4096 || dim < 1 || dim > 4096)
        return fail(err, ERROR_INPUT,
                    "%s: linear_attn_config: num_heads and head_dim are numbers from 1 to 4096",
                    c->name);
    if (conv != 4)
        return fail(
            err, ERROR_INPUT,
            "%s: linear_attn_config.short_conv_kernel_size is not 4, the only one modelled%s",
            c->name, HF_WAY_OUT);
    m->kda_heads = (int)heads;
    m->kda_dim = (int)dim;
    return true;
}

/* The inner width is expand x hidden, or Falcon-H1's mamba_d_ssm, and a head's width is that by the heads: a number that contradicts it is refused by
 * transformers too. */
static bool read_heads(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct json *given = hf_get(c, "mamba_d_head");
    int expand = 2, head = 0, width = 1024;
    bool own = strcmp(c->family, "falcon_h1") == 0 && !hf_is_null(c, "mamba_d_ssm");
    if (!hf_count(c, "mamba_expand", 1, 64, &expand, err) ||
        !hf_count(c, "mamba_d_ssm", 1, 1 << 20, &width, err))
        return false;
    int64_t inner = own ? width : (int64_t)expand * m->hidden;
    bool automatic = !given || (json_is_string(given) && !strcmp(json_text(given), "auto"));
    if (!automatic && !hf_count(c, "mamba_d_head", 1, 4096, &head, err))
        return false;
    if (automatic && m->mamba_heads)
        head = (int)(inner / m->mamba_heads);
    if ((int64_t)head * m->mamba_heads != inner)
        return fail(err, ERROR_INPUT, "%s: mamba_n_heads is %d and mamba_d_head %d, but %s is %lld",
                    c->name, m->mamba_heads, head,
                    own ? "mamba_d_ssm" : "mamba_expand x hidden_size", (long long)inner);
    m->mamba_head_dim = head;
    return true;
}

/* What is modelled of a state space or a delta net is one convolution and no biases of products. */
static bool check_fixed(const struct hf_config *c, struct error *err)
{
    static const char *const WIDTHS[] = {"mamba_d_conv", "linear_conv_kernel_dim"};
    bool bias = false, conv = true;
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++) {
        int width = 4;
        if (!hf_count(c, WIDTHS[i], 1, 1024, &width, err))
            return false;
        if (width != 4)
            return fail(err, ERROR_INPUT, "%s: %s is %d, and only 4 is modelled%s", c->name,
                        WIDTHS[i], width, HF_WAY_OUT);
    }
    if (!hf_flag(c, "mamba_proj_bias", &bias, err) || !hf_flag(c, "mamba_conv_bias", &conv, err))
        return false;
    if (bias || !conv)
        return fail(err, ERROR_INPUT, "%s: %s is %s, which is not modelled%s", c->name,
                    bias ? "mamba_proj_bias" : "mamba_conv_bias", bias ? "true" : "false",
                    HF_WAY_OUT);
    return true;
}

/* Falcon-H1 has a norm behind the scan only if the file says so, and biases that are not modelled. */
static bool read_falcon(const struct hf_config *c, struct model *m, struct error *err)
{
    bool norm = false, bias = false;
    if (!hf_flag(c, "mamba_rms_norm", &norm, err) || !hf_flag(c, "projectors_bias", &bias, err))
        return false;
    m->mamba_bare = !norm;
    return !bias || fail(err, ERROR_INPUT, "%s: projectors_bias is true, which is not modelled%s",
                         c->name, HF_WAY_OUT);
}

/* The MLP of every Granite layer, beside its experts if it has any. */
static bool read_granite(const struct hf_config *c, struct model *m, struct error *err)
{
    int width = 1024;
    if (!hf_count(c, "shared_intermediate_size", 0, model_field_info(MODEL_ffn)->hi, &width, err))
        return false;
    if (m->experts > 0) {
        m->expert_ffn = m->ffn;
        m->shared_ffn = width;
    } else {
        m->ffn = width;
        m->shared_ffn = 0;
    }
    return true;
}

/* Widths that a file leaves out follow from others (OlmoHybridConfig). */
static void fill_delta_net(struct model *m)
{
    m->gdn_key_heads = m->gdn_key_heads ? m->gdn_key_heads : m->heads;
    m->gdn_heads = m->gdn_heads ? m->gdn_heads : m->heads;
    if (!m->gdn_key_dim && m->gdn_key_heads)
        m->gdn_key_dim = (int)(0.75 * m->hidden / m->gdn_key_heads);
    m->gdn_dim = m->gdn_dim ? m->gdn_dim : 2 * m->gdn_key_dim;
}

static bool write_pattern(const struct hf_config *c, const struct hf_family *family, char linear,
                          struct model *m, const bool *attention, struct error *err)
{
    struct layer_pattern feeds = {0};
    char text[MODEL_MAX_LAYERS + 1];
    struct error inner;
    int layers = m->layers;
    if (!hf_feeds(c, family, m, &feeds, err))
        return false;
    for (int i = 0; i < layers; i++) {
        text[2 * i] = !attention[i] ? linear : m->mla ? '+' : '*';
        text[2 * i + 1] = feeds.feed[i] == FEED_MOE ? 'E' : '-';
    }
    text[2 * layers] = 0;
    m->layers = m->dense_first = 0;
    return model_set_symbols(m, text, &inner) ||
           fail(err, inner.kind, "%s: %s", c->name, inner.text);
}

/* Without any but attention layers they are plain blocks. */
static bool all_attention(const bool *attention, int layers)
{
    for (int i = 0; i < layers; i++)
        if (!attention[i])
            return false;
    return true;
}

bool hf_pairs(const struct hf_config *c, const struct hf_family *family, struct model *m,
              struct error *err)
{
    const struct pair_family *f = family_of(c->family);
    bool attention[MODEL_MAX_LAYERS / 2] = {false};
    if (m->layers < 1 || m->layers > MODEL_MAX_LAYERS / 2)
        return fail(err, ERROR_INPUT, "%s: num_hidden_layers is %d, expected 1 to %d", c->name,
                    m->layers, MODEL_MAX_LAYERS / 2);
    if (!read_attention(c, f, m->layers, attention, err) || !check_fixed(c, err))
        return false;
    bool plain = all_attention(attention, m->layers);
    if (strcmp(c->family, "granitemoehybrid") == 0 && !read_granite(c, m, err))
        return false;
    if (f->linear == 'H' && !read_falcon(c, m, err))
        return false;
    if ((f->linear == 'M' || f->linear == 'H') && !read_heads(c, m, err))
        return false;
    if (f->linear == 'G')
        fill_delta_net(m);
    if (f->linear == 'K' && !read_kda(c, m, err))
        return false;
    if (plain) {
        m->mamba_heads = m->gdn_heads = m->kda_heads = m->kda_dim = 0;
        return true;
    }
    return write_pattern(c, family, f->linear, m, attention, err);
}
