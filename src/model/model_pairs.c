/* A model written on the command line: "layers=32,hidden=4096,ffn=14336,heads=32,vocab=128256".
 * Keys are the fields' names, and `norm` for layer_norm. What is not given follows from `gated`:
 * with a gate the block is Llama's (RMSNorm, no biases, untied, rotary positions), without one
 * GPT-2's. */
#include "model/model.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 64 };

struct pairs {
    struct model *model;
    const char *text;  /* all of them */
    const char *value; /* of the pair at hand; NULL: its key is looked at */
    const char *key;
    bool given[MODEL_FIELDS];
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

static bool set_pair(struct pairs *p, const char *key, const char *value, struct error *err)
{
    bool norm = same_name(key, "norm");
    int field = norm ? MODEL_layer_norm : model_field_find(key), number = 0;
    if (field < 0)
        return fail(err, ERROR_INPUT, "model: unknown key '%s'%s", key, model_field_near(key));
    if (p->given[field])
        return fail(err, ERROR_INPUT, "model: %s is given twice", key);
    p->value = strchr(p->key, '=') + 1;
    if (norm ? !read_norm(value, &number, err)
             : !read_value(model_field_info((enum model_field)field), value, &number, err))
        return false;
    model_field_set(p->model, (enum model_field)field, number);
    p->given[field] = true;
    return true;
}

/* One "key=value" of `length` characters. */
static bool read_pair(struct pairs *p, const char *pair, size_t length, struct error *err)
{
    char key[WORD_SIZE], value[WORD_SIZE];
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

bool model_from_pairs(struct model *m, const char *text, struct error *err)
{
    struct pairs p = {.model = m};
    struct error inner;
    *m = (struct model){.name = "inline"};
    if (!read_pairs(&p, text, err) || !check_used(m, err))
        return false;
    fill_from_gate(&p);
    if (!model_finish(m, &inner))
        return fail(err, inner.kind, "model: %s", inner.text);
    return true;
}
