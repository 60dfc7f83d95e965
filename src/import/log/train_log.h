/* Megatron's printed arguments in the log of a training: every flag, also those left at their
 * defaults. A log may have any size and anything around the block: it is read piece by piece, and
 * only the block is kept. */
#pragma once

#include "base/str.h"
#include "import/megatron/dest_names.h"

struct train_log {
    struct dest_list list;
    struct str line; /* the open one, cut where it is longer than any line of the block */
    int number;      /* of the open line */
    int begun;       /* line where the block begins; 0 = not yet */
    int again;       /* line of a second block; 0 = there is none */
    int read;        /* lines of the block that were understood */
    bool ended;      /* the block is over */
    int64_t world;   /* GPUs; 0 = not said */
    bool has_vocab;
    int64_t behind; /* bytes read since the block ended */
};

void train_log_init(struct train_log *, struct arena *);
void train_log_release(struct train_log *);
/* False when nothing of use can follow any more. */
bool train_log_feed(struct train_log *, const char *data, size_t length);
/* Whether a block was found; the launch lives in the arena. */
bool train_log_launch(struct train_log *, const char *path, struct launch *out);

/* "name ...... value" anywhere in a line of the block. */
bool train_log_argument(const char *line, const char **name, size_t *length, const char **value);
