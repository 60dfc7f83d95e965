/* `astra completions SHELL`: a script made from the tables of commands and options, so that it
 * offers what this program takes. What a value may be is read from the option's argument. */
#include "completions.h"

#include <stdio.h>
#include <string.h>

static bool has(const char *argument, const char *part)
{
    return strstr(argument, part) != NULL;
}

enum value_kind value_kind(const char *argument)
{
    static const struct {
        const char *part;
        enum value_kind kind;
    } parts[] = {
        {"MODEL", VALUE_MODEL}, {"POOL", VALUE_POOL},     {"GPU=", VALUE_OF_GPU},
        {"GPU", VALUE_GPU},     {"PARAM=", VALUE_PARAM},  {"FILE", VALUE_FILE},
        {"SOURCE", VALUE_FILE}, {".json", VALUE_FILE},    {".csv", VALUE_FILE},
        {"PATH", VALUE_FILE},   {"FOLDER", VALUE_FOLDER}, {"|", VALUE_WORDS},
    };
    if (!*argument)
        return VALUE_NONE;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has(argument, parts[i].part))
            return parts[i].kind;
    return VALUE_FREE;
}

bool option_of(const struct command *c, int i, struct offered *out)
{
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (command_takes(c, o) && i-- == 0) {
            *out = (struct offered){o->name, o->argument, o->help};
            return true;
        }
    for (const struct own_option *o = own_options(); o->name; o++)
        if (takes_own(c, o) && i-- == 0) {
            *out = (struct offered){o->name, o->argument, o->help};
            return true;
        }
    return false;
}

void print_words(const char *list)
{
    for (; *list; list++)
        putchar(*list == '|' ? ' ' : *list);
}

static const struct shell {
    const char *name;
    void (*print)(struct astra *);
} SHELLS[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

enum { SHELL_COUNT = sizeof SHELLS / sizeof *SHELLS };

static const struct shell *shell_find(const char *word)
{
    for (int i = 0; i < SHELL_COUNT; i++)
        if (strcmp(SHELLS[i].name, word) == 0)
            return &SHELLS[i];
    return NULL;
}

int run_completions(int count, char **words)
{
    const struct shell *shell = count == 1 ? shell_find(words[0]) : NULL;
    if (!shell) {
        if (count == 1)
            complain("completions are for bash, zsh and fish, not for '%s'", words[0]);
        else
            complain("name one shell: astra completions bash, zsh or fish");
        return ASTRA_INPUT;
    }
    struct astra *a = astra_new();
    shell->print(a);
    astra_free(a);
    return ASTRA_OK;
}
