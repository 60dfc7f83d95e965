/* A Megatron-LM command line as a strategy and a model. Three steps, because the first is often
 * all that can be said without knowing the model or the cluster:
 *     flags_import    what stands there, with Megatron's own defaults
 *     flags_model     which model is meant: that of the flags, or one given beside them
 *     flags_finish    what follows from the model and the number of GPUs
 * A plan that Megatron would refuse is no error here: what is wrong goes to `reasons`, and the
 * strategy is the nearest one that has figures. */
#pragma once

#include "base/error.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/mesh.h"
#include "strategy/space.h"

#include <stdint.h>

struct arena;
struct hf_job;
struct rules;
struct words;

/* What --spec names in exports of stack torch (export/export.h). */
#define TORCH_MODULE "astra_sdpa"

enum { FLAGS_MAX_TEXTS = 64 };

struct flags_texts {
    int count;
    const char *text[FLAGS_MAX_TEXTS]; /* in the arena; more than fit are dropped */
};

/* A fact that nobody said and that was taken for likely. */
struct flags_assumption {
    const char *what, *value; /* "precision", "bf16" */
    const char *option;       /* that states it: "--precision" */
    const char *why;          /* "the tokenizer is called llama3" */
    double error;             /* relative, of the step time, that the guess may be off by */
};

enum { FLAGS_MAX_ASSUMPTIONS = 5 };

/* What a fine-tuning does with samples that are shorter than its sequence; their lengths stand nowhere. */
enum sample_filling { FILLING_UNSAID, FILLING_PADDED, FILLING_PACKED };

struct flags_result {
    bool has_model;     /* --num-layers, --hidden-size and --num-attention-heads are there */
    bool model_named;   /* a file names the model: what its flags say of it wins over the preset */
    bool vocab_missing; /* has_model without a vocabulary: model.vocab is 1 */
    struct model
        model; /* finished where has_model; otherwise only the fields in model_given count */
    bool model_given[MODEL_FIELDS]; /* a flag of this field is there */
    bool meaning_given[MODEL_MEANINGS];

    struct strategy strategy;
    bool given[PARAMS]; /* a flag of this parameter is there; the others have Megatron's defaults */
    bool has_layout;    /* after flags_finish, where a layout string is there and holds */
    struct layout layout;

    bool hetero;             /* --enable-hetero: the meshes of a mixed job on FlagScale */
    struct mesh_list meshes; /* after flags_finish, where hetero; their groups are left NULL */
    const char *device_type[MESHES_MAX]; /* of each, as the flags name it */

    enum stack stack;
    double attention_dropout, hidden_dropout;
    struct run_switches switches;
    int64_t train_iters, train_samples; /* 0 = not there */
    int64_t accumulation; /* micro-batches of a step that a file says; 0 = it does not */
    enum sample_filling filling;
    double epochs; /* of a dataset; 0 = not said */

    struct flags_texts reasons; /* why Megatron would refuse the plan */
    struct flags_texts notes;   /* "--flag: what is planned instead" */
    int assumptions;
    struct flags_assumption assumption[FLAGS_MAX_ASSUMPTIONS];

    bool of_file;     /* missing facts are assumed */
    const char *fork; /* of Megatron, that a file runs with; NULL = none is known */

    /* Kept for flags_finish. */
    const struct words *words; /* in the arena */
    const char *const *word;   /* borrowed: as they were written */
    int word_count;
    const char *layout_text;      /* NULL = none */
    int layers_per_virtual_stage; /* 0 = not there */
    struct arena *mem;            /* borrowed */
    const struct hf_job
        *job; /* in the arena: a training of transformers' (import/hf), no flags; or NULL */
};

/* Words as the shell hands them on, without the program's name; a leading path ending in .py is
 * skipped. Every flag of Megatron's parser is known. False when a flag is unknown, lacks a value
 * or has a wrong one, or describes what cannot be planned. Words must outlive the result. */
bool flags_import(int argc, const char *const *argv, struct flags_result *, struct arena *,
                  struct error *);

/* The same for the flags of a file: bf16 is assumed where no precision is said. */
bool flags_import_file(int argc, const char *const *argv, struct flags_result *, struct arena *,
                       struct error *);
void flags_assume(struct flags_result *, struct flags_assumption);
/* Whether a flag only has a note: what its value is changes no figure. */
bool flags_only_noted(const char *flag);

/* `given` is the model named beside the flags, or NULL: then the flags must describe one. False
 * where they do not, or where flags and `given` disagree. Afterwards `model` is complete. */
bool flags_model(struct flags_result *, const struct model *given, struct error *);

/* `world` is the number of GPUs, of all meshes together. Sets dp, a missing global batch
 * (micro-batch x dp), vpp, the layout, and the meshes. Needs a complete model. False on wrong input
 * only; broken rules go to `reasons`. */
bool flags_finish(struct flags_result *, int64_t world, struct error *);

/* What flags that are no part of a strategy allow another plan to be (flag_limits.c). */

/* Adds what a plan must keep to go with the flags, whose own strategy is `asked`. Returns why no
 * plan can be promised to go with them, or NULL. Rules and text live in the arena. */
const char *flag_limits(const struct flags_result *, const struct strategy *asked,
                        struct setting settings[PARAMS], struct rules *, struct arena *);
