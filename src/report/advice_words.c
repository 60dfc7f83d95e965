/* Sentences about a plan: what makes it fit, what makes it faster, what Astra would run. */
#include "report/advice_words.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "probe/answer.h"
#include "report/plan_words.h"

#include <assert.h>
#include <math.h>

static const double LEAST_SHOWN = 0.001; /* of a step: the last digit printed */

/* Takes the sentence and empties it. */
static void take(struct advice_section *s, struct str *text, struct arena *mem)
{
    assert(s->items < ADVICE_ITEMS);
    s->item[s->items++] = arena_string(mem, str_text(text));
    str_clear(text);
}

const char *caution_words(const struct rule *r, struct arena *mem)
{
    struct str text = {0};
    str_add(&text, "mind: ");
    add_caution(r, &text);
    return str_keep(&text, mem);
}

/* What the plan of a change asks to mind, and the one before did not. */
static void add_cautions(const struct change *c, struct str *out)
{
    for (int i = 0; i < c->cautions; i++) {
        str_add(out, i ? "; " : "; but mind: ");
        add_caution(c->caution[i], out);
    }
}

/* "--set a=1 --set b=on (Megatron: with --a 1 --b, without --c)". */
static void add_change(const struct change *c, struct str *out)
{
    for (size_t i = 0; i < c->sets; i++)
        str_addf(out, "%s--set %s", i ? " " : "", c->set[i]);
    if (!*c->add && !*c->remove)
        return;
    str_addf(out, " (Megatron: %s%s%s%s%s)", *c->add ? "with " : "", c->add,
             *c->add && *c->remove ? ", " : "", *c->remove ? "without " : "", c->remove);
}

/* What does not fit has no step to compare with. */
static void add_cost(const struct plan *then, struct str *out)
{
    str_addf(out, "; stage %d, the fullest, then needs %.1f of %.1f GiB, and a step takes ",
             (int)(plan_fullest(then) - then->stage), plan_fullest(then)->device_bytes / GIB,
             then->limit_bytes / GIB);
    add_seconds(out, then->step_s);
}

static void add_needs(const struct plan *p, const struct fix *r, struct str *out)
{
    str_add(out, "nothing that was tried fits on ");
    add_gpus(p, out);
    str_add(out, ": the least, ");
    add_ways_of(r->change.plan, out);
    for (size_t i = 0; i < r->change.sets; i++)
        str_addf(out, "%s%s", i ? " " : " with --set ", r->change.set[i]);
    str_addf(out, ", needs %.1f GiB on every GPU of its fullest stage",
             plan_fullest(r->change.plan)->device_bytes / GIB);
    if (r->gpus > 0)
        str_addf(out, "; %lld of these GPUs would do", (long long)r->gpus);
}

struct advice_section fix_words(const struct plan_answer *a, struct arena *mem)
{
    const struct fix *r = a->fix;
    struct advice_section s = {.heading = ""};
    struct str text = {0};
    if (!r)
        return s;
    if (r->fits) {
        str_add(&text, r->searched ? "no one or two changes make it fit, but another plan does: "
                                   : "cheapest change that makes it fit: ");
        add_change(&r->change, &text);
        if (r->numerics)
            str_add(&text, "; it changes the numerics of the training, nothing else that was tried "
                           "fits");
        add_cost(r->change.plan, &text);
        add_cautions(&r->change, &text);
    } else {
        add_needs(a->plan, r, &text);
    }
    take(&s, &text, mem);
    str_release(&text);
    return s;
}

static void add_step(const struct plan *from, const struct plan *then, struct str *out)
{
    double shorter = 1 - then->step_s / from->step_s;
    add_seconds(out, then->step_s);
    if (shorter < LEAST_SHOWN)
        str_addf(out, ", less than %.1f %% shorter", 100 * LEAST_SHOWN);
    else
        str_addf(out, ", %.1f %% shorter", 100 * shorter);
}

/* Both figures as shares of the step that is now, so that they can be compared. */
static void add_one_speedup(const struct plan *from, const struct speedup *g, struct str *out)
{
    const struct plan *then = g->change.plan;
    add_step(from, then, out);
    str_addf(out, " (%s %.1f %% -> %.1f %%): ", breakdown_name(g->part),
             100 * from->breakdown[g->part] / from->step_s,
             100 * then->breakdown[g->part] / from->step_s);
    add_change(&g->change, out);
    add_cautions(&g->change, out);
}

static void add_searched(const struct speedups *g, struct str *out)
{
    int64_t gpus = g->from->gpus;
    const struct plan *best = g->searched.plan;
    const char *s = gpus > 1 ? "s" : "";
    if (!g->found || best->step_s >= g->from->step_s) {
        str_addf(out, "a search puts no faster plan first on %lld GPU%s", (long long)gpus, s);
        return;
    }
    str_addf(out, "the best plan of a search on %lld GPU%s takes ", (long long)gpus, s);
    add_step(g->from, best, out);
    str_add(out, ": ");
    add_plan_words(&best->strategy, out);
    add_cautions(&g->searched, out);
}

