/* Points of the front and of the list, the types they run on, and axes that hold them. */
#include "report/chart/front_chart.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "report/plan_words.h"
#include "report/report.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define FARTHEST_LIMIT 10.0 /* a budget this far from every point would squeeze them */

static double value_of(const struct plan *p, enum front_quantity what)
{
    const double values[] = {[FRONT_TOKENS_PER_S] = p->net_tokens_per_s,
                             [FRONT_HOURS] = p->hours,
                             [FRONT_USD_PER_MTOKEN] = p->usd_per_mtoken,
                             [FRONT_USD_TOTAL] = p->usd_total,
                             [FRONT_GPUS] = (double)p->gpus};
    return values[what];
}

/* The first alias of the table is the short name, where it is shorter. */
static int brief_length(const struct gpu *gpu, const char **name)
{
    size_t alias = gpu->aliases ? strcspn(gpu->aliases, " ") : 0, own = strlen(gpu->name);
    *name = alias > 0 && alias < own ? gpu->aliases : gpu->name;
    return (int)(*name == gpu->name ? own : alias);
}

/* Each type once, by name: the order of the stages makes no other type. */
static int types_of(const struct plan *p, const struct gpu *type[MESHES_MAX])
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part), types = 0;
    for (int i = 0; i < parts; i++) {
        const struct gpu *gpu = part[i].group->gpu;
        int at = 0;
        while (at < types && strcmp(type[at]->name, gpu->name) < 0)
            at++;
        if (at < types && strcmp(type[at]->name, gpu->name) == 0)
            continue;
        memmove(type + at + 1, type + at, (size_t)(types - at) * sizeof *type);
        type[at] = gpu;
        types++;
    }
    return types;
}

static const char *type_name(const struct plan *p, struct arena *mem)
{
    const struct gpu *type[MESHES_MAX];
    int types = types_of(p, type);
    struct str text = {0};
    for (int i = 0; i < types; i++) {
        const char *name;
        int length = brief_length(type[i], &name);
        str_addf(&text, "%s%.*s", i ? "+" : "", length, name);
    }
    return str_keep(&text, mem);
}

void add_brief_gpus(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++) {
        const char *name;
        int length = brief_length(part[i].group->gpu, &name);
        str_addf(out, "%s%lld x %.*s", i ? " + " : "", (long long)part[i].gpus, length, name);
    }
}

void add_brief_ways(const struct plan *p, struct str *out)
{
    const struct strategy *s = &p->strategy;
    str_add(out, "tp");
    add_param_of(p, PARAM_tp, out);
    if (s->cp > 1)
        str_addf(out, " cp%d", s->cp);
    str_add(out, " pp");
    add_pipeline(s, out);
    str_add(out, " dp");
    add_param_of(p, PARAM_dp, out);
    if (s->ep > 1) {
        str_add(out, " ep");
        add_param_of(p, PARAM_ep, out);
    }
}

static int type_index(struct chart *f, const struct plan *p, struct arena *mem)
{
    const char *name = type_name(p, mem);
    int i = 0;
    while (i < f->types && strcmp(f->type[i], name) != 0)
        i++;
    if (i == f->types)
        f->type[f->types++] = name;
    return i;
}

static bool is_same(const struct chart_point *a, const struct chart_point *b)
{
    return a->x == b->x && a->y == b->y && a->type == b->type && a->plan->gpus == b->plan->gpus &&
           strategy_compare(&a->plan->strategy, &b->plan->strategy) == 0;
}

/* By x, then y. */
static void add_front_point(struct chart *f, struct chart_point new)
{
    int at = f->count++;
    for (; at > 0; at--) {
        const struct chart_point *left = &f->point[at - 1];
        if (left->x < new.x || (left->x == new.x && left->y <= new.y))
            break;
        f->point[at] = *left;
    }
    f->point[at] = new;
}

/* Behind the front, unless it is on it. */
static void add_listed_point(struct chart *f, struct chart_point new)
{
    for (int i = 0; i < f->count; i++)
        if (is_same(&f->point[i], &new)) {
            f->point[i].best = f->point[i].best || new.best;
            return;
        }
    f->point[f->count + f->others++] = new;
}

static struct chart_point point_of(struct chart *f, const struct plan *p, struct arena *mem)
{
    return (struct chart_point){value_of(p, f->x.what), value_of(p, f->y.what), p,
                                type_index(f, p, mem), false};
}

static bool is_known(const struct chart *f, const struct plan *p)
{
    return value_of(p, f->x.what) > 0 && value_of(p, f->y.what) > 0;
}

static void take_points(struct chart *f, const struct search_report *r, int listed,
                        struct arena *mem)
{
    size_t most = (size_t)(r->front + listed);
    f->point = arena_array(mem, most, sizeof *f->point);
    f->type = arena_array(mem, most, sizeof *f->type);
    for (int i = 0; i < r->front; i++)
        if (is_known(f, &r->pareto[i]))
            add_front_point(f, point_of(f, &r->pareto[i], mem));
    for (int i = 0; i < listed; i++) {
        if (!is_known(f, &r->plan[i]))
            continue;
        struct chart_point new = point_of(f, &r->plan[i], mem);
        new.best = i == 0;
        add_listed_point(f, new);
    }
}

struct chart_range {
    double lo, hi;
};

static struct chart_range range_of(const struct chart *f, bool upright)
{
    struct chart_range r = {INFINITY, 0};
    for (int i = 0; i < f->count + f->others; i++) {
        double v = upright ? f->point[i].y : f->point[i].x;
        r.lo = fmin(r.lo, v);
        r.hi = fmax(r.hi, v);
    }
    return r;
}

/* Widens the range to a limit; what is too far away is none. */
static double take_limit(struct chart_range *r, double limit)
{
    if (limit <= r->lo / FARTHEST_LIMIT || limit >= r->hi * FARTHEST_LIMIT)
        return 0;
    r->lo = fmin(r->lo, limit);
    r->hi = fmax(r->hi, limit);
    return limit;
}

static void choose_axes(struct chart *f, const struct plan *first)
{
    bool by_run = first->hours > 0;
    f->x.what = by_run ? FRONT_HOURS : FRONT_TOKENS_PER_S;
    f->y.what = by_run ? FRONT_USD_TOTAL : FRONT_USD_PER_MTOKEN;
    if (value_of(first, f->y.what) <= 0)
        f->y.what = FRONT_GPUS;
}

void chart_init(struct chart *f, const struct search_report *r, int listed, int x_ticks,
                int y_ticks, struct arena *mem)
{
    *f = (struct chart){0};
    choose_axes(f, r->front > 0 ? &r->pareto[0] : &r->plan[0]);
    take_points(f, r, listed, mem);
    assert(f->count + f->others > 0);
    struct chart_range x = range_of(f, false), y = range_of(f, true);
    if (f->x.what == FRONT_HOURS)
        f->deadline_h = take_limit(&x, r->money ? r->money->deadline_s / 3600 : 0);
    if (f->y.what == FRONT_USD_TOTAL)
        f->budget_usd = take_limit(&y, r->money ? r->money->budget_usd : 0);
    scale_init(&f->x, f->x.what, x.lo, x.hi, x_ticks);
    scale_init(&f->y, f->y.what, y.lo, y.hi, y_ticks);
}
