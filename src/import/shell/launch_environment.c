/* The environment of a launch, as far as it changes what a step takes: rows of launch_environment.def, and
 * TransformerEngine's choice of attention, which is unfused where both of its other kinds are off. */
#include "import/shell/launch.h"

#include "base/arena.h"

#include <string.h>

static const struct {
    const char *name, *value, *text;
} ENVIRONMENT[] = {
#define ENVIRONMENT(name, value, text) {name, value, text},
#include "import/shell/launch_environment.def"
#undef ENVIRONMENT
};

static bool is_off(const char *value)
{
    return value && strcmp(value, "0") == 0;
}

void launch_environment(struct launch *l, launch_variable *value_of, void *from, struct arena *mem)
{
    for (size_t i = 0; i < sizeof ENVIRONMENT / sizeof *ENVIRONMENT; i++) {
        const char *value = value_of(from, ENVIRONMENT[i].name);
        bool any = *ENVIRONMENT[i].value == '*';
        if (value && *value && (any ? !is_off(value) : strcmp(value, ENVIRONMENT[i].value) == 0))
            launch_note(l, arena_format(mem, "%s=%s in the environment: %s", ENVIRONMENT[i].name,
                                        value, ENVIRONMENT[i].text));
    }
    l->unfused |=
        is_off(value_of(from, "NVTE_FLASH_ATTN")) && is_off(value_of(from, "NVTE_FUSED_ATTN"));
}
