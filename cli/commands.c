/* The commands, one table. Options are the library's own: each says which commands take it. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

enum astra_status serve_mcp(struct astra *a)
{
    if (is_terminal(0))
        complain("waits for a client's messages, one per line; doc/mcp.md says how to start it");
    return astra_mcp(a, 0, 1);
}

static const struct command COMMANDS[] = {
#define COMMAND(name, arguments, plan, flags, ask, words, help, about, ...)                        \
    {#name, arguments, help, about, plan, flags, ask, words, {__VA_ARGS__}},
#include "commands.def"
    {0},
};

const struct command *commands(void)
{
    return COMMANDS;
}

const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

bool command_takes(const struct command *c, const struct astra_option *option)
{
    size_t n = strlen(c->name);
    if (!*option->commands) /* all take it */
        return true;
    for (const char *at = option->commands; (at = strstr(at, c->name)); at += n)
        if ((at == option->commands || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

const struct astra_option *option_at(const struct command *c, int i)
{
    const struct astra_option *const tables[] = {astra_options(), own_options()};
    for (int t = 0; t < 2; t++)
        for (const struct astra_option *o = tables[t]; o->name; o++)
            if (command_takes(c, o) && i-- == 0)
                return o;
    return NULL;
}

void option_help(const struct astra_option *o, char out[HELP_MAX])
{
    bool usual = *o->usual;
    snprintf(out, HELP_MAX, "%s%s%s%s%s", o->help, usual ? " (" : "", o->usual, usual ? ")" : "",
             o->repeats ? "; may be given several times" : "");
}
