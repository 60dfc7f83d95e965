/* GPT-NeoX: one map of settings, those of DeepSpeed among them (neox_settings.def). Attention is unfused unless
 * attention_config says flash (neox_args.py); batches are counted in micro-batches of a step. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/tokenizers.h"

#include <string.h>

enum { MULTIPLE = 256 }; /* of an MLP's width */
enum neox_kind { MEANS, PASSED, NOTED, REFUSED };

static const struct row {
    const char *path, *value;
    enum neox_kind kind;
    const char *text;
} ROWS[] = {
#define NEOX(path, value, kind, text) {path, value, kind, text},
#include "import/yaml/neox_settings.def"
#undef NEOX
};

static const struct row *row_of(const char *path, const char *value)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (strcmp(ROWS[i].path, path) == 0 &&
            (*ROWS[i].value == '*' || same_name(ROWS[i].value, value)))
            return &ROWS[i];
    return NULL;
}

static bool has_row(const char *path)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (strcmp(ROWS[i].path, path) == 0)
            return true;
    return false;
}

static const char *underscored(const char *key, struct arena *mem)
{
    struct str s = {0};
    for (const char *p = key; *p; p++)
        str_add_bytes(&s, *p == '-' ? "_" : p, 1);
    return str_keep(&s, mem);
}

static void take(struct yaml_reading *r, const struct row *row, const char *value, int line)
{
    if (row->kind == MEANS)
        reading_words(r, row->text, value, line);
    else if (row->kind == NOTED)
        launch_note(r->out, arena_format(r->mem, "%s %s: %s", row->path, value, row->text));
    else if (row->kind == REFUSED && !r->refused)
        r->refused = arena_format(r->mem, "%s:%d: %s: %s", r->path, line, row->path, row->text);
}

/* Settings of the map itself are Megatron's where no row is about them, those of DeepSpeed's parts have no such names. */
static void take_settings(struct yaml_reading *r, const struct yaml *map, const char *path)
{
    for (const struct yaml *m = map->item; m; m = m->next) {
        const char *name = underscored(m->key, r->mem);
        const char *inner = *path ? arena_format(r->mem, "%s.%s", path, name) : name;
        const char *value = m->kind == YAML_SCALAR ? reading_value(r, m) : "";
        const struct row *row = row_of(inner, value);
        if (m->replaced)
            continue;
        if (m->kind == YAML_MAP && strlen(inner) < 64)
            take_settings(r, m, inner);
        else if (row)
            take(r, row, value, reading_line(r, m));
        else if (!*path && m->kind == YAML_SCALAR && !has_row(inner))
            dest_add(&r->list, name, value, reading_line(r, m));
    }
}

static int64_t number_of(struct yaml_reading *r, const char *key, int64_t missing)
{
    const struct yaml *root = r->layer[0].root;
    for (const struct yaml *m = root->item; m; m = m->next) {
        int64_t n;
        if (m->kind == YAML_SCALAR && strcmp(underscored(m->key, r->mem), key) == 0 &&
            parse_int(reading_value(r, m), &n) && n > 0 && n < 1 << 24)
            return n;
    }
    return missing;
}

static bool says(struct yaml_reading *r, const char *key, const char *word)
{
    const struct yaml *root = r->layer[0].root;
    for (const struct yaml *m = root->item; m; m = m->next)
        if (m->kind == YAML_SCALAR && strcmp(underscored(m->key, r->mem), key) == 0 &&
            same_name(reading_value(r, m), word))
            return true;
    return false;
}

/* Whether one of these words stands anywhere in a list of lists. */
static bool lists(struct yaml_reading *r, const struct yaml *node, const char *words, int depth)
{
    if (node && node->kind == YAML_SCALAR)
        return is_one_of(reading_value(r, node), words);
    for (const struct yaml *e = node && depth < 8 ? node->item : NULL; e; e = e->next)
        if (lists(r, e, words, depth + 1))
            return true;
    return false;
}

static void add_number(struct yaml_reading *r, const char *flag, int64_t n)
{
    dest_list_word(&r->list, flag, 0);
    dest_list_word(&r->list, arena_format(r->mem, "%lld", (long long)n), 0);
}

/* The two halves of a gated MLP have two thirds of the stated width (megatron/model/transformer.py, ParallelMLP), so that each
 * has a third; until 2024 each had all of it. Files with a width that would be less than 1.5 x hidden are of that time. */
static int64_t gated_width(struct yaml_reading *r, int64_t hidden)
{
    int64_t stated = number_of(r, "intermediate_size", 0);
    int64_t width = !stated                               ? 8 * hidden / 3
                    : stated * 2 / 3 / 2 * 2 < 3 * hidden ? stated
                                                          : stated * 2 / 3 / 2;
    launch_note(r->out,
                arena_format(r->mem,
                             "a gated MLP is planned %lld wide: releases of GPT-NeoX read "
                             "intermediate_size in two ways (-- --ffn-hidden-size states it)",
                             (long long)((width + MULTIPLE - 1) / MULTIPLE * MULTIPLE)));
    return width;
}

