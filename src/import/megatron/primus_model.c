#include "import/megatron/primus_model.h"

#include "base/arena.h"
#include "base/str.h"

#include <string.h>

static const struct {
    const char *name, *settings;
} MODELS[] = {
#define PRIMUS(name, settings) {name, settings},
#include "import/megatron/primus_models.def"
#undef PRIMUS
};

static const char *settings_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++)
        if (strlen(MODELS[i].name) == length && strncmp(MODELS[i].name, name, length) == 0)
            return MODELS[i].settings;
    return NULL;
}

bool primus_model_add(struct dest_list *list, const char *name, int line)
{
    const char *settings = settings_of(name, strlen(name));
    char word[96];
    settings = settings ? settings : settings_of(name, strcspn(name, "-"));
    if (!settings)
        return false;
    for (const char *at = settings; next_word(&at, word, sizeof word);) {
        size_t n = strcspn(word, "=");
        if (word[n])
            dest_add(list, arena_copy(list->mem, word, n), arena_string(list->mem, word + n + 1),
                     line);
    }
    return true;
}

const char *primus_model_note(const char *name, struct arena *mem)
{
    return arena_format(
        mem,
        "model %s is that of Primus fd1eeabb (2026-08-22): other releases may set other values",
        name);
}
