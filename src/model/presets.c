/* The presets: config.json files of data/models compiled in, listed in presets.def. */
#include "model/model.h"

#include "base/arena.h"

#include <string.h>

#define PRESET(name, symbol, published_params, source) extern const char symbol[];
#include "model/presets.def"
#undef PRESET

const struct model_preset *model_presets(void)
{
    static const struct model_preset presets[] = {
#define PRESET(name, symbol, published_params, source) {name, symbol, published_params, source},
#include "model/presets.def"
#undef PRESET
        {0},
    };
    return presets;
}

/* The last word of a text that is a name with an owner. */
static const char *owned_name(const char *text, struct arena *mem)
{
    const char *found = NULL;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        const char *slash = memchr(at, '/', n);
        if (slash && slash > at && at + n > slash + 1 &&
            !memchr(slash + 1, '/', (size_t)(at + n - slash - 1)))
            found = arena_copy(mem, at, n);
        at += n;
    }
    return found;
}

/* A preset's count is that of the hub's own files. */
const char *model_hub_id(const struct model *m, struct arena *mem)
{
    const char *own = m->name[0] == '.' || m->name[0] == '/' ? NULL : owned_name(m->name, mem);
    for (const struct model_preset *p = model_presets(); p->name && !own; p++)
        if (strcmp(p->name, m->name) == 0)
            own = owned_name(p->source, mem);
    return own;
}
