/* What is trained: one struct for dense and mixture-of-experts decoders. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct str;

enum { MODEL_MAX_LAYERS = 1024, MODEL_MAX_KINDS = 8, MTP_MAX_LAYERS = 8 };

/* The largest model taken, in parameters: counts and bytes stay far from the ends of int64_t. */
#define MODEL_MAX_PARAMS 1e15

/* The halves of a layer: lines of layer_kinds.def. */
enum mixer {
#define MIXER(id, ...) MIXER_##id,
#define FEED(...)
#include "model/layer_kinds.def"
    MIXER_NONE,
    MIXERS
};
enum feed {
#define MIXER(...)
#define FEED(id, ...) FEED_##id,
#include "model/layer_kinds.def"
    FEED_NONE,
    FEEDS
};

/* Layers of one kind cost the same. Kind 0 is the kind of layer 0. */
struct layer_kind {
    enum mixer mixer;
    enum feed feed;
    bool wide;  /* products in 16 bits whatever the others have */
    int window; /* of attention; 0 = full */
};

struct model {
    char name[64];   /* preset name, file name or "inline" */
    char family[32]; /* the config's model_type, or "gpt" */
#define FIELD(field, kind, lo, hi, help) int field;
#include "model/fields.def"
#undef FIELD
#define MEANING(field, kind, lo, hi, init, need, words, help) double field;
#include "model/meaning.def"
    /* Symbols of layer_kinds.def, where every layer is one half; "" = layers have both, as the fields say. */
    char pattern[MODEL_MAX_LAYERS + 1];
    char mtp_pattern[MTP_MAX_LAYERS + 1]; /* the same of one MTP depth */
    int kinds;
    struct layer_kind kind[MODEL_MAX_KINDS];
    uint8_t layer[MODEL_MAX_LAYERS]; /* kind of each decoder layer */
    int mtp_layers;                  /* of one MTP depth: without a pattern one, like the last */
    uint8_t mtp_layer[MTP_MAX_LAYERS];
};

enum model_field {
#define FIELD(field, kind, lo, hi, help) MODEL_##field,
#include "model/fields.def"
#undef FIELD
    MODEL_FIELDS,
    MODEL_FIRST_TRAINED = MODEL_lora /* and all behind it: trained.h */
};

struct model_field_info {
    const char *name;
    bool flag;
    int lo, hi;
    const char *help;
};

const struct model_field_info *model_field_info(enum model_field);
int model_field_get(const struct model *, enum model_field);
void model_field_set(struct model *, enum model_field, int value);

/* What changes neither time nor memory but what is trained: lines of meaning.def. */
enum model_meaning {
#define MEANING(field, kind, lo, hi, init, need, words, help) MEANING_##field,
#include "model/meaning.def"
    MODEL_MEANINGS
};

enum meaning_kind { MEANING_REAL, MEANING_COUNT, MEANING_FLAG, MEANING_WORD };

struct model_meaning_info {
    const char *name;
    enum meaning_kind kind;
    double lo, hi, init; /* init: Megatron's default */
    const char *words;   /* of a WORD, blank-separated, numbered from 0 */
    const char *help;
};

/* Words of meaning.def by their numbers. */
enum { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN };
enum { ACTIVATION_AUTO, ACTIVATION_SILU, ACTIVATION_GELU, ACTIVATION_RELU2, ACTIVATION_QUICK_GELU };

const struct model_meaning_info *model_meaning_info(enum model_meaning);
double model_meaning_get(const struct model *, enum model_meaning);
void model_meaning_set(struct model *, enum model_meaning, double value);
/* Whether the field says anything of this model: router settings do of one with experts. */
bool model_meaning_counts(const struct model *, enum model_meaning);
/* A number in range or a word; false where the text is neither. */
bool model_meaning_parse(enum model_meaning, const char *text, double *out);
/* As model_meaning_parse takes it, short: 500000, 1e-05, yarn. */
void model_meaning_print(enum model_meaning, double value, char *out, size_t size);

/* `text` is a preset name, a path to an HF config.json (or the folder that holds one), what such a
 * file holds (from its brace on), or inline key=value pairs. The error names the place, the value and what would be right. */
/* What it is called on the Hugging Face hub, "meta-llama/Meta-Llama-3-8B": its own name where it is one, or that of the
 * preset; NULL = nobody knows. */
