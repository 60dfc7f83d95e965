/* Tries every single change of remedy_moves.c, then every pair of them, and keeps the fastest that
 * fits. Where that is not enough the search is asked for the best plan on these GPUs; only then
 * come changes of the numbers themselves. Trials that share a structure share its frame, so that
 * thousands of them take milliseconds. */
#include "remedy.h"

#include "base/str.h"
#include "question.h"
#include "report/plan_words.h"

#include <math.h>
#include <string.h>

struct trials {
    const struct estimate_question *asked;
    struct rules sense;
    bool *lax; /* [sense.count] rules of sense that the plan itself does not follow */
    double values[SLOTS];
    struct arena frame_mem, scratch, *mem;
    struct frame *frame; /* NULL until there is one; of the structure of `framed` */
    struct strategy framed;
    bool framed_fails;
    bool found;
    int64_t step; /* ticks of the best */
    struct plan best;
    double fullness; /* of what came nearest */
    struct strategy nearest;
};

static void trials_init(struct trials *t, const struct estimate_question *e, struct arena *mem)
{
    *t = (struct trials){.asked = e, .mem = mem, .fullness = INFINITY};
    arena_init(&t->frame_mem);
    arena_init(&t->scratch);
    rules_init(&t->sense);
    if (!rules_add_sense(&t->sense, mem, NULL))
        rules_init(&t->sense); /* cannot be: they are compiled in */
    slots_set_fixed(t->values, e->scene.model, e->scene.group, e->nodes, e->scene.te);
    slots_set_strategy(t->values, &e->strategy);
    t->lax = arena_array(mem, (size_t)t->sense.count, sizeof *t->lax);
    for (int i = 0; i < t->sense.count; i++)
        t->lax[i] = !rule_allows(&t->sense.rule[i], t->values);
}

static void trials_release(struct trials *t)
{
    arena_release(&t->frame_mem);
    arena_release(&t->scratch);
}

static bool allowed(struct trials *t, const struct strategy *s)
{
    const struct rules *r = &t->asked->rules;
    slots_set_strategy(t->values, s);
    for (int i = 0; i < r->count; i++)
        if (!rule_allows(&r->rule[i], t->values))
            return false;
    for (int i = 0; i < t->sense.count; i++)
        if (!t->lax[i] && !rule_allows(&t->sense.rule[i], t->values))
            return false;
    return true;
}

static bool same_structure(const struct strategy *a, const struct strategy *b)
{
    for (int p = 0; p < PARAM_FIRST_TIMING; p++)
        if (strategy_get(a, (enum param)p) != strategy_get(b, (enum param)p))
            return false;
    return true;
}

/* False when the layers cannot be split that way. */
static bool set_frame(struct trials *t, const struct strategy *s)
{
    const struct scene *scene = &t->asked->scene;
    if (t->frame && same_structure(&t->framed, s))
        return !t->framed_fails;
    arena_clear(&t->frame_mem);
    struct layer_costs *costs = arena_alloc(&t->frame_mem, sizeof *costs);
    t->frame = arena_alloc(&t->frame_mem, sizeof *t->frame);
    t->framed = *s;
    layer_costs_of(scene, s, costs);
    t->framed_fails = !frame_init(t->frame, scene, costs, s, t->asked->layout, NULL);
    return !t->framed_fails;
}

static bool beats(const struct trials *t, int64_t step, const struct strategy *s)
{
    if (!t->found || step != t->step)
        return !t->found || step < t->step;
    return strategy_compare(s, &t->best.strategy) < 0;
}

static void keep_if_best(struct trials *t, int64_t step, const struct strategy *s)
{
    struct plan p;
    if (!beats(t, step, s))
        return;
    plan_evaluate(&t->asked->scene, s, t->asked->layout, t->mem, &p);
    if (!p.feasible) /* full to the last bit */
        return;
    t->found = true;
    t->step = step;
    t->best = p;
}

static void try_strategy(struct trials *t, const struct strategy *s)
{
    struct timing timing;
    struct state state;
    if (!allowed(t, s) || !set_frame(t, s))
        return;
    arena_clear(&t->scratch);
    timing_of(t->frame, s, &t->scratch, &timing);
    timing_memory(t->frame, s, &t->scratch, &timing);
    state_of(t->frame, s, &t->scratch, &state);
    double fullness = frame_fullness(t->frame, &timing, &state);
    if (fullness < t->fullness) {
        t->fullness = fullness;
        t->nearest = *s;
    }
    if (fullness > 1)
        return;
    timing_stages(t->frame, s, &t->scratch, &timing);
    timing_run(t->frame, s, &t->scratch, &timing);
    state_times(t->frame, s, &t->scratch, &state);
    keep_if_best(t, frame_step(t->frame, s, &timing, &state), s);
}

