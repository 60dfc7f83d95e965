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
    {MODEL_head_dim, COMMON, "head_dim attention_head_dim"},
    {MODEL_vocab, COMMON | NEEDED, "vocab_size"},
    {MODEL_max_seq, COMMON, "max_position_embeddings n_positions seq_length n_ctx"},
    {MODEL_tied, COMMON, "tie_word_embeddings"},
    {MODEL_parallel, COMMON, "use_parallel_residual"},
    {MODEL_qkv_bias, BIASES, "attention_bias"},
    {MODEL_qkv_bias, ALL_BIAS, "use_bias"},
    {MODEL_qkv_bias, QKV_KEY, "use_qkv_bias qkv_bias"},
    {MODEL_qkv_bias, ONE_BIAS, "bias"},
    {MODEL_proj_bias, OUT_KEY, "attention_out_bias"},
    {MODEL_proj_bias, ONE_BIAS, "bias"},
    {MODEL_linear_bias, BIASES, "mlp_bias"},
    {MODEL_linear_bias, ALL_BIAS, "use_bias"},
    {MODEL_post_norms, POST_KEY, "use_post_norm"},
    {MODEL_qk_norm, QK_KEY, "use_qk_norm qk_layernorm"},
    {MODEL_experts, EXPERTS | NEEDED,
     "num_experts num_local_experts n_routed_experts moe_num_experts"},
    {MODEL_topk, EXPERTS | NEEDED,
     "num_experts_per_tok experts_per_token num_experts_per_token moe_topk moe_k"},
    {MODEL_expert_ffn, EXPERT_WIDTH | NEEDED, "moe_intermediate_size"},
    {MODEL_shared_ffn, EXPERTS, "shared_expert_intermediate_size shared_intermediate_size"},
    {MODEL_shared_ffn, SHARED_FFN | INTERLEAVED, "intermediate_size"},
    {MODEL_expert_ffn, INTERLEAVED | NEEDED, "intermediate_size"},
    {MODEL_ffn, INTERLEAVED, "intermediate_size_mlp"},
    {MODEL_expert_bias, GROUPS, "moe_router_enable_expert_bias"},
    {MODEL_router_groups, GROUPS | HYBRID, "n_group num_expert_group"},
    {MODEL_group_topk, GROUPS | HYBRID, "topk_group"},
    {MODEL_mtp, PREDICTS, "num_nextn_predict_layers mtp_num_hidden_layers num_mtp_layers"},
    {MODEL_shared_ffn, HYBRID, "moe_shared_expert_intermediate_size"},
    {MODEL_moe_latent, HYBRID, "moe_latent_size"},
    {MODEL_attn_gate, DELTA, "attn_output_gate"},
    {MODEL_full_every, DELTA, "full_attention_interval"},
    {MODEL_gdn_heads, DELTA | NETS, "linear_num_value_heads"},
    {MODEL_gdn_dim, DELTA | NETS, "linear_value_head_dim"},
    {MODEL_gdn_key_heads, DELTA | NETS, "linear_num_key_heads"},
    {MODEL_gdn_key_dim, DELTA | NETS, "linear_key_head_dim"},
    {MODEL_mamba_heads, HYBRID, "mamba_num_heads"},
    {MODEL_mamba_head_dim, HYBRID, "mamba_head_dim"},
    {MODEL_mamba_groups, HYBRID, "n_groups"},
    {MODEL_mamba_state, HYBRID, "ssm_state_size"},
    {MODEL_mamba_heads, PAIRED, "mamba_n_heads"},
    {MODEL_mamba_groups, PAIRED, "mamba_n_groups"},
    {MODEL_mamba_state, PAIRED, "mamba_d_state"},
    {MODEL_index_heads, LATENT, "index_n_heads"},
    {MODEL_index_dim, LATENT, "index_head_dim"},
    {MODEL_index_topk, LATENT, "index_topk"},
    {MODEL_index_every, LATENT, "index_topk_freq"},
    {MODEL_index_first, LATENT, "index_skip_topk_offset"},
    {MODEL_q_lora, LATENT, "q_lora_rank"},
    {MODEL_kv_lora, LATENT | NEEDED, "kv_lora_rank"},
    {MODEL_qk_nope, LATENT | NEEDED, "qk_nope_head_dim"},
    {MODEL_qk_rope, LATENT | NEEDED, "qk_rope_head_dim"},
    {MODEL_v_dim, LATENT | NEEDED, "v_head_dim"},
};
enum { KEY_COUNT = sizeof KEYS / sizeof *KEYS };