const char *model_hub_id(const struct model *, struct arena *);
bool model_load(struct model *, const char *text, struct arena *, struct error *);
/* The parts of model_load, for tests and fuzzing. `name` is used in messages. */
bool model_from_hf(struct model *, const char *json, size_t length, const char *name,
                   struct error *);
bool model_from_pairs(struct model *, const char *pairs, struct error *);
/* Fields of a finished model become others. */
bool model_override(struct model *, const char *pairs, struct error *);

/* Everything not given: every field of meaning.def has its `init`, the others are 0. */
void model_init(struct model *);

/* Fills defaults (kv = heads, head_dim = hidden / heads, ...), checks ranges and that fields agree,
 * and lays out `kind` and `layer`. Every loader ends with it; importers of flags call it too. */
bool model_finish(struct model *, struct error *);

/* What each layer is made of and which have a sliding window, for what dense_first, moe_every and
 * window_every cannot say. Called on a finished model; sets those three where they can say it.
 * Where they cannot, they say only that layers differ (never "all alike") and `layer` alone is
 * right; a model_finish behind it would lay out again. */
struct layer_pattern {
    uint8_t mixer[MODEL_MAX_LAYERS], feed[MODEL_MAX_LAYERS]; /* enum mixer, enum feed */
    bool window[MODEL_MAX_LAYERS];
};
bool model_set_pattern(struct model *, const struct layer_pattern *, struct error *);
/* The kind of attention that a layer (from 0) has by the fields of the indexer. */
enum mixer model_attention_of(const struct model *, int layer);
/* Sets wide_first and wide_last of a finished model, whatever its pattern. */
bool model_set_wide(struct model *, int first, int last, struct error *);

/* "MEM-E", "MEM-E/-E/-E": what --hybrid-layer-pattern says, without stages ('|'). Sets `pattern`, `layers`,
 * `mtp_pattern`, `mtp` and `mla` of a model that is not finished. */
bool model_set_symbols(struct model *, const char *text, struct error *);
/* One of its symbols; without a window. */
struct layer_kind layer_of_symbol(char symbol);
/* The same written out; "" without a pattern. */
struct str;
void model_add_symbols(const struct model *, struct str *out);

/* Same shape as far as time, memory and parameter count go; on false `difference` says what
 * differs, "hidden is 4096 here and 5120 there". Names are not compared. */
bool model_same(const struct model *a, const struct model *b, char *difference, size_t size);

/* The same for what meaning.def has: "rope_theta is 10000 here and 500000 there". Both are finished;
 * `from` is the first field to look at, and the one that differs afterwards. */
bool model_means_same(const struct model *a, const struct model *b, enum model_meaning *from,
                      char *difference, size_t size);

/* Presets in table order; name NULL ends the list. `published_params` is what the makers state. */
struct model_preset {
    const char *name;
    const char *config;      /* HF config.json text compiled in from data/models */
    double published_params; /* 0 where no exact count is published */
    const char *source;      /* of the count */
};
const struct model_preset *model_presets(void);
/* The preset that a name of others means (model_names.c): an id, a path, a recipe; NULL = none. `differs` is what of the
 * model is not the preset's, "" = nothing that has a cost. */
const char *model_named(const char *text);
const char *model_named_as(const char *text, const char **differs);
/* What its own config.json has otherwise, as pairs (model_override): longest sequence, rotary frequencies; "" = nothing. */
const char *model_named_changes(const char *text);
/* What kind of model without a preset a name speaks of; NULL = it does not say. `decoder`: there is one in it that could
 * be planned. */
const char *model_named_other(const char *text, bool *decoder);
/* Presets whose names begin like this one; returns how many, at most `most`. */
int model_names_near(const char *text, const char *near[], int most);

/* Parameter counts, unpadded vocabulary, without MTP layers: makers state those apart (DeepSeek-V3:
 * 671B and 11.5B). Active is per token: top-k experts only, both embeddings counted. */
int64_t model_params_total(const struct model *);
/* "llama3-70b (70.6B parameters)"; one that has no name: "A model of 70.6B parameters". */
void add_model_words(const struct model *, struct str *out);
int64_t model_params_active(const struct model *);

