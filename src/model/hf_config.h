/* Reading single keys of a Hugging Face config.json; private to the model stage. */
#pragma once

#include "model/model.h"

struct json;

struct hf_config {
    const struct json *text; /* the object that describes the decoder: text_config, or the root */
    const struct json *root;
    const char *name;   /* of the file, for messages */
    const char *family; /* whose keys are read; NULL = all */
};

/* Groups of keys that a family's files have. */
enum {
    COMMON = 1,
    BIASES = 1 << 1, /* attention_bias, mlp_bias */
    EXPERTS = 1 << 2,
    EXPERT_WIDTH = 1 << 3, /* experts have a width of their own, not intermediate_size */
    GROUPS = 1 << 4,       /* shared experts by number, groups of experts, dense layers first */
    LATENT = 1 << 5,
    WIDE_FFN = 1 << 6, /* no keys: a missing inner width means 4 x hidden */
    NEEDED = 1 << 7,
    OUT_BIAS = 1 << 8,  /* no keys: attention_bias is on the output projection too */
    ALL_BIAS = 1 << 9,  /* use_bias: on every linear layer */
    QKV_KEY = 1 << 10,  /* use_qkv_bias */
    OUT_KEY = 1 << 11,  /* attention_out_bias */
    ONE_BIAS = 1 << 12, /* bias: on queries, keys, values and the output */
    QK_KEY = 1 << 13,   /* use_qk_norm, qk_layernorm */
    PREDICTS = 1 << 14, /* MTP layers */
    INTERLEAVED =
        1 << 15,       /* Llama 4: intermediate_size is the experts', dense layers have another */
    STEPPED = 1 << 16, /* ERNIE: experts from one layer to another, every n-th */
    SHARED_FFN = 1 << 17,   /* no keys: a shared expert is as wide as the others (Hunyuan) */
    EXPERT_BIAS = 1 << 18,  /* no keys: experts and router have biases (gpt-oss) */
    EVERY_KV = 1 << 19,     /* no keys: every head has its key, whatever a file says */
    EVEN_HEADS = 1 << 20,   /* no keys: a head is hidden / heads wide, whatever a file says */
    EVEN_FFN = 1 << 21,     /* no keys: the inner width is 4 x hidden, whatever a file says */
    HIDDEN_HEADS = 1 << 22, /* no keys: heads together are as wide as the model (OLMoE, Helium) */
    NESTED = 1 << 23,       /* no keys: the decoder is in text_config, the root has no sizes */
    POST_KEY = 1 << 24,     /* use_post_norm */
    ALL_SPARSE = 1 << 25,   /* no keys: no layer is dense, the inner width of such is not needed */
    ROPE_HEADS =
        1 << 26,      /* no keys: head_dim is another name of qk_rope_head_dim (GLM-4.7-Flash) */
    DELTA = 1 << 28,  /* gated delta nets between layers with attention (Qwen3-Next) */
    HYBRID = 1 << 27, /* layers of one half, named one by one */
    PAIRED = 1 << 29, /* layers of two halves, their mixers named one by one (hf_pairs.c) */
    NETS = 1 << 30,   /* delta nets among them, with Qwen3-Next's keys (OLMo Hybrid) */
    DEEPSEEK = BIASES | EXPERTS | EXPERT_WIDTH | GROUPS | LATENT | PREDICTS,
    SHARED_MOE = BIASES | EXPERTS | EXPERT_WIDTH | GROUPS | PREDICTS
};

/* How a family marks its sliding-window layers. */
enum hf_window {
    WINDOW_NONE,
    WINDOW_ALWAYS,   /* every layer, when sliding_window is given */
    WINDOW_SWITCHED, /* use_sliding_window, from layer max_window_layers on */
    WINDOW_PATTERN,  /* every n-th layer is full: sliding_window_pattern, or the family's n */
    WINDOW_LEADING,  /* layers 1, n + 1, 2 n + 1 ... are full */
    WINDOW_CHUNKED   /* attention_chunk_size on the layers that are rotated (Llama 4) */
};

struct hf_family {
    const char *type; /* model_type */
    unsigned reads;   /* groups of keys beyond the common ones */
    enum hf_window window;
    int full_every; /* of WINDOW_PATTERN and WINDOW_LEADING */
    struct {
        enum model_field field;
        int value; /* never 0: a 0 ends the list */
    } set[20];     /* where the family, or its default, differs from 0 */
};

/* NULL when the key is absent, null, or foreign to the family. The decoder's object goes before the root. */
const struct json *hf_get(const struct hf_config *, const char *key);

/* Whether the key is there and null, which is not the same as absent where the family has a default. */
bool hf_is_null(const struct hf_config *, const char *key);

/* Whether only other families have the key (hf_keys.def). */
bool hf_key_is_foreign(const char *family, const char *key);

/* Whether hf_keys.def gives the key to this family. */
bool hf_key_is_own(const char *family, const char *key);

/* Files carry keys of their relatives that are switched off: null, false, 0. */
bool hf_is_on(const struct json *);

/* False where the file brings code of its own and a key that its family does not have. */
bool hf_code_is_known(const struct hf_config *, struct error *);

/* "a list", "text": what a value is, for messages. */
const char *hf_type_name(const struct json *);

/* These leave `out` alone when the key is absent; a wrong type or value fails. */
bool hf_count(const struct hf_config *, const char *key, int lo, int hi, int *out, struct error *);
bool hf_flag(const struct hf_config *, const char *key, bool *out, struct error *);

/* False for a model with layers of a kind that is not modelled: the error names the kind and the way out
 * (refused.def). */
bool hf_is_plain(const struct hf_config *, const char *type, struct error *);
/* What a refusal ends with: how to describe a model without a file. */
extern const char HF_WAY_OUT[];

/* Which layers have experts and windows, of a model whose fields are read and finished. Sets
 * m->window. */
bool hf_pattern(const struct hf_config *, const struct hf_family *, struct model *,
                struct layer_pattern *, struct error *);

/* The pattern of a hybrid (hf_symbols.c), where the file has one of the keys; of a family of hybrids with all
 * that comes with it. */
bool hf_symbols(const struct hf_config *, const char *keys, const char *mtp_keys, struct model *,
                struct error *);
bool hf_hybrid(const struct hf_config *, struct model *, struct error *);
/* The same of a family whose layers have two halves, written as layers of one (hf_pairs.c). */
bool hf_pairs(const struct hf_config *, const struct hf_family *, struct model *, struct error *);
/* Which layers have experts. */
bool hf_feeds(const struct hf_config *, const struct hf_family *, const struct model *,
              struct layer_pattern *, struct error *);

/* The fields of meaning.def, of a model that is otherwise finished (hf_meaning.c). */
bool hf_meaning(const struct hf_config *, struct model *, struct error *);
/* One of them from the key that is there; '!' in front turns true and false around. */
bool hf_meaning_key(const struct hf_config *, const char *key, enum model_meaning, struct model *,
                    struct error *);
/* Whether hf_meaning.def has the key, or an object of that name, for the family. */
bool hf_meaning_reads(const char *family, const char *key);
/* The line of hf_meaning.def for a family, -1 where there is none or more than one. */
int hf_meaning_line(const char *family, enum model_meaning);
