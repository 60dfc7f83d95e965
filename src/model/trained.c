/* What is trained, as text: --train, and what model_finish checks of its fields. */
#include "model/trained.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const char *const PART_NAMES[] = {
#define PART(part) #part,
#define TARGET(...)
#include "model/trained.def"
};
static const enum model_field PART_FIELDS[] = {
#define PART(part) MODEL_frozen_##part,
#define TARGET(...)
#include "model/trained.def"
};
static const char *const TARGET_NAMES[] = {
#define PART(...)
#define TARGET(target, name, others) #target,
#include "model/trained.def"
};
static const struct target_info {
    enum model_field field;
    const char *name, *others;
} TARGET_INFO[] = {
#define PART(...)
#define TARGET(target, name, others) {MODEL_lora_##target, name, others},
#include "model/trained.def"
};

static const char *const ALL_TARGET_NAMES[] = {
#define PART(...)
#define TARGET(target, name, others) #target, name,
#include "model/trained.def"
    "all"};

enum { WORD_SIZE = 64, BITS_NF4 = 4 };

bool model_freezes(const struct model *m, enum model_part part)
{
    return m->lora > 0 || model_field_get(m, PART_FIELDS[part]);
}

bool model_adapts(const struct model *m, enum lora_target target)
{
    return m->lora > 0 && target < TARGETS && model_field_get(m, TARGET_INFO[target].field);
}

const char *model_target_name(enum lora_target target)
{
    return TARGET_INFO[target].name;
}

bool model_freezes_logits(const struct model *m)
{
    return model_freezes(m, m->tied ? PART_embedding : PART_head);
}

bool model_trains_all(const struct model *m)
{
    bool any = m->lora > 0;
    for (int i = 0; i < PARTS; i++)
        any |= model_freezes(m, (enum model_part)i);
    return !any;
}

static bool layers_train(const struct model *m)
{
    return !model_freezes(m, PART_attention) ||
           (model_has_feed(m, FEED_MLP) && !model_freezes(m, PART_mlp)) ||
           (m->experts && !(model_freezes(m, PART_experts) && model_freezes(m, PART_router) &&
                            model_freezes(m, PART_mlp)));
}

bool model_layers_run_back(const struct model *m)
{
    return m->lora > 0 || !model_freezes(m, PART_embedding) || layers_train(m);
}

/* Whether any layer has such a matrix. */
static bool has_target(const struct model *m, enum lora_target target)
{
    struct matrix matrix[MATRICES_MAX];
    for (int k = 0; k < m->kinds; k++)
        for (int i = model_matrices(m, &m->kind[k], matrix) - 1; i >= 0; i--)
            if (matrix[i].target == target)
                return true;
    return false;
}

static void add_targets(const struct model *m, bool there, struct str *out)
{
    const char *between = "";
    for (int i = 0; i < TARGETS; i++)
        if (there ? has_target(m, (enum lora_target)i) : model_adapts(m, (enum lora_target)i)) {
            str_addf(out, "%s%s", between, TARGET_NAMES[i]);
            between = there ? ", " : ",";
        }
}

static bool no_target(const struct model *m, enum lora_target target, struct error *err)
{
    struct str there = {0};
    add_targets(m, true, &there);
    fail(err, ERROR_INPUT, "targets has %s, which the layers of %s do not have: they have %s",
         TARGET_NAMES[target], m->name[0] ? m->name : "the model", str_text(&there));
    str_release(&there);
    return false;
}

/* Those of NeMo and Megatron-Bridge, as far as the model has them; without any, all that it has. */
static void fill_targets(struct model *m)
{
    bool any = false;
    for (int pass = 0; pass < 2 && !any; pass++)
        for (int i = 0; i < (pass ? TARGETS : TARGET_in); i++) {
            bool has = has_target(m, (enum lora_target)i);
            model_field_set(m, TARGET_INFO[i].field, has);
            any |= has;
        }
}

static bool finish_adapters(struct model *m, struct error *err)
{
    bool any = false;
    for (int i = 0; i < TARGETS; i++) {
        if (!model_adapts(m, (enum lora_target)i))
            continue;
        if (!has_target(m, (enum lora_target)i))
            return no_target(m, (enum lora_target)i, err);
        any = true;
    }
    if (!any)
        fill_targets(m);
    m->lora_each = m->lora_each && m->experts > 0;
    for (int i = 0; i < PARTS; i++) /* adapters freeze them all */
        model_field_set(m, PART_FIELDS[i], 0);
    return true;
}

