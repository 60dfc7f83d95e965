/* Completions for zsh: a function for the folder of site functions, by _arguments. */
#include "completions.h"

#include <stdio.h>
#include <string.h>

static const char *const ACTIONS[] = {
    [ASTRA_TAKES_ANY] = " ",
    [ASTRA_TAKES_MODEL] = "_astra_models",
    [ASTRA_TAKES_POOL] = "_astra_pool",
    [ASTRA_TAKES_GPU] = "_astra_gpus",
    [ASTRA_TAKES_GPU_VALUE] = "_astra_gpu_settings",
    [ASTRA_TAKES_PARAM] = "_astra_parameters",
    [ASTRA_TAKES_FILE] = "_files",
    [ASTRA_TAKES_FOLDER] = "_files -/",
    [ASTRA_TAKES_NEW_FILE] = "_files",
};

/* Within single quotes, and within [...] or behind a colon of a specification. */
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void print_value(const struct astra_option *o)
{
    putchar(':');
    print_escaped(o->argument);
    putchar(':');
    if (o->takes == ASTRA_TAKES_WORD) {
        putchar('(');
        print_words(o->argument);
        putchar(')');
    } else {
        fputs(ACTIONS[o->takes], stdout);
    }
}

static void print_option(const struct astra_option *o)
{
    bool takes = o->takes != ASTRA_TAKES_NOTHING;
    char help[HELP_MAX];
    option_help(o, help);
    printf(" \\\n            '*--%s%s[", o->name, takes ? "=" : "");
    print_escaped(help);
    putchar(']');
    if (takes)
        print_value(o);
    putchar('\'');
}

static void print_command(const struct command *c)
{
    const struct astra_option *o;
    printf("    %s)\n        _arguments -s", c->name);
    for (int i = 0; (o = option_at(c, i)); i++)
        print_option(o);
    fputs(" \\\n            '-o[write there]:FILE:_files'", stdout);
    if (*c->arguments)
        fputs(" \\\n            '*:file:_files'", stdout);
    puts("\n        ;;");
}

static void print_own_command(const struct own_command *c)
{
    if (!*c->arguments)
        return;
    printf("    %s) ", c->name);
    if (takes_words(c)) {
        fputs("_values shell ", stdout);
        print_words(c->arguments);
        puts(" ;;");
    } else {
        puts("_describe command commands ;;");
    }
}

static void print_described(const char *name, const char *help)
{
    printf("    '%s:", name);
    print_escaped(help);
    puts("'");
}

extern const char embedded_cli_complete_values_zsh[];

void print_zsh(struct astra *a)
{
    puts("#compdef astra\n# Completions of astra for zsh, made by `astra completions zsh`.");
    printf("astra_gpus=(%s)\n", astra_names(a, "gpus"));
    printf("astra_models=(%s)\n", astra_names(a, "models"));
    printf("astra_parameters=(%s)\n\n", astra_names(a, "parameters"));
    puts(embedded_cli_complete_values_zsh);
    puts("_astra() {\n    local -a commands own_commands\n    commands=(");
    for (const struct command *c = commands(); c->name; c++)
        print_described(c->name, c->help);
    puts("    )\n    own_commands=(");
    for (const struct own_command *c = own_commands(); c->name; c++)
        print_described(c->name, c->help);
    puts("    )\n"
         "    if ((CURRENT == 2)); then\n"
         "        _describe command commands -- own_commands\n"
         "        return\n"
         "    fi\n"
         "    local command=$words[2]\n"
         "    shift words\n"
         "    ((CURRENT--))\n"
         "    case $command in");
    for (const struct command *c = commands(); c->name; c++)
        print_command(c);
    for (const struct own_command *c = own_commands(); c->name; c++)
        print_own_command(c);
    puts("    esac\n}\n\n"
         "if [ \"$funcstack[1]\" = _astra ]; then _astra \"$@\"; else compdef _astra astra; fi");
}
