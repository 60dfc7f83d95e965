/* What the files that read YAML share. The way of the data:
 *     yaml_layers    the file and those it is made of, one above the other
 *     yaml_dialect   whose settings they are, and where these stand
 *     yaml_value     what a value says, once ${...} in it is put in
 *     yaml_settings  settings -> flags            yaml_primus, yaml_neox   the same for Primus and GPT-NeoX
 *     yaml_job       a job -> its script, its nodes and GPUs            yaml_command   a command -> a script */
#pragma once

#include "base/yaml.h"
#include "import/megatron/dest_names.h"
#include "import/shell/launch.h"
#include "import/shell/script.h"

struct str;

enum {
    YAML_LAYERS = 24,
    YAML_FILES = 32,            /* that are opened */
    YAML_SCOPES = 72,           /* maps around a value */
    YAML_VALUE_BYTES = 1 << 16, /* of a value with ${...} put in */
    YAML_VALUES = 200000,       /* ${...} looked up */
    YAML_PASSED = 20000000      /* words looked over */
};

struct yaml_layer {
    const struct yaml *root;
    bool own; /* of the file itself: lines are its own */
};

struct yaml_reading {
    const char *path;
    const struct yaml *documents;
    const struct script_env *env;
    int envs;
    bool follow;
    int layers, files;
    struct yaml_layer layer[YAML_LAYERS]; /* later ones win */
    const struct yaml_dialect *dialect;
    bool own; /* lines are those of the file */
    int scopes;
    const struct yaml *scope[YAML_SCOPES]; /* maps around the value at hand, outermost first */
    int looked_up;
    int below;                         /* words of layers below the one that is read */
    int64_t passed;                    /* words that were looked over to take some out */
    const char *multiple, *multiplier; /* of the MLP's width (FlagScale); NULL = not said */
    const char *refused;               /* why no figure can be given; NULL = nothing was */
    struct dest_list list;
    struct launch *out;
    struct arena *mem;
    struct error *err;
};

/* ---- yaml_layers.c ---- */

/* What stands at "a.b.c"; "." is the node itself. NULL = nothing. */
const struct yaml *yaml_at(const struct yaml *, const char *path);
const struct yaml *reading_find(const struct yaml_reading *, const char *path);
/* A document and what it is made of: defaults of Hydra, extends of Primus. */
void reading_add_document(struct yaml_reading *, const struct yaml *, const char *group, bool own);
/* A file in the folder of the one that is read; false = it is not there, or cannot be read. */
bool reading_add_file(struct yaml_reading *, const char *name, const char *group);

/* ---- yaml_launch.c ---- */

/* Notes that the file is a model without a training. */
void reading_note_part(struct yaml_reading *);

/* ---- yaml_dialect.c ---- */

struct yaml_dialect {
    const char *name, *marks;    /* marks: what must stand there, paths or PATH=VALUE */
    const char *sections;        /* below which settings stand, paths */
    const char *strange;         /* sections of which unknown names are said; "*" = all */
    const char *source;          /* how names are spelled: "flags" or "fields" */
    const char *nodes, *each;    /* where nodes and GPUs of each stand */
    const char *model, *program; /* where their names stand */
    const char *refused;         /* why nothing is planned; "" = it is */
};

const struct yaml_dialect *dialect_of(const struct yaml_reading *);

/* ---- yaml_value.c ---- */

/* A scalar as the program gets it: "true" for yes, ${...} put in, unknown parts marked. */
const char *reading_value(struct yaml_reading *, const struct yaml *scalar);
/* Text without bytes that would be taken for marks of our own. */
const char *reading_plain(const char *text, struct arena *);
/* The value of a scalar at a path; NULL = there is none, or it is not known. */
const char *reading_text(struct yaml_reading *, const char *path);

/* ---- yaml_settings.c ---- */

/* Every setting of a map and the maps in it; `path` leads to it. */
void reading_settings(struct yaml_reading *, const struct yaml *map, const char *path);
void reading_setting(struct yaml_reading *, const struct yaml *member, const char *path);
/* Words of flags, as a table has them. */
void reading_words(struct yaml_reading *, const char *words, const char *value, int line);
/* The width of the MLP, where other settings say it. */
void reading_add_width(struct yaml_reading *);
int reading_line(const struct yaml_reading *, const struct yaml *);

/* ---- yaml_primus.c ---- */

bool primus_read(struct yaml_reading *);

/* ---- yaml_neox.c ---- */

bool neox_read(struct yaml_reading *);

/* ---- yaml_command.c ---- */

/* The text of a script, empty lines before it, so that its lines are those of the file. */
const char *script_of_text(struct yaml_reading *, const struct yaml *scalar);
/* Words of a command and its arguments, as one script; NULL = there is none. `files` are scripts
 * that it may start by their name: members of ConfigMaps. */
const char *script_of_command(struct yaml_reading *, const struct yaml *command,
                              const struct yaml *args);

/* ---- yaml_job.c ---- */

/* Commands of the file as scripts. False where none of them starts a training. */
bool job_read(struct yaml_reading *, bool any);