const struct json *hf_get(const struct hf_config *c, const char *key)
{
    const struct json *v = json_get(c->text, key);
    if (json_is_null(v))
        v = json_get(c->root, key);
    return json_is_null(v) || (c->family && hf_key_is_foreign(c->family, key)) ? NULL : v;
}

const char *hf_type_name(const struct json *v)
{
    return json_is_object(v)    ? "an object"
           : json_is_array(v)   ? "a list"
           : json_is_string(v)  ? "text"
           : json_is_bool(v)    ? "true or false"
           : json_is_integer(v) ? "a whole number"
                                : "a fraction";
}

/* One number for every layer, as Hunyuan writes it. */
static bool all_alike(const struct json *list)
{
    for (size_t i = 1; i < json_count(list); i++)
        if (json_integer_of(json_at(list, i)) != json_integer_of(json_at(list, 0)))
            return false;
    return true;
}

bool hf_count(const struct hf_config *c, const char *key, int lo, int hi, int *out,
              struct error *err)
{
    const struct json *v = hf_get(c, key);
    if (v && json_is_array(v) && json_count(v) > 0) {
        if (!all_alike(v))
            return fail(err, ERROR_INPUT,
                        "%s: %s differs from layer to layer, which Astra does not model%s", c->name,
                        key, HF_WAY_OUT);
        v = json_at(v, 0);
    }
    if (!v)
        return true;
    if (!json_is_integer(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected a whole number from %d to %d",
                    c->name, key, hf_type_name(v), lo, hi);
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
                    hf_type_name(v));
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

/* The first of the blank-separated names that the file has, in `word`; else one that is null, else the first name. */
static void choose_name(const struct hf_config *c, const char *names, char *word, size_t size)
{
    for (const char *at = names; next_word(&at, word, size);)
        if (hf_get(c, word))
            return;
    for (const char *at = names; next_word(&at, word, size);)
        if (hf_is_null(c, word))
            return;
    next_word(&names, word, size);
}

/* Two names of one thing have one value. */
static bool names_agree(const struct hf_config *c, const char *names, const char *chosen,
                        struct error *err)
{
    char word[64];
    const struct json *v = hf_get(c, chosen), *other;
    for (const char *at = names; json_is_integer(v) && next_word(&at, word, sizeof word);)
        if ((other = hf_get(c, word)) && json_is_integer(other) &&
            json_integer_of(other) != json_integer_of(v))
            return fail(err, ERROR_INPUT, "%s: %s is %lld and %s is %lld, but they are one thing",
                        c->name, chosen, (long long)json_integer_of(v), word,
                        (long long)json_integer_of(other));
    return true;
}

/* What follows from other fields in a family, whatever its files say. */
static bool is_fixed(const struct hf_family *f, enum model_field field)
{
    return (field == MODEL_kv && f->reads & EVERY_KV) ||
           (field == MODEL_ffn && f->reads & EVEN_FFN) ||
           (field == MODEL_head_dim && f->reads & (EVERY_KV | EVEN_HEADS));
}

bool hf_is_null(const struct hf_config *c, const char *key)
{
    const struct json *v = json_get(c->text, key);
    return v && json_is_null(v) && !hf_get(c, key) &&
           !(c->family && hf_key_is_foreign(c->family, key));
}

static bool read_keys(const struct hf_config *c, const struct hf_family *f, struct model *m,
                      struct error *err)
{
    char word[64];
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!(KEYS[i].group & (f->reads | COMMON)) || is_fixed(f, KEYS[i].field))
            continue;
        choose_name(c, KEYS[i].names, word, sizeof word);
        if (hf_is_null(c, word))
            model_field_set(m, KEYS[i].field, 0); /* not the family's default */
        if (!names_agree(c, KEYS[i].names, word, err) ||
            !read_field(c, word, KEYS[i].field, m, err))
            return false;
    }
    return true;
}

