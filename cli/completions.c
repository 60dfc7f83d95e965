/* `astra completions SHELL`: a script made from the tables of commands and options, so that it
 * offers what this program takes. */
#include "completions.h"

#include <stdio.h>
#include <string.h>

bool takes_words(const struct own_command *c)
{
    return strchr(c->arguments, '|');
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