static void try_pairs(struct trials *t, const struct strategy *changed, size_t first, bool numerics)
{
    size_t count;
    const struct move *move = remedy_moves(&count);
    for (size_t j = first + 1; j < count; j++)
        for (int k = 0; k < move[j].options; k++) {
            struct strategy s = *changed;
            if ((move[first].numerics || move[j].numerics) == numerics &&
                move[j].apply(t->asked->scene.model, &s, k))
                try_strategy(t, &s);
        }
}

/* All changes, or all pairs of them, that change the numerics or all that do not. */
static bool try_moves(struct trials *t, bool pairs, bool numerics)
{
    size_t count;
    const struct move *move = remedy_moves(&count);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < move[i].options; k++) {
            struct strategy s = t->asked->strategy;
            if (!move[i].apply(t->asked->scene.model, &s, k))
                continue;
            if (pairs)
                try_pairs(t, &s, i, numerics);
            else if (move[i].numerics == numerics)
                try_strategy(t, &s);
        }
    return t->found;
}

/* The same question to the search: GPUs, batch and numerics are the plan's. */
static struct question question_anew(const struct question *asked, const struct strategy *s)
{
    static const enum param kept[] = {PARAM_grad_bf16, PARAM_main_grads_bf16, PARAM_moments_bytes,
                                      PARAM_fp8_params};
    struct question q = *asked;
    memset(q.settings, 0, sizeof q.settings);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        int value = strategy_get(s, kept[i]);
        if (value != param_info(kept[i])->init)
            q.settings[kept[i]] = (struct setting){1, {value}};
    }
    q.global_batch = s->global_batch;
    q.seq_len = s->seq_len;
    q.precision = s->precision;
    q.gpus = strategy_gpus(s);
    return q;
}

/* The fastest plan on group 0; in `nearest` what came nearest when there is none. */
static bool search_anew(const struct question *asked, struct found *out, struct strategy *nearest)
{
    struct question q = *asked;
    struct rules rules;
    struct search_question sq;
    struct search_result result = {0};
    arena_init(&q.mem);
    bool found = question_search(&q, 0, &rules, &sq, NULL);
    if (found) {
        sq.top = 1;
        sq.exhaustive = false;
        search_run(&sq, &q.mem, &result);
        found = result.best > 0;
        if (found)
            *out = result.found[0];
        else if (nearest && isfinite(result.fullness))
            *nearest = result.nearest;
    }
    arena_release(&q.mem);
    return found;
}

/* `nearest` of a search that found nothing may need less than any trial. */
static void note_nearest(struct trials *t, const struct strategy *s)
{
    struct plan p;
    plan_evaluate(&t->asked->scene, s, NULL, &t->scratch, &p);
    if (!p.computed)
        return;
    double limit = framework_limit(&t->asked->scene, s);
    double fullness = limit > 0 ? plan_fullest(&p)->peak_bytes / limit : HOPELESS;
    if (fullness < t->fullness) {
        t->fullness = fullness;
        t->nearest = *s;
    }
}

static bool try_search(struct trials *t, const struct question *anew)
{
    struct found x;
    struct strategy nearest = t->asked->strategy;
    if (search_anew(anew, &x, &nearest))
        keep_if_best(t, x.step, &x.strategy);
    else
        note_nearest(t, &nearest);
    return t->found;
}

/* GPUs of this type with which there is a plan: the nodes doubled until there is; 0 when six times
 * do not help. */
static int64_t gpus_needed(const struct question *anew)
{
    struct question q = *anew;
    struct node_group *g = &q.cluster.group[0];
    struct found x;
    int64_t gpus = (anew->gpus + g->per_node - 1) / g->per_node * g->per_node;
    for (int doubled = 0; doubled < 6; doubled++) {
        gpus *= 2;
        if (gpus / g->per_node > CLUSTER_MAX_NODES)
            return 0;
        g->nodes_max = (int)(gpus / g->per_node);
        g->nodes_min = g->nodes_max < g->nodes_min ? g->nodes_max : g->nodes_min;
        q.gpus = gpus;
        if (search_anew(&q, &x, NULL))
            return gpus;
    }
    return 0;
}

