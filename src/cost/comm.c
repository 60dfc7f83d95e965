/* Collectives: the analytic time of comm_features.c times a learned factor. The factor is asked for
 * once per kind and placement, on powers of two of the message:
 *
 *   time_s[i] = max(analytic * exp(f), wire, time_s[i - 1], time_s[i] over half the nodes)
 *
 * and read off by straight lines. Lines between rising points rise; both ends above bytes over
 * bandwidth, all of the line is above it. f does not see bandwidths, and a maximum of falling
 * functions falls: more bandwidth is never slower. O(1) per query, some 20 ns; a new curve costs
 * one prediction of 31 log2(nodes) rows, some 0.5 us each. */
#include "cost/comm.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/group_costs.h"
#include "cost/residual.h"
#include "cost/trees.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where no model is loaded, the wire part is divided by these: median of analytic over measured of
 * messages above 16 MiB in the sources of doc/collectives.md. */
static const double LINK_ETA = 0.90, PCIE_ETA = 0.57, NIC_ETA = 0.93;

enum { HALVINGS = 32 }; /* more than nodes can be halved */

struct comm_call comm_call_of(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    bool pcie = g->domain < 2 || p.link_bs == 1e9 * g->gpu->pcie_gbs;
    return (struct comm_call){.kind = kind,
                              .ranks = p.ranks,
                              .per_node = p.per_node,
                              .most = p.most > p.per_node ? p.most : p.per_node,
                              .nodes = p.nodes,
                              .gpu = g->gpu,
                              .link_bs = p.link_bs,
                              .nic_bs = g->nic_bs / g->oversubscription,
                              .in_switch = !pcie && gpu_reduces_in_switch(g->gpu),
                              .pcie = pcie};
}

static double analytic_time(const struct comm_call *c, double bytes)
{
    struct comm_base b = comm_base_of(c, bytes);
    double eta = c->nodes > 1 ? NIC_ETA : LINK_ETA;
    if (c->pcie && c->per_node > 1)
        eta = PCIE_ETA;
    return b.latency_s + b.wire_s / eta;
}

/* NICs of nearly all measured groups of nodes: 400 Gbit/s a GPU. */
static const double MEASURED_NIC_BS = 50e9;

static double base_of(const struct comm_call *c, double bytes)
{
    struct comm_base b = comm_base_of(c, bytes);
    return b.latency_s + b.wire_s;
}

/* What a call takes longer than the formulas say are steps, chunks and links, which do not get
 * slower with the NIC. Behind a slower one than was measured they run beside its wire, as the two
 * ways do in the formulas:
 *
 *   time^3 = own^3 + (measured^3 - formula^3)      both with the NIC that was measured
 */
static double corrected_time(const struct comm_call *c, double bytes, double f)
{
    struct comm_call faster = *c;
    double own = base_of(c, bytes);
    if (f <= 0 || c->nic_bs >= MEASURED_NIC_BS)
        return own * exp(f);
    faster.nic_bs = MEASURED_NIC_BS;
    double formula = base_of(&faster, bytes), measured = formula * exp(f);
    double more = own * own * own - formula * formula * formula;
    return measured * cbrt(1 + more / (measured * measured * measured));
}

/* Raises the curve to the times of this call: learned where f is given. */
static void raise_points(struct comm_curve *out, const struct comm_call *c, const float *f)
{
    double least = 0;
    for (int i = 0; i < CURVE_POINTS; i++) {
        double bytes = ldexp(1, CURVE_FIRST + i), t = analytic_time(c, bytes);
        struct comm_base b = comm_base_of(c, bytes);
        if (f)
            t = corrected_time(c, bytes, (double)f[i]);
        assert(t >= 0 && b.floor_s >= 0);
        least = fmax(fmax(least, out->time_s[i]), fmax(t, b.floor_s));
        out->time_s[i] = least;
    }
}

/* The call itself and the same over half as many nodes, a quarter, ... two. */
static int fewer_nodes(const struct comm_call *c, struct comm_call out[HALVINGS])
{
    int count = 0;
    out[count++] = *c;
    while (out[count - 1].nodes > 2 && count < HALVINGS) {
        struct comm_call half = out[count - 1];
        half.nodes = (half.nodes + 1) / 2;
        half.ranks = half.nodes * half.per_node;
        out[count++] = half;
    }
    assert(out[count - 1].nodes <= 2);
    return count;
}

