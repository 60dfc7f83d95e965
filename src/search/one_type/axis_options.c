#include "search/one_type/axis_options.h"

#include "rules/residue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct option_lists {
    struct option_lists *next;
    uint64_t hash;
    int *residue; /* [option_cache.residues] */
    struct option_list list;
};

enum {
    BUCKETS = 4096,        /* a power of two */
    MOST_BYTES = 16 << 20, /* remembered; then all is forgotten and listed again */
};

static void forget(struct option_cache *c)
{
    arena_release(&c->mem);
    c->lists = arena_array(&c->mem, BUCKETS, sizeof(struct option_lists *));
    c->bytes = 0;
    c->forgotten++;
}

/* A switch that moves no bytes and never makes a step longer: at most the whole of a collective is
 * shown (simulate/step.c). The gather of parameters is not among them: with it hidden, the rank that gathers longest and
 * the one whose optimizer takes longest add up, without it only each rank's own two. A rule
 * judged later that looks at the switch may allow one and not the other: then both stay. */
static void find_switches(struct option_cache *c, const struct space *s,
                          const struct rule_plan *plan, uint64_t weighed)
{
    uint64_t paired = weighed, behind = 0;
    for (int i = plan->first[c->last]; i < plan->first[s->axes] + plan->pairs; i++)
        paired |= plan->order[i]->depends;
    for (int axis = c->last - 1; axis >= c->first; axis--) {
        enum param p = s->axis[axis].param[0];
        bool never_slower = param_info(p)->order == ORDER_NEVER_SLOWER;
        c->never_slower[axis] = never_slower && !(paired >> p & 1);
        c->alone[axis] = c->never_slower[axis] && !(behind >> p & 1);
        for (int i = plan->first[axis]; i < plan->first[axis + 1]; i++)
            behind |= plan->order[i]->depends;
    }
}

/* Rules that look at more than these axes, and the slots that their options do not change. */
static void find_residual(struct option_cache *c, const struct space *s,
                          const struct rule_plan *plan)
{
    uint64_t open = 0, keys = 0;
    for (int axis = c->first; axis < c->last; axis++)
        for (int j = 0; s->axis[axis].options > 1 && j < s->axis[axis].params; j++)
            open |= 1ull << s->axis[axis].param[j];
    for (int i = 0; i < SLOTS; i++)
        c->known[i] = !(slot_info(i)->depends & open);
    for (int i = 0; i < c->keys; i++)
        keys |= 1ull << c->key[i];
    int first = plan->first[c->first], end = plan->first[c->last];
    c->rule = memory_grow(NULL, (size_t)(end - first + 1) * sizeof *c->rule);
    for (int i = first; i < end; i++)
        if (plan->order[i]->depends & keys)
            rule_residues_init(&c->rule[c->rules++], plan->order[i], c->known);
}

void option_cache_init(struct option_cache *c, const struct space *s, const struct rule_plan *plan,
                       int first, int last, bool dominance, uint64_t weighed)
{
    uint64_t needs = 0, own = 0;
    assert(0 <= first && first < last && last <= s->axes);
    memset(c, 0, sizeof *c);
    c->first = first;
    c->last = last;
    arena_init(&c->mem);
    for (int axis = last - 1; axis >= first; axis--) {
        c->behind[axis] = axis == last - 1 ? 1 : c->behind[axis + 1] * s->axis[axis + 1].options;
        for (int j = 0; j < s->axis[axis].params; j++)
            own |= 1ull << s->axis[axis].param[j];
        for (int i = plan->first[axis]; i < plan->first[axis + 1]; i++)
            needs |= plan->order[i]->depends;
    }
    for (int axis = 0; axis < s->axes; axis++) /* without a choice: always the same */
        for (int j = 0; s->axis[axis].options == 1 && j < s->axis[axis].params; j++)
            own |= 1ull << s->axis[axis].param[j];
    for (int p = 0; p < PARAMS; p++)
        if ((needs & ~own) >> p & 1)
            c->key[c->keys++] = (enum param)p;
    if (dominance)
        find_switches(c, s, plan, weighed);
    find_residual(c, s, plan);
    forget(c);
}

void option_cache_release(struct option_cache *c)
{
    free(c->work);
    for (int i = 0; i < c->rules; i++)
        rule_residues_release(&c->rule[i]);
    free(c->rule);
    free(c->residue);
    arena_release(&c->mem);
}

/* Grows by doubling inside the arena: lists are built once. */
static void *room(struct arena *mem, void *old, int count, size_t size)
{
    if (count & (count - 1))
        return old;
    void *grown = arena_array(mem, count ? 2 * (size_t)count : 1, size);
    if (count)
        memcpy(grown, old, (size_t)count * size);
    return grown;
}

static void add_drop(struct option_cache *c, struct option_list *l, const struct rule *rule,
                     double count)
{
    for (int i = 0; i < l->drops; i++)
        if (l->drop[i].rule == rule) {
            l->drop[i].count += count;
            return;
        }
    l->drop = room(&c->mem, l->drop, l->drops, sizeof *l->drop);
    l->drop[l->drops++] = (struct option_drop){rule, count};
}

/* The option that switches this axis on, or -1. */
static int on_option(const struct axis *a)
{
    for (int i = 0; i < a->options; i++)
        if (a->value[i] == 1)
            return i;
    return -1;
}

