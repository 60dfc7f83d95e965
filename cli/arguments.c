/* Reading the words behind a command: --option value, --option=value, switches, one path of a plan,
 * and Megatron's flags behind a lone --. The library checks values; here only names are. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* All commands take them all, but for export and improve: what they write is a script; and for mcp,
 * which prints nothing of its own. They go on with the library's last group. */
#define PRINTING                                                                                   \
    "search estimate explain improve compare export verify gpus prices models fit calibrate "      \
    "config"
static const struct astra_option OWN[] = {
    {"format", "text|json|csv",
     "search estimate explain compare verify gpus prices models fit calibrate config",
     "what to print", "Output", "text", ASTRA_TAKES_WORD, false},
    {"output", "FILE", PRINTING, "write there instead (-o FILE): all of it or nothing", "Output",
     "", ASTRA_TAKES_NEW_FILE, false},
    {"color", "auto|always|never", PRINTING,
     "colours: on a terminal, also in a pipe, or never; none in a file", "Output", "auto",
     ASTRA_TAKES_WORD, false},
    {"no-color", "", PRINTING,
     "no colours on a terminal (NO_COLOR in the environment does the same)", "Output", "",
     ASTRA_TAKES_NOTHING, false},
    {"no-config", "", PRINTING, "read no file of defaults (astra config shows them)", "Output", "",
     ASTRA_TAKES_NOTHING, false},
    {"help", "", "", "the options that matter most and examples; --help all: every option",
     "Output", "", ASTRA_TAKES_NOTHING, false},
    {0},
};

const struct astra_option *own_options(void)
{
    return OWN;
}

/* The words still to read, and the option at hand. */
struct argument_reader {
    struct request *request;
    char **word, **end;
    char *name;        /* of the option, without dashes, cut at '=' */
    const char *value; /* behind '=', or NULL */
};

static const char *nearest_option(const char *word, const struct command *c)
{
    const char *names[128];
    const struct astra_option *o;
    int n = 0;
    for (; n < 128 && (o = option_at(c, n)); n++)
        names[n] = o->name;
    return astra_nearest(word, names, (size_t)n);
}

static bool unknown_option(const struct argument_reader *rd)
{
    const struct command *c = rd->request->command;
    const char *near = nearest_option(rd->name, c), *value = rd->value;
    char meant[MEANT_MAX];
    if (!value && rd->word < rd->end && rd->word[0][0] != '-')
        value = *rd->word;
    if (option_meant(c, rd->name, value, meant))
        complain("%s has no option --%s (did you mean %s?)", c->name, rd->name, meant);
    else if (near)
        complain("%s has no option --%s (did you mean --%s?)", c->name, rd->name, near);
    else if (c->takes_flags)
        complain("%s has no option --%s; Megatron's flags go behind --, "
                 "as in astra %s --cluster 8x8:H100 -- --%s ...",
                 c->name, rd->name, c->name, rd->name);
    else
        complain("%s has no option --%s; astra %s --help lists them", c->name, rd->name, c->name);
    return false;
}

/* The option's value, from behind '=' or the next word; one that looks like an option is none. */
static bool take_value(struct argument_reader *rd, const char *argument)
{
    if (rd->value)
        return true;
    if (rd->word == rd->end || strncmp(*rd->word, "--", 2) == 0) {
        complain("--%s needs a value: --%s %s", rd->name, rd->name, argument);
        return false;
    }
    rd->value = *rd->word++;
    return true;
}

static bool take_argument(struct argument_reader *rd, const char *argument)
{
    if (*argument)
        return take_value(rd, argument);
    if (rd->value)
        complain("--%s takes no value, '%s' was given", rd->name, rd->value);
    return !rd->value;
}

static const char *const FORMATS[] = {
    [ASTRA_TEXT] = "text", [ASTRA_JSON] = "json", [ASTRA_CSV] = "csv"};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

static bool set_format(struct request *r, const char *value)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(value, FORMATS[i]) == 0) {
            r->format = (enum astra_format)i;
            r->format_given = true;
            return true;
        }
    complain("--format is '%s', expected text, json or csv", value);
    return false;
}

/* An answer goes to plan.json as JSON unless --format says otherwise; a profile or a script is none. */
static void take_format_of_output(struct request *r)
{
    const char *end = r->output ? strrchr(r->output, '.') : NULL;
    const struct astra_option *format = &OWN[0];
    if (!end || r->format_given || !command_takes(r->command, format) ||
        strcmp(r->command->name, "calibrate") == 0)
        return;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(end + 1, FORMATS[i]) == 0)
            r->format = (enum astra_format)i;
}

static bool set_output(struct request *r, const char *value)
{
    r->output = strcmp(value, "-") == 0 ? NULL : value;
    if (!*value)
        complain("--output is empty, expected the name of a file");
    return *value;
}

