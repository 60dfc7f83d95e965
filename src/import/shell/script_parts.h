/* What the files that read a shell script share. The way of the data:
 *     script_lex     text -> tokens          script_parse   tokens -> commands
 *     script_vars    what variables hold     script_expand, script_parameter, script_brace, script_pattern, script_arith   words -> what they mean
 *     script_test    conditions              script_run, script_loop   which commands are reached
 *     script_command, script_builtin   commands -> variables
 *     script_launch  a launch -> the program's words     script_world  the number of GPUs     script_lists  lists of flags
 * Nothing is ever executed. What only a run could tell is unknown, and says why. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "import/shell/launch.h"
#include "import/shell/script.h"

enum {
    SCRIPT_DEPTH = 64,      /* of anything inside itself */
    SCRIPT_FILES = 64,      /* that are sourced */
    SCRIPT_STEPS = 2000000, /* commands, and values compared */
    SCRIPT_BYTES = 64 << 20 /* of all that is expanded */
};

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_MAYBE };

/* ---- script_lex.c ---- */

/* A word as it stands, quotes and all. */
struct raw {
    const char *text;
    size_t length;
    int line;
    bool array; /* text is "NAME=" or "NAME+=", the elements follow */
    int count;
    const struct raw *element;
};

/* The text of a here-document, known once its last line is read. */
struct document {
    const char *text;
    size_t length;
    const char *stop;
    bool quoted; /* nothing in it is expanded */
};

/* > FILE and its like. */
struct redirection {
    const char *sign;
    int stream; /* -1 = the one that the sign is about */
    struct raw word;
    const struct redirection *before; /* it on the same command */
};

enum script_token_kind { TOKEN_END, TOKEN_NEWLINE, TOKEN_WORD, TOKEN_OPERATOR };

struct script_lexer {
    const char *path, *at, *end;
    int line, depth;
    struct document *pending[8]; /* here-documents that start at the next line */
    int pendings;
    const struct document *document;       /* the last one announced */
    const struct redirection *redirection; /* the last one of the command at hand */
    int stream;                            /* number that stands before a redirection; -1 = none */
    enum script_token_kind kind;           /* of the token at hand */
    struct raw raw;
    struct arena *mem;
    struct error *err;
    bool failed;
};

