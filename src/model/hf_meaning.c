/* What a Hugging Face config.json says of a model beyond its shape: hf_meaning.def has the keys and
 * the defaults of every family. Words are read by the names transformers has for them. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Defaults that follow from the shape. */
static const double SAME_AS_MAX_SEQ = -1, ROOT_OF_HIDDEN = -2, ABOVE_4096_WIDE = -3,
                    TWO_BY_ROOT = -4, FOUR_BY_ROOT = -5; /* of 5 x hidden (Youtu) */

#define HF(field, families, keys, absent) {MEANING_##field, families, keys},
static const struct hf_line {
    enum model_meaning field;
    const char *families, *keys;
} LINES[] = {
#include "model/hf_meaning.def"
};
enum { LINE_COUNT = sizeof LINES / sizeof *LINES };

static double absent_value(int line)
{
#define HF(field, families, keys, absent) absent,
    const double values[] = {
#include "model/hf_meaning.def"
    };
    return values[line];
}

/* Other words for one thing. GELU by tanh is Megatron's fused GELU. */
static const struct {
    const char *word, *known;
} ALIASES[] = {
    {"default", "none"},   {"su", "longrope"},    {"swish", "silu"},
    {"gelu_new", "gelu"},  {"gelu_fast", "gelu"}, {"gelu_pytorch_tanh", "gelu"},
    {"gelu_tanh", "gelu"}, {"mrope", "none"},
};

int hf_meaning_line(const char *family, enum model_meaning f)
{
    int found = -1, others = -1;
    for (int i = 0; i < LINE_COUNT; i++) {
        if (LINES[i].field != f)
            continue;
        if (is_one_of(family, LINES[i].families))
            found = found < 0 ? i : LINE_COUNT; /* twice is as wrong as never */
        else if (is_one_of("*", LINES[i].families))
            others = others < 0 ? i : LINE_COUNT;
    }
    found = found < 0 ? others : found;
    return found < LINE_COUNT ? found : -1;
}

/* "rope_scaling.factor": NULL where any part of the path is absent or null. */
static const struct json *get_path(const struct hf_config *c, const char *path)
{
    char key[64];
    const struct json *v = NULL;
    for (bool first = true;; first = false) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        v = first ? hf_get(c, key) : json_get(v, key);
        if (json_is_null(v) || !path[length])
            return json_is_null(v) ? NULL : v;
        if (!json_is_object(v))
            return NULL;
        path += length + 1;
    }
}

static bool read_word(enum model_meaning f, const char *word, double *out)
{
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (strcmp(word, ALIASES[i].word) == 0)
            word = ALIASES[i].known;
    return model_meaning_parse(f, word, out) || model_meaning_parse(f, "other", out);
}

static bool read_number(enum model_meaning f, const struct json *v, double *out)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    *out = json_number_of(v);
    return info->kind != MEANING_WORD && json_is_number(v) && *out >= info->lo &&
           *out <= info->hi && (info->kind == MEANING_REAL || *out == floor(*out));
}

static bool wrong_value(const struct hf_config *c, const char *key, enum model_meaning f,
                        const struct json *v, struct error *err)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    if (info->kind == MEANING_WORD)
        return fail(err, ERROR_INPUT, "%s: %s is no text, expected one of: %s (%s)", c->name, key,
                    info->words, info->help);
    if (info->kind == MEANING_FLAG)
        return fail(err, ERROR_INPUT, "%s: %s is no true or false (%s)", c->name, key, info->help);
    if (!json_is_number(v))
        return fail(err, ERROR_INPUT, "%s: %s is no number, expected %g to %g (%s)", c->name, key,
                    info->lo, info->hi, info->help);
    return fail(err, ERROR_INPUT, "%s: %s is %.15g, expected %s%g to %g (%s)", c->name, key,
                json_number_of(v), info->kind == MEANING_COUNT ? "a whole number from " : "",
                info->lo, info->hi, info->help);
}

