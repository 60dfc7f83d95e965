/* Which keys of a config.json count: a family's own. Files carry keys of their relatives (a dense model one for the width
 * of experts), which the family's code does not read. Where a file brings modeling code of its own (auto_map), the name of
 * the family says less: a key that the family does not have may change what is trained, and is an error. */
#include "model/hf_config.h"

#include "base/json.h"
#include "base/str.h"

#include <string.h>

static const struct {
    const char *key, *families;
} OF_FAMILIES[] = {
#define OF_FAMILIES(key, families) {key, families},
#define OF_CODE(families, keys)
#define OF_ALL(keys)
#include "model/hf_keys.def"
};
enum { KEY_COUNT = sizeof OF_FAMILIES / sizeof *OF_FAMILIES };

/* families NULL = all */
static const struct {
    const char *families, *keys;
} HARMLESS[] = {
#define OF_FAMILIES(key, families)
#define OF_CODE(families, keys) {families, keys},
#define OF_ALL(keys) {NULL, keys},
#include "model/hf_keys.def"
};

bool hf_key_is_foreign(const char *family, const char *key)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(key, OF_FAMILIES[i].key) == 0)
            return !is_one_of(family, OF_FAMILIES[i].families);
    return false;
}

bool hf_key_is_own(const char *family, const char *key)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(key, OF_FAMILIES[i].key) == 0)
            return is_one_of(family, OF_FAMILIES[i].families);
    return false;
}

static bool is_known(const char *family, const char *key)
{
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(key, OF_FAMILIES[i].key) == 0)
            return hf_key_is_own(family, key);
    for (size_t i = 0; i < sizeof HARMLESS / sizeof *HARMLESS; i++)
        if ((!HARMLESS[i].families || is_one_of(family, HARMLESS[i].families)) &&
            is_one_of(key, HARMLESS[i].keys))
            return true;
    return hf_meaning_reads(family, key);
}

struct own_code {
    const char *family, *unknown;
};

static void note_unknown(void *context, const char *key, const struct json *value)
{
    struct own_code *o = context;
    if (!o->unknown && hf_is_on(value) && !is_known(o->family, key))
        o->unknown = key;
}

bool hf_code_is_known(const struct hf_config *c, struct error *err)
{
    struct own_code o = {.family = c->family};
    if (!hf_get(c, "auto_map"))
        return true;
    json_each(c->text, note_unknown, &o);
    if (!o.unknown)
        return true;
    return fail(err, ERROR_INPUT,
                "%s: the file brings modeling code of its own (auto_map) and has '%.80s', which is "
                "no key of %s; without "
                "auto_map it is read as %s%s",
                c->name, o.unknown, c->family, c->family, HF_WAY_OUT);
}
