/* The rate of a type is the layers a second that all its stages do together. Choices of a type are
 * sorted by it, so that the first which cannot make up for the others ends the list. */
#include "search/mixed/mixed_per_type.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICES_MAX = 512 };

struct choice {
    struct mesh mesh;
    double rate;
};

struct choosing {
    struct per_type_list *list;
    const struct structure *base;
    struct strategy s; /* of the base */
    struct per_type_meshes per_type;
    int count[MIX_MAX];
    struct choice *choice[MIX_MAX];
    double need; /* rate of all together that the cut asks for */
};

static int by_rate(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;
    return a->rate != b->rate ? (a->rate > b->rate ? -1 : 1) : 0;
}

/* Whether all layers may be computed again, or none. */
static bool recompute_listed(const struct space *s, bool full)
{
    for (int axis = s->first_pass_times; axis < s->first_state; axis++) {
        const struct axis *a = &s->axis[axis];
        for (int i = 0; a->param[0] == PARAM_recompute && i < a->options; i++) {
            const int *v = &a->value[i * a->params];
            if (full ? v[0] == RECOMPUTE_FULL && v[1] == METHOD_UNIFORM && v[2] == 1
                     : v[0] == RECOMPUTE_NONE)
                return true;
        }
    }
    return false;
}

static struct mesh mesh_of(const struct choosing *c, int g, int tp, int dp, bool full)
{
    assert(c->s.dp * c->s.micro_batch % dp == 0); /* the same samples at once */
    return (struct mesh){.group = c->base->set->group[g],
                         .own = true,
                         .tp = tp,
                         .dp = dp,
                         .ep = c->s.ep,
                         .etp = c->s.etp,
                         .micro_batch = c->s.dp * c->s.micro_batch / dp,
                         .recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE,
                         .recompute_method = full ? METHOD_UNIFORM : METHOD_NONE,
                         .recompute_layers = full};
}

static void add_choice(struct choosing *c, int g, struct mesh mesh)
{
    struct structure one = *c->base;
    struct per_type_meshes meshes;
    meshes.mesh[g] = mesh;
    one.per_type = &meshes;
    double rate = type_rate(c->list->worker, &one, g);
    if (rate > 0 && c->count[g] < CHOICES_MAX)
        c->choice[g][c->count[g]++] = (struct choice){mesh, rate};
}

static void list_choices(struct choosing *c, int g)
{
    const struct space *s = &c->base->set->space;
    int samples = c->s.dp * c->s.micro_batch;
    for (int dp = 1; dp <= samples; dp++) {
        if (samples % dp != 0 || !space_lists(s, PARAM_dp, dp) ||
            !space_lists(s, PARAM_micro_batch, samples / dp))
            continue;
        for (int tp = 1; tp <= 64; tp *= 2)
            for (int full = 0; full < 2 && space_lists(s, PARAM_tp, tp); full++)
                if (recompute_listed(s, full) && (g > 0 || (tp == c->s.tp && dp == c->s.dp)))
                    add_choice(c, g, mesh_of(c, g, tp, dp, full));
    }
    qsort(c->choice[g], (size_t)c->count[g], sizeof *c->choice[g], by_rate);
}

/* Whether stock Megatron runs it too: then it has been looked at. */
static bool all_alike(const struct choosing *c)
{
    const struct mesh *a = &c->per_type.mesh[0];
    for (int g = 1; g < c->base->set->groups; g++) {
        const struct mesh *b = &c->per_type.mesh[g];
        if (a->tp != b->tp || a->dp != b->dp || a->recompute != b->recompute)
            return false;
    }
    return true;
}

static void add_structure(struct choosing *c)
{
    if (all_alike(c))
        return;
    struct per_type_meshes *meshes = arena_alloc(c->list->mem, sizeof *meshes);
    *meshes = c->per_type;
    struct structure *st = rounds_add(c->list->to);
    *st = *c->base;
    st->per_type = meshes;
    st->seed = 0;
    st->searched = false;
    st->fronts = st->capacity = 0;
    st->front = NULL;
}

static void choose(struct choosing *c, int g, double rate)
{
    double later = 0;
    if (g == c->base->set->groups) {
        add_structure(c);
        return;
    }
    for (int i = g + 1; i < c->base->set->groups; i++)
        later += c->count[i] > 0 ? c->choice[i][0].rate : 0;
    for (int i = 0; i < c->count[g]; i++) {
        if (rate + c->choice[g][i].rate + later < c->need)
            return;
        c->per_type.mesh[g] = c->choice[g][i].mesh;
        choose(c, g + 1, rate + c->choice[g][i].rate);
    }
}

void per_type_list_add(struct per_type_list *l, const struct structure *base)
{
    struct choosing c = {.list = l, .base = base};
    struct arena mem = {0};
    c.s = structure_strategy(l->worker, base);
    if (c.s.vpp > 1 || c.s.cp > 1) /* FlagScale refuses both: meshes_refused() */
        return;
    for (int g = 0; g < base->set->groups; g++) {
        c.choice[g] = arena_array(&mem, CHOICES_MAX, sizeof *c.choice[g]);
        list_choices(&c, g);
    }
    c.need = rate_needed(l->worker, base, l->cut);
    choose(&c, 0, 0);
    arena_release(&mem);
}