/* What stands before a key: ! not, / one by it, ^ one by its square, % a share of a head's width, # how long a word is, ~ whether
 * a word is not rope; of a number that is there, not; of true or false, that. */
static bool is_sign(char c)
{
    return c && strchr("!/^%#~", c);
}

static double by_sign(char sign, double value, const struct model *m)
{
    return sign == '/' && value > 0   ? 1 / value
           : sign == '^' && value > 0 ? 1 / (value * value)
           : sign == '%'              ? value / m->head_dim
                                      : value;
}

/* A number as the sign before its key has it, in the range of the field. */
static bool read_signed(enum model_meaning f, char sign, const struct json *v,
                        const struct model *m, double *out)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    if (sign == '#' && json_is_string(v))
        *out = (double)strlen(json_text(v));
    else if (sign == '~' && (json_is_string(v) || json_is_number(v)))
        *out = json_is_string(v) && strcmp(json_text(v), "rope") != 0;
    else if (sign == '~' && json_is_bool(v))
        *out = json_bool_of(v);
    else if (json_is_number(v))
        *out = by_sign(sign, json_number_of(v), m);
    else
        return false;
    return *out >= info->lo && *out <= info->hi;
}

bool hf_meaning_key(const struct hf_config *c, const char *key, enum model_meaning f,
                    struct model *m, struct error *err)
{
    bool sign = is_sign(*key), turned = *key == '!';
    const struct json *v = get_path(c, key + sign);
    const struct model_meaning_info *info = model_meaning_info(f);
    double value = 0;
    if (json_is_bool(v) && (info->kind == MEANING_FLAG || info->kind == MEANING_WORD))
        value = json_bool_of(v) != turned;
    else if (json_is_bool(v) && f == MEANING_embed_scale)
        value = json_bool_of(v) ? sqrt(m->hidden) : 1; /* muP's, by a switch */
    else if (!(info->kind == MEANING_WORD && json_is_string(v) &&
               read_word(f, json_text(v), &value)) &&
             !(sign && !turned && read_signed(f, *key, v, m, &value)) &&
             !(info->kind != MEANING_FLAG && read_number(f, v, &value)))
        return wrong_value(c, key + sign, f, v, err);
    model_meaning_set(m, f, value);
    return true;
}

static double default_of(int line, const struct model *m)
{
    double value = absent_value(line);
    return value == SAME_AS_MAX_SEQ   ? m->max_seq
           : value == ROOT_OF_HIDDEN  ? sqrt(m->hidden)
           : value == ABOVE_4096_WIDE ? m->hidden > 4096
           : value == TWO_BY_ROOT     ? 2 / sqrt(5.0 * m->hidden)
           : value == FOUR_BY_ROOT    ? 4 / sqrt(5.0 * m->hidden)
                                      : value;
}

static bool read_field(const struct hf_config *c, enum model_meaning f, struct model *m,
                       struct error *err)
{
    char key[96];
    int line = hf_meaning_line(m->family, f);
    assert(line >= 0);
    for (const char *at = LINES[line].keys; next_word(&at, key, sizeof key);)
        if (get_path(c, key + is_sign(*key)))
            return hf_meaning_key(c, key, f, m, err);
    model_meaning_set(m, f, default_of(line, m));
    return true;
}

bool hf_meaning_reads(const char *family, const char *key)
{
    char path[96];
    for (int i = 0; i < MODEL_MEANINGS; i++) {
        const char *at = LINES[hf_meaning_line(family, (enum model_meaning)i)].keys;
        while (next_word(&at, path, sizeof path)) {
            char *name = path + is_sign(*path);
            name[strcspn(name, ".")] = 0;
            if (strcmp(name, key) == 0)
                return true;
        }
    }
    return false;
}

bool hf_meaning(const struct hf_config *c, struct model *m, struct error *err)
{
    struct error inner;
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!read_field(c, (enum model_meaning)i, m, err))
            return false;
    return model_finish_meaning(m, &inner) || fail(err, inner.kind, "%s: %s", c->name, inner.text);
}
