/* A plan as a job to start: what every format of `export` is written from. */
#pragma once

#include "base/error.h"
#include "strategy/mesh.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct gpu;
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
};

struct export_job {
    const char *title;   /* what the plan is, one line */
    const char *name;    /* of the job; letters, digits, '.', '_' and '-' */
    const char *release; /* whose flags they are, for people: "Megatron-LM core 0.17" */
    const char *branch;  /* words for git clone that get it: "" = the newest */
    const char *gap;     /* why the flags are not those of the model; NULL = they are */
    bool flagscale;      /* it runs with FlagScale */
    bool ranks;          /* Slurm: srun starts every rank, no torchrun */
    int parts;
    struct job_part part[MESHES_MAX];
    int64_t nodes, gpus; /* of all parts */
    int vpp;             /* virtual stages of a pipeline rank */
    size_t flags;
    const char *const *flag;
    size_t envs;
    const char *const *env; /* "NAME=VALUE" */
    size_t hosts;           /* 0, or as many as nodes */
    const char *const *host;
    const char *hostfile; /* where FlagScale finds its hostfile; NULL = none is written */
};

struct export_format {
    const char *name;
    /* False where this format cannot say the job; nothing of `out` counts then. */
    bool (*write)(const struct export_job *, struct arena *, struct str *out, struct error *);
};

/* By its name; the nearest one in the message. */
const struct export_format *export_format_find(const char *name, struct error *);

/* FlagScale's hostfile: a line for each node. Names that are not known are node-0, node-1 ... */
void export_hostfile(const struct export_job *, struct str *out);

/* The formats, each in a file of its own. */
bool export_megatron_args(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_torchrun(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_slurm(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_k8s(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_skypilot(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_bridge(const struct export_job *, struct arena *, struct str *, struct error *);
bool export_flagscale(const struct export_job *, struct arena *, struct str *, struct error *);

/* Whether all nodes are alike: one part, and the last node is as full as the others. */
bool job_is_even(const struct export_job *);
/* An error that says which formats do, where the job is on several types of GPU. */
bool job_needs_one_type(const struct export_job *, const char *format, struct error *);
/* The same where the last node is less full than the others. */
bool job_needs_even(const struct export_job *, const char *format, struct error *);
/* An error where the job runs with FlagScale alone. */
bool job_needs_megatron(const struct export_job *, const char *format, struct error *);
