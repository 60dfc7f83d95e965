/* What a stage of so many layers takes and needs on one type of GPU, each computed once. */
#pragma once

#include "simulate/partition.h"

/* States that differ in what decides most: what stays on the GPU and what waits for the host. The least
 * of several kinds at once is of none. */
enum { STATE_KINDS = 4 };
int state_kind(const struct strategy *);

/* A state by its number, or where the least of several is asked for: of any, or of those of a kind. */
enum { ANY_STATE = -1 };
static inline int any_of_kind(int kind)
{
    return ANY_STATE - 1 - kind;
}

enum stage_end { STAGE_MIDDLE, STAGE_FIRST, STAGE_LAST, STAGE_ENDS };

/* Under one set of pass times. */
struct stage_time {
    int pass_times;            /* the number of the pass times it is of */
    int64_t forward, backward; /* ticks of one micro-batch */
    int bytes_pass_times;      /* the same of: */
    struct chunk_bytes bytes;  /* stage_bytes() */
    double hosted;             /* offloaded, with them */
};

/* Under one state: memory and seconds whatever the pass times, and ticks of a rank with this one chunk
 * under one set of them. */
struct stage_state {
    bool known;
    struct rank_state memory;
    int pp; /* that the times are of, 0 = none; 1 = any */
    struct rank_times times;
    int pass_times; /* the number of the pass times of: */
    int64_t delay, after, behind;
};

struct stage_params {
    bool known;
    struct rank_params params;
    struct rank_state smallest[1 + STATE_KINDS]; /* least of any state; then of those of each kind */
};

/* Stages whose layers are of the same kinds in the same order share an entry: `starts` are the
 * first layers that differ. */
struct stage_table {
    struct partition
        *partition; /* one mesh: figures of its stages are asked one by one; its pp is the job's */
    int layers, starts;
    const uint16_t *start_of;   /* [layers + 1] by first layer */
    const uint16_t *first_with; /* [starts] the first layer of each */
    double fixed_s;             /* of transfers, each pass */
    double most;                /* fullness that fits */
    double buffers[STAGE_ENDS];
    int pass_times; /* the number of the current one */
    struct stage_time *time;
    struct stage_params *params;
    struct stage_sums **sums; /* of the structure, NULL until one is asked */
    int states;
    const struct strategy *state_strategy; /* [states] */
    double *stretch;                       /* [states] */
    struct stage_state **of_state;         /* [states] tables, NULL until one is asked */
    struct arena *mem;
};

/* Which first layers are alike, for both arrays; returns the number of `starts`. */
int stage_starts(const struct model *, uint16_t start_of[], uint16_t first_with[]);

void stage_table_init(struct stage_table *, int layers, int starts, const uint16_t *start_of,
                      const uint16_t *first_with, struct arena *);
/* A new structure: the partition is there; its states live in `mem` as long as it does. */
void stage_table_structure(struct stage_table *, const struct strategy *states, int count,
                           struct arena *mem);
void stage_table_pass_times(struct stage_table *);

/* `s` has the pass times, and for a state its parameters. */
const struct stage_time *stage_time(struct stage_table *, const struct strategy *s, enum stage_end,
                                    int first, int layers);
const struct chunk_bytes *stage_bytes(struct stage_table *, const struct strategy *s,
                                      enum stage_end, int first, int layers);
const struct stage_state *stage_state(struct stage_table *, const struct strategy *s, int state,
                                      enum stage_end, int first, int layers);
/* Of it what is behind the last pass, whatever the pass times are. Ticks. */
int64_t stage_behind(struct stage_table *, int state, enum stage_end, int first, int layers);
/* The same without ticks: memory and seconds, also of a rank with several chunks. */
const struct stage_state *stage_rank(struct stage_table *, int state, enum stage_end, int first,
                                     int layers);
const struct stage_params *stage_params(struct stage_table *, enum stage_end, int first,
                                        int layers);

/* The least of several states. */
static inline const struct rank_state *smallest_state(const struct stage_params *p, int any)
{
    return &p->smallest[ANY_STATE - any];
}

/* Whether a rank with this one chunk and `alive` micro-batches in flight fits under this state, or
 * under some; with none, whether its states do. */
bool stage_fits(struct stage_table *, const struct strategy *s, int state, enum stage_end,
                int first, int layers, int64_t alive);
/* Of it what the host decides, by the ranks of this one stage on a node: from below, as others may sit
 * beside them. */
bool stage_host_fits(const struct stage_table *, const struct rank_state *, double hosted);
