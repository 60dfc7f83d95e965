/* Pass times in classes: those that differ in what is recomputed alone are bounded together first.
 *
 * No pass of a class is shorter than with what all of it recompute, and none keeps less than with
 * what any of it recomputes. So an arrangement whose bound with these times and this memory reaches
 * the cut is of no use under any pass times of the class (doc/evidence/bounds.md). Those that are
 * left are bounded again by the two halves of the class, down to single pass times, which are
 * searched. */
#include "search/mixed/mixed_parts.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* What splits a class: modules, or how many layers are recomputed whole. */
enum class_kind { CLASS_MODULES, CLASS_BLOCK, CLASS_ALONE };

static enum class_kind class_kind_of(const struct strategy *s)
{
    if (s->recompute != RECOMPUTE_FULL)
        return CLASS_MODULES;
    return s->recompute_method == METHOD_BLOCK ? CLASS_BLOCK : CLASS_ALONE;
}

/* Whether they differ in recompute alone. */
static bool same_but_recompute(const struct strategy *a, const struct strategy *b)
{
    struct strategy x = *a;
    x.recompute = b->recompute;
    x.recompute_method = b->recompute_method;
    x.recompute_layers = b->recompute_layers;
    x.recompute_modules = b->recompute_modules;
    return strategy_compare(&x, b) == 0;
}

static bool same_class(const struct strategy *a, const struct strategy *b)
{
    return class_kind_of(a) == class_kind_of(b) && class_kind_of(a) != CLASS_ALONE &&
           same_but_recompute(a, b);
}

static void set_modules(struct strategy *s, int modules)
{
    s->recompute = modules ? RECOMPUTE_SELECTIVE : RECOMPUTE_NONE;
    s->recompute_modules = modules;
}

/* Modules inside a recomputed layer of experts have no effect of their own: they are no part of what
 * all recompute where some recompute that layer. */
static int shared_modules(int all, int any)
{
    return any & MODULE_MOE ? all & ~(MODULE_MOE_ACT | MODULE_SHARED) : all;
}

/* Sets c->s to no longer passes and c->keeps to no more memory than any of the class has. The host
 * runs ahead of combined passes, so that more to compute in one of them may shorten the other: none
 * waits for it. */
static void relax(struct mixed_cell *c, const struct pass_class *x)
{
    int all = ~0, any = 0, fewest = c->layers, most = 0;
    for (int i = 0; i < x->count; i++) {
        const struct strategy *s = &c->option[x->index[i]];
        all &= s->recompute_modules;
        any |= s->recompute_modules;
        fewest = s->recompute_layers < fewest ? s->recompute_layers : fewest;
        most = s->recompute_layers > most ? s->recompute_layers : most;
    }
    c->s = c->keeps = c->option[x->index[0]];
    c->relaxed = x->count > 1;
    cell_new_pass_times(c);
    if (!c->relaxed)
        return;
    if (class_kind_of(&c->s) == CLASS_BLOCK) {
        c->s.recompute_layers = fewest;
        c->keeps.recompute_layers = most;
    } else {
        set_modules(&c->s, shared_modules(all, any));
        set_modules(&c->keeps, any);
    }
    if (c->s.moe_overlap)
        c->s.cuda_graph = GRAPH_STEP;
}

/* Bytes that a module drops of all layers. */
static double dropped(const struct mixed_cell *c, int module)
{
    const struct model *m = c->w->query->scene.model;
    double sum = 0;
    for (int i = 0; i < m->layers; i++)
        sum += c->costs[0]->kind[m->layer[i]].dropped[module];
    return sum;
}

/* Of the modules that only some recompute, the one that drops most. */
static int module_to_split(const struct mixed_cell *c, const struct pass_class *x)
{
    int all = ~0, any = 0, best = -1;
    for (int i = 0; i < x->count; i++) {
        all &= c->option[x->index[i]].recompute_modules;
        any |= c->option[x->index[i]].recompute_modules;
    }
    for (int m = 0; m < MODULES; m++)
        if ((any & ~all) >> m & 1 && (best < 0 || c->drops[m] > c->drops[best]))
            best = m;
    return best;
}

/* Puts those that recompute less first; returns how many they are. */
static int split(const struct mixed_cell *c, const struct pass_class *x)
{
    if (class_kind_of(&c->option[x->index[0]]) == CLASS_BLOCK)
        return x->count / 2;
    int m = module_to_split(c, x), n = 0;
    for (int i = 0; i < x->count; i++)
        if (!(c->option[x->index[i]].recompute_modules >> m & 1)) {
            uint16_t kept = x->index[i];
            memmove(&x->index[n + 1], &x->index[n], (size_t)(i - n) * sizeof *x->index);
            x->index[n++] = kept;
        }
    return n;
}

