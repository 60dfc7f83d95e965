/* LoRA of Megatron-Bridge in the words of --train: what a recipe with adapters says (lora_dim, lora_targets, lora_dropout of
 * bridge_recipes.def), and what overrides of its section peft say instead. */
#include "import/megatron/bridge_adapters.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/bridge_recipe.h"

#include <string.h>

bool bridge_is_of_adapters(const char *setting)
{
    return strncmp(setting, "lora_", 5) == 0;
}

/* The value of NAME=... in a blank-separated list; NULL = it is not there. */
static const char *setting_of(const char *others, const char *name, struct arena *mem)
{
    char word[512];
    size_t n = strlen(name);
    for (const char *at = others; next_word(&at, word, sizeof word);)
        if (strncmp(word, name, n) == 0 && word[n] == '=')
            return arena_string(mem, word + n + 1);
    return NULL;
}

/* The last override "peft.NAME=VALUE", its brackets and quotes taken off. */
static const char *override_of(const struct launch *l, const char *name, struct arena *mem)
{
    const char *value = NULL;
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text + strspn(l->word[i].text, "+'\"");
        size_t n = strlen(name);
        if (strncmp(w, "peft.", 5) == 0 && strncmp(w + 5, name, n) == 0 && w[5 + n] == '=')
            value = w + 6 + n;
    }
    if (!value)
        return NULL;
    struct str s = {0};
    for (; *value; value++)
        if (!strchr("[]'\" ", *value))
            str_add_bytes(&s, value, 1);
    return str_keep(&s, mem);
}

static const char *said(const struct launch *l, const char *override, const char *others,
                        const char *name, struct arena *mem)
{
    const char *value = override_of(l, override, mem);
    return value ? value : setting_of(others, name, mem);
}

bool bridge_take_adapters(struct launch *l, const char *others, struct arena *mem)
{
    const char *dim = said(l, "dim", others, "lora_dim", mem);
    const char *targets = said(l, "target_modules", others, "lora_targets", mem);
    const char *dropout = said(l, "dropout", others, "lora_dropout", mem);
    if (!setting_of(others, "lora_dim", mem))
        return false;
    l->train =
        arena_format(mem, "lora:r=%s,targets=%s,dropout=%s", dim, targets, dropout ? dropout : "0");
    launch_note(l, arena_format(mem, "adapters (LoRA) are planned as --train %s", l->train));
    return true;
}
