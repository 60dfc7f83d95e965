#include "search/mixed/mixed_costs.h"

#include "base/arena.h"

#include <stddef.h>
#include <string.h>

enum { BUCKETS = 1 << 14 };

struct costs_entry {
    struct costs_entry *next;
    struct layer_costs costs;
    int key[PARAMS + 1]; /* as many as there are: the rest is not allocated */
};

void mixed_costs_init(struct mixed_costs *t, const struct scene *sc, struct arena *mem)
{
    t->scene = sc;
    t->params = 0;
    for (int p = 0; p < PARAMS; p++)
        if (param_info((enum param)p)->costs == COSTS_LAYER)
            t->param[t->params++] = (enum param)p;
    t->bucket = arena_array(mem, BUCKETS, sizeof *t->bucket);
}

/* Values of the parameters and how far the ranks reach; returns the bucket. */
static size_t key_of(const struct mixed_costs *t, const struct strategy *s, int reach, int key[])
{
    uint64_t hash = (uint64_t)reach;
    key[t->params] = reach;
    for (int i = 0; i < t->params; i++) {
        key[i] = strategy_get(s, t->param[i]);
        hash = (hash ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u;
    }
    return (size_t)(hash >> 40) % BUCKETS;
}

const struct layer_costs *mixed_costs_get(struct mixed_costs *t, const struct strategy *s,
                                          struct arena *mem)
{
    int reach[REACHES], seat = layer_seat(t->scene, s, reach), key[PARAMS + 1];
    size_t bytes = ((size_t)t->params + 1) * sizeof *key;
    _Atomic(struct costs_entry *) *bucket = &t->bucket[key_of(t, s, reach[seat], key)];
    struct costs_entry *first = atomic_load(bucket);
    for (struct costs_entry *e = first; e; e = e->next)
        if (memcmp(e->key, key, bytes) == 0)
            return &e->costs;
    struct costs_entry *made = arena_alloc(mem, offsetof(struct costs_entry, key) + bytes);
    memcpy(made->key, key, bytes);
    layer_costs_at(t->scene, s, reach[seat], &made->costs);
    made->next = first;
    while (!atomic_compare_exchange_weak(bucket, &made->next, made))
        ; /* another thread was faster, with the same figures if with the same key */
    return &made->costs;
}
