/* What a word means that no option and no command is called: names of other tools, parameters of a strategy,
 * names of models and pools that stand alone. */
#include "cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    const char *word, *meant;
};

static const struct meaning OPTIONS[] = {
#define MEANT_OPTION(word, meant) {word, meant},
#define MEANT_COMMAND(word, meant)
#include "meant.def"
};

static const struct meaning COMMANDS[] = {
#define MEANT_OPTION(word, meant)
#define MEANT_COMMAND(word, meant) {word, meant},
#include "meant.def"
};

/* A dash is as good as an underscore, a capital as a small letter. */
static bool same_word(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]) &&
            !(strchr("-_", a[i]) && strchr("-_", b[i])))
            return false;
    return true;
}

/* Whether the blank-separated list has it; `*found` is its place. */
static bool lists(const char *names, const char *word, const char **found)
{
    size_t n = strlen(word);
    for (const char *at = names; n > 0 && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && same_word(at, word, n)) {
            *found = at;
            return true;
        }
    return false;
}

static bool takes(const struct command *c, const char *option)
{
    const struct astra_option *o;
    size_t n = strcspn(option, " ");
    for (int i = 0; (o = option_at(c, i)); i++)
        if (strlen(o->name) == n && strncmp(o->name, option, n) == 0)
            return true;
    return false;
}

/* "--set tp=8" with the value that was given; a pool has more in it than a number. */
static void put_value(const char *meant, const char *value, char *out)
{
    const char *cut = strrchr(meant, '=');
    cut = cut ? cut : strrchr(meant, ' ');
    if (!value || !cut || strstr(meant, "--cluster"))
        snprintf(out, MEANT_MAX, "%s", meant);
    else
        snprintf(out, MEANT_MAX, "%.*s%s", (int)(cut - meant) + 1, meant, value);
}

static bool parameter_meant(const char *word, const char *value, char *out)
{
    struct astra *a = astra_new();
    const char *at;
    bool found = lists(astra_names(a, "parameters"), word, &at);
    if (found)
        snprintf(out, MEANT_MAX, "--set %.*s=%s", (int)strlen(word), at, value ? value : "...");
    astra_free(a);
    return found;
}

bool option_meant(const struct command *c, const char *word, const char *value, char *out)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (strcmp(OPTIONS[i].word, word) == 0 && takes(c, OPTIONS[i].meant + 2)) {
            put_value(OPTIONS[i].meant, value, out);
            return true;
        }
    return takes(c, "set") && parameter_meant(word, value, out);
}

const char *command_meant(const char *word)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(COMMANDS[i].word, word) == 0)
            return COMMANDS[i].meant;
    return NULL;
}

const char *stray_meant(const struct command *c, const char *word)
{
    const char *at;
    struct astra *a = astra_new();
    bool model =
        strchr(word, '/') || strstr(word, ".json") || lists(astra_names(a, "models"), word, &at);
    astra_free(a);
    if (strchr(word, ':') && takes(c, "cluster"))
        return "--cluster ";
    if (strchr(word, '=') && takes(c, "set"))
        return "--set ";
    return model && takes(c, "model") ? "--model " : NULL;
}
