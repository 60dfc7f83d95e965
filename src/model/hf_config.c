/* Hugging Face config.json. A table of families (families.def) says what the file does not: which
 * blocks have a gate, a bias, a norm; a table of keys says which field each key fills, and by which
 * names families call it. A family's own arithmetic (width of all shared experts together) is in
 * derive_fields, the order of its layers in hf_layers.c. Field names and meanings: the
 * configuration classes of Hugging Face transformers and CONFIG_MAPPING of Megatron-Bridge. Unknown
 * keys are ignored, as files carry dozens that do not touch shapes; in our own family,
 * megatron_gpt, they are errors. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Groups of keys. */
enum {
    COMMON = 1,
    BIASES = 2,
    EXPERTS = 4,
    EXPERT_WIDTH = 8, /* experts have a width of their own, not intermediate_size */
    GROUPS = 16,      /* shared experts by number, groups of experts, MTP layers */
    LATENT = 32,
    WIDE_FFN = 64, /* no keys: a missing inner width means 4 x hidden */
    NEEDED = 128,
    DEEPSEEK = BIASES | EXPERTS | EXPERT_WIDTH | GROUPS | LATENT
};

static const struct hf_family FAMILIES[] = {
#define ON(field) SET(field, 1)
/* clang-format off */
#define SET(field, value) {MODEL_##field, value}
/* clang-format on */
#define FAMILY(type, reads, window, full_every, ...)                                               \
    {type, reads, WINDOW_##window, full_every, {__VA_ARGS__}},
#include "model/families.def"
#undef FAMILY
#undef SET
#undef ON
};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

/* Our own family: the keys are the fields' names, for models without a published config.json. */
static const char OWN_FAMILY[] = "megatron_gpt";

/* Blank-separated names, the first one found counts. */
static const struct {
    enum model_field field;
    unsigned group;
    const char *names;
} KEYS[] = {
    {MODEL_layers, COMMON | NEEDED, "num_hidden_layers n_layer num_layers"},
    {MODEL_hidden, COMMON | NEEDED, "hidden_size n_embd n_embed"},
    {MODEL_ffn, COMMON | NEEDED, "intermediate_size n_inner ffn_hidden_size"},
    {MODEL_heads, COMMON | NEEDED, "num_attention_heads n_head"},
    {MODEL_kv, COMMON, "num_key_value_heads"},
    {MODEL_head_dim, COMMON, "head_dim"},
    {MODEL_vocab, COMMON | NEEDED, "vocab_size"},
    {MODEL_max_seq, COMMON, "max_position_embeddings n_positions seq_length n_ctx"},
    {MODEL_tied, COMMON, "tie_word_embeddings"},
    {MODEL_parallel, COMMON, "use_parallel_residual"},
    {MODEL_qkv_bias, BIASES, "attention_bias"},
    {MODEL_linear_bias, BIASES, "mlp_bias"},
    {MODEL_experts, EXPERTS | NEEDED, "num_experts num_local_experts n_routed_experts"},
    {MODEL_topk, EXPERTS | NEEDED, "num_experts_per_tok experts_per_token"},
    {MODEL_expert_ffn, EXPERT_WIDTH | NEEDED, "moe_intermediate_size"},
    {MODEL_shared_ffn, EXPERTS, "shared_expert_intermediate_size"},
    {MODEL_router_groups, GROUPS, "n_group"},
    {MODEL_group_topk, GROUPS, "topk_group"},
    {MODEL_mtp, GROUPS, "num_nextn_predict_layers mtp_num_hidden_layers"},
    {MODEL_q_lora, LATENT, "q_lora_rank"},
    {MODEL_kv_lora, LATENT | NEEDED, "kv_lora_rank"},
    {MODEL_qk_nope, LATENT | NEEDED, "qk_nope_head_dim"},
    {MODEL_qk_rope, LATENT | NEEDED, "qk_rope_head_dim"},
    {MODEL_v_dim, LATENT | NEEDED, "v_head_dim"},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

/* State-space and linear-attention layers, and patterns of them, are not modelled. */
static const char HYBRID_TYPES[] =
    "mamba mamba2 falcon_mamba jamba bamba zamba zamba2 falcon_h1 nemotron_h qwen3_next "
    "granitemoehybrid minimax lfm2 rwkv recurrent_gemma qwen3_5_text qwen3_5_moe_text kimi_linear";
static const char HYBRID_KEYS[] =
    "linear_num_key_heads linear_attn_config mamba_d_state mamba_num_heads ssm_cfg ssm_state_size "
    "attn_layer_period hybrid_override_pattern layers_block_type block_types";

const struct json *hf_get(const struct hf_config *c, const char *key)
{
    const struct json *v = json_get(c->text, key);
    if (json_is_null(v))
        v = json_get(c->root, key);
    return json_is_null(v) ? NULL : v;
}

static const char *type_name(const struct json *v)
{
    return json_is_object(v)    ? "an object"
           : json_is_array(v)   ? "a list"
           : json_is_string(v)  ? "text"
           : json_is_bool(v)    ? "true or false"
           : json_is_integer(v) ? "a whole number"
                                : "a fraction";
}

bool hf_count(const struct hf_config *c, const char *key, int lo, int hi, int *out,
              struct error *err)
{
    const struct json *v = hf_get(c, key);
    if (!v)
        return true;
    if (!json_is_integer(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected a whole number from %d to %d",
                    c->name, key, type_name(v), lo, hi);
    int64_t n = json_integer_of(v);
    if (n < lo || n > hi)
        return fail(err, ERROR_INPUT, "%s: %s is %lld, expected %d to %d", c->name, key,
                    (long long)n, lo, hi);
    *out = (int)n;
    return true;
}

bool hf_flag(const struct hf_config *c, const char *key, bool *out, struct error *err)
{
    const struct json *v = hf_get(c, key);
    if (!v)
        return true;
    if (!json_is_bool(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected true or false", c->name, key,
                    type_name(v));
    *out = json_bool_of(v);
    return true;
}

static bool read_field(const struct hf_config *c, const char *key, enum model_field f,
                       struct model *m, struct error *err)
{
    const struct model_field_info *info = model_field_info(f);
    int value = model_field_get(m, f);
    bool flag = value != 0;
    if (info->flag ? !hf_flag(c, key, &flag, err)
                   : !hf_count(c, key, info->lo, info->hi, &value, err))
        return false;
    model_field_set(m, f, info->flag ? flag : value);
    return true;
}

/* The first of the blank-separated names that the file has, in `word`; else the first name. */
static void choose_name(const struct hf_config *c, const char *names, char *word, size_t size)
{
    for (const char *at = names; next_word(&at, word, size);)
        if (hf_get(c, word))
            return;
    next_word(&names, word, size);
}

static bool read_keys(const struct hf_config *c, const struct hf_family *f, struct model *m,
                      struct error *err)
{
    char word[64];
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!(KEYS[i].group & (f->reads | COMMON)))
            continue;
        choose_name(c, KEYS[i].names, word, sizeof word);
        if (!read_field(c, word, KEYS[i].field, m, err))
            return false;
    }
    return true;
}

/* A DeepSeek file without routed experts describes a dense model. */
static bool is_needed(const struct hf_family *f, int key, const struct model *m)
{
    bool of_experts = KEYS[key].group & (EXPERTS | EXPERT_WIDTH);
    return KEYS[key].group & NEEDED && KEYS[key].group & (f->reads | COMMON) &&
           !(of_experts && f->reads & GROUPS && !m->experts);
}

static bool check_needed(const struct hf_config *c, const struct hf_family *f,
                         const struct model *m, struct error *err)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!is_needed(f, i, m) || model_field_get(m, KEYS[i].field))
            continue;
        const char *names = KEYS[i].names, *rest = names + strcspn(names, " ");
        return fail(err, ERROR_INPUT, "%s: %.*s%s%s%s is missing (%s)", c->name,
                    (int)(rest - names), names, *rest ? " (or" : "", rest, *rest ? ")" : "",
                    model_field_info(KEYS[i].field)->help);
    }
    return true;
}