void comm_curve_fill(struct comm_curve *out, const struct trees *model, const struct comm_call *c)
{
    float x[HALVINGS][CURVE_POINTS][COMM_FEATURES], f[HALVINGS][CURVE_POINTS];
    struct comm_call call[HALVINGS];
    assert(c->ranks > 1 && c->per_node >= 1 && c->nodes >= 1);
    int calls = fewer_nodes(c, call);
    for (int k = 0; k < calls; k++)
        for (int i = 0; i < CURVE_POINTS; i++)
            comm_features(&call[k], ldexp(1, CURVE_FIRST + i), x[k][i]);
    assert(!model || model->columns == COMM_FEATURES);
    if (model)
        trees_predict(model, x[0][0], (size_t)calls * CURVE_POINTS, f[0]);
    *out = (struct comm_curve){0};
    for (int k = calls - 1; k >= 0; k--)
        raise_points(out, &call[k], model ? f[k] : NULL);
}

double comm_curve_time(const struct comm_curve *c, double bytes)
{
    int exponent;
    double mantissa = 2 * frexp(bytes, &exponent); /* bytes = mantissa * 2^(exponent - 1), 1..2 */
    int i = exponent - 1 - CURVE_FIRST;
    if (bytes <= 0)
        return 0;
    if (i < 0)
        return c->time_s[0];
    if (i >= CURVE_POINTS - 1)
        return c->time_s[CURVE_POINTS - 1] * (bytes / ldexp(1, CURVE_FIRST + CURVE_POINTS - 1));
    return c->time_s[i] + (mantissa - 1) * (c->time_s[i + 1] - c->time_s[i]);
}

/* Chains of curves. Readers follow them without a lock; a writer puts a whole curve in front while
 * it holds the lock. A curve depends on its key alone, so it does not matter who makes it. */
enum { CHAINS = 1024 };

struct comm_entry {
    enum comm_kind kind;
    struct placement placement;
    struct comm_curve curve;
    struct comm_entry *next;
};

struct comm_table {
    const struct node_group *group;
    const struct trees *model;
    pthread_mutex_t lock;
    _Atomic(struct comm_entry *) chain[CHAINS]; /* owned */
};

static size_t chain_of(enum comm_kind kind, struct placement p)
{
    uint64_t h = (uint64_t)p.ranks * 2654435761u + (uint64_t)p.per_node * 40503u + (uint64_t)kind;
    return (size_t)((h ^ h >> 15) % CHAINS);
}

static bool is_for(const struct comm_entry *e, enum comm_kind kind, struct placement p)
{
    return e->kind == kind && e->placement.ranks == p.ranks &&
           e->placement.per_node == p.per_node && e->placement.nodes == p.nodes &&
           e->placement.link_bs == p.link_bs && e->placement.most == p.most;
}

static const struct comm_entry *find(struct comm_entry *e, enum comm_kind kind, struct placement p)
{
    while (e && !is_for(e, kind, p))
        e = e->next;
    return e;
}

/* Puts it in front of its chain unless another thread was first. */
static const struct comm_entry *insert(struct comm_table *t, struct comm_entry *e)
{
    _Atomic(struct comm_entry *) *chain = &t->chain[chain_of(e->kind, e->placement)];
    pthread_mutex_lock(&t->lock);
    e->next = atomic_load_explicit(chain, memory_order_relaxed);
    const struct comm_entry *found = find(e->next, e->kind, e->placement);
    if (!found)
        atomic_store_explicit(chain, e, memory_order_release);
    pthread_mutex_unlock(&t->lock);
    if (!found)
        return e;
    free(e);
    return found;
}

static const struct comm_entry *entry_of(struct comm_table *, enum comm_kind, struct placement);

/* Lowers the curve to that of another placement, or raises it. */
static void relate_to(struct comm_table *t, struct comm_entry *e, struct placement p, bool lower)
{
    const struct comm_curve *other = &entry_of(t, e->kind, p)->curve;
    for (int i = 0; i < CURVE_POINTS; i++) {
        double *own = &e->curve.time_s[i];
        *own = lower ? fmin(*own, other->time_s[i]) : fmax(*own, other->time_s[i]);
    }
}

