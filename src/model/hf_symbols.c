/* The layers of a hybrid in a Hugging Face config.json: a word of symbols as Megatron has them (hybrid_override_pattern), or
 * a list of names (layers_block_type); those of one MTP depth the same way. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <string.h>

static const struct {
    const char *name;
    char symbol;
} NAMES[] = {{"mamba", 'M'},     {"linear_attention", 'M'},
             {"attention", '*'}, {"full_attention", '*'},
             {"moe", 'E'},       {"mlp", '-'}};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };

static bool add_list(const struct hf_config *c, const char *key, const struct json *list,
                     struct str *out, struct error *err)
{
    for (size_t i = 0; i < json_count(list); i++) {
        const char *name = json_text(json_at(list, i));
        int k = 0;
        while (k < NAME_COUNT && strcmp(name, NAMES[k].name) != 0)
            k++;
        if (k == NAME_COUNT)
            return fail(err, ERROR_INPUT,
                        "%s: %s[%zu] is '%.80s', expected mamba, attention, moe or mlp", c->name,
                        key, i, name);
        str_add_bytes(out, &NAMES[k].symbol, 1);
    }
    return true;
}

/* The first of the blank-separated keys that is there. */
static bool add_part(const struct hf_config *c, const char *keys, struct str *out,
                     struct error *err)
{
    char key[64];
    const struct json *v = NULL;
    while (!v && next_word(&keys, key, sizeof key))
        v = hf_get(c, key);
    if (!v)
        return true;
    if (json_is_array(v))
        return add_list(c, key, v, out, err);
    if (!json_is_string(v))
        return fail(err, ERROR_INPUT, "%s: %s is %s, expected symbols or a list of names", c->name,
                    key, hf_type_name(v));
    str_add(out, json_text(v));
    return true;
}

bool hf_symbols(const struct hf_config *c, const char *keys, const char *mtp_keys, struct model *m,
                struct error *err)
{
    struct str text = {0}, depth = {0};
    struct error inner;
    int depths = 0;
    bool ok = add_part(c, keys, &text, err) &&
              (!*mtp_keys || (add_part(c, mtp_keys, &depth, err) &&
                              hf_count(c, "num_nextn_predict_layers", 0, 64, &depths, err)));
    for (int i = 0; ok && i < depths; i++)
        str_addf(&text, "/%s", depth.length ? str_text(&depth) : "*E");
    if (ok && text.length)
        ok = model_set_symbols(m, str_text(&text), &inner) ||
             fail(err, inner.kind, "%s: %s", c->name, inner.text);
    str_release(&text);
    str_release(&depth);
    return ok;
}

/* What the kernels are written for. */
bool hf_hybrid(const struct hf_config *c, struct model *m, struct error *err)
{
    static const struct {
        const char *key;
        int value;
    } FIXED[] = {{"chunk_size", 128}, {"conv_kernel", 4}};
    static const char *const OFF[] = {"use_bias", "mamba_proj_bias", "mlp_bias"};
    for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++) {
        int value = FIXED[i].value;
        if (!hf_count(c, FIXED[i].key, 1, 1 << 20, &value, err))
            return false;
        if (value != FIXED[i].value)
            return fail(err, ERROR_INPUT, "%s: %s is %d, and only %d is modelled%s", c->name,
                        FIXED[i].key, value, FIXED[i].value, HF_WAY_OUT);
    }
    for (size_t i = 0; i < sizeof OFF / sizeof *OFF; i++) {
        bool on = false;
        if (!hf_flag(c, OFF[i], &on, err))
            return false;
        if (on)
            return fail(err, ERROR_INPUT, "%s: %s is true: such biases are not modelled%s", c->name,
                        OFF[i], HF_WAY_OUT);
    }
    if (!hf_symbols(c, "layers_block_type layer_types hybrid_override_pattern",
                    "mtp_layers_block_type mtp_hybrid_override_pattern", m, err))
        return false;
    if (!m->pattern[0])
        return fail(err, ERROR_INPUT,
                    "%s: layers_block_type (or hybrid_override_pattern) is missing: which layer is "
                    "what",
                    c->name);
    if (!strchr(m->pattern, 'E') && !strchr(m->mtp_pattern, 'E'))
        m->experts = 0; /* the class has a number anyway */
    if (!strchr(m->pattern, 'M') && !strchr(m->mtp_pattern, 'M'))
        m->mamba_heads = 0;
    return true;
}
