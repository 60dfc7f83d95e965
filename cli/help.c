/* Help, made from the tables of commands and options. */
#include "cli.h"

#include <stdio.h>

enum { OPTION_COLUMN = 28 };

void print_greeting(void)
{
    puts("Astra plans training: which GPUs, how many, and how to split the model over them.\n\n"
         "  astra search --model llama3-70b --cluster 64x8:H100      the fastest strategies\n"
         "  astra estimate --cluster 8x8:H100 -- <Megatron flags>    what you run today\n"
         "  astra explain plan.json                                  why a plan is fast or not\n\n"
         "astra --help tells more.");
}

void print_help(void)
{
    puts("usage: astra COMMAND [OPTIONS] [-- MEGATRON FLAGS]\n");
    for (const struct command *c = commands(); c->name; c++)
        printf("  %-10s %s\n", c->name, c->help);
    puts("\n  astra COMMAND --help, astra help COMMAND     options and examples\n"
         "  astra --version\n\n"
         "Exit codes: 0 found, 1 nothing feasible, 2 wrong input, 3 system trouble.");
}

static void print_option(const char *name, const char *argument, const char *help)
{
    int width = printf("  --%s%s%s", name, *argument ? " " : "", argument);
    if (width >= OPTION_COLUMN) {
        putchar('\n');
        width = 0;
    }
    printf("%*s%s\n", OPTION_COLUMN - width, "", help);
}

void print_command_help(const struct command *c)
{
    printf("usage: astra %s [OPTIONS]%s%s\n\n%s\n\n", c->name, *c->arguments ? " " : "",
           c->arguments, c->about);
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (command_takes(c, o))
            print_option(o->name, o->argument, o->help);
    for (const struct own_option *o = own_options(); o->name; o++)
        if (takes_own(c, o))
            print_option(o->name, o->argument, o->help);
    puts("\nExamples:");
    for (const char *const *example = c->examples; *example; example++)
        printf("  %s\n", *example);
}
