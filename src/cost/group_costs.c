/* A hash table from operation to time. Readers take no lock: slots are filled once, with a pointer
 * to a finished entry, and never emptied. Writers predict outside the lock and enter under it. When
 * the table is full times are right as before, only no longer kept. */
#include "cost/group_costs.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/comm.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16, FULL = SLOTS / 4 * 3, BATCH = 256 };

struct cost_entry {
    struct operation key;
    double time_s;
};

struct group_costs {
    const struct gpu *gpu;
    const struct learned *learned;
    struct comm_table *comm; /* owned */
    _Atomic(struct cost_entry *) slot[SLOTS];
    pthread_mutex_t lock; /* of all below */
    struct arena mem;
    size_t used;
};

bool group_costs_new(struct group_costs **out, const struct node_group *g,
                     const struct learned *learned, struct error *err)
{
    struct group_costs *c = memory_grow(NULL, sizeof *c);
    memset(c, 0, sizeof *c);
    c->gpu = g->gpu;
    c->learned = learned;
    if (!comm_table_new(&c->comm, g, learned->model[MODEL_COMM].trees, err)) {
        free(c);
        return false;
    }
    pthread_mutex_init(&c->lock, NULL);
    arena_init(&c->mem);
    *out = c;
    return true;
}

void group_costs_free(struct group_costs *c)
{
    if (!c)
        return;
    comm_table_free(c->comm);
    pthread_mutex_destroy(&c->lock);
    arena_release(&c->mem);
    free(c);
}

struct comm_table *group_costs_comm(struct group_costs *c)
{
    return c->comm;
}

const struct learned *group_costs_models(const struct group_costs *c)
{
    return c->learned;
}

static uint64_t mix(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static size_t slot_of(const struct operation *o)
{
    uint64_t h = (uint64_t)o->family * 64 + (uint64_t)o->pass * 16 + (uint64_t)o->dtype * 4 +
                 (uint64_t)o->kernel * 1024 + (uint64_t)o->kind * 8192 + o->causal;
    h = mix(mix(mix(mix(mix(h, o->m), o->n), o->k), o->count), o->bytes);
    return (size_t)mix(mix(mix(h, o->value_width), o->kv_share), o->window) % SLOTS;
}

static bool same(const struct operation *a, const struct operation *b)
{
    return a->family == b->family && a->pass == b->pass && a->dtype == b->dtype && a->m == b->m &&
           a->n == b->n && a->k == b->k && a->count == b->count && a->bytes == b->bytes &&
           a->value_width == b->value_width && a->kv_share == b->kv_share &&
           a->causal == b->causal && a->window == b->window && a->kernel == b->kernel &&
           a->kind == b->kind;
}

/* The slot that holds the operation, or the empty one where it belongs. */
static size_t probe(struct group_costs *c, const struct operation *o, struct cost_entry **found)
{
    size_t at = slot_of(o);
    while ((*found = atomic_load_explicit(&c->slot[at], memory_order_acquire)) &&
           !same(&(*found)->key, o))
        at = (at + 1) % SLOTS;
    return at;
}

static void enter(struct group_costs *c, const struct operation *o, double time_s)
{
    struct cost_entry *e;
    assert(time_s >= 0);
    pthread_mutex_lock(&c->lock);
    size_t at = probe(c, o, &e);
    if (!e && c->used < FULL) {
        e = arena_alloc(&c->mem, sizeof *e);
        *e = (struct cost_entry){*o, time_s};
        atomic_store_explicit(&c->slot[at], e, memory_order_release);
        c->used++;
    }
    pthread_mutex_unlock(&c->lock);
}

struct curve_limits {
    struct operation op[BATCH];
    size_t at[BATCH]; /* where the answer goes */
    size_t count;
};

static void predict(struct group_costs *c, const struct curve_limits *w, double *out_s)
{
    double time_s[BATCH];
    if (w->count == 0)
        return;
    assert(w->count <= BATCH);
    learned_predict(c->learned, c->gpu, w->op, w->count, time_s);
    for (size_t i = 0; i < w->count; i++) {
        out_s[w->at[i]] = time_s[i];
        enter(c, &w->op[i], time_s[i]);
    }
}

/* The same operation twice in one batch is predicted twice: rare, and the answer is the same. */
static void times_of_family(struct group_costs *c, const struct operation *op, size_t count,
                            enum family family, double *out_s)
{
    struct curve_limits w; /* large: only what is counted is filled */
    w.count = 0;
    for (size_t i = 0; i < count; i++) {
        struct cost_entry *e;
        if (op[i].family != family)
            continue;
        if (family == FAMILY_MEMORY && op[i].bytes <= 0) {
            out_s[i] = 0; /* nothing to do */
            continue;
        }
        probe(c, &op[i], &e);
        if (e) {
            out_s[i] = e->time_s;
            continue;
        }
        w.op[w.count] = op[i];
        w.at[w.count++] = i;
        if (w.count == BATCH) {
            predict(c, &w, out_s);
            w.count = 0;
        }
    }
    predict(c, &w, out_s);
}

void group_costs_times(struct group_costs *c, const struct operation *op, size_t count,
                       double *out_s)
{
    for (int f = 0; f < FAMILIES; f++)
        times_of_family(c, op, count, (enum family)f, out_s);
}