/* The largest group inside one domain that was measured on most types. */
enum { MEASURED_INSIDE = 8 };

/* Ranks that a wider domain brings together can still talk as they did before: no slower than in twice
 * as many domains of half the size, or, where domains have unlike numbers of ranks, in as many as
 * the smallest one's number makes. What was measured inside a domain stays: across them it is
 * no faster. */
static void relate_domains(struct comm_table *t, struct comm_entry *e)
{
    struct placement p = e->placement, half = p, pieces = p, inside = p;
    bool measured = p.ranks <= MEASURED_INSIDE;
    if (measured && p.nodes == 1)
        return;
    half.per_node /= 2;
    half.nodes *= 2;
    half.most /= 2;
    if (p.per_node % 2 == 0)
        relate_to(t, e, half, true);
    pieces.most = 0;
    pieces.nodes = p.ranks / p.per_node;
    if (p.most > p.per_node && p.ranks % p.per_node == 0)
        relate_to(t, e, pieces, true);
    inside.per_node = p.ranks;
    inside.nodes = 1;
    inside.most = 0;
    if (measured)
        relate_to(t, e, inside, false);
}

/* Where the link of a domain does not join the ranks, PCIe is no faster than the link would be. */
static void relate_pcie(struct comm_table *t, struct comm_entry *e)
{
    struct placement joined = e->placement;
    joined.link_bs = t->group->link_bs;
    if (t->group->domain > 1 && joined.link_bs != e->placement.link_bs)
        relate_to(t, e, joined, false);
}

static const struct comm_entry *make(struct comm_table *t, enum comm_kind kind, struct placement p)
{
    struct comm_entry *e = memory_grow(NULL, sizeof *e);
    struct comm_call call = comm_call_of(t->group, kind, p);
    *e = (struct comm_entry){.kind = kind, .placement = p};
    comm_curve_fill(&e->curve, t->model, &call);
    if (call.pcie)
        relate_pcie(t, e);
    else
        relate_domains(t, e);
    return insert(t, e);
}

static const struct comm_entry *entry_of(struct comm_table *t, enum comm_kind kind,
                                         struct placement p)
{
    struct comm_entry *first =
        atomic_load_explicit(&t->chain[chain_of(kind, p)], memory_order_acquire);
    const struct comm_entry *e = find(first, kind, p);
    return e ? e : make(t, kind, p);
}

bool comm_table_new(struct comm_table **out, const struct node_group *g, const struct trees *model,
                    struct error *err)
{
    struct comm_table *t = memory_grow(NULL, sizeof *t);
    memset(t, 0, sizeof *t);
    t->group = g;
    t->model = model;
    if (pthread_mutex_init(&t->lock, NULL) != 0) {
        free(t);
        return fail(err, ERROR_SYSTEM, "no lock for the table of collectives");
    }
    *out = t;
    return true;
}

void comm_table_free(struct comm_table *t)
{
    if (!t)
        return;
    for (int i = 0; i < CHAINS; i++)
        for (struct comm_entry *e = atomic_load(&t->chain[i]), *next; e; e = next) {
            next = e->next;
            free(e);
        }
    pthread_mutex_destroy(&t->lock);
    free(t);
}

double comm_table_time(struct comm_table *t, enum comm_kind kind, double bytes, struct placement p)
{
    if (p.ranks <= 1 || bytes <= 0)
        return 0;
    return comm_curve_time(&entry_of(t, kind, p)->curve, bytes);
}

static double model_time(const struct costing *on, enum comm_kind kind, double bytes,
                         struct placement p)
{
    if (on->costs)
        return comm_table_time(group_costs_comm(on->costs), kind, bytes, p);
    struct comm_call call = comm_call_of(on->group, kind, p);
    return fmax(analytic_time(&call, bytes), comm_base_of(&call, bytes).floor_s);
}

double comm_time(const struct costing *on, enum comm_kind kind, double bytes, struct placement p)
{
    if (p.ranks <= 1 || bytes <= 0)
        return 0;
    return residual_of_comm(on, p.nodes) * model_time(on, kind, bytes, p);
}
