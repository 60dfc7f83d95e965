/* What users have, as the query it answers: a plan of Astra's, a launch script, an sbatch file,
 * the log of a training, a list of overrides. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct flags_assumption;
struct flags_result;
struct launch;
struct launch_strange;
struct options;
struct query;
struct text;
struct train_log;

/* The kind is seen from the content. Options count more than what the file says: a cluster
 * that is there stays. "-" is standard input. Nothing in the file is executed. */
bool import_file(struct options *, const char *path, struct error *);

/* The same of a text that is no file: files beside it are not looked for. `name` is for messages. */
bool import_at_hand(struct options *, const char *text, const char *name, struct error *);

/* A plan that Astra wrote, in JSON; `path` is for messages (query_plan.c). */
bool import_plan(struct options *, const struct text *, const char *path, struct error *);

/* The same with a log that the caller fed: its block of arguments has to be there. */
bool import_log(struct options *, struct train_log *, const char *path, struct error *);

/* The same of a launch script that is at hand; `path` is for messages. */
bool import_text(struct options *, const char *text, size_t length, const char *path,
                 struct error *);

/* The launch that was read from a file; NULL without one. */
const struct launch *imported_launch(const struct options *);

/* Options that only count together with a file are not there without one. */
bool imported_options_count(const struct options *, struct error *);

/* Flags of the file that was read; NULL and 0 without one. */
const char *const *imported_words(const struct options *, size_t *count);
/* False where the flags of the file, with those behind it, could not be read. */
bool imported_read(const struct options *, struct error *);
/* Before the model is looked at: what nobody says is assumed where it may be, and all that is left to ask is asked at
 * once (query_questions.c). */
bool imported_settle(const struct options *, struct flags_result *, struct error *);
/* Names the file in a message about its flags. Always false. */
bool imported_name_place(const struct options *, struct error *);
/* The GPUs to plan for: those of the cluster, unless the file's parallelism or batch do not go into them, and go into the
 * fewer that it names itself. */
int64_t imported_world(const struct options *, int64_t cluster);
/* Once the flags are read: nothing with an effect was left open. A note where the file counts other GPUs. */
bool imported_holds(const struct options *, struct flags_result *, int64_t world, struct error *);

/* Notes on what looks misread (query_doubts.c). */
void imported_doubts(const struct options *, struct flags_result *);

/* The file that the plan was read from, or flags. */
struct plan_source {
    const char *file, *kind; /* "train.sh" (NULL = none), "launch script" */
    const char *program;     /* that the flags are for; NULL = not known */
    int line;                /* where it is started */
    int flags, idle;         /* flags that are there, and of these those without effect */
    int notes;
    const char **note; /* what was left out, or planned otherwise */
    int assumptions;
    const struct flags_assumption *assumption; /* what nobody said */
    int strangers;
    const struct launch_strange *stranger; /* flags that Megatron does not know */
};

/* What was read, for people; NULL without a file, unless flags have notes. Lives in the arena. */
const struct plan_source *imported_source(const struct query *, struct arena *);
