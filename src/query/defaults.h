/* Defaults of a site: files whose keys are options. What is given on the command line, or by a file that
 * is planned, wins over them. Only the command reads any: the library does where it is told. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct arena;
struct options;

enum { DEFAULTS_MAX = 128, DEFAULT_FILES = 4 };

struct default_value {
    const struct option *option; /* NULL: a cluster by name */
    const char *name;            /* of that cluster */
    const char *value;
    int file, line;
    bool used;
};

struct defaults {
    int files;
    const char *file[DEFAULT_FILES]; /* later ones win */
    int count;
    struct default_value value[DEFAULTS_MAX];
};

/* One more file, a map of options and `clusters` by name:
 *
 *     cluster: lab
 *     clusters: {lab: 4x8:H100@50, prod: prod.yaml}
 *     price: {H100: 2.10}
 *     memory-margin: 0.06
 *
 * Names of files are looked for beside it. What is wrong is said with its line. */
bool defaults_read(struct options *, const char *path, struct error *);
/* The same of a text at hand; `path` is for messages. */
bool defaults_read_text(struct options *, const char *text, size_t length, const char *path,
                        struct error *);

/* Sets what this command takes and nobody gave. */
bool defaults_take(struct options *, const char *command, struct error *);

/* The pool of a name; `value` itself where it is none. */
const char *defaults_cluster(const struct options *, const char *value);

/* "defaults of FILE: cluster lab, price H100=2.1", a line a file; nothing where none was used. */
const char *defaults_used(const struct options *, struct arena *);
