/* How many layers a stage may have for the step to stay below the cut, and to fit. */
#include "search/mixed/mixed_parts.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

/* The longest T for which `times` T stays below what is left. */
static double most_of(double left, double times)
{
    return left <= 0 ? 0 : times > 0 ? left / times : INFINITY;
}

/* Interleaved: M T of a rank's passes; the first micro-batch through all stages and back; and where
 * each of the ranks but the first waits for those before it, chunk by chunk: t_i <= (left - A_i /
 * vpp) / M with A_i of the ranks before it, so S M + sum of A_i / vpp <= pp left, and sum of A_i >=
 * S (S / T - 1) / 2. */
static struct allowed allowed_of_chunks(const struct mixed_cell *c, int pp, double work,
                                        double left)
{
    double m = (double)c->micro_batches, chunks = c->s.vpp;
    double once = work + 2 * (chunks * pp - 1) * c->send;
    double all = work * (m + fmax(0, work * m / left - 1) / (2 * chunks));
    bool possible = once < left && all < pp * left;
    return (struct allowed){possible ? left / m : 0, INFINITY};
}

/* With T of the longest stage, P of its longer pass, and `work` S of all stages for one
 * micro-batch, a step takes at least M T; S + (M - 1) P; S + (M - 1 - n / 2) T with n < pp stages
 * behind it and n < M; and, where M > pp + 1, 2 S + (M - 1 - pp) T (doc/mixed.md). */
struct allowed cell_allowed(const struct mixed_cell *c, int pp, double work, int64_t cut)
{
    double m = (double)c->micro_batches, left = (double)cut - c->behind;
    double behind = fmin(pp, m) - 1;
    if (left <= 0)
        return (struct allowed){0, 0};
    if (c->s.vpp > 1)
        return allowed_of_chunks(c, pp, work, left);
    work += 2 * (pp - c->set->groups) * c->send + 2 * (c->set->groups - 1) * c->cross;
    double both = fmin(left / m, most_of(left - work, m - 1 - behind / 2));
    if (m - 1 > pp)
        both = fmin(both, most_of(left - 2 * work, m - 1 - pp));
    return (struct allowed){both, most_of(left - work, m - 1)};
}

bool stage_allowed(const struct mixed_cell *c, struct allowed a, const struct stage_time *t)
{
    double send =
        c->s.vpp > 1 ? 0 : c->send; /* every stage has a neighbour, on one side at least */
    double forward = (double)t->forward, backward = (double)t->backward;
    double down = fmax(forward + send, backward), up = fmax(forward, backward + send);
    return forward + backward + send < a.both && fmin(down, up) < a.one;
}

static bool allowed_somewhere(struct mixed_cell *c, int g, int layers, struct allowed a)
{
    for (int i = 0; i < c->w->starts; i++) {
        int first = c->w->first_with[i];
        if (first + layers <= c->layers &&
            stage_allowed(c, a, stage_time(&c->w->table[g], &c->s, STAGE_MIDDLE, first, layers)))
            return true;
    }
    return false;
}

