/* Completions for fish. */
#include "completions.h"

#include <stdio.h>
#include <string.h>

static const char *const VALUES[] = {
    [ASTRA_TAKES_NOTHING] = "",
    [ASTRA_TAKES_ANY] = " -x",
    [ASTRA_TAKES_MODEL] = " -r -a \"$__astra_models\"",
    [ASTRA_TAKES_POOL] = " -r -a '(__astra_pool)'",
    [ASTRA_TAKES_GPU] = " -x -a \"$__astra_gpus\"",
    [ASTRA_TAKES_GPU_VALUE] = " -x -a '$__astra_gpus='",
    [ASTRA_TAKES_PARAM] = " -x -a '$__astra_parameters='",
    [ASTRA_TAKES_FILE] = " -r -F",
    [ASTRA_TAKES_FOLDER] = " -x -a '(__fish_complete_directories)'",
    [ASTRA_TAKES_NEW_FILE] = " -r -F",
};

/* Within single quotes. */
static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (strchr("'\\", *text))
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void print_value(const struct astra_option *o)
{
    if (o->takes != ASTRA_TAKES_WORD) {
        fputs(VALUES[o->takes], stdout);
        return;
    }
    fputs(" -x -a '", stdout);
    print_words(o->argument);
    putchar('\'');
}

static void print_option(const struct command *c, const struct astra_option *o)
{
    char help[HELP_MAX];
    option_help(o, help);
    printf("complete -c astra -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
    if (strcmp(o->name, "output") == 0)
        fputs(" -s o", stdout);
    print_value(o);
    fputs(" -d ", stdout);
    print_quoted(help);
    putchar('\n');
}

static void print_subcommand(const char *name, const char *help)
{
    printf("complete -c astra -n __fish_use_subcommand -f -a %s -d ", name);
    print_quoted(help);
    putchar('\n');
}

static void print_own_command(const struct own_command *c)
{
    print_subcommand(c->name, c->help);
    if (!*c->arguments)
        return;
    printf("complete -c astra -n '__fish_seen_subcommand_from %s' -f -a '", c->name);
    if (takes_words(c))
        print_words(c->arguments);
    for (const struct command *k = commands(); k->name && !takes_words(c); k++)
        printf("%s ", k->name);
    puts("'");
}

static void print_list(struct astra *a, const char *variable, const char *of)
{
    printf("set -g __astra_%s %s\n", variable, astra_names(a, of));
}

void print_fish(struct astra *a)
{
    const struct astra_option *o;
    puts("# Completions of astra for fish, made by `astra completions fish`.");
    print_list(a, "gpus", "gpus");
    print_list(a, "models", "models");
    print_list(a, "parameters", "parameters");
    puts("function __astra_pool\n"
         "    set -l pool (string replace -r '^--[a-z-]+=' '' -- (commandline -ct))\n"
         "    if string match -q '*:*' -- $pool\n"
         "        set -l before (string replace -r ':[^:]*$' ':' -- $pool)\n"
         "        printf '%s\\n' $before$__astra_gpus\n"
         "    end\n"
         "end");
    for (const struct command *c = commands(); c->name; c++) {
        print_subcommand(c->name, c->help);
        if (!*c->arguments)
            printf("complete -c astra -n '__fish_seen_subcommand_from %s' -f\n", c->name);
        for (int i = 0; (o = option_at(c, i)); i++)
            print_option(c, o);
    }
    for (const struct own_command *c = own_commands(); c->name; c++)
        print_own_command(c);
}
