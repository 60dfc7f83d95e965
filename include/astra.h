/* Astra: which GPUs, how many, and how to split a Transformer over them.
 *
 *     struct astra *a = astra_new();
 *     astra_set(a, "model", "llama3-70b");
 *     astra_set(a, "cluster", "64x8:H100");
 *     if (astra_search(a) == ASTRA_OK)
 *         puts(astra_print(a, ASTRA_TEXT));
 *     else
 *         fprintf(stderr, "%s\n", astra_message(a));
 *     astra_free(a);
 *
 * A `struct astra` is one query and its latest answer. Queries are independent: each may be
 * used from one thread at a time, several at once. Nothing is printed and the process is never
 * ended, but for running out of memory. Text that is returned belongs to the query and lives
 * until its next call that asks or prints, or its end. */
#ifndef ASTRA_H
#define ASTRA_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Also the exit codes of the command. */
enum astra_status {
    ASTRA_OK = 0,    /* found */
    ASTRA_NONE = 1,  /* a well-formed query without a feasible answer; astra_message says why */
    ASTRA_INPUT = 2, /* something given is wrong; astra_message says what and where */
    ASTRA_SYSTEM = 3 /* a file could not be read or written */
};

enum astra_format { ASTRA_TEXT, ASTRA_JSON, ASTRA_CSV };

/* What a terminal can show: no more than text, colours and bars of '#', bars of block characters
 * too. */
enum astra_look { ASTRA_PLAIN, ASTRA_COLOUR, ASTRA_COLOUR_UTF8 };

struct astra;

struct astra *astra_new(void);
void astra_free(struct astra *); /* NULL is fine */

/* One option by its command-line name without dashes: "model", "cluster", "gpus", "global-batch",
 * "seq-len", "precision", "stack", "memory-margin", "set", "rules", "price", "top", "threads",
 * "exhaustive", "check", "stats" ... "set", "rules", "price", "prices" and "what-if" may be given
 * several times. Files are read at once, but for prices: when the query is asked. */
enum astra_status astra_set(struct astra *, const char *option, const char *value);

/* Defaults of a site (doc/config.md): a YAML file whose keys are options, later files win. Nothing is
 * read unless this is called. */
enum astra_status astra_defaults(struct astra *, const char *path);
/* Sets those that `command` ("search") takes and nothing given so far says. */
enum astra_status astra_take_defaults(struct astra *, const char *command);
enum astra_status astra_list_defaults(struct astra *); /* what the files say */

/* Megatron-LM flags, one word each, as they stand on its command line. */
enum astra_status astra_flags(struct astra *, size_t count, const char *const *words);

/* A plan as `astra_print(..., ASTRA_JSON)` wrote it (an estimate, or the first best of a
 * search), a launch script, the log of a training, or a list of overrides. Nothing is executed.
 * Flags that are given afterwards are added to those of the file. */
enum astra_status astra_load_plan(struct astra *, const char *path);
/* The same of a text at hand; `name` stands for its path in messages. No other file is read that it
 * names. */
enum astra_status astra_load_text(struct astra *, const char *name, const char *text);

/* The file that the caller will write the answer to, or NULL: a file of the query (--plot,
 * --report, --trace) may not have the same name. */
void astra_will_write(struct astra *, const char *path);

/* What to do when there is no more memory, for the whole process: a function that does not return.
 * Without one the process is aborted. */
void astra_on_memory_shortage(void (*end)(size_t bytes));

/* Called now and then during a long search from the thread that asked, with 0..1. */
void astra_on_progress(struct astra *, void (*progress)(void *context, double done), void *context);

/* Ends the search that this query is at, or else its next one, with the best plans found until then:
 * their answer says how far they are from the best possible at most. From any thread, or from a
 * signal handler, while another thread searches. */
void astra_cancel(struct astra *);
/* Asked now and then during a search, from the thread that asked: true ends it likewise. NULL: nobody
 * is asked. */
void astra_on_cancel(struct astra *, bool (*cancelled)(void *context), void *context);

enum astra_status
astra_search(struct astra *); /* the best plans and the front of speed and money */
enum astra_status astra_estimate(struct astra *); /* the plan given by flags or by "set" */
enum astra_status
astra_explain(struct astra *); /* as estimate; prints why it is fast, slow or invalid */
/* A script or configuration that starts the plan, in the format of "to"; the plan is loaded or
 * given by flags. Its answer is the same whatever the format of astra_print. */
enum astra_status astra_export(struct astra *);
/* The launch script that was loaded with the better plan put in: astra_script() is its new text, the
 * answer both predictions and what differs. ASTRA_NONE: no better plan is found, or it cannot be
 * put in safely; then the answer has the flags to change. */
enum astra_status astra_improve(struct astra *);
/* The plans of "side" (at least two) beside the first: what differs, and what each difference does to
 * the time of a step. */
