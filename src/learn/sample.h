/* Measured operators: what `astra fit` learns from. A reader turns the rows of one source into
 * samples; what cannot be used is counted by reason, never dropped in silence. */
#pragma once

#include "base/error.h"
#include "cost/operation.h"
#include "layer/ops.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct gpu;

/* Why a row is not used. */
enum skip {
    SKIP_NONE,
    SKIP_NOT_A_NUMBER,
    SKIP_NOT_POSITIVE,
    SKIP_ABOVE_PEAK,
    SKIP_UNKNOWN_GPU,
    SKIP_OTHER_KIND, /* a kernel, type or pass that no model covers */
    SKIPS
};
extern const char *const SKIP_WORDS[SKIPS];

struct sample {
    struct operation op;
    const struct gpu *gpu;
    int source; /* that of the list it was added to */
    double time_s;
    double mhz; /* clock while it was measured, 0 = not known */
};

/* A measured collective. Bytes as comm_time() counts them: the full (gathered) buffer; for
 * all-to-all what one rank sends in all, its own share included; for send the message. */
struct comm_sample {
    enum comm_kind kind;
    double bytes;
    int ranks, per_node, nodes;
    const struct gpu *gpu;
    double link_bs, nic_bs; /* per GPU and direction, nominal; nic_bs 0 inside one node */
    bool in_switch;         /* the switch can reduce (NVLink 4 and later with NVSwitch) */
    int source;             /* that of the list it was added to */
    double time_s;
};

/* How much a row of a profile counts; those of other sources count 0.5 to 8. */
enum { PROFILE_WEIGHT = 20 };

struct samples {
    struct arena *mem;
    int source; /* whose rows are added next, 0 = a profile */
    struct sample *op;
    size_t ops, op_room;
    struct comm_sample *comm;
    size_t comms, comm_room;
    size_t skipped[SKIPS]; /* [SKIP_NONE] counts the rows that are used */
    char unknown_gpu[64];  /* the first name of a profile that nobody knows */
};

void samples_init(struct samples *, struct arena *);

/* Adds a copy when it can be used and counts it either way. A product or attention faster than the
 * data sheet's peak by more than 2 %, or a pass over memory at more than four times the bandwidth
 * (caches help small ones), is SKIP_ABOVE_PEAK. */
enum skip samples_add(struct samples *, const struct sample *);
enum skip samples_add_comm(struct samples *, const struct comm_sample *);
/* Counts a row that its reader could not use. */
void samples_skip(struct samples *, enum skip);

/* A number of a field: NaN unless the whole text is a finite number. */
double sample_number(const char *text);

/* Sorts by what was measured and joins repetitions of one source to their median, so that the order
 * of the input does not matter. Returns how many rows are left. */
size_t samples_join(struct sample *, size_t count);
uint32_t sample_hash(const struct sample *); /* of what was measured, whatever its time */

/* Equal for what must be left out together: weight sizes of products, head configurations of
 * attention, kind and size of passes over memory. */
uint32_t shape_of(const struct operation *);
/* Folds of left-out shapes: a row is of fold shape_of() % SHAPE_FOLDS. */
enum { SHAPE_FOLDS = 5 };

size_t gpu_index(const struct gpu *); /* line of the GPU table */

/* Our own format (doc/profile.md). Rows with wrong numbers are skipped and counted; a file without
 * the columns it must have is an error. */
bool read_profile(const char *path, struct samples *, struct error *);
