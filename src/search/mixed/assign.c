/* Branch and bound over the ranks, in their order. */
#include "search/mixed/assign_parts.h"

#include "base/arena.h"
#include "simulate/critical_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 20000 };

/* Whether the step must be at least the limit, given a length of the pipeline and what is
 * behind. */
static bool too_long(const struct assign *a, int64_t length, int64_t behind)
{
    return length == INT64_MAX || behind == INT64_MAX || length + behind + a->p->fixed >= a->limit;
}

static int64_t own_length(const struct assign *a, int r, const struct rank_own *o, int64_t away)
{
    int64_t first = longer(0, away - o->first), last = longer(0, away - o->last);
    return o->busy + (a->apart[r] ? first + last : longer(first, last));
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
        if (!e->fits || (r > 0 && e->own.busy >= room - before)) /* whatever it waits */
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
    assign_add_cut(a, &chain, a->pp);
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
    a->apart = arena_array(mem, (size_t)a->pp, sizeof *a->apart);
    for (int r = 0; r < a->pp; r++)
        a->apart[r] = p->pipeline.micro_batches * a->vpp - 1 > pipeline_warmup(&p->pipeline, r);
    if (!assign_find_windows(a))
        return false;
    if (!assign_fill_tables(a))
        return false;
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
        if (too_long(a, assign_add_cut(a, &known->chain[i], 0), a->behind[0]))
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