static void list_options(struct option_cache *c, struct walk *w, int axis, struct option_list *l)
{
    const struct axis *a = &w->space->axis[axis];
    if (axis == c->last) {
        if (c->listed == c->capacity) {
            c->capacity = c->capacity ? 2 * c->capacity : 64;
            c->work = memory_grow(c->work, (size_t)c->capacity * sizeof *c->work);
        }
        c->work[c->listed++] = w->strategy;
        return;
    }
    int on = c->alone[axis] ? on_option(a) : -1;
    bool only_on =
        on >= 0 && !walk_bind(w, axis, on); /* what is allowed behind is the same either way */
    bool on_first = param_info(a->param[0])->order != ORDER_RISING; /* good ones cut the others */
    for (int n = 0; n < a->options; n++) {
        int i = on_first ? a->options - 1 - n : n;
        if (only_on && i != on) {
            l->slower += c->behind[axis];
            continue;
        }
        const struct rule *rule = walk_bind(w, axis, i);
        if (rule)
            add_drop(c, l, rule, c->behind[axis]);
        else
            list_options(c, w, axis + 1, l);
    }
}

static bool is_listed(const struct option_cache *c, const struct strategy *s)
{
    for (int i = 0; i < c->listed; i++)
        if (strategy_compare(&c->work[i], s) == 0)
            return true;
    return false;
}

static bool has_faster(const struct option_cache *c, const struct space *space,
                       const struct strategy *s)
{
    for (int axis = c->first; axis < c->last; axis++) {
        enum param p = space->axis[axis].param[0];
        struct strategy on = *s;
        if (!c->never_slower[axis] || c->alone[axis] || strategy_get(s, p) != 0)
            continue;
        strategy_set(&on, p, 1);
        if (is_listed(c, &on))
            return true;
    }
    return false;
}

/* Which option of an axis it is. */
static int option_index(const struct axis *a, const struct strategy *s)
{
    for (int i = 0; i < a->options; i++) {
        int same = 0;
        while (same < a->params &&
               strategy_get(s, a->param[same]) == a->value[i * a->params + same])
            same++;
        if (same == a->params)
            return i;
    }
    assert(false); /* a strategy has options of the space alone */
    return 0;
}

/* Copies what was listed but for the slower ones. Switches that later rules look at are compared
 * with the whole list: one that is itself left out has a faster one still. */
static void keep_list(struct option_cache *c, const struct space *space, struct option_list *l)
{
    l->first = space->axis[c->first].param[0];
    l->end = 0;
    for (int axis = c->first; axis < c->last; axis++)
        for (int j = 0; j < space->axis[axis].params; j++)
            l->end = (int)space->axis[axis].param[j] < l->end ? l->end
                                                              : (int)space->axis[axis].param[j] + 1;
    l->axes = c->last - c->first;
    size_t width = (size_t)(l->end - l->first);
    l->value = arena_array(&c->mem, (size_t)c->listed * width, sizeof *l->value);
    l->option = arena_array(&c->mem, (size_t)(c->listed * l->axes), sizeof *l->option);
    for (int i = 0; i < c->listed; i++) {
        const struct strategy *x = &c->work[i];
        if (has_faster(c, space, x)) {
            l->slower++;
            continue;
        }
        memcpy(&l->value[(size_t)l->count * width], (const int *)x + l->first,
               width * sizeof *l->value);
        for (int k = 0; k < l->axes; k++)
            l->option[l->count * l->axes + k] =
                (uint16_t)option_index(&space->axis[c->first + k], x);
        l->count++;
    }
    assert((l->count > 0) == (c->listed > 0)); /* the fastest of them is left */
    c->bytes += (size_t)c->listed * width * sizeof *l->value + sizeof(struct option_lists);
}

int option_bind(const struct option_cache *c, const struct option_list *l, int i, struct walk *w)
{
    int changed = c->last;
    for (int axis = c->last - 1; axis >= c->first; axis--) {
        int option = l->option[i * l->axes + axis - c->first];
        if (w->option[axis] != option) {
            walk_set(w, axis, option);
            changed = axis;
        }
    }
    return changed;
}

void option_take(const struct option_list *l, int i, struct strategy *s)
{
    size_t width = (size_t)(l->end - l->first);
    memcpy((int *)s + l->first, &l->value[(size_t)i * width], width * sizeof *l->value);
}

/* What earlier parameters leave of the rules, on every group. Returns its hash. */
static uint64_t find_residues(struct option_cache *c, const struct walk *w)
{
    uint64_t hash = UINT64_C(1469598103934665603);
    int groups = 1 + w->others;
    if (c->residues != c->rules * groups) {
        c->residues = c->rules * groups;
        c->residue = memory_grow(c->residue, (size_t)c->residues * sizeof *c->residue);
        forget(c);
    }
    for (int i = 0; i < c->residues; i++) {
        const double *values = i % groups == 0 ? w->values : w->other[i % groups - 1];
        c->residue[i] = rule_residues_get(&c->rule[i / groups], values);
        hash = (hash ^ (uint64_t)c->residue[i]) * UINT64_C(1099511628211); /* FNV-1a */
    }
    return hash;
}

const struct option_list *options_get(struct option_cache *c, struct walk *w)
{
    uint64_t hash = find_residues(c, w);
    size_t at = (hash ^ hash >> 32) & (BUCKETS - 1), bytes = (size_t)c->residues * sizeof(int);
    for (struct option_lists *e = c->lists[at]; e; e = e->next)
        if (e->hash == hash && (bytes == 0 || memcmp(e->residue, c->residue, bytes) == 0))
            return &e->list;
    if (c->bytes > MOST_BYTES)
        forget(c);
    struct option_lists *e = arena_alloc(&c->mem, sizeof *e);
    e->next = c->lists[at];
    e->hash = hash;
    e->residue = arena_array(&c->mem, (size_t)c->residues + 1, sizeof *e->residue);
    if (bytes > 0)
        memcpy(e->residue, c->residue, bytes);
    c->bytes += bytes;
    c->lists[at] = e;
    c->listed = 0;
    list_options(c, w, c->first, &e->list);
    keep_list(c, w->space, &e->list);
    return &e->list;
}
