/* What ranks take with their layers, chains as bounds, and the least of each behind every prefix. */
#include "search/mixed/assign_parts.h"

#include "base/arena.h"

#include <assert.h>

bool assign_find_windows(struct assign *a)
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

int64_t assign_add_cut(struct assign *a, const struct assign_chain *chain, int depth)
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

bool assign_fill_tables(struct assign *a)
{
    fill_entries(a);
    if (a->p->edges)
        fill_least(a, NULL, a->behind);
    if (a->behind[0] == INT64_MAX)
        return false;
    if (!fill_owns(a))
        return false;
    fill_before(a);
    return true;
}
