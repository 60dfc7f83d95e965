/* A plan as a job to start: what every format of `export` is written from, and the pieces of text
 * that formats share. */
#pragma once

#include "base/error.h"
#include "strategy/mesh.h"
#include "strategy/strategy.h"

#include <stddef.h>
#include <stdint.h>

struct gpu;
struct model;
struct str;

/* Nodes of one type, consecutive in rank order. */
struct job_part {
    const struct gpu *gpu;
    const char *type; /* FlagScale's name of it */
    int first_stage, stages;
    int64_t nodes, gpus;
    int per_node;  /* GPUs of a node that are used; of the last one perhaps fewer */
    int last_node; /* of the last one */
    bool whole;    /* the nodes have no other GPUs */
    int segment;   /* nodes that lie in one rack, as many times as it takes; 0 = any */
};

struct export_job {
    const char *title;   /* what the plan is, one line */
    const char *name;    /* of the job; letters, digits, '.', '_' and '-' */
    const char *release; /* whose flags they are, for people: "Megatron-LM core 0.17" */
    const char *branch;  /* words for git clone that get it: "" = the newest */
    const char *gap;     /* why the flags are not those of the model; NULL = they are */
    const struct model *model;
    bool flagscale; /* it runs with FlagScale */
    bool hf;        /* its flags are words of accelerate launch */
    bool te;        /* it needs TransformerEngine */
    bool module;    /* it needs export_module() */
    bool ranks;     /* Slurm: srun starts every rank, no torchrun */
    int parts;
    struct job_part part[MESHES_MAX];
    int64_t nodes, gpus; /* of all parts */
    bool packed;         /* its sequences hold several samples */
    int tp, vpp;         /* virtual stages of a pipeline rank */
    size_t flags;
    const char *const *flag;
    size_t envs;
    const char *const *env; /* "NAME=VALUE" */
    size_t hosts;           /* 0, or as many as nodes */
    const char *const *host;
    const char *hostfile; /* where FlagScale finds its hostfile; NULL = none is written */
};

/* False where a format cannot say the job; nothing of `out` counts then. */
typedef bool export_write(const struct export_job *, struct str *out, struct error *);

struct export_format {
    const char *name;
    export_write *write;
    bool trains_parts; /* it says what is trained, and what is not */
};

/* By its name; the nearest one in the message. */
const struct export_format *export_format_find(const char *name, struct error *);

/* FlagScale's hostfile: a line for each node. Names that are not known are node-0, node-1 ... */
void export_hostfile(const struct export_job *, struct str *out);

/* The formats, each in a file of its own. */
export_write export_megatron_args, export_torchrun, export_slurm, export_k8s, export_pytorchjob,
    export_skypilot, export_bridge, export_swift, export_flagscale, export_accelerate;

/* Whether all nodes are alike: one part, and the last node is as full as the others. */
bool job_is_even(const struct export_job *);
/* An error that says which formats do, where the job is on several types of GPU. */
bool job_needs_one_type(const struct export_job *, const char *format, struct error *);
/* The same where the last node is less full than the others. */
bool job_needs_even(const struct export_job *, const char *format, struct error *);
/* An error where the job needs our module, which such a file cannot bring along. */
bool job_needs_no_module(const struct export_job *, const char *format, struct error *);
/* An error where part of the model is trained, and the format cannot say it. */
bool job_says_trained(const struct export_job *, const struct export_format *, struct error *);
/* An error where the job runs with FlagScale alone. */
bool job_needs_megatron(const struct export_job *, const char *format, struct error *);

/* Launch flags by section (sections.c). */

/* MODEL where the flag belongs to no parameter: those of the model's fields. */
enum section section_of(const char *flag);
const char *section_name(enum section); /* of the array: "MODEL_ARGS" */

/* Behind the values of the flag at words[i]. */
size_t flag_end(const char *const *words, size_t count, size_t i);

/* What is the user's to set of a run, with its defaults: rows of run.def (run.c). */

/* Sets of groups; ALWAYS are those that need nothing of the user. */
enum run_group {
    RUN_DATA = 1,
    RUN_SAVE = 2,
    RUN_LENGTH = 4,
    RUN_LOG = 8,
    RUN_EVAL = 16,
    RUN_MOCK = 32,
    RUN_ALWAYS = RUN_LENGTH | RUN_LOG | RUN_EVAL,
    RUN_ALL = 63
};

struct run_row {
    enum run_group group;
    const char *flag;
    const char *variable; /* "" = none */
    const char *value;    /* of the variable until it is set, or of the flag; may be "" */
    const char *help;     /* may be "" */
};

/* Row after row of these groups: NULL begins, NULL ends. */
const struct run_row *run_next(const struct run_row *, int groups);
/* The same, of rows with a variable. */
const struct run_row *run_next_variable(const struct run_row *, int groups);

enum { RUN_PORT = 29500 }; /* of the first node, where ranks meet */

/* Stands for a container image, which is the user's to choose, and what it must have. */
#define RUN_IMAGE "IMAGE"
const char *run_image_needs(const struct export_job *);

/* Whether the plan's environment has a value for CUDA_DEVICE_MAX_CONNECTIONS. Where it has none the
 * variable must not be 1, as it often is in images: unset, or with CUDA's own default. */
bool run_sets_connections(const struct export_job *);
#define RUN_CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"
#define RUN_CONNECTIONS_DEFAULT "8"

/* Pieces of bash that launch scripts share (bash.c). Each ends in a newline. */

/* What the job is, as comments. */
void add_bash_about(const struct export_job *, struct str *out);
/* Variables that are the user's to set: where things are, data, length of the run. Megatron's folder
 * is this one until it is set; NULL = it must be set. */
void add_bash_variables(const struct export_job *, const char *megatron, struct str *out);
/* The environment that the plan needs. */
void add_bash_environment(const struct export_job *, struct str *out);
/* Environment, flags by section, and RUN_ARGS made of the variables. */
void add_bash_settings(const struct export_job *, struct str *out);
/* A function place(): GPUS, FIRST_RANK and GPU_TYPE of a node by its rank. */
void add_bash_place(const struct export_job *, struct str *out);
/* A function check(): ends where the node has no GPU of the type in GPU_TYPE. */
void add_bash_check(struct str *out);
/* A function astra_module(): puts the module where Python of this node finds it. Nothing where the
 * job needs none. */
void add_bash_module(const struct export_job *, struct str *out);
/* "${MODEL_ARGS[@]}" ... "${RUN_ARGS[@]}", without a newline. */
void add_bash_words(const struct export_job *, struct str *out);

/* Values of YAML (yaml_out.c). */

/* In double quotes, whatever it is: never a number, a switch or the end of the document. */
void add_yaml_string(struct str *out, const char *text);
/* A number as it stands, anything else in double quotes. */
void add_yaml_value(struct str *out, const char *text);
