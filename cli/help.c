/* Help, made from the tables of commands and options. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_COLUMN = 28, NARROW = 72, NARROW_COLUMN = 8 };

const char *const *greeting_examples(void)
{
    static const char *const examples[] = {
        "the fastest strategies for a model on 512 GPUs",
        "astra search --model llama3-70b --cluster 64x8:H100",
        "how fast the flags you use now are",
        "astra estimate --model llama3-8b --cluster 1x8:H100 -- --bf16 "
        "--tensor-model-parallel-size 2 --use-distributed-optimizer",
        "why a plan is fast or slow",
        "astra explain --model llama3-8b --cluster 1x8:H100 --set tp=4 --set pp=2",
        NULL,
    };
    return examples;
}

const struct exit_code *exit_codes(void)
{
    static const struct exit_code codes[] = {
        {ASTRA_OK, "found", "There is an answer."},
        {ASTRA_NONE, "nothing feasible", "The query has no answer, or the plan does not fit."},
        {ASTRA_INPUT, "wrong input", "The input is wrong."},
        {ASTRA_SYSTEM, "system trouble", "A file could not be read or written."},
        {0},
    };
    return codes;
}

void print_greeting(void)
{
    char first[256];
    snprintf(first, sizeof first,
             "Astra %s plans training: which GPUs, how many, and how to split the model over them.",
             astra_version());
    print_paragraph(first, 0, 0);
    for (const char *const *e = greeting_examples(); *e; e += 2) {
        printf("\n  %s\n", e[0]);
        print_shell_command(e[1], 4);
    }
    puts("\nastra --help shows more.");
}

/* Where help of what is `width` wide begins: beside it, or below. */
static void print_beside(int width, const char *help, int column)
{
    if (text_columns() > 0 && text_columns() < NARROW && column > NARROW_COLUMN)
        column = NARROW_COLUMN;
    if (width >= column) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", column - width, "");
    print_paragraph(help, column, column);
}

static void print_exit_codes(void)
{
    char line[256];
    int n = snprintf(line, sizeof line, "Exit codes:");
    for (const struct exit_code *e = exit_codes(); e->words; e++)
        n += snprintf(line + n, sizeof line - (size_t)n, "%s %d %s", e->code ? "," : "", e->code,
                      e->words);
    snprintf(line + n, sizeof line - (size_t)n, ".");
    putchar('\n');
    print_paragraph(line, 0, 0);
}

static void print_help(void)
{
    puts("usage: astra COMMAND [OPTIONS] [-- MEGATRON FLAGS]\n");
    for (const struct command *c = commands(); c->name; c++) {
        printf("  %-10s ", c->name);
        print_paragraph(c->help, 13, 13);
    }
    putchar('\n');
    print_beside(printf("  astra COMMAND --help"), "options and examples", OPTION_COLUMN + 10);
    for (const struct own_command *c = own_commands(); c->name; c++)
        print_beside(printf("  astra %s%s%s", c->name, *c->arguments ? " " : "", c->arguments),
                     c->help, OPTION_COLUMN + 10);
}

static void print_option(const struct astra_option *o)
{
    char help[HELP_MAX];
    int at = printf("  --%s%s", o->name, *o->argument ? " " : "");
    option_help(o, help);
    print_beside(print_piece(o->argument, at, 6), help, OPTION_COLUMN);
}

/* Each group under its name. */
static void print_options(const struct command *c)
{
    const char *group = "";
    const struct astra_option *o;
    for (int i = 0; (o = option_at(c, i)); i++) {
        if (strcmp(o->group, group) != 0)
            printf("\n%s:\n", o->group);
        group = o->group;
        print_option(o);
    }
}

/* The options that most questions need, in the order of the question; others are told by --help all. */
static const struct {
    const char *command, *options;
} FIRST[] = {
    {"search",
     "model cluster tokens budget deadline global-batch seq-len set report format output"},
    {"estimate", "model cluster gpu set global-batch seq-len tokens env args format output"},
    {"explain", "model cluster gpu set global-batch seq-len stage trace format output"},
    {"improve", "cluster gpu env args megatron-version rules output"},
    {"compare", "model cluster gpu gpus set tokens price report format output"},
};

static const char *first_options(const struct command *c)
{
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        if (strcmp(FIRST[i].command, c->name) == 0)
            return FIRST[i].options;
    return NULL;
}

static const struct astra_option *option_named(const struct command *c, const char *name, size_t n)
{
    const struct astra_option *o;
    for (int i = 0; (o = option_at(c, i)); i++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static void print_first(const struct command *c, const char *names)
{
    int all = 0, shown = 0;
    char more[128];
    while (option_at(c, all))
        all++;
    puts("\nThe options that matter most:");
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        print_option(option_named(c, at, n));
        shown++;
        at += n;
    }
    snprintf(more, sizeof more, "astra %s --help all shows %d more.", c->name, all - shown);
    putchar('\n');
    print_paragraph(more, 0, 0);
}

void print_command_help(const struct command *c, bool all)
{
    const char *first = all ? NULL : first_options(c);
    printf("usage: astra %s [OPTIONS]%s%s\n\n", c->name, *c->arguments ? " " : "", c->arguments);
    print_paragraph(c->about, 0, 0);
    if (first)
        print_first(c, first);
    else
        print_options(c);
    puts("\nExamples:");
    for (const char *const *example = c->examples; *example; example++)
        print_shell_command(*example, 2);
}

void print_own_help(const struct own_command *c)
{
    printf("usage: astra %s%s%s\n\n", c->name, *c->arguments ? " " : "", c->arguments);
    print_paragraph(c->about, 0, 0);
}

static const struct help_topic {
    const char *name, *about, *text;
} TOPICS[] = {
#define TOPIC(name, about, text) {#name, about, text},
#include "topics.def"
};
enum { TOPIC_COUNT = sizeof TOPICS / sizeof *TOPICS };

const char *topic_name(int i)
{
    return i < TOPIC_COUNT ? TOPICS[i].name : NULL;
}

static const struct help_topic *topic_find(const char *name)
{
    for (int i = 0; i < TOPIC_COUNT; i++)
        if (strcmp(TOPICS[i].name, name) == 0)
            return &TOPICS[i];
    return NULL;
}

static void print_topics(void)
{
    for (int i = 0; i < TOPIC_COUNT; i++)
        print_beside(printf("  astra help %s", TOPICS[i].name), TOPICS[i].about,
                     OPTION_COLUMN + 10);
}

/* Paragraphs are wrapped, what is indented stays. */
static void print_topic(const struct help_topic *t)
{
    char line[1024];
    for (const char *at = t->text; *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        if (*at == ' ')
            puts(line);
        else
            print_paragraph(line, 0, 0);
        at += n;
    }
}

/* `astra help`, `astra help search`, `astra help search all`, `astra help money`: a name of a command and a
 * topic tells the command's, and then that there is more. */
int run_help(int count, char **words)
{
    const struct command *command = count > 0 ? command_find(words[0]) : NULL;
    const struct own_command *own = count > 0 ? own_command_find(words[0]) : NULL;
    const struct help_topic *topic = count > 0 ? topic_find(words[0]) : NULL;
    if (count > 0 && !command && !own && !topic)
        return unknown_command(words[0]);
    if (command)
        print_command_help(command, count > 1 && strcmp(words[1], "all") == 0);
    else if (own)
        print_own_help(own);
    if (command && topic)
        putchar('\n');
    if (topic)
        print_topic(topic);
    if (count == 0) {
        print_help();
        print_topics();
        print_exit_codes();
    }
    return ASTRA_OK;
}
