/* Which Hugging Face models have layers that are not modelled, and which kind is missing. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <string.h>

const char HF_WAY_OUT[] =
    "; a model of plain blocks can be described inline: --model layers=32,hidden=4096,...";

static const struct refusal {
    bool key;
    const char *names, *kind;
} REFUSALS[] = {
#define REFUSED_TYPE(types, kind) {false, types, kind},
#define REFUSED_KEY(keys, kind) {true, keys, kind},
#include "model/refused.def"
};

bool hf_is_on(const struct json *v)
{
    if (json_is_bool(v))
        return json_bool_of(v);
    return !json_is_null(v) && !(json_is_number(v) && json_number_of(v) == 0);
}

static bool refuse(const struct hf_config *c, const char *type, const struct refusal *r,
                   struct error *err)
{
    char word[64];
    for (const char *at = r->names; next_word(&at, word, sizeof word);) {
        if (!r->key && same_name(type, word))
            return fail(err, ERROR_INPUT,
                        "%s: model_type is '%s': it has %s, which Astra does not model%s", c->name,
                        type, r->kind, HF_WAY_OUT);
        if (r->key && !hf_key_is_own(type, word) && hf_is_on(hf_get(c, word)))
            return fail(err, ERROR_INPUT,
                        "%s: %s is given: the model has %s, which Astra does not model%s", c->name,
                        word, r->kind, HF_WAY_OUT);
    }
    return true;
}

bool hf_is_plain(const struct hf_config *c, const char *type, struct error *err)
{
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++)
        if (!refuse(c, type, &REFUSALS[i], err))
            return false;
    return true;
}
