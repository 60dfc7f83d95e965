/* The command line: what its files share. Only astra.h is known of the library. */
#pragma once

#include <astra.h>

#include <stdbool.h>

struct command {
    const char *name;
    const char *arguments; /* behind the options, for the usage line */
    const char *help;      /* one line */
    const char *about;     /* a paragraph */
    bool takes_plan;       /* one path of a plan */
    bool takes_flags;      /* Megatron's, behind -- */
    enum astra_status (*ask)(struct astra *);
    const char *words;       /* option that plain words are values of; NULL = none */
    const char *examples[6]; /* NULL ends */
};
const struct command *commands(void); /* name NULL ends */
const struct command *command_find(const char *name);
bool command_takes(const struct command *, const struct astra_option *);

/* Options of the command line itself; name NULL ends. */
const struct astra_option *own_options(void);
/* Option `i` of a command, the library's and then the program's own; NULL when there are fewer. */
const struct astra_option *option_at(const struct command *, int i);
/* Its text with the default and whether it may be given several times. */
enum { HELP_MAX = 512 };
void option_help(const struct astra_option *, char out[HELP_MAX]);

struct cli_setting {
    const char *option, *value;
};

/* What was asked for. Texts are the arguments of main. */
struct request {
    const struct command *command;
    bool help, help_all, no_config;
    enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
    enum astra_format format;
    bool format_given;
    const char *output; /* NULL = standard output */
    const char *plan;   /* NULL = none */
    int settings;
    struct cli_setting *setting; /* owned */
    int flags;
    char **flag; /* behind --; NULL = no -- was given */
};

enum astra_status serve_mcp(struct astra *);
/* Files of defaults, unless the request does without. */
enum astra_status config_read(struct astra *, const struct request *);

/* Reads the words behind the command's name. False after a message. */
bool request_parse(struct request *, const struct command *, int count, char **words);
void request_release(struct request *);

/* Text for standard output, which stands at column `at`; further lines begin at `indent`. */
void print_paragraph(const char *text, int at, int indent);
/* The same without a newline behind it; returns the column where it ends. */
int print_piece(const char *text, int at, int indent);
/* A command line; where it is broken, a backslash says so. */
void print_shell_command(const char *command, int indent);
int text_columns(void); /* 0 = standard output is no terminal */

/* What the program is asked about itself; name NULL ends. */
struct own_command {
    const char *name, *arguments, *help;
    const char *about;                   /* a paragraph */
    int (*run)(int count, char **words); /* returns the exit code */
};
const struct own_command *own_commands(void);
const struct own_command *own_command_find(const char *name);
int unknown_command(const char *word); /* after a message, the exit code */

/* What an unknown option says here with its value (NULL = none), in MEANT_MAX bytes; false where nobody knows. */
enum { MEANT_MAX = 256 };
bool option_meant(const struct command *, const char *word, const char *value, char *out);
const char *command_meant(const char *word); /* NULL = nobody knows */
/* The option with a blank that a word without one wants; NULL = nobody knows. */
const char *stray_meant(const struct command *, const char *word);

int run_help(int count, char **words);
int run_completions(int count, char **words);
int run_man(int count, char **words);

struct exit_code {
    enum astra_status code;
    const char *words, *help;
};
const struct exit_code *exit_codes(void);   /* words NULL ends */
const char *const *greeting_examples(void); /* pairs of what it is for and a command; NULL ends */

void print_greeting(void);
void print_command_help(const struct command *, bool all);
const char *topic_name(int i); /* of `astra help TOPIC`; NULL when there are fewer */
void print_own_help(const struct own_command *);

/* "astra: message" on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All of `text` to standard output, or to the file, all or nothing. False after a message. */
bool write_out(const char *path, const char *text);
/* Standard output keeps what is printed until a write_out or the end, where it is closed: what is
 * left must arrive. False after a message. */
void open_out(void);
bool close_out(void);

bool is_terminal(int descriptor);
bool is_dumb(void); /* it cannot move in a line, or has not said that it can */
enum astra_look look_wanted(const struct request *);
int terminal_columns(void);     /* of standard output, for text: never very few */
int columns_of(int descriptor); /* as the terminal has them */

/* The first Ctrl-C ends this search with what it has found; the next one ends the process. NULL: the
 * first one does. */
void interrupt_begin(struct astra *);
void interrupt_end(void);

/* A line on standard error, once the work has lasted a second. */
struct progress {
    double start_s, drawn_s;
    double done;   /* 0..1 */
    double left_s; /* estimated; 0 = not yet */
    int drawn;     /* columns; 0 = nothing yet */
};
void progress_begin(struct progress *);
void progress_draw(void *progress, double done); /* for astra_on_progress */
void progress_end(struct progress *);
