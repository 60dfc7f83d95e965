/* `astra COMMAND ...`: find the command, read its options, ask the library, write the answer. Exit
 * codes are those of enum astra_status. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options come before the plan: a --cluster of the user's wins over the plan's. */
static enum astra_status put_query(struct astra *a, const struct request *r)
{
    enum astra_status status = config_read(a, r);
    astra_will_write(a, r->output);
    for (int i = 0; i < r->settings && status == ASTRA_OK; i++)
        status = astra_set(a, r->setting[i].option, r->setting[i].value);
    if (status == ASTRA_OK && r->plan)
        status = astra_load_plan(a, r->plan);
    if (status == ASTRA_OK && r->flag)
        status = astra_flags(a, (size_t)r->flags, (const char *const *)r->flag);
    return status == ASTRA_OK ? astra_take_defaults(a, r->command->name) : status;
}

static enum astra_status ask(struct astra *a, const struct request *r)
{
    struct progress progress;
    progress_begin(&progress);
    if (is_terminal(2) && !is_dumb())
        astra_on_progress(a, progress_draw, &progress);
    enum astra_status status = put_query(a, r);
    interrupt_begin(r->command->ask == astra_search ? a : NULL);
    if (status == ASTRA_OK)
        status = r->command->ask(a);
    interrupt_end();
    progress_end(&progress);
    return status;
}

static const char *answer(struct astra *a, const struct request *r)
{
    bool text = !r->output && r->format == ASTRA_TEXT;
    bool terminal = text && (is_terminal(1) || r->color == COLOR_ALWAYS);
    int columns = is_terminal(1) ? terminal_columns() : 0;
    return terminal ? astra_print_terminal(a, columns, look_wanted(r)) : astra_print(a, r->format);
}

/* A script beside an answer takes the output's name, and leaves standard output to the answer;
 * without a name it is written instead. A profile or an improved script without a name is not
 * written. */
static bool write_answer(struct astra *a, const struct request *r)
{
    bool beside = r->command->ask == astra_calibrate || r->command->ask == astra_improve;
    const char *script = beside && !r->output ? "" : astra_script(a), *text;
    struct request terminal = *r;
    terminal.output = NULL;
    if (!*script && beside)
        return write_out(NULL, answer(a, &terminal));
    if (!*script)
        return !*(text = answer(a, r)) || write_out(r->output, text);
    if (!write_out(r->output, script))
        return false;
    if (astra_script_files(a) != ASTRA_OK) {
        complain("%s", astra_message(a));
        return false;
    }
    return !r->output || (r->command->takes_plan && !beside) ||
           write_out(NULL, answer(a, &terminal));
}

static int run(const struct request *r)
{
    struct astra *a = astra_new();
    enum astra_status status = ask(a, r);
    bool written = true;
    if (status == ASTRA_OK || status == ASTRA_NONE)
        written = write_answer(a, r);
    if (status != ASTRA_OK)
        complain("%s", astra_message(a));
    astra_free(a);
    return written ? (int)status : ASTRA_SYSTEM;
}

static int run_version(int count, char **words)
{
    (void)count, (void)words;
    bool known = strcmp(ASTRA_COMMIT, "") != 0;
    printf(known ? "astra %s (%s)\n" : "astra %s\n", astra_version(), ASTRA_COMMIT);
    return ASTRA_OK;
}

static const struct own_command OWN_COMMANDS[] = {
    {"help", "[COMMAND|TOPIC]", "this text, that of a command, or of a topic",
     "Lists commands and topics, or tells the options of a command with examples, as astra COMMAND "
     "--help does, or a topic: astra help cluster.",
     run_help},
    {"man", "[COMMAND]", "a manual page, as in astra man search | man -l -",
     "Prints the manual page of a command, or that of astra itself, in the macros of man(7). "
     "astra man --list names the pages.",
     run_man},
    {"completions", "bash|zsh|fish", "shell completions for astra",
     "Prints a script that teaches a shell to complete commands, options and values. "
     "make install puts it where the shell looks for it; otherwise for bash: "
     "source <(astra completions bash).",
     run_completions},
    {"version", "", "also --version",
     "Prints the name of the program, its version and the commit it was built from.", run_version},
    {0},
};

const struct own_command *own_commands(void)
{
    return OWN_COMMANDS;
}

const struct own_command *own_command_find(const char *name)
{
    for (const struct own_command *c = OWN_COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int unknown_command(const char *word)
{
    const char *names[48];
    size_t n = 0;
    for (const struct command *c = commands(); c->name && n < 24; c++)
        names[n++] = c->name;
    for (const struct own_command *c = OWN_COMMANDS; c->name && n < 40; c++)
        names[n++] = c->name;
    for (int i = 0; topic_name(i) && n < 48; i++)
        names[n++] = topic_name(i);
    const char *name = command_meant(word);
    name = name ? name : astra_nearest(word, names, n);
    if (name && strcmp(name, word) == 0)
        complain("'%s' is a topic, not a command: astra help %s", word, word);
    else if (name)
        complain("unknown command '%s' (did you mean %s?)", word, name);
    else
        complain("unknown command '%s'; astra --help lists them", word);
    return ASTRA_INPUT;
}

static int run_command(const char *name, int count, char **words)
{
    const struct command *command = command_find(name);
    struct request r;
    if (!command)
        return unknown_command(name);
    int status = ASTRA_INPUT;
    if (request_parse(&r, command, count, words)) {
        status = ASTRA_OK;
        if (r.help)
            print_command_help(command, r.help_all);
        else
            status = run(&r);
    }
    request_release(&r);
    return status;
}

/* Flags that stand for a command of their own. */
static const char *meant_by(const char *word)
{
    static const char *const flags[][2] = {
        {"--help", "help"}, {"-h", "help"}, {"--version", "version"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i][0]) == 0)
            return flags[i][1];
    return word;
}

static bool is_help_flag(const char *word)
{
    return *word == '-' && strcmp(meant_by(word), "help") == 0;
}

static int run_own(const struct own_command *c, int count, char **words)
{
    if (count == 0 || !is_help_flag(words[0]))
        return c->run(count, words);
    print_own_help(c);
    return ASTRA_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_greeting();
        return ASTRA_OK;
    }
    const struct own_command *own = own_command_find(meant_by(argv[1]));
    if (own)
        return run_own(own, argc - 2, argv + 2);
    if (argv[1][0] == '-') {
        complain(
            "%s stands where a command is expected, such as astra search; astra --help lists them",
            argv[1]);
        return ASTRA_INPUT;
    }
    return run_command(argv[1], argc - 2, argv + 2);
}

/* Other threads may be in the midst of things: nothing is cleaned up, and nothing was written. */
static void end_short_of_memory(size_t bytes)
{
    if (bytes > 0)
        complain("out of memory: %zu more bytes could not be allocated", bytes);
    else
        complain("out of memory");
    _Exit(ASTRA_SYSTEM);
}

int main(int argc, char **argv)
{
    open_out();
    astra_on_memory_shortage(end_short_of_memory);
    int status = dispatch(argc, argv);
    return close_out() ? status : ASTRA_SYSTEM;
}
