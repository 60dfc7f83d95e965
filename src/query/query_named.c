/* A model that a file names instead of describing it: --model Qwen/Qwen2.5-7B-Instruct is the preset qwen2.5-7b. Only names
 * that go on behind the preset's with a dash count: qwen2.5-vl-7b is another model. */
#include "query/query_read.h"

#include "base/arena.h"
#include "model/model.h"
#include "query/options.h"

#include <ctype.h>
#include <string.h>

static bool is_sign(char c)
{
    return c && strchr("-_. ", c);
}

/* Letters and digits of both alike, signs apart. */
static bool begins_with(const char *name, const char *preset)
{
    while (*preset) {
        if (is_sign(*preset))
            preset++;
        else if (is_sign(*name))
            name++;
        else if (tolower((unsigned char)*name) == *preset)
            name++, preset++;
        else
            return false;
    }
    return !*name || is_sign(*name) || *name == '/';
}

static const char *preset_of(const char *text)
{
    const char *slash = strrchr(text, '/'), *name = slash && slash[1] ? slash + 1 : text;
    if (strncmp(name, "Meta-", 5) == 0)
        name += 5;
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (begins_with(name, p->name))
            return p->name;
    return NULL;
}

bool imported_model(struct options *o, struct imported *i, struct error *err)
{
    static const char *const FLAGS[] = {"--model", "--hf-checkpoint", "--hf-model-path"};
    const char *name = NULL, *preset = NULL;
    if (o->has_model || !o->has_flags || o->flags.has_model || o->flags.model.layers)
        return true;
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS && !preset; k++) {
        name = launch_value(&i->launch, FLAGS[k]);
        preset = name ? preset_of(name) : NULL;
    }
    i->named_model = preset ? arena_format(o->mem, "the file names %s", name) : NULL;
    return !preset || options_set(o, "model", preset, err);
}
