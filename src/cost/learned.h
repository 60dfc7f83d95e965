/* The learned models: one booster per operator family and one for collectives, with what is known
 * of their errors. They come compiled in, or from a folder that `astra fit` wrote; both are the
 * same files: models.json with provenance and errors, and a UBJSON file per model. */
#pragma once

#include "cost/features.h"
#include "cost/step_errors.h"

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct booster;
struct gpu;

enum {
    LEARNED_MODELS = FAMILIES + 1,
    MODEL_COMM = FAMILIES,
    LEARNED_GPUS = 64,
    LEARNED_SOURCES = 32,
    LEARNED_FORMAT = 1
};
enum { OFFSET_LIMIT = 3 }; /* of |offset|: a GPU 20 times as fast as its kind is a mistake */

/* What one family knows of one GPU type. */
struct gpu_score {
    const struct gpu *gpu;
    size_t rows;        /* measured; 0: none */
    double offset;      /* added to f: how this GPU differs from what its numbers say */
    double shape_error; /* mean |predicted / measured - 1| of left-out shapes */
    double gpu_error;   /* the same when the whole GPU was left out, 0: not known */
};

struct learned_model {
    struct booster *booster; /* owned; NULL until needed */
    const void *bytes;       /* UBJSON */
    size_t size;
    const char *name;
    struct gpu_score gpu[LEARNED_GPUS];
    int gpus;
    double gpu_error,
        arch_error; /* averages over GPUs: left out, and with all of their generation */
};

/* Where the measurements come from. */
struct learned_source {
    const char *name;
    size_t rows;
};

struct learned {
    struct arena *mem; /* owned */
    struct learned_source source[LEARNED_SOURCES];
    int sources;
    struct learned_model model[LEARNED_MODELS];
    struct memory_curves curves;
    struct step_errors steps; /* compiled in, whatever the models */
};

/* Reads and checks everything but builds no trees yet. `folder` NULL: the models compiled in. */
bool learned_load(struct learned **out, const char *folder, struct error *);
/* A manifest alone: its trees are not looked at and must not be built. `name` is for messages. */
bool learned_parse(struct learned **out, const char *text, size_t length, const char *name,
                   struct error *);
void learned_free(struct learned *);

/* Builds the trees of these models (bits 1 << family), on so many threads, two at most. Not
 * thread-safe. */
bool learned_ready(struct learned *, unsigned models, int threads, struct error *);

/* Seconds of operations of one family in a training step. Its trees must be ready. */
bool learned_predict(const struct learned *, const struct gpu *, const struct operation *,
                     size_t count, double *out_s, struct error *);

enum provenance { MEASURED, TRANSFERRED, DATASHEET };
struct coverage {
    enum provenance provenance;
    size_t rows;
    double error; /* expected, of one operator */
};
const char *provenance_name(enum provenance); /* "measured" ... */
struct coverage learned_coverage(const struct learned *, const struct gpu *, enum family);

/* What attention runs as: cuDNN's kernels from Hopper on, FlashAttention-2 before and on AMD. */
int attention_kernel_of(const struct gpu *);

const char *model_name(int model); /* "gemm" ... "collectives" */
uint64_t model_hash(const void *bytes, size_t size);
