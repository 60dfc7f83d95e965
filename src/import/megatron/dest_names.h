/* Settings by the names that Megatron's arguments have inside Python, as flags: what a log prints
 * of them, and what overrides of Megatron-Bridge and NeMo set. */
#pragma once

#include "import/shell/launch.h"

enum dest_source { DEST_LOG = 1, DEST_OVERRIDE = 2 };

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

/* The flag of a setting, with its value as Python prints it: None, True, 8, ['p2p']. False when no
 * flag has that name. A value that the flag does not take is an unknown one. */
bool dest_add(struct dest_list *, const char *name, const char *value, int line);

/* The known name nearest to one that is not; NULL = none. */
const char *dest_nearest(const char *name, struct arena *);
