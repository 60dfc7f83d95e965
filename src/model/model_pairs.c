/* A model written on the command line: "layers=32,hidden=4096,ffn=14336,heads=32,vocab=128256".
 * Keys are the names of fields.def and meaning.def, `norm` for layer_norm, and `pattern` (model_pattern.c). What is not given follows from `gated`:
 * with a gate the block is Llama's (RMSNorm, no biases, untied, rotary positions), without one
 * GPT-2's. */
#include "model/model.h"

#include "base/str.h"
#include "model/trained.h"

#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 64 };

struct pairs {
    struct model *model;
    const char *text;  /* all of them */
    const char *value; /* of the pair at hand; NULL: its key is looked at */
    const char *key;
    bool given[MODEL_FIELDS + MODEL_MEANINGS];
};

static bool read_norm(const char *value, int *out, struct error *err)
{
    if (!same_name(value, "rms") && !same_name(value, "layer"))
        return fail(err, ERROR_INPUT, "model: norm is '%s', expected rms or layer", value);
    *out = same_name(value, "layer");
    return true;
}

static bool read_value(const struct model_field_info *info, const char *value, int *out,
                       struct error *err)
{
    int64_t number;
    if (!parse_int(value, &number) || number < info->lo || number > info->hi)
        return fail(err, ERROR_INPUT,
                    "model: %s is '%s', expected a whole number from %d to %d (%s)", info->name,
                    value, info->lo, info->hi, info->help);
    *out = (int)number;
    return true;
}

static bool set_meaning(struct pairs *p, enum model_meaning f, const char *value, struct error *err)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    double number;
    if (model_meaning_parse(f, value, &number)) {
        model_meaning_set(p->model, f, number);
        return true;
    }
    if (info->kind == MEANING_WORD)
        return fail(err, ERROR_INPUT, "model: %s is '%s', expected one of: %s (%s)", info->name,
                    value, info->words, info->help);
    return fail(err, ERROR_INPUT, "model: %s is '%s', expected a %snumber from %.15g to %.15g (%s)",
                info->name, value, info->kind == MEANING_REAL ? "" : "whole ", info->lo, info->hi,
                info->help);
}

static bool set_pair(struct pairs *p, const char *key, const char *value, struct error *err)
{
    bool norm = same_name(key, "norm");
    int field = norm ? MODEL_layer_norm : model_field_find(key), number = 0;
    int meaning = field < 0 ? model_meaning_find(key) : -1;
    int slot = meaning < 0 ? field : MODEL_FIELDS + meaning;
    if (slot < 0)
        return fail(err, ERROR_INPUT, "model: unknown key '%s'%s", key, model_field_near(key));
    if (p->given[slot])
        return fail(err, ERROR_INPUT, "model: %s is given twice", key);
    p->value = strchr(p->key, '=') + 1;
    p->given[slot] = true;
    if (meaning >= 0)
        return set_meaning(p, (enum model_meaning)meaning, value, err);
    if (norm ? !read_norm(value, &number, err)
             : !read_value(model_field_info((enum model_field)field), value, &number, err))
        return false;
    model_field_set(p->model, (enum model_field)field, number);
    return true;
}

/* "pattern=...": the one value that is longer than a word. */
static bool set_symbols(struct pairs *p, const char *value, size_t length, struct error *err)
{
    char text[2 * MODEL_MAX_LAYERS];
    struct error inner;
    p->value = value;
    if (length >= sizeof text)
        return fail(err, ERROR_INPUT, "model: pattern is longer than any, %zu symbols", length);
    snprintf(text, sizeof text, "%.*s", (int)length, value);
    if (!p->given[MODEL_layers])
        p->model->layers = 0;
    p->given[MODEL_layers] = true;
    return model_set_symbols(p->model, text, &inner) ||
           fail(err, inner.kind, "model: %s", inner.text);
}