/* Parameters of parts, whole model (not sharded): the memory stage divides them. */
struct layer_params {
    int64_t
        mixer_linear; /* qkv, output projection, MLA up-projections, sinks, all of a state space: sharded over TP */
    int64_t mixer_replicated; /* norms, MLA down-projections, output bias: whole on every TP rank */
    int64_t mlp;              /* dense MLP or shared experts: sharded over TP */
    int64_t mlp_replicated;   /* its norm(s), output bias, router, shared gate */
    int64_t experts;          /* all routed experts together: sharded over EP and ETP */
};
/* What the kinds of layer_kinds.def bring: their parameters, and multiply-adds a token in products, beside those that grow
 * with the sequence. */
#define MIXER(id, symbol, part, name, lacks)                                                       \
    void part##_params(const struct model *, struct layer_params *);                               \
    double part##_work(const struct model *);
#define FEED(id, symbol, part, name, lacks)                                                        \
    void part##_params(const struct model *, struct layer_params *);                               \
    double part##_work(const struct model *);
#include "model/layer_kinds.def"
/* Of it, the router: its weights, biases, and the shared expert's gate. */
int64_t model_router_params(const struct model *);
/* Of the norms around one half of a layer. */
int64_t model_half_norms(const struct model *);

/* Parameters of the indexer that chooses tokens; of the tokens that a query of a causal sequence may see those it sees on
 * average. */
int64_t dsa_indexer_params(const struct model *);
double dsa_tokens_seen(const struct model *, double seq_len);
/* Multiply-adds a token that grow with the sequence, of a layer that chooses tokens and of one that does not, of all three
 * passes together. */
double dsa_sequence_work(const struct model *, bool chooses, double seq_len);

/* Width of all values of a gated delta net, and of all its queries. */
int64_t gdn_values(const struct model *);
int64_t gdn_queries(const struct model *);
/* Width of all heads of Kimi delta attention. */
int64_t kda_width(const struct model *);
/* Width of all heads of a state-space layer, and of what they share. */
int64_t mamba_inner(const struct model *);
int64_t mamba_shared(const struct model *);

/* Whether it has attention, whose scores grow with the square of the sequence. */
bool mixer_attends(enum mixer);
/* What Megatron-LM lacks to run such a layer (layer_kinds.def), or one of the model's; NULL = nothing. */
const char *mixer_lacks(enum mixer);
const char *model_lacks(const struct model *);
/* Whether any layer has such a half. */
bool model_has_mixer(const struct model *, enum mixer);
bool model_has_feed(const struct model *, enum feed);
struct layer_params model_layer_params(const struct model *, const struct layer_kind *);
int64_t model_embedding_params(const struct model *, int64_t padded_vocab); /* + positions, norm */
int64_t model_head_params(const struct model *,
                          int64_t padded_vocab); /* output matrix, also when tied */
int64_t model_final_norm_params(const struct model *);
int64_t model_mtp_params(const struct model *); /* of one MTP layer beyond its decoder layer */

/* Vocabulary padded as Megatron does, to a multiple of vocab_pad (128) x tp. */
int64_t model_padded_vocab(const struct model *, int tp);
/* Of the head: the same, unless it has another number of them. */
int64_t model_outputs(const struct model *, int tp);

/* Model FLOPs of one step (forward and backward, no recompute), causal attention halved, padded
 * vocabulary at tp = 1: Megatron's num_floating_point_operations of core 0.12 and later. */
double model_flops(const struct model *, double sequences, double seq_len);

/* What the fields of a model mean to each other; for the model stage alone. */

int model_field_find(const char *name); /* enum model_field, or -1 */
/* " (did you mean X?)" among the fields' names, or "". Valid until the next call in this thread. */
const char *model_field_near(const char *name);

/* A field that says something only together with another one: topk with experts. */
struct field_owner {
    enum model_field field, owner;
};

/* The first field that is set although its owner is 0, or NULL. */
const struct field_owner *model_field_unused(const struct model *);

int model_meaning_find(const char *name); /* enum model_meaning, or -1 */
/* What the model lacks for the field to count: "experts", "a rotary position". */
const char *model_meaning_lacks(enum model_meaning);
/* The part of model_finish that is meaning.def's; all other fields are finished. */
bool model_finish_meaning(struct model *, struct error *);
/* Every name that a pair or a key of our own family may have; NULL ends. */
const char *const *model_all_names(void);