static bool set_color(struct request *r, const char *value)
{
    static const char *const names[] = {
        [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            r->color = (enum color)i;
            return true;
        }
    complain("--color is '%s', expected auto, always or never", value);
    return false;
}

static bool set_own(struct request *r, const char *name, const char *value)
{
    if (strcmp(name, "format") == 0)
        return set_format(r, value);
    if (strcmp(name, "output") == 0)
        return set_output(r, value);
    if (strcmp(name, "color") == 0)
        return set_color(r, value);
    if (strcmp(name, "no-color") == 0)
        r->color = COLOR_NEVER;
    else
        r->no_config = true;
    return true;
}

/* --help, --help all, --help=all: the first of an option with a value that may be missing. */
static bool take_help(struct argument_reader *rd)
{
    struct request *r = rd->request;
    if (!rd->value && rd->word < rd->end && strcmp(*rd->word, "all") == 0)
        rd->value = *rd->word++;
    r->help = true;
    r->help_all = rd->value && strcmp(rd->value, "all") == 0;
    if (rd->value && !r->help_all)
        complain("--help takes no value but all, '%s' was given", rd->value);
    return !rd->value || r->help_all;
}

static bool read_own(struct argument_reader *rd, const struct astra_option *o)
{
    const struct command *c = rd->request->command;
    if (!command_takes(c, o)) {
        complain("--%s is not an option of %s%s", o->name, c->name,
                 strcmp(c->name, "export") == 0 ? ": --to says what is written" : "");
        return false;
    }
    if (strcmp(o->name, "help") == 0)
        return take_help(rd);
    return take_argument(rd, o->argument) && set_own(rd->request, o->name, rd->value);
}

static bool read_library_option(struct argument_reader *rd, const struct astra_option *o)
{
    struct request *r = rd->request;
    if (!command_takes(r->command, o)) {
        complain("--%s is not an option of %s, but of: %s", o->name, r->command->name, o->commands);
        return false;
    }
    if (!take_argument(rd, o->argument))
        return false;
    r->setting[r->settings++] = (struct cli_setting){o->name, rd->value ? rd->value : "on"};
    return true;
}

static bool read_option(struct argument_reader *rd)
{
    char *equals = strchr(rd->name, '=');
    rd->value = equals ? equals + 1 : NULL;
    if (equals)
        *equals = 0;
    for (const struct astra_option *o = OWN; o->name; o++)
        if (strcmp(o->name, rd->name) == 0)
            return read_own(rd, o);
    for (const struct astra_option *o = astra_options(); o->name; o++)
        if (strcmp(o->name, rd->name) == 0)
            return read_library_option(rd, o);
    return unknown_option(rd);
}

static bool read_positional(struct request *r, const char *word)
{
    if (r->command->words) {
        r->setting[r->settings++] = (struct cli_setting){r->command->words, word};
        return true;
    }
    const char *option = stray_meant(r->command, word);
    if (r->command->takes_plan && !r->plan)
        r->plan = word;
    else if (r->command->takes_plan)
        complain("a second file, '%s': %s takes one", word, r->command->name);
    else if (option)
        complain("'%s' is neither an option nor the value of one (did you mean %s%s?)", word,
                 option, word);
    else
        complain("'%s' is neither an option nor the value of one; astra %s --help shows examples",
                 word, r->command->name);
    return r->plan == word;
}

static bool read_short(struct argument_reader *rd, const char *word)
{
    static char output[] = "output", help[] = "help";
    rd->value = NULL;
    if (strcmp(word, "-o") != 0 && strcmp(word, "-h") != 0) {
        complain("%s has no option %s; astra %s --help lists them", rd->request->command->name,
                 word, rd->request->command->name);
        return false;
    }
    rd->name = word[1] == 'o' ? output : help;
    return read_option(rd);
}

static bool read_flags(struct argument_reader *rd)
{
    struct request *r = rd->request;
    r->flag = rd->word;
    r->flags = (int)(rd->end - rd->word);
    rd->word = rd->end;
    if (!r->command->takes_flags)
        complain("%s takes no Megatron flags: estimate and explain do", r->command->name);
    else if (r->flags == 0)
        complain("no Megatron flags follow --");
    return r->command->takes_flags && r->flags > 0;
}

static bool read_word(struct argument_reader *rd)
{
    char *word = *rd->word++;
    if (strcmp(word, "--") == 0)
        return read_flags(rd);
    if (strncmp(word, "--", 2) == 0) {
        rd->name = word + 2;
        return read_option(rd);
    }
    if (word[0] == '-' && word[1])
        return read_short(rd, word);
    return read_positional(rd->request, word);
}

bool request_parse(struct request *r, const struct command *command, int count, char **words)
{
    struct argument_reader rd = {.request = r, .word = words, .end = words + count};
    memset(r, 0, sizeof *r);
    r->command = command;
    r->setting = calloc((size_t)count + 1, sizeof *r->setting);
    if (!r->setting) {
        complain("out of memory");
        return false;
    }
    while (rd.word < rd.end && !r->help)
        if (!read_word(&rd))
            return false;
    take_format_of_output(r);
    return true;
}

void request_release(struct request *r)
{
    free(r->setting);
}
