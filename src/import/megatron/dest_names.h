/* Settings by the names that Megatron's arguments have inside Python, as flags: what a log prints
 * of them, and what overrides of Megatron-Bridge and NeMo set. */
#pragma once

#include "import/shell/launch.h"

enum dest_source { DEST_LOG = 1, DEST_OVERRIDE = 2 };

/* Behind the name of a mixed precision that a performance recipe of Bridge has. */
#define PERFORMANCE_MIXED " (performance)"

/* Words of flags, as they are found. */
struct dest_list {
    enum dest_source source;
    struct arena *mem;
    int count, capacity;
    struct launch_word *word;
    int unknowns, unknown_capacity;
    struct launch_unknown *unknown;
};

void dest_list_init(struct dest_list *, enum dest_source, struct arena *);
/* Unknown parts that the values refer to already. */
void dest_list_keep(struct dest_list *, const struct launch_unknown *, int count);
/* What stands for a part of a value that is not known. */
const char *dest_list_unknown(struct dest_list *, struct launch_unknown);
/* A word as it is. */
void dest_list_word(struct dest_list *, const char *text, int line);
/* Arguments without the one that makes them count are only defaults: they are taken out. */
void dest_list_drop_defaults(struct dest_list *);
/* Settings of what a switch of NeMo or Bridge leaves off are taken out. */
void dest_list_drop_off(struct dest_list *);

/* The flag of a setting, with its value as Python prints it: None, True, 8, ['p2p']. False when no
 * flag has that name. A value that the flag does not take is an unknown one. */
bool dest_add(struct dest_list *, const char *name, const char *value, int line);

/* Of the first `count` words, those of the flag that a setting is are taken out: a later place says otherwise. Returns
 * how many that were. */
int dest_drop(struct dest_list *, const char *name, int count);

/* The known name nearest to one that is not; NULL = none. */
const char *dest_nearest(const char *name, struct arena *);