/* Whether the states at hand are of several kinds. */
static bool of_several_kinds(const struct mixed_cell *c)
{
    return c->any_state == ANY_STATE && (c->kinds & (c->kinds - 1)) != 0;
}

static void take_states(struct mixed_cell *c, int any)
{
    c->any_state = c->state = any;
}

/* Bounds a class under the states at hand; returns what may be of use. */
static struct arrangements bound_class(struct mixed_cell *c, const struct arrangements *among)
{
    struct arrangements left = {0};
    c->left = &left;
    c->dive.bound = INT64_MAX;
    cell_search_pass_times(c, among);
    if (structure_stopped(c))
        left.count = 0;
    return left;
}

/* Down to states and pass times that have room, those that recompute less first, and there the
 * arrangement with the least bound alone. Whether there is one. */
static bool dive_into(struct mixed_cell *c, const struct pass_class *x,
                      const struct arrangements *among)
{
    relax(c, x);
    c->relaxed = true;
    struct arrangements left = bound_class(c, among);
    bool found = false;
    if (left.count == 0)
        return false;
    if (of_several_kinds(c)) {
        for (int kind = 0; kind < STATE_KINDS && !found; kind++) {
            take_states(c, any_of_kind(kind));
            found = c->kinds >> kind & 1 && dive_into(c, x, &left);
        }
        take_states(c, ANY_STATE);
        return found;
    }
    if (x->count == 1) {
        c->relaxed = false;
        cell_solve_dive(c);
        return true;
    }
    int n = split(c, x);
    return dive_into(c, &(struct pass_class){n, x->index}, &left) ||
           dive_into(c, &(struct pass_class){x->count - n, x->index + n}, &left);
}

/* First under the least of all states, then kind by kind, then by halves. */
static void search_class(struct mixed_cell *c, const struct pass_class *x,
                         const struct arrangements *among)
{
    relax(c, x);
    c->relaxed |= of_several_kinds(c);
    struct arrangements left = bound_class(c, among);
    if (left.count == 0)
        return;
    if (of_several_kinds(c)) {
        for (int kind = 0; kind < STATE_KINDS; kind++) {
            take_states(c, any_of_kind(kind));
            if (c->kinds >> kind & 1)
                search_class(c, x, &left);
        }
        take_states(c, ANY_STATE);
        return;
    }
    int n = split(c, x);
    search_class(c, &(struct pass_class){n, x->index}, &left);
    search_class(c, &(struct pass_class){x->count - n, x->index + n}, &left);
}

/* Takes what is of one class with the first that is left. Where passes wait for copies to the host,
 * each is alone: less recompute may be slower. */
static struct pass_class next_class(const struct mixed_cell *c, uint16_t *index, int count)
{
    int n = 1;
    bool offloads = c->w->query->scene.switches.offload != 0;
    for (int i = 1; i < count; i++)
        if (!offloads && same_class(&c->option[index[0]], &c->option[index[i]])) {
            uint16_t kept = index[i];
            memmove(&index[n + 1], &index[n], (size_t)(i - n) * sizeof *index);
            index[n++] = kept;
        }
    return (struct pass_class){n, index};
}

/* A class to dive into. */
struct class_dive {
    struct pass_class of;
    int64_t bound;
};

static int by_bound(const void *x, const void *y)
{
    const struct class_dive *a = x, *b = y;
    if (a->bound != b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->of.index < b->of.index ? -1 : a->of.index > b->of.index;
}

/* The class with the least bound first, until one has a plan. */
static void dive_into_classes(struct mixed_cell *c, uint16_t *index, int count)
{
    struct class_dive *x = arena_array(&c->w->scratch, (size_t)count + 1, sizeof *x);
    int classes = 0;
    for (int done = 0; done < count && !structure_stopped(c); done += x[classes++].of.count) {
        x[classes].of = next_class(c, index + done, count - done);
        relax(c, &x[classes].of);
        c->relaxed = true;
        bound_class(c, NULL);
        x[classes].bound = c->dive.bound;
    }
    qsort(x, (size_t)classes, sizeof *x, by_bound);
    for (int i = 0; i < classes && x[i].bound < INT64_MAX && !structure_stopped(c); i++)
        if (dive_into(c, &x[i].of, NULL))
            return;
}

void cell_search_classes(struct mixed_cell *c, int count)
{
    uint16_t *index = arena_array(&c->w->scratch, (size_t)count + 1, sizeof *index);
    for (int i = 0; i < count; i++)
        index[i] = (uint16_t)i;
    for (int m = 0; m < MODULES; m++)
        c->drops[m] = dropped(c, m);
    if (c->w->diving) {
        dive_into_classes(c, index, count);
        return;
    }
    for (int done = 0; done < count && !structure_stopped(c);) {
        struct pass_class x = next_class(c, index + done, count - done);
        search_class(c, &x, NULL);
        done += x.count;
    }
}