static void add_set(struct remedy *r, enum param p, int value, struct arena *mem)
{
    struct str word;
    str_init(&word);
    str_addf(&word, "%s=", param_info(p)->name);
    param_print(p, value, &word);
    r->set[r->sets++] = arena_string(mem, str_text(&word));
    str_release(&word);
}

/* Parameters in which the two differ. A batch that followed from dp and micro-batch must be said
 * when one of these changes. */
static void fill_sets(struct remedy *r, const struct strategy *before, bool batch_given,
                      struct arena *mem)
{
    const struct strategy *s = &r->plan->strategy;
    r->set = arena_array(mem, PARAMS + 1, sizeof *r->set);
    for (int p = 0; p < PARAMS; p++)
        if (strategy_get(s, (enum param)p) != strategy_get(before, (enum param)p))
            add_set(r, (enum param)p, strategy_get(s, (enum param)p), mem);
    if (!batch_given &&
        (int64_t)s->dp * s->micro_batch != (int64_t)before->dp * before->micro_batch)
        add_set(r, PARAM_global_batch, s->global_batch, mem);
}

/* Words of the flag at `i`: its name and what belongs to it. */
static size_t flag_words(const char *const *words, size_t count, size_t i)
{
    size_t n = 1;
    while (i + n < count && strncmp(words[i + n], "--", 2) != 0)
        n++;
    return n;
}

/* Whether the list has the flag of `words`, with the same values unless only the name counts. */
static bool has_flag(const char *const *list, size_t count, const char *const *words, size_t n,
                     bool name_only)
{
    for (size_t i = 0, m; i < count; i += m) {
        m = flag_words(list, count, i);
        bool same = strcmp(list[i], words[0]) == 0 && (name_only || m == n);
        for (size_t k = 1; k < n && same && !name_only; k++)
            same = strcmp(list[i + k], words[k]) == 0;
        if (same)
            return true;
    }
    return false;
}

/* Flags of one list that the other lacks. */
static const char *differing(const char *const *list, size_t count, const char *const *other,
                             size_t others, bool name_only, struct arena *mem)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0, n; i < count; i += n) {
        n = flag_words(list, count, i);
        if (has_flag(other, others, list + i, n, name_only))
            continue;
        for (size_t k = 0; k < (name_only ? 1 : n); k++)
            str_addf(&text, "%s%s", text.length ? " " : "", list[i + k]);
    }
    const char *out = arena_string(mem, str_text(&text));
    str_release(&text);
    return out;
}

static void fill_flags(struct remedy *r, const struct plan *before, struct arena *mem)
{
    const char **old;
    size_t olds;
    r->add = r->remove = "";
    if (!plan_flags(r->plan, mem, &r->flag, &r->flags) || !plan_flags(before, mem, &old, &olds)) {
        r->flags = 0;
        return;
    }
    const char *const *now = (const char *const *)r->flag, *const *then = (const char *const *)old;
    r->add = differing(now, r->flags, then, olds, false, mem);
    r->remove = differing(then, olds, now, r->flags, true, mem);
}

static bool batch_given(const struct question *q)
{
    return q->global_batch || (q->has_flags && q->flags.given[PARAM_global_batch]);
}

/* The plan that needs least, where nothing fits. */
static void fill_nearest(struct trials *t, struct remedy *r, struct arena *mem)
{
    struct plan *p = arena_alloc(mem, sizeof *p);
    const struct strategy *s =
        isfinite(t->fullness) ? &t->nearest : &t->asked->strategy; /* no trial was allowed */
    plan_evaluate(&t->asked->scene, s, t->asked->layout, mem, p);
    r->plan = p;
}

const struct remedy *remedy_of(struct question *q, const struct estimate_question *e,
                               const struct plan *p, struct arena *mem)
{
    struct trials *t;
    struct remedy *r;
    if (!p->computed || plan_fits(p) || p->reasons != 1)
        return NULL;
    t = arena_alloc(mem, sizeof *t);
    r = arena_alloc(mem, sizeof *r);
    struct question anew = question_anew(q, &e->strategy);
    trials_init(t, e, mem);
    if (!try_moves(t, false, false) && !try_moves(t, true, false)) {
        r->anew = try_search(t, &anew);
        r->numerics = !r->anew && (try_moves(t, false, true) || try_moves(t, true, true));
    }
    r->fits = t->found;
    if (t->found)
        r->plan = &t->best;
    else
        fill_nearest(t, r, mem);
    fill_sets(r, &e->strategy, batch_given(q), mem);
    fill_flags(r, p, mem);
    r->gpus = t->found ? 0 : gpus_needed(&anew);
    trials_release(t);
    return r;
}