/* One "key=value" of `length` characters. */
static bool read_pair(struct pairs *p, const char *pair, size_t length, struct error *err)
{
    static const char PATTERN[] = "pattern=";
    char key[WORD_SIZE], value[WORD_SIZE];
    size_t begin = sizeof PATTERN - 1;
    if (length > begin && strncmp(pair, PATTERN, begin) == 0)
        return set_symbols(p, pair + begin, length - begin, err);
    const char *equals = memchr(pair, '=', length);
    int shown = length < WORD_SIZE ? (int)length : WORD_SIZE;
    if (!equals)
        return fail(err, ERROR_INPUT, "model: '%.*s' is no key=value pair", shown, pair);
    size_t key_length = (size_t)(equals - pair), value_length = length - key_length - 1;
    if (key_length >= WORD_SIZE || value_length >= WORD_SIZE)
        return fail(err, ERROR_INPUT, "model: '%.*s...' is longer than any key=value pair", shown,
                    pair);
    snprintf(key, sizeof key, "%.*s", (int)key_length, pair);
    snprintf(value, sizeof value, "%.*s", (int)value_length, equals + 1);
    return set_pair(p, key, value, err);
}

static bool read_pairs(struct pairs *p, const char *text, struct error *err)
{
    p->text = text;
    for (;;) {
        size_t length = strcspn(text, ",");
        p->key = text;
        p->value = NULL;
        if (!read_pair(p, text, length, err))
            return error_show(err, p->text, (size_t)((p->value ? p->value : p->key) - p->text));
        if (!text[length])
            return true;
        text += length + 1;
    }
}

static void fill_from_gate(struct pairs *p)
{
    static const enum model_field like_gpt2[] = {MODEL_layer_norm, MODEL_tied, MODEL_learned_pos,
                                                 MODEL_qkv_bias, MODEL_linear_bias};
    if (!p->given[MODEL_gated])
        p->model->gated = 1;
    for (size_t i = 0; i < sizeof like_gpt2 / sizeof *like_gpt2; i++)
        if (!p->given[like_gpt2[i]])
            model_field_set(p->model, like_gpt2[i], !p->model->gated);
}

static bool check_used(const struct model *m, struct error *err)
{
    const struct field_owner *unused = model_field_unused(m);
    if (!unused)
        return true;
    const char *owner = model_field_info(unused->owner)->name;
    return fail(err, ERROR_INPUT, "model: %s is %d, which means nothing without %s; add %s=...",
                model_field_info(unused->field)->name, model_field_get(m, unused->field), owner,
                owner);
}

/* Behind fill_from_gate, which decides on positions. */
static bool check_meanings(const struct pairs *p, struct error *err)
{
    for (int i = 0; i < MODEL_MEANINGS; i++) {
        enum model_meaning f = (enum model_meaning)i;
        char value[40];
        if (!p->given[MODEL_FIELDS + i] || model_meaning_counts(p->model, f) ||
            model_meaning_get(p->model, f) == model_meaning_info(f)->init)
            continue;
        model_meaning_print(f, model_meaning_get(p->model, f), value, sizeof value);
        return fail(err, ERROR_INPUT, "model: %s is %s, which means nothing without %s",
                    model_meaning_info(f)->name, value, model_meaning_lacks(f));
    }
    return true;
}

bool model_from_pairs(struct model *m, const char *text, struct error *err)
{
    struct pairs p = {.model = m};
    struct error inner;
    model_init(m);
    snprintf(m->name, sizeof m->name, "inline");
    if (!read_pairs(&p, text, err) || !check_used(m, err))
        return false;
    fill_from_gate(&p);
    if (!check_meanings(&p, err))
        return false;
    if (!model_finish(m, &inner))
        return fail(err, inner.kind, "model: %s", inner.text);
    return true;
}

/* Layers of a kind of their own, which no fields say, would be lost: then only what leaves layers
 * alone can change. */
bool model_override(struct model *m, const char *pairs, struct error *err)
{
    struct pairs p = {.model = m};
    struct error inner;
    struct model again = *m;
    char difference[128];
    bool plain =
        model_finish(&again, &inner) && model_same(m, &again, difference, sizeof difference);
    if (!read_pairs(&p, pairs, err) || !check_used(m, err) || !check_meanings(&p, err))
        return false;
    for (int f = 0; f < MODEL_FIELDS && !plain; f++)
        if (p.given[f] && f != MODEL_max_seq && f != MODEL_vocab && f < MODEL_FIRST_TRAINED)
            return fail(err, ERROR_INPUT,
                        "model: %s cannot change: the layers of %s differ in a way that figures do "
                        "not say; max_seq, vocab and what is trained can",
                        model_field_info((enum model_field)f)->name, m->name);
    if (!(plain ? model_finish(m, &inner) : model_finish_trained(m, &inner)))
        return fail(err, inner.kind, "model: %s", inner.text);
    return true;
}