/* Whether one of the names is there, be it null. */
static bool is_there(const struct hf_config *c, const char *names)
{
    char word[64];
    choose_name(c, names, word, sizeof word);
    return hf_get(c, word) || hf_is_null(c, word);
}

/* DeepSeek's way to describe a dense model: no number of experts, said and not left out. */
static bool is_dense(const struct hf_config *c, const struct hf_family *f, const struct model *m)
{
    bool told = f->reads & GROUPS && is_there(c, "n_routed_experts num_experts");
    return !m->experts && (told || f->reads & (HYBRID | PAIRED)); /* its pattern says it */
}

static bool is_needed(const struct hf_config *c, const struct hf_family *f, int key,
                      const struct model *m)
{
    bool of_experts = KEYS[key].group & (EXPERTS | EXPERT_WIDTH);
    if (KEYS[key].field == MODEL_ffn && f->reads & ALL_SPARSE)
        return false;
    return KEYS[key].group & NEEDED && KEYS[key].group & (f->reads | COMMON) &&
           !(of_experts && is_dense(c, f, m));
}

/* "num_experts (or num_local_experts)": those of the names that the family has. */
static void own_names(const struct hf_family *f, const char *names, char *out, size_t size)
{
    char word[64];
    int found = 0;
    size_t n = 0;
    for (const char *at = names; next_word(&at, word, sizeof word);)
        if (!hf_key_is_foreign(f->type, word) && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s",
                                  found++ == 0 ? ""
                                  : found == 2 ? " (or "
                                               : " ",
                                  word);
    if (found > 1 && n < size)
        snprintf(out + n, size - n, ")");
}

static bool check_needed(const struct hf_config *c, const struct hf_family *f,
                         const struct model *m, struct error *err)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!is_needed(c, f, i, m) || model_field_get(m, KEYS[i].field))
            continue;
        char names[128];
        own_names(f, KEYS[i].names, names, sizeof names);
        return fail(err, ERROR_INPUT, "%s: %s is missing (%s)", c->name, names,
                    model_field_info(KEYS[i].field)->help);
    }
    return true;
}

static bool read_shared_experts(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct model_field_info *info = model_field_info(MODEL_shared_ffn);
    char key[64];
    int shared = m->shared_ffn;
    choose_name(c, "n_shared_experts num_shared_experts moe_num_shared_experts", key, sizeof key);
    if (!hf_count(c, key, 0, 4096, &shared, err))
        return false;
    int64_t width = (int64_t)shared * m->expert_ffn;
    if (width > info->hi)
        return fail(err, ERROR_INPUT, "%s: %s is %d, %lld wide together, expected at most %d",
                    c->name, key, shared, (long long)width, info->hi);
    m->shared_ffn = (int)width;
    return true;
}