bool model_finish_trained(struct model *m, struct error *err)
{
    if (m->frozen_bits && m->frozen_bits != BITS_NF4)
        return fail(err, ERROR_INPUT, "frozen_bits is %d, expected 4 (NF4) or 0", m->frozen_bits);
    if (m->lora && !finish_adapters(m, err))
        return false;
    if (m->frozen_bits && model_trains_all(m))
        return fail(err, ERROR_INPUT,
                    "frozen_bits is %d, and no weights are frozen: train adapters (lora=16), or "
                    "freeze parts (frozen_attention=1)",
                    m->frozen_bits);
    if (m->lora || layers_train(m) || !model_freezes(m, PART_embedding) ||
        !model_freezes(m, PART_head))
        return true;
    return fail(err, ERROR_INPUT, "every part is frozen: nothing would be trained");
}

/* One "word" of a --train. */
struct train_words {
    struct model *model;
    bool adapters;
    bool rank; /* is given */
    bool in_targets;
};

static void clear(struct model *m)
{
    for (int f = MODEL_FIRST_TRAINED; f < MODEL_FIELDS; f++)
        model_field_set(m, (enum model_field)f, 0);
}

static bool read_rank(struct train_words *t, const char *value, struct error *err)
{
    const struct model_field_info *info = model_field_info(MODEL_lora);
    int64_t rank;
    if (!parse_int(value, &rank) || rank < 1 || rank > info->hi)
        return fail(
            err, ERROR_INPUT,
            "r is '%s', expected the rank of the adapters, 1 to %d; full trains all weights", value,
            info->hi);
    t->model->lora = (int)rank;
    t->rank = true;
    return true;
}

static bool foreign_target(const char *word, struct error *err)
{
    for (int i = 0; i < TARGETS; i++)
        if (is_one_of(word, TARGET_INFO[i].others))
            return fail(err, ERROR_INPUT,
                        "targets has '%s', Hugging Face's name of a part of what is one matrix in "
                        "Megatron: %s",
                        word, TARGET_NAMES[i]);
    return fail(err, ERROR_INPUT,
                "targets has '%s'%s, expected qkv, proj, fc1, fc2, in, out or all", word,
                did_you_mean(word, ALL_TARGET_NAMES, 2 * TARGETS + 1));
}

static bool read_target(struct train_words *t, const char *word, struct error *err)
{
    bool all = same_name(word, "all") || same_name(word, "all-linear");
    for (int i = 0; i < TARGETS; i++) {
        bool named = same_name(word, TARGET_NAMES[i]) || same_name(word, TARGET_INFO[i].name);
        if (named && !has_target(t->model, (enum lora_target)i))
            return no_target(t->model, (enum lora_target)i, err);
        if (named || (all && has_target(t->model, (enum lora_target)i)))
            model_field_set(t->model, TARGET_INFO[i].field, 1);
        if (named)
            return true;
    }
    return all || foreign_target(word, err);
}

static bool read_bits(struct train_words *t, const char *value, struct error *err)
{
    if (strcmp(value, "4") != 0 && strcmp(value, "16") != 0)
        return fail(err, ERROR_INPUT, "bits is '%s', expected 4 (NF4) or 16, of frozen weights",
                    value);
    t->model->frozen_bits = value[0] == '4' ? BITS_NF4 : 0;
    return true;
}

/* Time and memory do not depend on the rate. */
static bool read_dropout(struct train_words *t, const char *value, struct error *err)
{
    double rate = same_name(value, "on");
    if (rate == 0 && (!parse_real(value, &rate) || !(rate >= 0 && rate < 1)))
        return fail(err, ERROR_INPUT, "dropout is '%s', expected on or a rate from 0 to below 1",
                    value);
    t->model->lora_dropout = rate > 0;
    return true;
}

static bool read_experts(struct train_words *t, const char *value, struct error *err)
{
    if (!same_name(value, "each") && !same_name(value, "shared"))
        return fail(err, ERROR_INPUT,
                    "experts is '%s', expected each (adapters of its own) or shared (by those of a "
                    "rank)",
                    value);
    t->model->lora_each = same_name(value, "each");
    return true;
}