enum astra_status astra_compare(struct astra *);
/* Runs one rank of each kind of stage of the plan on the GPU of this machine, with the Python and
 * Megatron-LM of "python" and "megatron", and compares; or with "dry-run" says what would run.
 * ASTRA_NONE: measurements do not confirm the plan, its answer can be printed. Interrupts that would
 * end the process are held until its children are ended. */
enum astra_status astra_verify(struct astra *);
enum astra_status astra_list_gpus(struct astra *);
enum astra_status astra_list_models(struct astra *);
enum astra_status astra_list_prices(struct astra *); /* offers, and what a search would use */
/* Learns operator times from the tables of "measured" and writes them to the folder "into". Its
 * answer is a report, in text whatever the format. */
enum astra_status astra_fit(struct astra *);

/* Residual factors from the logs and results of "from", for "profile" of later queries. Its answer
 * is a report; astra_script() is the profile, "" where no factor can be fitted (ASTRA_NONE). */
enum astra_status astra_calibrate(struct astra *);

/* A server of the Model Context Protocol (doc/mcp.md) on two open descriptors, until the client goes
 * away. Files below folders of "allow" may be read, none is written; "call-limit" and
 * "message-limit" bound a call and a message. Each call runs in a process of its own, so that it can
 * be ended: for a process without other threads. */
enum astra_status astra_mcp(struct astra *, int in, int out);

/* The latest answer. An estimate of an infeasible plan can be printed too. "" when there is
 * none. */
const char *astra_print(struct astra *, enum astra_format);
/* The same in text for a terminal, in at most this many columns. */
const char *astra_print_terminal(struct astra *, int columns, enum astra_look);
/* What astra_export wrote, or astra_search for its best plan where "export" is set, or the profile
 * of astra_calibrate, or the new script of astra_improve; else "". */
const char *astra_script(const struct astra *);
/* Puts the files in place that belong to the script: FlagScale's hostfile where "hostfile" is set,
 * the module of stack torch where the script goes to a file.
 * Call it when the script itself is written; without it there are none. */
enum astra_status astra_script_files(struct astra *);
/* Why the latest call did not return ASTRA_OK: one line, and two more where a place in a text is
 * shown with a caret. */
const char *astra_message(const struct astra *);

/* Figures of the latest answer for programs. Search: the best plans in its order; estimate:
 * one. */
struct astra_plan {
    int tp, cp, pp, vpp, dp, ep, etp, micro_batch, global_batch, seq_len;
    long gpus;
    bool feasible;
    double step_s, tokens_per_s, tokens_per_s_per_gpu, tflops_per_gpu, mfu, expected_error;
    double peak_bytes;     /* of the fullest stage, allocated by the framework */
    double device_bytes;   /* the same with reserve, context and NCCL */
    double usd_per_mtoken; /* 0 when no price is known */
};
size_t astra_plan_count(const struct astra *);
bool astra_plan_get(const struct astra *, size_t index, struct astra_plan *);
/* Words of the launch flags of plan `index`; NULL ends the list. */
const char *const *astra_plan_flags(struct astra *, size_t index);

/* What a value is, for programs that complete one. */
enum astra_takes {
    ASTRA_TAKES_NOTHING,   /* a switch */
    ASTRA_TAKES_ANY,       /* a number or a text of which nothing can be offered */
    ASTRA_TAKES_WORD,      /* one of those in the argument, "a|b|c" */
    ASTRA_TAKES_MODEL,     /* a preset or a file */
    ASTRA_TAKES_POOL,      /* 64x8:GPU, or a file */
    ASTRA_TAKES_GPU,       /* the name of a GPU */
    ASTRA_TAKES_GPU_VALUE, /* GPU=... */
    ASTRA_TAKES_PARAM,     /* PARAMETER=... */
    ASTRA_TAKES_FILE,
    ASTRA_TAKES_FOLDER,
    ASTRA_TAKES_NEW_FILE /* that is written */
};

/* Options as tables, for programs that build a command line on them. Name NULL ends the list. */
struct astra_option {
    const char *name;     /* without dashes */
    const char *argument; /* what it takes, "" for a switch */
    const char *commands; /* blank-separated commands that take it */
    const char *help;
    const char *group; /* of options that belong together, "Money": they stand side by side */
    const char *usual; /* what holds without it, for people; "" = nothing worth telling */
    enum astra_takes takes;
    bool repeats; /* may be given several times */
};
const struct astra_option *astra_options(void);

/* Names that values of options may have, with a blank between them: of "gpus" (short ones too),
 * "models" (presets) or "parameters" (of "set"); "" for another word. */
const char *astra_names(struct astra *, const char *of);

/* The name closest to a mistyped word, or NULL when none is close. */
const char *astra_nearest(const char *word, const char *const *names, size_t count);

const char *astra_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
