/* The learned models: trees per operator family and for collectives, with what is known
 * of their errors. They come compiled in, or from a folder that `astra fit` wrote; both are the
 * same files: models.json with provenance and errors, and a UBJSON file per model. */
#pragma once

#include "cost/features.h"
#include "cost/step_errors.h"

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct gpu;
struct trees;

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
    const struct trees *trees;
    const void *bytes; /* of its file, UBJSON; NULL: compiled in */
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

/* `folder` NULL: the models compiled in. */
bool learned_load(struct learned **out, const char *folder, struct error *);
/* A manifest alone; the trees are those compiled in. `name` is for messages. */
bool learned_parse(struct learned **out, const char *text, size_t length, const char *name,
                   struct error *);
void learned_free(struct learned *);

/* Seconds of operations of one family in a training step. */
void learned_predict(const struct learned *, const struct gpu *, const struct operation *,
                     size_t count, double *out_s);

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