/* Most layers of a middle stage below the cut; times grow with layers. */
int cell_layers_by_time(struct mixed_cell *c, int g, struct allowed a)
{
    int low = 0, high = c->layers;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (allowed_somewhere(c, g, middle, a))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Sets by_time; whether the stages of all types then hold all layers. */
bool cell_has_time(struct mixed_cell *c, int pp, int64_t cut)
{
    struct allowed a = cell_allowed(c, pp, c->work, cut);
    int64_t room = 0;
    int left = pp, order[MIX_MAX], n = c->set->groups;
    for (int g = 0; g < n; g++) { /* the best types first */
        int at = g;
        c->by_time[g] = cell_layers_by_time(c, g, a);
        for (; at > 0 && c->by_time[order[at - 1]] < c->by_time[g]; at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
    for (int i = 0; i < n; i++) {
        int own = c->most[order[i]] < left ? c->most[order[i]] : left;
        room += (int64_t)own * c->by_time[order[i]];
        left -= own;
    }
    return room >= c->layers;
}

void cell_find_longest(struct mixed_cell *c)
{
    memset(c->longest, 0, sizeof c->longest);
    for (int i = 0; i < c->pps; i++) {
        int64_t cut = cell_enter_pp(c, &c->pp[i]);
        struct allowed a = cell_allowed(c, c->pp[i].pp, c->work, cut);
        for (int g = 0; g < c->set->groups; g++) {
            int n = cell_layers_by_time(c, g, a);
            c->longest[g] = n > c->longest[g] ? n : c->longest[g];
        }
    }
}

/* At either place: the first stage has an embedding but no gradient to send back. Of a rank with
 * several chunks only the states are looked at: what each chunk keeps depends on how they share the
 * layers. */
static bool fits_somewhere(struct mixed_cell *c, int g, int layers, int64_t alive)
{
    struct stage_table *t = &c->w->table[g];
    alive = c->s.vpp > 1 ? 0 : alive;
    for (int i = 0; i < c->w->starts; i++)
        if (c->w->first_with[i] + layers <= c->layers &&
            stage_fits(t, &c->keeps, c->state, STAGE_MIDDLE, c->w->first_with[i], layers, alive))
            return true;
    return stage_fits(t, &c->keeps, c->state, STAGE_FIRST, 0, layers, alive);
}

/* More micro-batches in flight, fewer layers. */
static void fill_room(struct mixed_cell *c, int g, uint16_t *out)
{
    int low = 0, n = c->longest[g];
    if (fits_somewhere(c, g, n, 1)) /* most often time leaves less than memory does */
        low = n;
    while (low < n) {
        int middle = (low + n + 1) / 2;
        if (fits_somewhere(c, g, middle, 1))
            low = middle;
        else
            n = middle - 1;
    }
    for (int alive = 1; alive <= c->alive_max; alive++) {
        while (n > 0 && !fits_somewhere(c, g, n, alive))
            n--;
        out[alive] = (uint16_t)n;
    }
}

struct room *cell_room_at(const struct mixed_cell *c)
{
    return &c->room[c->state <= ANY_STATE ? c->states + ANY_STATE - c->state : c->state];
}

/* Of the current pass times and state. */
const struct room *cell_room(struct mixed_cell *c)
{
    struct room *x = cell_room_at(c);
    if (x->pass_times == c->w->table[0].pass_times)
        return x;
    x->pass_times = c->w->table[0].pass_times;
    for (int g = 0; g < c->set->groups; g++) {
        if (!x->layers[g])
            x->layers[g] =
                arena_array(&c->w->scratch, (size_t)c->alive_max + 1, sizeof *x->layers[g]);
        fill_room(c, g, x->layers[g]);
    }
    return x;
}

int cell_alive(const struct mixed_cell *c, int rank, int pp)
{
    return (int)(pp - rank < c->micro_batches ? pp - rank : c->micro_batches);
}

/* Whether all layers find room: the best type at every place. */
bool cell_has_memory(struct mixed_cell *c, int pp)
{
    const struct room *x = cell_room(c);
    int64_t room = 0;
    for (int r = 0; r < pp; r++) {
        int best = 0;
        for (int g = 0; g < c->set->groups; g++) {
            int n = x->layers[g][cell_alive(c, r, pp)];
            n = n < c->by_time[g] ? n : c->by_time[g];
            best = n > best ? n : best;
        }
        room += best;
    }
    return room >= c->layers;
}

/* Whether some number of stages has room by time, and by memory if asked. */
bool cell_has_room(struct mixed_cell *c, bool memory)
{
    for (int i = 0; i < c->pps; i++) {
        int64_t cut = cell_enter_pp(c, &c->pp[i]);
        if (cell_has_time(c, c->pp[i].pp, cut) && (!memory || cell_has_memory(c, c->pp[i].pp)))
            return true;
    }
    return false;
}
