/* Rules at the earliest axis: a rule on tp cuts before pp is ever enumerated. */
#include "rules/walk.h"

#include "base/arena.h"

#include <assert.h>
#include <string.h>

/* Parameters that are bound once `axis` is: its own, those before, and those that have no
 * choice. */
static uint64_t bound_after(const struct space *s, int axis)
{
    uint64_t bits = 0;
    for (int i = 0; i < s->axes; i++)
        for (int j = 0; j < s->axis[i].params && (i <= axis || s->axis[i].options == 1); j++)
            bits |= 1ull << s->axis[i].param[j];
    return bits;
}

/* The axis at which a rule can be judged, or `axes` for pairs of pass times and state. */
static int axis_of_rule(const struct space *s, const struct rule *r)
{
    uint64_t pass_times =
        bound_after(s, s->first_state - 1) & ~bound_after(s, s->first_pass_times - 1);
    int axis = 0;
    while (r->depends & ~bound_after(s, axis))
        axis++;
    assert(axis < s->axes);
    return axis >= s->first_state && r->depends & pass_times ? s->axes : axis;
}

void rule_plan_init(struct rule_plan *p, const struct space *s, const struct rules *r,
                    struct arena *mem)
{
    enum { NEVER = -1 };
    int n = 0, *at = arena_array(mem, (size_t)r->count + 1, sizeof *at);
    p->order = arena_array(mem, (size_t)r->count + 1, sizeof *p->order);
    for (int i = 0; i < r->count; i++)
        at[i] = rule_is_idle(&r->rule[i]) ? NEVER : axis_of_rule(s, &r->rule[i]);
    for (int axis = 0; axis <= s->axes; axis++) {
        p->first[axis] = n;
        for (int i = 0; i < r->count; i++)
            if (at[i] == axis)
                p->order[n++] = &r->rule[i];
    }
    p->pairs = n - p->first[s->axes];
    assert(n <= r->count);
}

void walk_init(struct walk *w, const struct space *s, const struct rule_plan *plan,
               const double fixed[SLOTS])
{
    w->space = s;
    w->plan = plan;
    strategy_init(&w->strategy);
    memcpy(w->values, fixed, sizeof w->values);
    w->others = 0;
    for (int axis = 0; axis < s->axes; axis++) {
        w->option[axis] = 0;
        if (s->axis[axis].options == 1)
            walk_set(w, axis, 0);
    }
}

static void set_values(const struct walk *w, int axis, const int *value, double values[SLOTS])
{
    const struct axis *a = &w->space->axis[axis];
    for (int j = 0; j < a->params; j++)
        values[a->param[j]] = value[j];
    if (a->derives)
        slots_set_derived(values);
}

void walk_set(struct walk *w, int axis, int option)
{
    const struct axis *a = &w->space->axis[axis];
    const int *value = &a->value[option * a->params];
    w->option[axis] = option;
    for (int j = 0; j < a->params; j++)
        strategy_set(&w->strategy, a->param[j], value[j]);
    set_values(w, axis, value, w->values);
    for (int i = 0; i < w->others; i++)
        set_values(w, axis, value, w->other[i]);
}

void walk_add_group(struct walk *w, double (*other)[SLOTS], const double fixed[SLOTS])
{
    w->other = other;
    memcpy(other[w->others++], fixed, sizeof *other);
    for (int axis = 0; axis < w->space->axes; axis++)
        if (w->space->axis[axis].options == 1)
            walk_set(w, axis, 0);
}

bool walk_allows(const struct walk *w, const struct rule *r)
{
    bool allows = rule_allows(r, w->values);
    for (int i = 0; i < w->others && allows; i++)
        allows = rule_allows(r, w->other[i]);
    return allows;
}

bool walk_holds(const struct walk *w, const struct rule *r)
{
    bool holds = rule_holds(r, w->values);
    for (int i = 0; i < w->others && !holds; i++)
        holds = rule_holds(r, w->other[i]);
    return holds;
}

const struct rule *walk_bind(struct walk *w, int axis, int option)
{
    walk_set(w, axis, option);
    for (int i = w->plan->first[axis]; i < w->plan->first[axis + 1]; i++)
        if (!walk_allows(w, w->plan->order[i]))
            return w->plan->order[i];
    return NULL;
}
