/* Branch and bound over the ranks, in their order. A node has given layers to ranks 0 .. r - 1,
 * that is the first `prefix` layers. Tables are by rank, prefix and count, over the windows that
 * the ranks' limits leave open. */
#include "search/mixed/assign.h"

#include "base/arena.h"
#include "simulate/critical_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CUTS = ASSIGN_MAX_CHAINS, MAX_NODES = 20000, MAX_LABELS = 6 };

/* The ranks from one on, in some split of what is left: when the first micro-batch is back from
 * them (`away`), and the most of (work of a rank, what it waits for, fill and drain from the first
 * of them on). */
struct label {
    int64_t away, most;
};

/* A chain of passes as a bound. */
struct cut {
    struct assign_chain chain;
    int64_t *adds;  /* [entries] what a rank with its layers adds to its length */
    int64_t *least; /* by cell: least length of what ranks r .. pp - 1 add to it */
    int64_t *taken; /* [pp + 1] what ranks 0 .. r - 1 of the current node add */
};

struct window {
    int first_prefix, prefixes; /* layers before the rank */
    int first_count, counts;
    int cells; /* index of its first cell, one for each prefix; its first list of labels too */
};

/* A rank with its layers: M rounds of its passes, and how long the first and the last micro-batch
 * may be away without a wait. */
struct rank_own {
    int64_t busy, first, last;
};

struct kept_node {
    bool fits;
    int number; /* of all that are kept */
    struct rank_cost cost;
    struct rank_own own;
    int64_t passing; /* fill and drain of the rank before and behind what the next ones do */
    int64_t trip;    /* what it adds to `away` of the rank before it */
    int64_t rest_forward, rest_backward; /* of its chunks behind the first, once */
};

/* A rank of a node. */
struct given_layers {
    const struct kept_node *entry;
    int64_t before; /* fill and drain of the ranks before it */
    int64_t fill;   /* of it the fill: when its first forward can start */
    int64_t late;   /* by how much the step begins late, for it and those before it */
};

struct branch {
    int count;
    int64_t bound;
};

struct assign {
    const struct assign_problem *p;
    struct arena *mem;
    int pp, vpp;
    struct window *window;  /* [pp + 1]: the last one is the end, one prefix */
    struct kept_node **row; /* by cell: one for each count; those that cost the same share them */
    int entries;            /* kept in all */
    int64_t *before;        /* by cell: least fill and drain of ranks 0 .. r - 1 */
    int64_t *behind;        /* by cell: least possible `behind` of ranks r .. pp - 1 */
    struct label *label;    /* by cell, MAX_LABELS each: none is as good as another in both */
    uint8_t *labels;        /* by cell: how many */
    struct given_layers *given; /* [pp] ranks of the current node */
    int64_t *early, *late; /* [vpp * pp] passes before the first backward, after the last forward */
    int64_t rest_forward, rest_backward; /* least of all chunks but the first */
    struct branch **child;               /* [pp] of the node at each depth */
    int cuts;
    struct cut cut[MAX_CUTS];
    int *layers; /* of the current node */
    int64_t limit;
    struct assign_result *out;
    int64_t most_nodes;
    bool gave_up;
};

static int min2(int a, int b)
{
    return a < b ? a : b;
}

static int max2(int a, int b)
{
    return a > b ? a : b;
}

/* What is left open for each rank by the limits of all. False: nothing. */
static bool find_windows(struct assign *a)
{
    const struct assign_problem *p = a->p;
    int least = 0, most = 0, before_least = 0, before_most = 0, cells = 0;
    for (int r = 0; r < a->pp; r++) {
        least += p->least[r];
        most += p->most[r];
    }
    if (least > p->layers || most < p->layers)
        return false;
    for (int r = 0; r <= a->pp; r++) {
        struct window *w = &a->window[r];
        int low = max2(before_least, p->layers - (most - before_most));
        int high = min2(before_most, p->layers - (least - before_least));
        *w = (struct window){.first_prefix = low, .prefixes = high - low + 1, .cells = cells};
        assert(w->prefixes >= 1 && low >= 0 && high <= p->layers);
        cells += w->prefixes;
        if (r == a->pp)
            break;
        int fewest = max2(p->least[r], p->layers - (most - p->most[r]));
        w->first_count = fewest;
        w->counts = min2(p->most[r], p->layers - (least - p->least[r])) - fewest + 1;
        a->child[r] = arena_array(a->mem, (size_t)w->counts, sizeof *a->child[r]);
        before_least += p->least[r];
        before_most += p->most[r];
    }
    a->row = arena_array(a->mem, (size_t)cells, sizeof *a->row);
    a->before = arena_array(a->mem, 2 * (size_t)cells, sizeof *a->before);
    a->behind = a->before + cells;
    a->labels = arena_array(a->mem, (size_t)cells, sizeof *a->labels);
    a->label = arena_array(a->mem, (size_t)cells * MAX_LABELS, sizeof *a->label);
    return true;
}