static void add_width(struct yaml_reading *r)
{
    static const char *const GATED[] = {"swiglu", "geglu", "reglu", "bilinear", "glu"};
    int64_t hidden = number_of(r, "hidden_size", 0);
    bool gated = false;
    for (size_t i = 0; i < sizeof GATED / sizeof *GATED; i++)
        gated |= says(r, "activation", GATED[i]);
    int64_t width = gated ? gated_width(r, hidden) : number_of(r, "intermediate_size", 4 * hidden);
    if (width > 0)
        add_number(r, "--ffn-hidden-size", (width + MULTIPLE - 1) / MULTIPLE * MULTIPLE);
    if (says(r, "use_bias_in_mlp", "false") && says(r, "use_bias_in_attn_linear", "false"))
        dest_list_word(&r->list, "--disable-bias-linear", 0);
}

/* GPT-2's tokenizer is the default, where the file's name speaks of no other; that of GPT-NeoX-20B what those of Hugging Face are without a file. */
static void add_tokenizer(struct yaml_reading *r)
{
    const struct yaml *type = reading_find(r, "tokenizer_type");
    type = type ? type : reading_find(r, "tokenizer-type");
    bool file = reading_find(r, "vocab_file") || reading_find(r, "vocab-file");
    const char *name;
    if (!type && !tokenizer_entries(r->path, &name))
        reading_words(r, "--tokenizer-type GPT2BPETokenizer", "", 0);
    else if (type && !file && says(r, "tokenizer_type", "HFTokenizer"))
        reading_words(r, "--tokenizer-model 20B_tokenizer", "", 0);
}

static bool add_attention(struct yaml_reading *r)
{
    const struct yaml *config = reading_find(r, "attention_config");
    config = config ? config : reading_find(r, "attention-config");
    if (lists(r, config,
              "mamba rwkv gmlp amlp sparse_fixed sparse_variable local bigbird bslongformer", 0))
        return fail(r->err, ERROR_INPUT,
                    "%s:%d: attention_config: recurrent layers and sparse attention are not "
                    "planned; flags behind -- without a file are planned as a decoder's",
                    r->path, reading_line(r, config)) ||
               error_in_file(r->err);
    bool flash = lists(r, config, "flash", 0);
    if (!says(r, "scaled_upper_triang_masked_softmax_fusion", "true"))
        dest_list_word(&r->list, "--no-masked-softmax-fusion", 0);
    if (says(r, "pos_emb", "rotary") && !says(r, "rope_fusion", "true"))
        dest_list_word(&r->list, "--no-rope-fusion", 0);
    dest_list_word(&r->list, "--attention-backend", 0);
    dest_list_word(&r->list, flash ? "flash" : "unfused", 0);
    return true;
}

/* One expert a token by default, through MegaBlocks' grouped products (neox_args.py, megatron/model/moe.py). */
static void add_experts(struct yaml_reading *r)
{
    if (number_of(r, "moe_num_experts", 1) < 2)
        return;
    dest_list_word(&r->list, "--moe-grouped-gemm", 0);
    if (number_of(r, "moe_top_k", 0) == 0)
        add_number(r, "--moe-router-topk", 1);
}

/* Micro-batches of a step count where the batch does not stand there. */
static void add_steps(struct yaml_reading *r)
{
    if (number_of(r, "train_batch_size", 0) == 0)
        r->out->accumulation = number_of(r, "gradient_accumulation_steps", 1);
    if (says(r, "checkpoint_activations", "true"))
        add_number(r, "--recompute-num-layers", number_of(r, "checkpoint_num_layers", 1));
}

/* What concerns every one of its models, and a file that is to be put together with another. */
static void note_own(struct yaml_reading *r)
{
    launch_note(r->out, "GPT-NeoX builds its own layers, which are planned as TransformerEngine's: "
                        "a step may be longer (-- --transformer-impl local)");
    if (number_of(r, "train_batch_size", 0) == 0 &&
        number_of(r, "train_micro_batch_size_per_gpu", 0) == 0)
        reading_note_part(r);
}

bool neox_read(struct yaml_reading *r)
{
    reading_words(r, "--hidden-dropout 0 --attention-dropout 0", "", 0);
    if (!add_attention(r))
        return false;
    take_settings(r, r->layer[0].root, "");
    note_own(r);
    add_experts(r);
    add_width(r);
    add_tokenizer(r);
    add_steps(r);
    r->out->said_nodes = number_of(r, "num_nodes", 0);
    r->out->said_per_node = number_of(r, "num_gpus", 0);
    return true;
}
