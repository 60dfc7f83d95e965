/* Every strategy worth naming: a list of axes, each with its options, in the order of
 * params.def. An axis binds one parameter, or a few that only make sense together (recompute).
 * The space is their product; rules and --set cut it. */
#pragma once

#include "base/error.h"
#include "strategy/names.h"
#include "strategy/strategy.h"

struct arena;
struct model;
struct node_group;

enum { AXIS_PARAMS = 5, SETTING_VALUES = 64 };

struct axis {
    int params;
    enum param param[AXIS_PARAMS];
    bool derives; /* derived values follow from it */
    int options;
    int *value; /* [options * params] */
};

/* What the user fixed or restricted with --set; count 0 = free. */
struct setting {
    int count;
    int value[SETTING_VALUES];
};
/* "tp=8" or "tp=2,4,8". */
bool setting_parse(struct setting settings[PARAMS], const char *text, struct error *);

struct space {
    int axes;
    struct axis axis[PARAMS];
    int first_part, first_partition, first_pass_times,
        first_state;              /* axes before: cells, parts, partitions, pass times */
    double size_from[PARAMS + 1]; /* product of the options of axes i and behind */
};

/* What else decides which options there are. */
struct space_terms {
    enum stack stack;
    double release;  /* of Megatron core: names.h */
    bool production; /* also options that train other numbers, as NVIDIA's recipes set them */
    bool muon;       /* the optimizer, which FSDP does not have */
};

/* `base` has the fixed parameters (global_batch, seq_len, precision). `max_gpus` limits the
 * lists. */
void space_init(struct space *, const struct model *, const struct node_group *,
                const struct strategy *base, const struct setting settings[PARAMS],
                int64_t max_gpus, struct space_terms, struct arena *);

/* Leaves the options that are usual, of axes that have any: parameters with an axis of their own. */
void space_narrow(struct space *, const struct setting usual[PARAMS]);

/* Whether a parameter with an axis of its own may have this value. */
bool space_lists(const struct space *, enum param, int value);

/* Moves pp behind all other axes, for jobs whose stages are chosen last. */
void space_put_pp_last(struct space *);