static int cell_at(const struct assign *a, int rank, int prefix)
{
    return a->window[rank].cells + prefix - a->window[rank].first_prefix;
}

static struct kept_node *entry_at(const struct assign *a, int rank, int prefix, int count)
{
    return &a->row[cell_at(a, rank, prefix)][count - a->window[rank].first_count];
}

/* Counts of a rank that lead to a prefix which can be completed. */
struct layer_span {
    int low, high;
};

static struct layer_span span_of(const struct assign *a, int rank, int prefix)
{
    const struct window *w = &a->window[rank], *next = w + 1;
    return (struct layer_span){
        max2(w->first_count, next->first_prefix - prefix),
        min2(w->first_count + w->counts, next->first_prefix + next->prefixes - prefix) - 1};
}

static int64_t longer(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t shorter(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* M rounds of a rank's passes, with the transfers that it waits for. */
static int64_t busy_of(const struct assign *a, int r, const struct rank_cost *x)
{
    const struct pipeline *p = &a->p->pipeline;
    int64_t sum = 0, m = p->micro_batches;
    for (int v = 0; v < a->vpp; v++) {
        int stage = v * a->pp + r;
        sum += m * (x->forward[v] + x->backward[v]);
        if (p->blocking_send && stage < a->vpp * a->pp - 1)
            sum += m * p->send[r];
        if (p->blocking_send && stage > 0)
            sum += m * p->send[r == 0 ? a->pp - 1 : r - 1];
    }
    return sum;
}

/* The terms of pipeline_lower_bound for one rank (doc/schedule.md), as functions of `away`. */
static struct rank_own own_of(const struct assign *a, int r, const struct rank_cost *x)
{
    const struct pipeline *p = &a->p->pipeline;
    int64_t m = p->micro_batches, n = a->pp - 1 - r, passes = n < m - 1 ? n : m - 1;
    int64_t down = p->blocking_send && r < a->pp - 1 ? p->send[r] : 0;
    int64_t up = p->blocking_send && r > 0 ? p->send[r - 1] : 0;
    return (struct rank_own){busy_of(a, r, x), down + passes * (x->forward[0] + down),
                             down + passes * (x->backward[0] + up)};
}

/* The same of interleaved passes. A rank's first backward waits until the first micro-batch has
 * been through all later ranks, through every other chunk of all (`a->rest_forward` at least), and
 * back through the later ranks' last chunk; until then the rank has its warm-up to do. The end is
 * its mirror image (doc/mixed.md). */
static struct rank_own own_of_chunks(const struct assign *a, int r, const struct rank_cost *x)
{
    const struct pipeline *p = &a->p->pipeline;
    struct rank_own o = {busy_of(a, r, x), -a->rest_forward - x->forward[0],
                         -a->rest_backward - x->backward[0]};
    if (p->blocking_send && r < a->pp - 1) /* its last forward's transfer is on that way */
        o.last += p->send[r];
    for (int v = 0; v < a->vpp; v++) {
        int64_t before = a->early[v * a->pp + r], behind = a->late[v * a->pp + r];
        o.first += before * (x->forward[v] + (p->blocking_send ? p->send[r] : 0));
        o.last += behind *
                  (x->backward[v] + (p->blocking_send ? p->send[r == 0 ? a->pp - 1 : r - 1] : 0));
    }
    return o;
}

static int64_t passing(const struct assign *a, int r, const struct rank_cost *x)
{
    const struct pipeline *p = &a->p->pipeline;
    int64_t back = p->blocking_send ? (r > 0 ? p->send[r - 1] : 0) : p->send[r];
    return x->forward[0] + p->send[r] + x->backward[0] + back;
}

static int64_t round_trip(const struct assign *a, int r, const struct rank_cost *x)
{
    int last = a->vpp - 1; /* whichever of the two chunks is on the way */
    int64_t forward = shorter(x->forward[0], x->forward[last]);
    int64_t backward = shorter(x->backward[0], x->backward[last]);
    return r == 0 ? 0 : forward + backward + 2 * a->p->pipeline.send[r - 1];
}

static void fill_entry(const struct assign *a, int r, int prefix, int n, struct kept_node *e)
{
    assert(n >= 0 && prefix + n <= a->p->layers);
    e->fits = a->p->cost(a->p->context, r, prefix, n, &e->cost);
    if (!e->fits)
        return;
    e->passing = passing(a, r, &e->cost);
    e->trip = round_trip(a, r, &e->cost);
    for (int v = 1; v < a->vpp; v++) {
        e->rest_forward += e->cost.forward[v];
        e->rest_backward += e->cost.backward[v];
    }
}

/* An earlier prefix of the window that costs the same, or -1. */
static int same_start(const struct assign *a, const struct window *w, int prefix)
{
    const uint16_t *start = a->p->start_of;
    if (!start)
        return prefix > w->first_prefix ? w->first_prefix : -1;
    for (int i = prefix - 1; i >= w->first_prefix; i--)
        if (start[i] == start[prefix])
            return i;
    return -1;
}

static void fill_entries(struct assign *a)
{
    for (int r = 0; r < a->pp; r++) {
        const struct window *w = &a->window[r];
        for (int prefix = w->first_prefix; prefix < w->first_prefix + w->prefixes; prefix++) {
            struct kept_node **row = &a->row[cell_at(a, r, prefix)];
            int same = same_start(a, w, prefix);
            if (same >= 0) {
                *row = a->row[cell_at(a, r, same)];
                continue;
            }
            *row = arena_array(a->mem, (size_t)w->counts, sizeof **row);
            int left = a->p->layers - prefix - w->first_count; /* none has more than there are */
            for (int n = 0; n < w->counts && n <= left; n++) {
                fill_entry(a, r, prefix, w->first_count + n, *row + n);
                (*row)[n].number = a->entries++;
            }
        }
    }
}

/* What a rank adds to the length of a chain. */
static int64_t added(const struct assign *a, const struct cut *c, int rank,
                     const struct rank_cost *x)
{
    int64_t sum = c->chain.end_rank == rank ? x->after : 0;
    for (int v = 0; v < a->vpp; v++)
        sum += c->chain.forward[v * a->pp + rank] * x->forward[v] +
               c->chain.backward[v * a->pp + rank] * x->backward[v];
    return sum;
}

/* Of every rank and number of layers. */
static void fill_adds(const struct assign *a, struct cut *c)
{
    c->adds = arena_array(a->mem, (size_t)a->entries, sizeof *c->adds);
    for (int r = 0; r < a->pp; r++) {
        const struct window *w = &a->window[r];
        for (int i = 0; i < w->prefixes; i++) {
            const struct kept_node *row = a->row[w->cells + i];
            for (int n = 0; n < w->counts && same_start(a, w, w->first_prefix + i) < 0; n++)
                if (row[n].fits)
                    c->adds[row[n].number] = added(a, c, r, &row[n].cost);
        }
    }
}

/* From the last rank to the first. `c` NULL: the least of the most that is behind. */
static void fill_least(const struct assign *a, const struct cut *c, int64_t *out)
{
    out[cell_at(a, a->pp, a->p->layers)] = 0;
    for (int r = a->pp - 1; r >= 0; r--) {
        const struct window *w = &a->window[r];
        for (int prefix = w->first_prefix; prefix < w->first_prefix + w->prefixes; prefix++) {
            int64_t best = INT64_MAX;
            struct layer_span span = span_of(a, r, prefix);
            for (int n = span.low; n <= span.high; n++) {
                const struct kept_node *e = entry_at(a, r, prefix, n);
                int64_t then = e->fits ? out[cell_at(a, r + 1, prefix + n)] : INT64_MAX;
                if (then == INT64_MAX)
                    continue;
                int64_t all = c ? c->adds[e->number] + then : longer(e->cost.behind, then);
                best = all < best ? all : best;
            }
            out[cell_at(a, r, prefix)] = best;
        }
    }
}

/* What ranks 0 .. r - 1 of the current node add, for every r up to `depth`. */
static void retake(struct assign *a, struct cut *c, int depth)
{
    int prefix = 0;
    c->taken[0] = c->chain.constant;
    for (int r = 0; r < depth; r++) {
        const struct kept_node *e = entry_at(a, r, prefix, a->layers[r]);
        c->taken[r + 1] = c->taken[r] + c->adds[e->number];
        prefix += a->layers[r];
    }
}

/* The chain becomes a bound; `depth` ranks of the node are given. Returns the least length of any
 * split. */
static int64_t add_cut(struct assign *a, const struct assign_chain *chain, int depth)
{
    assert(a->cuts < MAX_CUTS && depth <= a->pp);
    struct cut *c = &a->cut[a->cuts++];
    const struct window *end = &a->window[a->pp];
    c->chain = *chain;
    c->least = arena_array(a->mem, (size_t)(end->cells + end->prefixes), sizeof *c->least);
    c->taken = arena_array(a->mem, (size_t)a->pp + 1, sizeof *c->taken);
    fill_adds(a, c);
    fill_least(a, c, c->least);
    retake(a, c, depth);
    return c->least[0] == INT64_MAX ? INT64_MAX : chain->constant + c->least[0];
}

/* Whether the step must be at least the limit, given a length of the pipeline and what is
 * behind. */
static bool too_long(const struct assign *a, int64_t length, int64_t behind)
{
    return length == INT64_MAX || behind == INT64_MAX || length + behind + a->p->fixed >= a->limit;
}

static int64_t own_length(const struct assign *a, int r, const struct rank_own *o, int64_t away)
{
    const struct pipeline *p = &a->p->pipeline;
    int64_t first = longer(0, away - o->first), last = longer(0, away - o->last);
    bool apart = p->micro_batches * a->vpp - 1 > pipeline_warmup(p, r);
    return o->busy + (apart ? first + last : longer(first, last));
}

/* Keeps the list sorted by `away`, `most` falling. Where it is full two neighbours become one that
 * is no worse than either. */
static void add_label(struct label *list, uint8_t *count, struct label x)
{
    int at = 0, n = *count;
    while (at < n && list[at].away <= x.away)
        at++;
    if (at > 0 && list[at - 1].most <= x.most)
        return;
    if (at > 0 && list[at - 1].away == x.away)
        at--;
    int end = at;
    while (end < n && list[end].most >= x.most)
        end++;
    if (end == at && n == MAX_LABELS) {
        if (at == n) {
            list[n - 1].most = x.most;
            return;
        }
        x.most = list[at].most < x.most ? list[at].most : x.most;
        end = at + 1;
    }
    memmove(&list[at + 1], &list[end], (size_t)(n - end) * sizeof *list);
    list[at] = x;
    *count = (uint8_t)(n - (end - at) + 1);
    assert(*count <= MAX_LABELS && (at == 0 || list[at - 1].away < x.away));
}

/* From the first rank to the last. */
static void fill_before(struct assign *a)
{
    const struct window *end = &a->window[a->pp];
    for (int i = 1; i < end->cells + end->prefixes; i++)
        a->before[i] = INT64_MAX;
    for (int r = 0; r < a->pp; r++) {
        const struct window *w = &a->window[r];
        for (int prefix = w->first_prefix; prefix < w->first_prefix + w->prefixes; prefix++) {
            int64_t so_far = a->before[cell_at(a, r, prefix)];
            struct layer_span span = span_of(a, r, prefix);
            for (int n = span.low; n <= span.high && so_far < INT64_MAX; n++) {
                const struct kept_node *e = entry_at(a, r, prefix, n);
                if (!e->fits)
                    continue;
                int64_t *then = &a->before[cell_at(a, r + 1, prefix + n)];
                *then = so_far + e->passing < *then ? so_far + e->passing : *then;
            }
        }
    }
}

/* Only what can be part of a split below the limit. */
static void label_cell(struct assign *a, int r, int prefix)
{
    int cell = cell_at(a, r, prefix);
    int64_t before = a->before[cell], room = a->limit - a->behind[0] - a->p->fixed;
    if (before == INT64_MAX || before >= room)
        return;
    struct layer_span span = span_of(a, r, prefix);
    for (int n = span.low; n <= span.high; n++) {
        const struct kept_node *e = entry_at(a, r, prefix, n);
        if (!e->fits)
            continue;
        int then = cell_at(a, r + 1, prefix + n);
        for (int i = 0; i < a->labels[then]; i++) {
            const struct label *l = &a->label[then * MAX_LABELS + i];
            int64_t most = own_length(a, r, &e->own, l->away);
            if (r + 1 < a->pp)
                most = longer(most, e->passing + l->most);
            if (r == 0)
                most += e->cost.delay + e->cost.after;
            struct label x = {l->away + e->trip, most};
            if (most >= room - before)
                continue;
            add_label(&a->label[cell * MAX_LABELS], &a->labels[cell], x);
        }
    }
}

/* From the last rank to the first. */
static void fill_labels(struct assign *a)
{
    int end = cell_at(a, a->pp, a->p->layers);
    a->labels[end] = 1;
    a->label[end * MAX_LABELS] = (struct label){0, 0};
    for (int r = a->pp - 1; r >= 0; r--)
        for (int i = 0; i < a->window[r].prefixes; i++)
            label_cell(a, r, a->window[r].first_prefix + i);
}

/* Least length over the splits of what is left once rank `rank` has `count` layers: the ranks that
 * are given, with `away` of each label, and those to come. */
static int64_t bound_by_labels(const struct assign *a, int rank, int then,
                               const struct kept_node *e)
{
    int64_t before = rank > 0 ? a->given[rank - 1].before + a->given[rank - 1].entry->passing : 0;
    int64_t after = rank == 0 ? e->cost.after : a->given[0].entry->cost.after, least = INT64_MAX;
    for (int i = 0; i < a->labels[then]; i++) {
        const struct label *l = &a->label[then * MAX_LABELS + i];
        int64_t most = before + own_length(a, rank, &e->own, l->away), away = l->away + e->trip;
        if (rank + 1 < a->pp)
            most = longer(most, before + e->passing + l->most);
        for (int r = rank - 1; r >= 0 && most + after < least; r--) {
            const struct given_layers *g = &a->given[r];
            most = longer(most, g->before + own_length(a, r, &g->entry->own, away));
            away += g->entry->trip;
        }
        least = most + after < least ? most + after : least;
    }
    return least;
}

static int64_t bound_after(const struct assign *a, int rank, int prefix, int count,
                           const struct kept_node *e)
{
    int then = cell_at(a, rank + 1, prefix + count);
    int64_t most = bound_by_labels(a, rank, then, e);
    for (int k = 0; k < a->cuts; k++) {
        const struct cut *c = &a->cut[k];
        if (c->least[then] == INT64_MAX)
            return INT64_MAX;
        most = longer(most, c->taken[rank] + c->adds[e->number] + c->least[then]);
    }
    return most;
}

/* The node's own longest chain, where no known one is as long as its pipeline. */
static void learn_chain(struct assign *a)
{
    struct pipeline p = a->p->pipeline;
    size_t stages = (size_t)a->pp * (size_t)a->vpp;
    int64_t *ticks = arena_array(a->mem, 2 * stages + (size_t)a->pp, sizeof *ticks);
    int64_t *after = ticks + 2 * stages;
    int prefix = 0;
    if (a->cuts == MAX_CUTS)
        return;
    for (int r = 0; r < a->pp; prefix += a->layers[r++]) {
        const struct rank_cost *x = &entry_at(a, r, prefix, a->layers[r])->cost;
        after[r] = x->after;
        for (int v = 0; v < a->vpp; v++) {
            ticks[v * a->pp + r] = x->forward[v];
            ticks[stages + (size_t)(v * a->pp + r)] = x->backward[v];
        }
    }
    p.forward = ticks;
    p.backward = ticks + stages;
    struct path path;
    critical_path(&p, after, a->mem, &path);
    struct assign_chain chain = {path.forward, path.backward, path.constant, path.end_rank};
    add_cut(a, &chain, a->pp);
    a->out->cuts++;
    struct assign_chains *known = a->p->chains;
    if (known && known->count < ASSIGN_MAX_CHAINS)
        known->chain[known->count++] = chain;
}

/* `length` is what the known chains say of its pipeline. */
static void try_split(struct assign *a, int64_t length)
{
    int64_t pipeline = 0, step = a->p->step(a->p->context, a->layers, &pipeline);
    a->out->steps++;
    assert(step == INT64_MAX || (pipeline >= length && step >= pipeline));
    if (step < a->limit) {
        a->limit = a->out->step = step;
        memcpy(a->out->layers, a->layers, (size_t)a->pp * sizeof *a->layers);
    }
    if (step != INT64_MAX && length < pipeline)
        learn_chain(a);
}

static int by_bound(const void *x, const void *y)
{
    const struct branch *a = x, *b = y;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->count - b->count;
}

/* A rank with these layers behind those that are given. */
static struct given_layers give(const struct assign *a, int rank, const struct kept_node *e)
{
    struct given_layers g = {.entry = e, .late = longer(0, e->cost.delay)};
    if (rank == 0)
        return g;
    const struct given_layers *last = &a->given[rank - 1];
    g.before = last->before + last->entry->passing;
    g.fill = last->fill + last->entry->cost.forward[0] + a->p->pipeline.send[rank - 1];
    g.late = a->vpp == 1 ? last->late + e->cost.delay : longer(last->late, e->cost.delay - g.fill);
    return g;
}

static void branch(struct assign *a, int rank, int prefix, int64_t behind);

static void take(struct assign *a, int rank, int prefix, int count, int64_t behind)
{
    const struct kept_node *e = entry_at(a, rank, prefix, count);
    const struct given_layers own = give(a, rank, e);
    int64_t length = bound_after(a, rank, prefix, count, e);
    int64_t most = longer(behind, e->cost.behind);
    int64_t later = a->behind[cell_at(a, rank + 1, prefix + count)];
    if (too_long(a, length, own.late + longer(most, later)))
        return;
    a->layers[rank] = count;
    a->given[rank] = own;
    for (int k = 0; k < a->cuts; k++)
        a->cut[k].taken[rank + 1] = a->cut[k].taken[rank] + a->cut[k].adds[e->number];
    if (rank + 1 == a->pp)
        try_split(a, length);
    else
        branch(a, rank + 1, prefix + count, most);
}

static void branch(struct assign *a, int rank, int prefix, int64_t behind)
{
    struct branch *child = a->child[rank];
    int children = 0;
    struct layer_span span = span_of(a, rank, prefix);
    for (int n = span.low; n <= span.high; n++) {
        const struct kept_node *e = entry_at(a, rank, prefix, n);
        if (!e->fits)
            continue;
        int64_t length = bound_after(a, rank, prefix, n, e);
        if (!too_long(a, length, give(a, rank, e).late + longer(behind, e->cost.behind)))
            child[children++] = (struct branch){n, length};
    }
    qsort(child, (size_t)children, sizeof *child, by_bound);
    for (int i = 0; i < children && !a->gave_up; i++) {
        a->gave_up =
            ++a->out->nodes > a->most_nodes || (a->p->stopped && a->p->stopped(a->p->context));
        take(a, rank, prefix, child[i].count, behind);
    }
}

/* How often a rank runs each chunk forward before its first backward, and backward after its last
 * forward. */
static void count_edges(struct assign *a)
{
    const struct pipeline *p = &a->p->pipeline;
    int64_t total = p->micro_batches * a->vpp;
    a->early = arena_array(a->mem, 2 * (size_t)(a->pp * a->vpp), sizeof *a->early);
    a->late = a->early + a->pp * a->vpp;
    for (int r = 0; r < a->pp; r++) {
        int64_t n = shorter(pipeline_warmup(p, r) + 1, total);
        for (int64_t k = 0; k < n; k++) {
            a->early[schedule_item(p, k).chunk * a->pp + r]++;
            a->late[(a->vpp - 1 - schedule_item(p, total - 1 - k).chunk) * a->pp + r]++;
        }
    }
}

/* Least of all splits that the chunks behind the first take in all, one way. From the first rank to
 * the last, in tables that are not in use yet. */
static int64_t least_rest(struct assign *a, bool backward)
{
    const struct window *end = &a->window[a->pp];
    int64_t *least = a->before;
    for (int i = 1; i < end->cells + end->prefixes; i++)
        least[i] = INT64_MAX;
    least[0] = 0;
    for (int r = 0; r < a->pp; r++) {
        const struct window *w = &a->window[r];
        for (int prefix = w->first_prefix; prefix < w->first_prefix + w->prefixes; prefix++) {
            int64_t so_far = least[cell_at(a, r, prefix)];
            struct layer_span span = span_of(a, r, prefix);
            for (int n = span.low; n <= span.high && so_far < INT64_MAX; n++) {
                const struct kept_node *e = entry_at(a, r, prefix, n);
                int64_t all = so_far + (backward ? e->rest_backward : e->rest_forward);
                int64_t *then = &least[cell_at(a, r + 1, prefix + n)];
                *then = e->fits && all < *then ? all : *then;
            }
        }
    }
    return least[end->cells];
}

static void fill_row(const struct assign *a, int r, struct kept_node *row)
{
    for (int n = 0; n < a->window[r].counts; n++)
        if (row[n].fits)
            row[n].own =
                a->vpp > 1 ? own_of_chunks(a, r, &row[n].cost) : own_of(a, r, &row[n].cost);
}

/* False: there is no split. */
static bool fill_owns(struct assign *a)
{
    if (a->vpp > 1) {
        int64_t around = 0; /* transfers, the one from the last rank to the first too */
        for (int r = 0; r < a->pp; r++)
            around += (a->vpp - 1) * a->p->pipeline.send[r];
        count_edges(a);
        a->rest_forward = least_rest(a, false);
        if (a->rest_forward == INT64_MAX)
            return false;
        a->rest_forward += around;
        a->rest_backward = least_rest(a, true) + around;
        a->before[0] = 0;
    }
    for (int r = 0; r < a->pp; r++) {
        const struct window *w = &a->window[r];
        for (int i = 0; i < w->prefixes; i++)
            if (same_start(a, w, w->first_prefix + i) < 0)
                fill_row(a, r, a->row[w->cells + i]);
    }
    return true;
}

/* Tables and labels. False: no split is below the limit. */
static bool prepare(struct assign *a, const struct assign_problem *p, int64_t limit,
                    struct arena *mem)
{
    a->p = p;
    a->limit = limit;
    a->mem = mem;
    a->pp = p->pipeline.pp;
    a->vpp = p->pipeline.vpp;
    a->most_nodes = p->nodes ? p->nodes : MAX_NODES;
    a->window = arena_array(mem, (size_t)a->pp + 1, sizeof *a->window);
    a->child = arena_array(mem, (size_t)a->pp, sizeof *a->child);
    if (!find_windows(a))
        return false;
    fill_entries(a);
    if (p->edges)
        fill_least(a, NULL, a->behind);
    if (a->behind[0] == INT64_MAX)
        return false;
    if (!fill_owns(a))
        return false;
    fill_before(a);
    fill_labels(a);
    return a->labels[0] > 0;
}

static int64_t root_bound(const struct assign *a)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < a->labels[0]; i++)
        least = a->label[i].most < least ? a->label[i].most : least;
    return least + a->behind[0] + a->p->fixed;
}

