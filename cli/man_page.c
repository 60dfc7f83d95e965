/* `astra man [COMMAND]`: manual pages in the macros of man(7), made from the tables of commands and
 * options. */
#include "cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { EXAMPLE_COLUMNS = 68 };

/* What the formatter would take for something else. */
static const char *escape_of(char c)
{
    static const struct {
        char c;
        const char *escape;
    } escapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].c == c)
            return escapes[i].escape;
    return NULL;
}

/* A line that begins with a dot would be a request; a newline of ours is a blank. */
static void print_text(const char *text)
{
    if (*text == '.')
        fputs("\\&", stdout);
    for (; *text; text++) {
        const char *escape = escape_of(*text);
        if (escape)
            fputs(escape, stdout);
        else
            putchar(*text == '\n' ? ' ' : *text);
    }
}

static void print_line(const char *text)
{
    print_text(text);
    putchar('\n');
}

static void section(const char *name)
{
    printf(".SH %s\n", name);
}

static void upper(const char *text)
{
    for (; *text; text++)
        putchar(toupper((unsigned char)*text));
}

/* The comment is how `make uninstall` knows its own. */
static void print_head(const char *command)
{
    puts(".\\\" Made by astra man.");
    printf(".TH ASTRA");
    if (command) {
        printf("\\-");
        upper(command);
    }
    printf(" 1 \"%s\" \"Astra %s\" \"Astra\"\n", ASTRA_DATE, astra_version());
    section("NAME");
    printf("astra%s%s \\- ", command ? "\\-" : "", command ? command : "");
}

static void print_tag(const char *name, const char *argument, const char *dashes)
{
    printf(".TP\n\\fB%s", dashes);
    print_text(name);
    fputs("\\fR", stdout);
    if (*argument) {
        fputs(" \\fI", stdout);
        print_text(argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
}

/* As it would be typed, with a backslash where a line goes on. */
static void print_example(const char *command)
{
    size_t at = 0, bytes;
    puts(".nf");
    for (; *command; command += bytes + (command[bytes] == ' ')) {
        char word[128];
        bytes = strcspn(command, " ");
        snprintf(word, sizeof word, "%.*s", (int)bytes, command);
        if (at > 0 && at + 1 + bytes > EXAMPLE_COLUMNS) {
            fputs(" \\e\n    ", stdout);
            at = 4;
        } else if (at > 0) {
            putchar(' ');
        }
        print_text(word);
        at += bytes + 1;
    }
    puts("\n.fi");
}

static void print_exit_status(void)
{
    section("EXIT STATUS");
    for (const struct exit_code *e = exit_codes(); e->words; e++) {
        printf(".TP\n\\fB%d\\fR\n", e->code);
        print_line(e->help);
    }
}

static void print_environment(void)
{
    static const char *const variables[][2] = {
        {"NO_COLOR", "Not empty: neither colours nor bars on a terminal."},
        {"TERM", "Not set, or dumb: neither of them, and no progress."},
        {"LC_ALL, LC_CTYPE, LANG",
         "Bars are drawn with block characters where they say UTF-8, otherwise with #."},
    };
    section("ENVIRONMENT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        print_tag(variables[i][0], "", "");
        print_line(variables[i][1]);
    }
}

static void print_files(void)
{
    section("FILES");
    print_tag("share/astra", "", "");
    print_line(
        "Below the folder that Astra was installed in: model presets, rules, prices, example "
        "clusters and the schemas of what is printed as JSON. Presets, rules and prices "
        "are compiled in as well.");
}

static void print_see_also(const char *but)
{
    const char *before = "";
    section("SEE ALSO");
    if (but) {
        fputs(".BR astra (1)", stdout);
        before = ",\n";
    }
    for (const struct command *c = commands(); c->name; c++) {
        if (but && strcmp(but, c->name) == 0)
            continue;
        printf("%s.BR astra\\-%s (1)", before, c->name);
        before = ",\n";
    }
    putchar('\n');
}

/* Each group under its name. */
static void print_options(const struct command *c)
{
    char help[HELP_MAX];
    const char *group = "";
    const struct astra_option *o;
    section("OPTIONS");
    for (int i = 0; (o = option_at(c, i)); i++) {
        if (strcmp(o->group, group) != 0)
            printf(".SS %s\n", o->group);
        group = o->group;
        print_tag(o->name, o->argument, "\\-\\-");
        option_help(o, help);
        print_line(help);
    }
}

static void print_command_page(const struct command *c)
{
    print_head(c->name);
    print_line(c->help);
    section("SYNOPSIS");
    printf(".B astra %s\n[\\fIOPTIONS\\fR]", c->name);
    fputs(*c->arguments ? " " : "", stdout);
    print_line(c->arguments);
    section("DESCRIPTION");
    print_line(c->about);
    print_options(c);
    print_exit_status();
    section("EXAMPLES");
    for (const char *const *example = c->examples; *example; example++) {
        fputs(example > c->examples ? ".PP\n" : "", stdout);
        print_example(*example);
    }
    print_see_also(c->name);
}

static void print_main_page(void)
{
    print_head(NULL);
    puts("plans the training of Transformers on many GPUs");
    section("SYNOPSIS");
    puts(".B astra\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\-\\- \\fIMEGATRON FLAGS\\fR]");
    section("DESCRIPTION");
    puts("Says which GPUs, how many, and how to split a model over them: the fastest and the\n"
         "cheapest parallel strategies, what a strategy takes, and why. It needs no GPU.");
    section("COMMANDS");
    for (const struct command *c = commands(); c->name; c++) {
        print_tag(c->name, c->arguments, "");
        print_line(c->help);
    }
    for (const struct own_command *c = own_commands(); c->name; c++) {
        print_tag(c->name, c->arguments, "");
        print_line(c->help);
    }
    print_exit_status();
    print_environment();
    print_files();
    section("EXAMPLES");
    for (const char *const *e = greeting_examples(); *e; e += 2) {
        fputs(e > greeting_examples() ? ".PP\n" : "", stdout);
        print_line(e[0]);
        puts(".PP");
        print_example(e[1]);
    }
    print_see_also(NULL);
}

static void list_pages(void)
{
    puts("astra");
    for (const struct command *c = commands(); c->name; c++)
        printf("astra-%s\n", c->name);
}

/* A page by its own name or by that of the command. What the program is asked about itself stands
 * in the page of astra. */
int run_man(int count, char **words)
{
    const char *word = count > 0 ? words[0] : "astra";
    const struct command *c = command_find(strncmp(word, "astra-", 6) == 0 ? word + 6 : word);
    if (strcmp(word, "--list") == 0)
        list_pages();
    else if (strcmp(word, "astra") == 0 || own_command_find(word))
        print_main_page();
    else if (c)
        print_command_page(c);
    else
        return unknown_command(word);
    return ASTRA_OK;
}