struct advice_section speedup_words(const struct plan_answer *a, struct arena *mem)
{
    const struct speedups *g = a->speedups;
    struct advice_section s = {.heading = "Speedups (one change each)"};
    bool asked = !a->plan->meshes;
    struct str text = {0};
    if (!g)
        return s;
    if (g->from != a->plan)
        s.heading = "Speedups, once it fits (the change above and one more each)";
    for (int i = 0; i < g->count; i++) {
        add_one_speedup(g->from, &g->speedup[i], &text);
        take(&s, &text, mem);
    }
    if (g->count == 0)
        str_add(&text,
                asked ? "no single change is 1 % faster; " : "no single change is 1 % faster");
    if (asked) {
        str_add(&text, "searched: ");
        add_searched(g, &text);
    }
    if (text.length)
        take(&s, &text, mem);
    str_release(&text);
    return s;
}

struct advice_section hint_words(const struct plan_answer *a)
{
    struct advice_section s = {.heading = "Hints"};
    for (int i = 0; i < a->hints; i++)
        s.item[s.items++] = a->hint[i];
    return s;
}

static void add_better(const struct plan *p, const struct plan *best, struct str *out)
{
    add_plan_words(&best->strategy, out);
    str_add(out, ": ");
    add_seconds(out, best->step_s);
    if (p->feasible) {
        str_add(out, " instead of ");
        add_seconds(out, p->step_s);
        str_addf(out, " (%.1f %% shorter)", 100 * (1 - best->step_s / p->step_s));
    } else {
        str_add(out, " a step, and it runs");
    }
    if (best->usd_per_mtoken > 0) {
        str_addf(out, ", $%.3f", best->usd_per_mtoken);
        if (p->feasible && p->usd_per_mtoken > 0)
            str_addf(out, " instead of $%.3f", p->usd_per_mtoken);
        str_add(out, " per million tokens");
    }
}

/* An item that begins with `word`, where there is something to say. */
static void take_words(struct advice_section *s, const char *word, const char *words,
                       const char *rest, struct arena *mem)
{
    if (*words)
        s->item[s->items++] = arena_format(mem, "%s %s%s", word, words, rest);
}

static const char *no_better(const struct better_plan *b, const struct plan *p)
{
    if (!b->found)
        return p->feasible ? "this one: a search finds no other plan that goes with the flags"
                           : "no plan that a search finds fits on these GPUs";
    return "this one: a search finds none on these GPUs that is 1 % faster";
}

struct advice_section better_words(const struct plan_answer *a, struct arena *mem)
{
    const struct better_plan *b = a->better;
    struct advice_section s = {.heading = "What Astra would run"};
    struct str text = {0};
    if (!b)
        return s;
    if (b->why_not) {
        take_words(&s, "left open:", b->why_not, "", mem);
        return s;
    }
    if (!b->found || !b->better) {
        s.item[s.items++] = no_better(b, a->plan);
        return s;
    }
    add_better(a->plan, b->change.plan, &text);
    add_cautions(&b->change, &text);
    take(&s, &text, mem);
    str_release(&text);
    take_words(&s, "with", b->change.add, "", mem);
    take_words(&s, "without", b->change.remove, "", mem);
    take_words(&s, "with", b->env, " in the environment", mem);
    take_words(&s, "without", b->unset, "=1 in the environment, which FSDP refuses", mem);
    return s;
}

static void take_use(struct advice_section *s, const char *what, const struct plan *p,
                     const struct plan *than, struct arena *mem)
{
    struct str text = {0};
    str_addf(&text, "%s: ", what);
    if (than) {
        add_seconds(&text, than->step_s);
        str_addf(&text, " a step on %lld GPUs%s; this plan does %+.1f %% tokens/s",
                 (long long)than->gpus, than->feasible ? "" : ", not feasible",
                 100 * (p->tokens_per_s / than->tokens_per_s - 1));
    } else {
        str_add(&text, "there is none");
    }
    take(s, &text, mem);
    str_release(&text);
}

/* Other uses of the GPUs of a mixed plan: text has them as a table. */
static struct advice_section comparison_words(const struct plan_answer *a, struct arena *mem)
{
    const struct comparison *c = a->comparison;
    struct advice_section s = {.heading = "Beside other uses of these GPUs"};
    for (int i = 0; c && i < COMPARISON_SPLITS; i++)
        take_use(&s, c->split[i].words, a->plan, c->split[i].plan, mem);
    for (int g = 0; c && g < c->groups; g++)
        take_use(&s, arena_format(mem, "%s alone", c->alone[g].group->gpu->name), a->plan,
                 c->alone[g].plan, mem);
    return s;
}

int advice_words(const struct plan_answer *a, struct arena *mem,
                 struct advice_section section[ADVICE_SECTIONS])
{
    const struct advice_section all[ADVICE_SECTIONS] = {fix_words(a, mem), comparison_words(a, mem),
                                                        speedup_words(a, mem), hint_words(a),
                                                        better_words(a, mem)};
    int count = 0;
    for (int i = 0; i < ADVICE_SECTIONS; i++)
        if (all[i].items > 0)
            section[count++] = all[i];
    return count;
}