void lexer_next(struct script_lexer *); /* comments, redirections and here-documents are skipped */
/* A condition in double brackets: words end at blanks alone. */
void lexer_next_test(struct script_lexer *);
void lexer_arithmetic(struct script_lexer *); /* what is between (( and )) */
bool lexer_fail(struct script_lexer *, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool raw_is(const struct raw *, const char *text);

/* Past the $... at `p`, or NULL when it is not closed. */
const char *script_skip_dollar(const char *p, const char *end);
/* Past the backquotes that open at `p`, or NULL. */
const char *script_skip_backquote(const char *p, const char *end);
bool is_name_start(char c);
bool is_name_char(char c);

/* ---- script_parse.c ---- */

enum node_kind {
    NODE_SIMPLE,
    NODE_IF,       /* condition, body, other */
    NODE_FOR,      /* word[0] is the variable, the others what it takes */
    NODE_COUNT,    /* word[0] is what stands in for ((...)) */
    NODE_WHILE,    /* condition, body */
    NODE_CASE,     /* word[0], arms */
    NODE_FUNCTION, /* word[0], body */
    NODE_GROUP,    /* body */
    NODE_SUBSHELL, /* body */
    NODE_TEST,     /* words between [[ and ]] */
    NODE_ARITHMETIC
};

enum link { LINK_NEXT, LINK_AND, LINK_OR, LINK_PIPE };

struct arm {
    int patterns;
    const struct raw *pattern;
    const struct node *body;
    bool falls; /* ;& goes on with the next body */
    bool tests; /* ;;& goes on with the next pattern */
    const struct arm *next;
};

struct node {
    enum node_kind kind;
    enum link link; /* to the command before it */
    bool negated, until;
    bool apart; /* runs in a shell of its own: part of a pipeline, or behind & */
    int line;
    int count, capacity;
    struct raw *word;
    const struct node *condition, *body, *other, *next;
    const struct arm *arm;
    const struct document *document;       /* what it reads; NULL = none */
    const struct redirection *redirection; /* the last one; NULL = none */
};

/* NULL is an empty script where `ok` is set. */
const struct node *script_parse(struct script_lexer *, bool *ok);

/* ---- script_vars.c ---- */

struct value {
    bool array;
    int count; /* 1 unless it is an array */
    const struct launch_word *word;
};

struct variable {
    const char *name;
    const struct value *value;   /* NULL = not set */
    const struct node *function; /* of this name; NULL = none */
    bool fixed;                  /* by --env: assignments have no effect */
    bool exported;               /* a shell that is started knows it */
    bool integer;                /* what is assigned is worked out */
    bool keyed;                  /* its elements have names, and are variables: NAME[KEY] */
    bool frozen;                 /* read-only, or changed on its way in: never known again */
    struct variable *reference;  /* the one that this name stands for; NULL = itself */
    struct variable *next;       /* of its bucket */
};

struct undo {
    struct variable *variable;
    const struct value *value;
};

/* A variable as it was before a function, or a command, had one of its own. */
struct local {
    struct variable *variable, *reference;
    const struct value *value;
    int open; /* ways that were open when it was set aside */
};

/* How far a command leads out. */
enum leave { LEAVE_NOT, LEAVE_ROUND, LEAVE_LOOP, LEAVE_FUNCTION, LEAVE_SCRIPT };

/* Buckets are as many at first. */
enum { SCRIPT_BUCKETS = 1024, SCRIPT_LAUNCHES = 64, SCRIPT_ARGUMENTS = 64, SCRIPT_CHOICES = 64 };

/* What commands print, as far as it is known. */
struct capture {
    struct str text;
    bool unknown;
};

struct fields {
    int count, capacity;
    struct launch_word *word;
};

struct script {
    const char *path;
    struct arena *mem;
    struct error *err;
    bool failed;
    bool follows;            /* files that are sourced */
    bool curious, doubts;    /* what is not given, and what is not set, may be anything */
    int sources;             /* that we are in */
    int outer_line;          /* that leads into the files that we are in; 0 = we are in the first */
    int called;              /* line that runs the script that we are in; 0 = the first one */
    const char *called_file; /* what to say of it; NULL = none is run */
    const char *below;       /* its folder, seen from the first one's: \"\" or \"sub/\" */
    int files;               /* opened so far */
    int line, depth;         /* of the command at hand */
    int64_t steps, bytes;
    struct variable **bucket; /* by the hash of the name, as many as names or more */
    size_t buckets, names;
    int undos, undo_capacity;
    struct undo *undo; /* what assignments changed, the latest last */
    int unknowns, unknown_capacity;
    struct launch_unknown *unknown;
    int locals, local_capacity;
    struct local *local;        /* the latest last */
    struct fields outer;        /* words before the shell that is run: srun and its options */
    enum leave leaves, perhaps; /* surely, and in one of the ways gone */
    int levels;                 /* loops that break leaves */
    int functions, loops, open; /* that we are in; open: ways that may not have been taken */
    enum answer status;         /* of return */
    const char *input;          /* that the command at hand reads; NULL = none, or not known */
    const char *folder; /* that cd went to, in the script's own; NULL = it did not, or elsewhere */
    struct capture *capture; /* where its output goes; NULL = nowhere */
    bool exports;            /* set -a */
    bool assumed;            /* that the command before succeeded */
    const char *doubt;       /* variable that the last open condition is about; NULL = none */
    int sourced;             /* line of the first file that is not followed; 0 = none */
    const char *source;
    int torn;   /* line of the first command that begins with a flag; 0 = none */
    int unread; /* line of the first shell whose commands are not known; 0 = none */
    const char *shell;
    int arguments;                          /* the last one that is asked for and not given */
    const char *argument[SCRIPT_ARGUMENTS]; /* the variable that each is put into */
    int choices;
    struct launch_choice choice[SCRIPT_CHOICES];
    int launches;
    struct launch launch[SCRIPT_LAUNCHES];
    int score[SCRIPT_LAUNCHES];                    /* how much each looks like a training */
    int64_t nodes, tasks, per_node, gpus, segment; /* of #SBATCH; 0 = not said */
    int64_t counted_gpus; /* of a node, that the script asks nvidia-smi for; 0 = it does not */
};

/* script.c: bytes that no script has would be taken for marks of our own. */
bool script_is_text(const char *path, const char *text, size_t length, struct error *);
bool script_fail(struct script *, int line, const char *message); /* the first one counts */
bool script_spend(struct script *, int64_t steps, size_t bytes);
struct variable *script_variable(struct script *, const char *name, size_t length);
/* The name itself, even where it stands for another variable. */
struct variable *script_name(struct script *, const char *name, size_t length);
const struct value *script_arguments(struct script *); /* $1 ...; NULL = none */
void script_assign(struct script *, struct variable *, const struct value *);
void script_undo(struct script *, int to);
/* The same at the end of a shell of its own: files that it wrote stay. */
void script_leave_shell(struct script *, int to);
const struct value *value_of_text(struct script *, const char *text, int line);
const struct value *value_of_fields(struct script *, const struct fields *);
/* What nvidia-smi says of one GPU, a line. */
#define SCRIPT_GPU_LINE "nvidia-smi"

/* A word that is one unknown part. `name`: the variable that --env could set, or NULL. */
const char *script_unknown(struct script *, const char *text, const char *why, const char *name,
                           int line);
/* The unknown part of this number may be, or have in it, the text. */
void script_may_hold(struct script *, int unknown, const char *text);
/* Several ways that the script may have gone, of which one was taken. */
struct ways {
    int mark, line;    /* of the condition */
    size_t printed;    /* before it */
    const char *doubt; /* as in the script */
    int count;         /* ways so far */
    int left;          /* of these, those that leave a loop or a function */
    enum leave least, most;
    int changes, capacity;
    struct way_change {
        struct variable *variable;
        const struct value *value; /* what all ways so far agree in */
        const char *unknown;       /* its end where they do not; NULL = they do */
        int touched, last;         /* in how many ways it was assigned, and the last of these */
    } * change;
};
void ways_begin(struct ways *, struct script *, int line);
/* Ends one way and goes back to the beginning. One that counts may have been taken. */
void ways_end_one(struct ways *, struct script *, bool counts);
void ways_merge(struct ways *, struct script *);

/* ---- script_expand.c ---- */

void fields_add(struct fields *, const char *text, int line, struct script *);
/* What becomes of a word of a command: none, one or several words. */
void script_expand(struct script *, const struct raw *, struct fields *);
/* Without splitting, as in an assignment. */
const char *script_expand_one(struct script *, const char *text, size_t length);
/* As a pattern: one whose signs may be quoted is unknown. */
const char *script_expand_pattern(struct script *, const struct raw *);

/* A here-document. */
const char *script_expand_document(struct script *, const struct document *);

/* What words are parted at. */
const char *script_blanks(struct script *);

/* ---- script_pattern.c ---- */

/* The value as %.sh, //a/b, :1:2 or ^^ between `p` and `end` make of it; NULL = that is not worked out. */
const char *script_apply(struct script *, const char *value, const char *p, const char *end);
/* Of `count`, those that :1:2 takes; false where that is not known. */
bool script_slice(struct script *, const char *p, const char *end, int64_t count, int64_t *from,
                  int64_t *taken);

/* ---- script_arith.c ---- */

/* Decimal digits, or an unknown part. What it assigns is assigned, or unknown. */
const char *script_arithmetic(struct script *, const char *text, size_t length);

/* ---- script_test.c ---- */

enum answer answer_not(enum answer);
/* `patterns`: as between double brackets. */
enum answer script_test(struct script *, int count, const struct launch_word *, bool patterns);
enum answer script_matches(struct script *, const char *pattern, const char *text);

/* ---- script_usage.c ---- */

/* An argument of the script that is not given is asked for. */
void script_ask_argument(struct script *, const char *name);
/* NAME=$1: what the argument is called. */
void script_name_argument(struct script *, const char *name, const char *value, size_t length);
/* A word that the unknown text is compared with. */
void script_add_choice(struct script *, const char *unknown, const char *word);

/* ---- script_run.c ---- */

enum answer script_run(struct script *, const struct node *);
/* What is assumed of a command that is not run is no answer to a query. */
enum answer script_condition(struct script *, const struct node *);
/* One of both has been run, and what they have in common stays; NULL does nothing. */
enum answer script_either(struct script *, const struct node *, const struct node *other, int line);
void script_leave_perhaps(struct script *, enum leave);

/* ---- script_loop.c ---- */

enum answer script_for(struct script *, const struct node *);
enum answer script_while(struct script *, const struct node *);
enum answer script_count(struct script *, const struct node *);

/* ---- script_command.c ---- */

enum answer script_simple(struct script *, const struct node *);
/* Text as commands: of eval, or behind bash -c. */
enum answer script_run_text(struct script *, const char *text, int line);

/* ---- script_shell.c ---- */

/* Whether a shell, or a script, is among the words, perhaps behind srun and its options. */
bool script_start_shell(struct script *, const struct fields *);
/* A shell that is started knows only what is exported to it. */
void script_hide_variables(struct script *);

/* ---- script_builtin.c ---- */

typedef enum answer script_builtin(struct script *, const struct fields *);
script_builtin *script_find_builtin(const char *name); /* NULL = it is none */
void script_set_arguments(struct script *, const struct fields *, int from);
/* What the variable holds is not known any more. */
void script_forget(struct script *, const char *name, size_t length, const char *why);
void script_forget_assigned(struct script *, const char *arithmetic, size_t length);

/* ---- script_output.c ---- */

/* What the commands of a text print, without the ends of line behind it; NULL = only a run tells. */
const char *script_output_of(struct script *, const char *commands);
void script_print(struct script *, const char *text, size_t length);
/* Runs a command with what it reads, and hands on what it prints. */
enum answer script_redirect(struct script *, const struct node *,
                            enum answer (*run)(struct script *, const struct node *));
/* Files that the script writes: NULL = it has written none of that name. */
const char *script_written(struct script *, const char *path);
void script_write(struct script *, const char *path, const char *text, bool adds);

/* ---- script_print.c, script_filter.c ---- */

/* Prints what the command would; false where that is not known. */
typedef bool script_printer(struct script *, const struct fields *);
script_printer *script_find_printer(const char *name);
/* Whether the command is one of those; what it prints is not known where its words or its input are not. */
bool script_prints(struct script *, const struct fields *);
/* printf FORMAT WORDS as a text; NULL = not worked out. */
const char *script_format(struct script *, const struct fields *, int format);

/* ---- script_source.c ---- */
/* Whether a word names the script itself: $0, BASH_SOURCE, a variable that holds one of them. */
bool script_is_own_file(const struct script *, const char *word);
/* Whether a word is the folder of the script, or lies in it. */
bool script_is_in_own_folder(const struct script *, const char *word);
/* A word that stands for that folder. */
const char *script_own_folder(struct script *);

/* Runs a file as a script of its own, with the words behind `i` as its arguments; false as above. */
bool script_call_file(struct script *, const struct fields *, int i);
/* The text of a file that the script wrote, or that lies in its folder; NULL = neither. */
const char *script_file(struct script *, const char *name);

/* The commands of a file in the script's folder; false where it is not there, lies elsewhere or is no script. */
bool script_source(struct script *, const char *name);

/* ---- script_world.c ---- */

void script_read_headers(struct script *, const char *text, size_t length);
/* Words of sbatch that say the same as its headers. */
void script_read_options(struct script *, const struct launch_word *, int count);
/* What the words in front of the program say of the number of GPUs. */
void script_read_world(const struct script *, const struct launch_word *, int count,
                       struct launch *);
void script_read_swift_world(struct script *, struct launch *);
/* The value of an option, --name value or --name=value, - and _ alike, the last mention; NULL = not there. */
const char *script_option(const struct launch_word *, int count, const char *name);
const char *script_base_name(const char *path);

/* ---- script_launch.c ---- */

enum { SCRIPT_LEAST_FLAGS = 3 }; /* so many of them make a launch */

void script_look_for_launch(struct script *, const struct fields *, int line);
void script_add_launch(struct script *, const struct launch *, int score);
/* Words that are flags of Megatron's; `first` (may stay unset) is the first of them. */
int script_known_flags(struct script *, const struct launch_word *, int count, int *first);
int script_overrides_of(const struct launch_word *, int count);

/* ---- script_lists.c ---- */

void script_look_for_flags(struct script *); /* in lists, where nothing is started */
