/* Measured operators: what `astra fit` learns from. A reader turns the rows of one source into
 * samples; what cannot be used is counted by reason, never dropped in silence. */
#ifndef ASTRA_SAMPLE_H
#define ASTRA_SAMPLE_H

#include "base/error.h"
#include "cost/operation.h"
#include "layer/ops.h"

#include <stddef.h>

struct arena;
struct gpu;

enum source_id {
#define SOURCE(id, ...) SOURCE_##id,
#include "learn/sources.def"
#undef SOURCE
    SOURCES
};

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

struct sample {
    struct operation op;
    const struct gpu *gpu;
    enum source_id source;
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
    enum source_id source;
    double time_s;
};

struct samples {
    struct arena *mem;
    struct sample *op;
    size_t ops, op_room;
    struct comm_sample *comm;
    size_t comms, comm_room;
    size_t skipped[SOURCES][SKIPS]; /* [..][SKIP_NONE] counts the rows that are used */
    char unknown_gpu[64];           /* the first name of a profile that nobody knows */
};

void samples_init(struct samples *, struct arena *);

/* Adds a copy when it can be used and counts it either way. A product or attention faster than the
 * data sheet's peak by more than 2 %, or a pass over memory at more than four times the bandwidth
 * (caches help small ones), is SKIP_ABOVE_PEAK. */
enum skip samples_add(struct samples *, const struct sample *);
enum skip samples_add_comm(struct samples *, const struct comm_sample *);
/* Counts a row that its reader could not use. */
void samples_skip(struct samples *, enum source_id, enum skip);

/* A number of a field: NaN unless the whole text is a finite number. */
double sample_number(const char *text);

/* Readers: `path` is the folder of the source (the file for our own format). Rows with wrong
 * numbers are skipped and counted; a file without the columns it must have is an error. */
#define SOURCE(id, name, folder, reader, ...)                                                      \
    bool reader(const char *path, struct samples *, struct error *);
#include "learn/sources.def"
#undef SOURCE

#endif