static bool read_framework(struct train_words *t, const char *value, struct error *err)
{
    bool swift = same_name(value, "swift");
    if (!swift && !same_name(value, "bridge"))
        return fail(err, ERROR_INPUT, "framework is '%s', expected bridge or swift", value);
    t->model->lora_whole = swift;
    t->model->lora_each = swift;
    return true;
}

static bool read_key(struct train_words *t, const char *key, const char *value, struct error *err)
{
    static const struct {
        const char *key;
        bool adapters;
        bool (*read)(struct train_words *, const char *, struct error *);
    } KEYS[] = {{"r", true, read_rank},
                {"rank", true, read_rank},
                {"targets", true, read_target},
                {"dropout", true, read_dropout},
                {"framework", true, read_framework},
                {"experts", true, read_experts},
                {"bits", false, read_bits}};
    t->in_targets = same_name(key, "targets");
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (same_name(key, KEYS[i].key) && (t->adapters || !KEYS[i].adapters))
            return KEYS[i].read(t, value, err);
    return fail(err, ERROR_INPUT, "'%s' is unknown, expected %sbits", key,
                t->adapters ? "r, targets, dropout, framework, experts or " : "parts or ");
}

static bool read_part(struct train_words *t, const char *word, struct error *err)
{
    for (int i = 0; i < PARTS; i++) {
        if (!same_name(word, PART_NAMES[i]))
            continue;
        bool experts = i == PART_experts || i == PART_router;
        if (experts && !t->model->experts)
            return fail(err, ERROR_INPUT, "frozen has %s, and the model has no experts", word);
        model_field_set(t->model, PART_FIELDS[i], 1);
        return true;
    }
    return fail(err, ERROR_INPUT,
                "frozen has '%s'%s, expected embedding, attention, mlp, experts, router or head",
                word, did_you_mean(word, PART_NAMES, PARTS));
}

static bool read_word(struct train_words *t, char *word, struct error *err)
{
    char *equals = strchr(word, '=');
    if (equals)
        *equals = 0;
    if (equals)
        return read_key(t, word, equals + 1, err);
    if (!t->adapters)
        return read_part(t, word, err);
    return t->in_targets ? read_target(t, word, err)
                         : fail(err, ERROR_INPUT, "'%s' is no key=value pair", word);
}

static bool read_words(struct train_words *t, const char *text, struct error *err)
{
    for (size_t length;; text += length + 1) {
        char word[WORD_SIZE];
        length = strcspn(text, ",");
        if (length >= sizeof word)
            return fail(err, ERROR_INPUT, "'%.*s...' is longer than any word of it", WORD_SIZE / 2,
                        text);
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (!read_word(t, word, err))
            return false;
        if (!text[length])
            return true;
    }
}

bool model_set_trained(struct model *m, const char *text, struct error *err)
{
    struct model then = *m;
    struct train_words t = {.model = &then, .adapters = strncmp(text, "lora:", 5) == 0};
    clear(&then);
    if (strcmp(text, "full") == 0) {
        *m = then;
        return true;
    }
    if (!t.adapters && strncmp(text, "frozen:", 7) != 0)
        return fail(err, ERROR_INPUT,
                    "'%.60s' is unknown, expected full, lora:r=16 or frozen:embedding,...", text);
    if (!read_words(&t, strchr(text, ':') + 1, err))
        return false;
    if (t.adapters && !t.rank)
        return fail(err, ERROR_INPUT, "the rank of the adapters is missing: lora:r=16");
    if (!model_finish_trained(&then, err))
        return false;
    *m = then;
    return true;
}

void model_add_trained(const struct model *m, struct str *out)
{
    const char *between = "frozen:";
    if (m->lora) {
        str_addf(out, "lora:r=%d,targets=", m->lora);
        add_targets(m, false, out);
        str_addf(out, "%s%s", m->lora_dropout ? ",dropout=on" : "",
                 m->lora_whole ? ",framework=swift" : "");
        if (m->experts && m->lora_each != m->lora_whole)
            str_addf(out, ",experts=%s", m->lora_each ? "each" : "shared");
    } else if (model_trains_all(m)) {
        str_addf(out, "full");
    }
    for (int i = 0; i < PARTS && !m->lora; i++)
        if (model_freezes(m, (enum model_part)i)) {
            str_addf(out, "%s%s", between, PART_NAMES[i]);
            between = ",";
        }
    if (m->frozen_bits)
        str_addf(out, ",bits=%d", m->frozen_bits);
}