static bool read_shared_experts(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct model_field_info *info = model_field_info(MODEL_shared_ffn);
    int shared = 0;
    if (!hf_count(c, "n_shared_experts", 0, 4096, &shared, err))
        return false;
    int64_t width = (int64_t)shared * m->expert_ffn;
    if (width > info->hi)
        return fail(err, ERROR_INPUT,
                    "%s: n_shared_experts is %d, %lld wide together, expected at most %d", c->name,
                    shared, (long long)width, info->hi);
    m->shared_ffn = (int)width;
    return true;
}

/* NULL when absent. */
static bool read_word(const struct hf_config *c, const char *key, const char **out,
                      struct error *err)
{
    const struct json *v = hf_get(c, key);
    if (v && !json_is_string(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected text", c->name, key, type_name(v));
    *out = v ? json_text(v) : NULL;
    return true;
}

/* DeepSeek's ways to score and choose experts; absent keys keep the family's. */
static bool read_router(const struct hf_config *c, struct model *m, struct error *err)
{
    const char *score, *method;
    if (!read_word(c, "scoring_func", &score, err) || !read_word(c, "topk_method", &method, err))
        return false;
    if (score)
        m->sigmoid_router = strcmp(score, "sigmoid") == 0;
    if (method)
        m->expert_bias = strcmp(method, "noaux_tc") == 0;
    if (method && strcmp(method, "greedy") == 0)
        m->router_groups = 0;
    return true;
}

static bool derive_fields(const struct hf_config *c, const struct hf_family *f, struct model *m,
                          struct error *err)
{
    if (f->reads & WIDE_FFN && !m->ffn)
        m->ffn = 4 * m->hidden;
    if (f->reads & GROUPS)
        return read_router(c, m, err) && read_shared_experts(c, m, err);
    return true;
}

static bool apply_pattern(const struct hf_config *c, const struct hf_family *f, struct model *m,
                          struct error *err)
{
    struct layer_pattern pattern;
    struct error inner;
    if (!hf_pattern(c, f, m, &pattern, err))
        return false;
    if (!model_set_pattern(m, &pattern, &inner))
        return fail(err, inner.kind, "%s: %s", c->name, inner.text);
    return true;
}

static bool finish(const struct hf_config *c, struct model *m, struct error *err)
{
    struct error inner;
    if (!model_finish(m, &inner))
        return fail(err, inner.kind, "%s: %s", c->name, inner.text);
    return true;
}

static bool read_family(const struct hf_config *c, const struct hf_family *f, struct model *m,
                        struct error *err)
{
    for (int i = 0; f->set[i].value; i++)
        model_field_set(m, f->set[i].field, f->set[i].value);
    if (!read_keys(c, f, m, err) || !derive_fields(c, f, m, err))
        return false;
    if (!check_needed(c, f, m, err) || !finish(c, m, err))
        return false;
    return apply_pattern(c, f, m, err) && hf_meaning(c, m, err);
}

struct own_reader {
    const struct hf_config *config;
    struct model *model;
    struct error *err;
    bool ok;
};

static void read_own_key(void *context, const char *key, const struct json *value)
{
    struct own_reader *r = context;
    int field = model_field_find(key), meaning = model_meaning_find(key);
    if (!r->ok || strcmp(key, "model_type") == 0)
        return;
    if (field < 0 && meaning >= 0)
        r->ok = json_is_null(value) ||
                hf_meaning_key(r->config, key, (enum model_meaning)meaning, r->model, r->err);
    else if (field < 0)
        r->ok = fail(r->err, ERROR_INPUT, "%s: unknown key '%s' for model_type %s%s",
                     r->config->name, key, OWN_FAMILY, model_field_near(key));
    else if (!json_is_null(value))
        r->ok = read_field(r->config, key, (enum model_field)field, r->model, r->err);
}

static bool read_own_family(const struct hf_config *c, struct model *m, struct error *err)
{
    struct own_reader r = {c, m, err, true};
    json_each(c->text, read_own_key, &r);
    return r.ok && finish(c, m, err);
}

static bool refuse_hybrid(const struct hf_config *c, const char *type, struct error *err)
{
    static const char why[] = "state-space or linear-attention layers, which Astra does not model";
    char word[64];
    for (const char *at = HYBRID_TYPES; next_word(&at, word, sizeof word);)
        if (same_name(type, word))
            return fail(err, ERROR_INPUT, "%s: model_type is '%s': it has %s", c->name, type, why);
    for (const char *at = HYBRID_KEYS; next_word(&at, word, sizeof word);)
        if (hf_get(c, word))
            return fail(err, ERROR_INPUT, "%s: %s is given: the model has %s", c->name, word, why);
    return true;
}

static bool unknown_type(const struct hf_config *c, const char *type, struct error *err)
{
    const char *names[FAMILY_COUNT + 1];
    struct str list = {0};
    for (int i = 0; i < FAMILY_COUNT; i++) {
        names[i] = FAMILIES[i].type;
        str_addf(&list, "%s ", names[i]);
    }
    names[FAMILY_COUNT] = OWN_FAMILY;
    fail(err, ERROR_INPUT, "%s: model_type '%.80s' is not supported%s; supported are %s%s", c->name,
         type, did_you_mean(type, names, FAMILY_COUNT + 1), str_text(&list), OWN_FAMILY);
    str_release(&list);
    return false;
}

static bool read_config(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct json *v = hf_get(c, "model_type");
    const char *type = json_text(v);
    if (!json_is_string(v))
        return fail(err, ERROR_INPUT, "%s: model_type is %s, expected a name such as llama",
                    c->name, v ? type_name(v) : "missing");
    if (!refuse_hybrid(c, type, err))
        return false;
    snprintf(m->family, sizeof m->family, "%s", type);
    if (strcmp(type, OWN_FAMILY) == 0)
        return read_own_family(c, m, err);
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(type, FAMILIES[i].type) == 0)
            return read_family(c, &FAMILIES[i], m, err);
    return unknown_type(c, type, err);
}

static bool read_root(const struct json *root, const char *name, struct model *m, struct error *err)
{
    if (!json_is_object(root))
        return fail(err, ERROR_INPUT, "%s: is %s, expected an object with model_type and sizes",
                    name, json_is_null(root) ? "null" : type_name(root));
    const struct json *text = json_get(root, "text_config");
    if (!json_is_null(text) && !json_is_object(text))
        return fail(err, ERROR_INPUT, "%s: text_config is %s, expected an object", name,
                    type_name(text));
    struct hf_config c = {.text = json_is_null(text) ? root : text, .root = root, .name = name};
    return read_config(&c, m, err);
}

bool model_from_hf(struct model *m, const char *text, size_t length, const char *name,
                   struct error *err)
{
    struct json *root = json_parse(text, length, name, err);
    if (!root)
        return false;
    model_init(m);
    snprintf(m->name, sizeof m->name, "%s", name);
    bool ok = read_root(root, name, m, err);
    json_release(root);
    return ok;
}