/* NULL when absent. */
static bool read_word(const struct hf_config *c, const char *key, const char **out,
                      struct error *err)
{
    const struct json *v = hf_get(c, key);
    if (v && !json_is_string(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected text", c->name, key, hf_type_name(v));
    *out = v ? json_text(v) : NULL;
    return true;
}

/* DeepSeek's ways to score and choose experts; absent keys keep the family's. */
static bool read_router(const struct hf_config *c, struct model *m, struct error *err)
{
    const char *score, *method;
    char key[64];
    choose_name(c, "scoring_func score_function moe_router_activation_func", key, sizeof key);
    if (!read_word(c, key, &score, err) || !read_word(c, "topk_method", &method, err))
        return false;
    if (score)
        m->sigmoid_router = strcmp(score, "sigmoid") == 0;
    if (method && strcmp(method, "greedy") == 0)
        m->router_groups = 0;
    return true;
}

/* attention_bias and mlp_bias are two things; a block here has a bias on the output projection alone, on all linear
 * layers, or on none of these. */
static bool settle_biases(const struct hf_config *c, const struct hf_family *f, struct model *m,
                          struct error *err)
{
    const char *what = NULL;
    bool out = f->reads & OUT_BIAS ? m->qkv_bias : m->proj_bias;
    if (f->reads & BIASES && m->linear_bias && !out)
        what = "biases in the MLP and none behind attention";
    else if (m->mla && m->qkv_bias)
        what = "biases in latent attention";
    else if (m->experts && m->linear_bias && !(f->reads & EXPERT_BIAS))
        what = "biases in experts";
    if (what)
        return fail(err, ERROR_INPUT, "%s: the model has %s, which Astra does not model%s", c->name,
                    what, HF_WAY_OUT);
    if (f->reads & OUT_BIAS)
        m->proj_bias = m->qkv_bias;
    return true;
}

/* Shapes that a file's keys contradict, which transformers builds and cannot run. */
static bool fits_together(const struct hf_config *c, const struct hf_family *f,
                          const struct model *m, struct error *err)
{
    int heads = m->heads ? m->heads : 1;
    if (f->reads & HIDDEN_HEADS && m->head_dim && m->head_dim * heads != m->hidden)
        return fail(err, ERROR_INPUT,
                    "%s: head_dim is %d, but %d heads are as wide as hidden_size, %d, in %s",
                    c->name, m->head_dim, heads, m->hidden, f->type);
    if (f->reads & ROPE_HEADS && !names_agree(c, "head_dim", "qk_rope_head_dim", err))
        return false;
    int width = m->ffn;
    if (f->reads & SHARED_FFN &&
        !hf_count(c, "moe_intermediate_size", 1, model_field_info(MODEL_ffn)->hi, &width, err))
        return false;
    if (width != m->ffn)
        return fail(err, ERROR_INPUT,
                    "%s: moe_intermediate_size is %d and intermediate_size %d, which %s reads "
                    "alone",
                    c->name, width, m->ffn, f->type);
    return true;
}

/* Of a model with other parts its whole class says whether the output matrix is the embedding, not its decoder's. */
static void settle_tie(const struct hf_config *c, struct model *m)
{
    static const char untied[] = "qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe glm4v glm4v_moe llama4 "
                                 "exaone4_5";
    const struct json *v = json_get(c->root, "tie_word_embeddings");
    const char *whole = json_text(json_get(c->root, "model_type"));
    if (c->text == c->root)
        return;
    if (json_is_bool(v))
        m->tied = json_bool_of(v);
    else if (is_one_of(whole, untied))
        m->tied = 0;
    else if (strcmp(whole, "gemma3") == 0)
        m->tied = 1;
}

static bool derive_fields(const struct hf_config *c, const struct hf_family *f, struct model *m,
                          struct error *err)
{
    if (!settle_biases(c, f, m, err) || !fits_together(c, f, m, err))
        return false;
    settle_tie(c, m);
    if (hf_get(c, "vision_config") || hf_get(c, "audio_config"))
        m->text_part = 1;
    if (f->reads & INTERLEAVED && !hf_get(c, "intermediate_size_mlp"))
        m->ffn = 16384;
    if (f->reads & ALL_SPARSE && !m->ffn)
        m->ffn = m->expert_ffn;
    if (f->reads & HYBRID)
        return hf_hybrid(c, m, err);
    if (f->reads & PAIRED)
        return (!(f->reads & GROUPS) ||
                (read_router(c, m, err) && read_shared_experts(c, m, err))) &&
               hf_pairs(c, f, m, err);
    if (f->reads & STEPPED)
        return read_shared_experts(c, m, err);
    if (f->reads & (WIDE_FFN | EVEN_FFN) && !m->ffn)
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
    if (f->reads & NESTED && c->text == c->root)
        return fail(err, ERROR_INPUT,
                    "%s: text_config is missing, which holds the sizes of %s (or %s_text is meant)",
                    c->name, f->type, f->type);
    if (!hf_code_is_known(c, err))
        return false;
    for (int i = 0; f->set[i].value; i++)
        model_field_set(m, f->set[i].field, f->set[i].value);
    if (!read_keys(c, f, m, err) || !derive_fields(c, f, m, err))
        return false;
    int dense_first = m->dense_first; /* the family's, which the file may overrule */
    m->dense_first = 0;
    if (!check_needed(c, f, m, err) || !finish(c, m, err))
        return false;
    m->dense_first = dense_first;
    if (m->pattern[0])
        return hf_meaning(c, m, err);
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
    if (!r->ok || strcmp(key, "model_type") == 0 || strcmp(key, "pattern") == 0)
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
    return r.ok && hf_symbols(c, "pattern", "", m, err) && finish(c, m, err);
}

static bool unknown_type(const struct hf_config *c, const char *type, struct error *err)
{
    const char *names[FAMILY_COUNT + 1];
    for (int i = 0; i < FAMILY_COUNT; i++)
        names[i] = FAMILIES[i].type;
    names[FAMILY_COUNT] = OWN_FAMILY;
    return fail(err, ERROR_INPUT,
                "%s: model_type '%.80s' is no family that is known%s (doc/model.md)%s", c->name,
                type, did_you_mean(type, names, FAMILY_COUNT + 1), HF_WAY_OUT);
}

/* Hunyuan's first files name the class alone; transformers has it under another name. */
static const char *type_of(const struct hf_config *c, const char *type)
{
    const char *class = json_text(json_at(hf_get(c, "architectures"), 0));
    bool first = strcmp(type, "hunyuan") == 0;
    return first && strcmp(class, "HunYuanMoEV1ForCausalLM") == 0     ? "hunyuan_v1_moe"
           : first && strcmp(class, "HunYuanDenseV1ForCausalLM") == 0 ? "hunyuan_v1_dense"
                                                                      : type;
}

static bool read_config(const struct hf_config *c, struct model *m, struct error *err)
{
    const struct json *v = hf_get(c, "model_type");
    const char *type = type_of(c, json_text(v));
    if (!json_is_string(v))
        return fail(err, ERROR_INPUT, "%s: model_type is %s, expected a name such as llama",
                    c->name, v ? hf_type_name(v) : "missing");
    if (!hf_is_plain(c, type, err))
        return false;
    snprintf(m->family, sizeof m->family, "%s", type);
    if (strcmp(type, OWN_FAMILY) == 0)
        return read_own_family(c, m, err);
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (strcmp(type, FAMILIES[i].type) == 0) {
            struct hf_config own = *c;
            own.family = type;
            return read_family(&own, &FAMILIES[i], m, err);
        }
    return unknown_type(c, type, err);
}

static bool read_root(const struct json *root, const char *name, struct model *m, struct error *err)
{
    if (!json_is_object(root))
        return fail(err, ERROR_INPUT, "%s: is %s, expected an object with model_type and sizes",
                    name, json_is_null(root) ? "null" : hf_type_name(root));
    const struct json *text = json_get(root, "text_config");
    if (!json_is_null(text) && !json_is_object(text))
        return fail(err, ERROR_INPUT, "%s: text_config is %s, expected an object", name,
                    hf_type_name(text));
    struct hf_config c = {.text = json_is_null(text) ? root : text, .root = root, .name = name};
    return read_config(&c, m, err);
}

/* Python writes and reads Infinity and NaN, JSON has neither, and no key that is read here may have them: null. */
static void add_without_infinity(const char *text, size_t length, struct str *out)
{
    static const char *const WORDS[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        size_t n = 0;
        for (size_t w = 0; !quoted && !n && w < sizeof WORDS / sizeof *WORDS; w++)
            if (length - i >= strlen(WORDS[w]) && !strncmp(text + i, WORDS[w], strlen(WORDS[w])))
                n = strlen(WORDS[w]);
        if (n) {
            str_add(out, "null");
            i += n - 1;
            continue;
        }
        if (text[i] == '"')
            quoted = !quoted;
        n = quoted && text[i] == '\\' && i + 1 < length ? 2 : 1;
        str_add_bytes(out, text + i, n);
        i += n - 1;
    }
}

bool model_from_hf(struct model *m, const char *text, size_t length, const char *name,
                   struct error *err)
{
    struct str finite = {0};
    add_without_infinity(text, length, &finite);
    struct json *root = json_parse(str_text(&finite), finite.length, name, err);
    str_release(&finite);
    if (!root)
        return false;
    model_init(m);
    snprintf(m->name, sizeof m->name, "%s", name);
    bool ok = read_root(root, name, m, err);
    json_release(root);
    return ok;
}
