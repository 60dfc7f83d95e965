/* What users have, as the question it answers: a plan of Astra's, a launch script, an sbatch file,
 * the log of a training, a list of overrides. */
#ifndef ASTRA_IMPORT_FILE_H
#define ASTRA_IMPORT_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct plan_source;
struct question;
struct train_log;

/* The kind is seen from the content. Options of the question count more than what the file says:
 * a cluster that is there stays. "-" is standard input. Nothing in the file is executed. */
bool import_file(struct question *, const char *path, struct error *);

/* The same with a log that the caller fed: its block of arguments has to be there. */
bool import_log(struct question *, struct train_log *, const char *path, struct error *);

/* Options that only count together with a file are not there without one. */
bool imported_options_count(const struct question *, struct error *);

/* Flags of the file that was read; NULL and 0 without one. */
const char *const *imported_words(const struct question *, size_t *count);
/* Names the file in a message about its flags. Always false. */
bool imported_name_place(const struct question *, struct error *);
/* Once the flags are read: nothing with an effect was left open, and the number of GPUs agrees. */
bool imported_holds(const struct question *, int64_t world, struct error *);

/* What was read, for people; NULL without a file, unless flags have notes. Lives in the arena. */
const struct plan_source *imported_source(const struct question *, struct arena *);

#endif