int64_t assign_bound(const struct assign_problem *p, int64_t cut, struct arena *mem)
{
    struct assign *a = arena_alloc(mem, sizeof *a);
    return prepare(a, p, cut, mem) ? root_bound(a) : INT64_MAX;
}

/* Bounds of the chains that are known. False: one of them says that no split is below the limit. */
static bool take_chains(struct assign *a)
{
    const struct assign_chains *known = a->p->chains;
    for (int i = 0; known && i < known->count; i++)
        if (too_long(a, add_cut(a, &known->chain[i], 0), a->behind[0]))
            return false;
    return true;
}

void assign_run(const struct assign_problem *p, int64_t cut, struct arena *mem,
                struct assign_result *out)
{
    struct assign *a = arena_alloc(mem, sizeof *a);
    *out = (struct assign_result){.step = INT64_MAX, .bound = INT64_MAX, .proven = true};
    if (!prepare(a, p, cut, mem))
        return;
    a->out = out;
    a->layers = arena_array(mem, (size_t)a->pp, sizeof *a->layers);
    a->given = arena_array(mem, (size_t)a->pp, sizeof *a->given);
    out->layers = arena_array(mem, (size_t)a->pp, sizeof *out->layers);
    if (!take_chains(a))
        return;
    branch(a, 0, 0, 0);
    out->proven = !a->gave_up;
    int64_t bound = out->proven ? out->step : root_bound(a);
    out->bound = bound < out->step ? bound : out->step;
    assert(out->bound >= 0 && (out->step == INT64_MAX || out->step < cut));
}
