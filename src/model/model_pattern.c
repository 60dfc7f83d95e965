/* Models whose layers are one half each: a string of symbols, one a layer, as Megatron-LM's
 * --hybrid-layer-pattern has it: "MEM-E/-E/-E" is five layers and, twice, an MTP depth of two. The model
 * keeps the string, so that its layers can be laid out again whenever its fields change. */
#include "model/model.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

/* Attention under multi-latent attention has a symbol of its own, and is one kind here. */
static const char LATENT = '+', DEPTH = '/';

/* Strings: what has no symbol is the last of the mixers. */
static const char MIXER_SYMBOLS[] = {
#define MIXER(id, symbol, ...) symbol,
#define FEED(...)
#include "model/layer_kinds.def"
    0};
static const char FEED_SYMBOLS[] = {
#define MIXER(...)
#define FEED(id, symbol, ...) symbol,
#include "model/layer_kinds.def"
    0};

struct layer_kind layer_of_symbol(char symbol)
{
    const char *mixer = strchr(MIXER_SYMBOLS, symbol), *feed = strchr(FEED_SYMBOLS, symbol);
    return (struct layer_kind){
        .mixer = mixer ? (enum mixer)(mixer - MIXER_SYMBOLS) : MIXER_NONE,
        .feed = feed ? (enum feed)(feed - FEED_SYMBOLS) : FEED_NONE,
    };
}

static bool check_symbols(const char *text, const char *whole, struct error *err)
{
    const char sparse = MIXER_SYMBOLS[MIXER_DSA];
    bool latent = strchr(text, LATENT) || strchr(text, sparse);
    bool plain = strchr(text, MIXER_SYMBOLS[MIXER_ATTENTION]);
    for (const char *p = text; *p; p++)
        if (*p != LATENT && !strchr(MIXER_SYMBOLS, *p) && !strchr(FEED_SYMBOLS, *p))
            return fail(err, ERROR_INPUT,
                        "pattern '%.80s': '%c' is no layer that is known; they are %s%s and %c "
                        "(multi-latent attention), MTP layers stand behind '%c'",
                        whole, isprint((unsigned char)*p) ? *p : '?', MIXER_SYMBOLS, FEED_SYMBOLS,
                        LATENT, DEPTH);
    return !(latent && plain) ||
           fail(err, ERROR_INPUT,
                "pattern '%.80s' has attention (%c) and multi-latent attention (%c, %c); Megatron "
                "knows one of them in a model",
                whole, MIXER_SYMBOLS[MIXER_ATTENTION], LATENT, sparse);
}

/* The symbols up to the end or the next depth. */
static bool take_part(struct model *m, const char **at, char *out, int most, const char *whole,
                      struct error *err)
{
    size_t length = strcspn(*at, "/");
    if (length == 0 || length > (size_t)most)
        return fail(err, ERROR_INPUT,
                    "pattern '%.80s': %zu layers before or behind a '%c', expected 1 to %d", whole,
                    length, DEPTH, most);
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    if (!check_symbols(out, whole, err))
        return false;
    for (char *p = out; *p; p++) {
        m->mla |= *p == LATENT || *p == MIXER_SYMBOLS[MIXER_DSA];
        if (*p == LATENT)
            *p = MIXER_SYMBOLS[MIXER_ATTENTION];
    }
    return true;
}

bool model_set_symbols(struct model *m, const char *text, struct error *err)
{
    const char *at = text;
    char depth[MTP_MAX_LAYERS + 1];
    int depths = 0, given = m->layers;
    if (!take_part(m, &at, m->pattern, MODEL_MAX_LAYERS, text, err))
        return false;
    m->layers = (int)strlen(m->pattern);
    if (given && given != m->layers)
        return fail(err, ERROR_INPUT, "pattern '%.80s' has %d layers, and layers is %d", text,
                    m->layers, given);
    for (m->mtp_pattern[0] = 0; *at; depths++) {
        at++;
        if (!take_part(m, &at, depth, MTP_MAX_LAYERS, text, err))
            return false;
        if (depths > 0 && strcmp(depth, m->mtp_pattern) != 0)
            return fail(err, ERROR_INPUT,
                        "pattern '%.80s': MTP layers are '%s' and '%s', expected all alike", text,
                        m->mtp_pattern, depth);
        memcpy(m->mtp_pattern, depth, sizeof depth);
    }
    m->mtp = depths;
    return true;
}

static void add_part(const struct model *m, const char *symbols, struct str *out)
{
    for (const char *p = symbols; *p; p++) {
        bool latent = m->mla && *p == MIXER_SYMBOLS[MIXER_ATTENTION];
        str_add_bytes(out, latent ? &LATENT : p, 1);
    }
}

void model_add_symbols(const struct model *m, struct str *out)
{
    add_part(m, m->pattern, out);
    for (int i = 0; i < m->mtp && m->pattern[0]; i++) {
        str_add_bytes(out, &DEPTH, 1);
        add_part(m, m->mtp_pattern, out);
    }
}
