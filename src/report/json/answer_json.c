/* What an answer about one plan holds beside the plan: where it was read, what would make it fit or
 * faster, and how it compares. */
#include "report/json/json_out.h"

#include "base/json.h"
#include "cluster/group.h"
#include "import/shell/launch.h"
#include "probe/answer.h"
#include "query/query_file.h"
#include "report/report.h"

static struct json *change_of(const struct change *c)
{
    struct json *x = json_new_object();
    json_set(x, "set", json_new_strings((const char *const *)c->set, c->sets));
    json_set(x, "flags", json_new_strings((const char *const *)c->flag, c->flags));
    json_set(x, "step_s", json_new_number(c->plan->step_s));
    if (c->cautions > 0)
        json_set(x, "cautions",
                 json_of_cautions((const struct rule *const *)c->caution, c->cautions));
    return x;
}

/* Only of a plan that memory alone forbids and a change saves. */
static void set_fix(struct json *o, const struct fix *r)
{
    if (!r || !r->fits)
        return;
    struct json *x = change_of(&r->change);
    json_set(x, "numerics", json_new_bool(r->numerics));
    json_set(x, "device_bytes", json_of_bytes(plan_fullest(r->change.plan)->device_bytes));
    json_set(o, "remedy", x);
}

static struct json *speedup_of(const struct plan *from, const struct speedup *speedup)
{
    struct json *x = change_of(&speedup->change);
    json_set(x, "shrinks", json_new_string(breakdown_name(speedup->part)));
    json_set(x, "before_s", json_new_number(from->breakdown[speedup->part]));
    json_set(x, "then_s", json_new_number(speedup->change.plan->breakdown[speedup->part]));
    return x;
}

/* Only of `explain`. */
static void set_speedups(struct json *o, const struct speedups *g)
{
    if (!g)
        return;
    struct json *list = json_new_array();
    for (int i = 0; i < g->count; i++)
        json_append(list, speedup_of(g->from, &g->speedup[i]));
    json_set(o, "gains", list);
    if (g->found)
        json_set(o, "searched", change_of(&g->searched));
}

/* Of a file: what was assumed, and flags that Megatron does not know. */
static void set_read(struct json *x, const struct plan_source *s)
{
    if (!s->file)
        return;
    struct json *assumed = json_new_array(), *harmless = json_new_array();
    struct json *unknown = json_new_array();
    for (int i = 0; i < s->assumptions; i++) {
        const struct flags_assumption *a = &s->assumption[i];
        struct json *o = json_new_object();
        json_set(o, "what", json_new_string(a->what));
        json_set(o, "value", json_new_string(a->value));
        json_set(o, "option", json_new_string(a->option));
        json_set(o, "error", json_new_number(a->error));
        json_append(assumed, o);
    }
    for (int i = 0; i < s->strangers; i++) {
        const struct launch_strange *f = &s->stranger[i];
        struct json *o = f->changes ? json_new_object() : NULL;
        if (o) {
            json_set(o, "flag", json_new_string(f->flag));
            json_set(o, "may_change", json_new_string(f->changes));
        }
        json_append(o ? unknown : harmless, o ? o : json_new_string(f->flag));
    }
    json_set(x, "assumed", assumed);
    json_set(x, "harmless", harmless);
    json_set(x, "unknown", unknown);
}

/* Only of a plan that was read from a file, or from flags about which there is something to say. */
static void set_source(struct json *o, const struct plan_source *s)
{
    if (!s)
        return;
    struct json *x = json_new_object();
    json_set(x, "file", json_text_or_null(s->file));
    json_set(x, "kind", json_new_string(s->kind));
    json_set(x, "program", json_text_or_null(s->program));
    json_set(x, "line", s->line ? json_new_integer(s->line) : json_new_null());
    json_set(x, "flags", json_new_integer(s->flags));
    json_set(x, "without_effect", json_new_integer(s->idle));
    json_set(x, "notes", json_new_strings(s->note, (size_t)s->notes));
    set_read(x, s);
    json_set(o, "source", x);
}

/* Only of `estimate` with flags or a file; null where nothing better is found. */
static void set_better(struct json *o, const struct plan *p, const struct better_plan *i)
{
    if (!i)
        return;
    struct json *x = i->better ? change_of(&i->change) : json_new_null();
    if (i->better) {
        const struct plan *then = i->change.plan;
        json_set(x, "strategy", json_of_strategy(&then->strategy));
        json_set(x, "add", json_new_string(i->change.add));
        json_set(x, "remove", json_new_string(i->change.remove));
        json_set(x, "env", json_new_string(i->env));
        json_set(x, "unset", json_new_string(i->unset));
        json_set(x, "shorter", json_number_or_null(p->feasible, 1 - then->step_s / p->step_s));
        json_set(x, "usd_per_mtoken",
                 json_number_or_null(then->usd_per_mtoken > 0, then->usd_per_mtoken));
    }
    json_set(o, "instead", x);
    if (i->why_not)
        json_set(o, "why_not_instead", json_new_string(i->why_not));
}

static struct json *more_layer_of(const struct more_layer *more, int stage)
{
    const struct plan_stage *s = more->plan ? &more->plan->stage[stage] : NULL;
    struct json *x = json_new_object();
    json_set(x, "stage", json_new_integer(stage));
    json_set(x, "from", s ? json_new_integer(more->from) : json_new_null());
    json_set(x, "seconds", json_number_or_null(s, more->seconds));
    json_set(x, "step_s", json_number_or_null(s, s ? more->plan->step_s : 0));
    json_set(x, "device_bytes", s ? json_of_bytes(s->device_bytes) : json_new_null());
    json_set(x, "feasible", json_new_bool(s && more->plan->feasible));
    return x;
}

/* Another use of the same GPUs; null where there is none. */
static void set_use(struct json *x, const struct plan *than)
{
    json_set(x, "gpus", than ? json_new_integer(than->gpus) : json_new_null());
    json_set(x, "step_s", json_number_or_null(than, than ? than->step_s : 0));
    json_set(x, "tokens_per_s", json_number_or_null(than, than ? than->tokens_per_s : 0));
    json_set(x, "feasible", json_new_bool(than && than->feasible));
}

static struct json *layers_of(const struct plan *p)
{
    struct json *list = json_new_array();
    for (int r = 0; p && r < p->stages; r++)
        json_append(list, json_new_integer(p->stage[r].layers));
    return list;
}

/* Only of `explain`, and of a mixed job. */
static void set_comparison(struct json *o, const struct plan *p, const struct comparison *m)
{
    if (!m)
        return;
    struct json *more = json_new_array(), *splits = json_new_array(), *alone = json_new_array();
    for (int r = 0; r < p->stages; r++)
        json_append(more, more_layer_of(&m->more[r], r));
    for (int i = 0; i < COMPARISON_SPLITS; i++) {
        struct json *x = json_new_object();
        json_set(x, "split", json_new_string(m->split[i].name));
        json_set(x, "layers", layers_of(m->split[i].plan));
        set_use(x, m->split[i].plan);
        json_append(splits, x);
    }
    for (int g = 0; g < m->groups; g++) {
        struct json *x = json_new_object();
        json_set(x, "gpu", json_new_string(m->alone[g].group->gpu->name));
        set_use(x, m->alone[g].plan);
        json_set(x, "strategy",
                 m->alone[g].plan ? json_of_strategy(&m->alone[g].plan->strategy)
                                  : json_new_null());
        json_append(alone, x);
    }
    json_set(o, "more_layers", more);
    json_set(o, "splits", splits);
    json_set(o, "alone", alone);
}

/* Names of what nobody said. */
static void set_assumed(struct json *o, const struct plan_answer *a)
{
    const char *name[PARAM_FIRST_CELL];
    size_t count = 0;
    for (int i = 0; i < PARAM_FIRST_CELL; i++)
        if (a->assumed[i])
            name[count++] = param_info((enum param)i)->name;
    if (count > 0)
        json_set(o, "assumed", json_new_strings(name, count));
}

void report_plan_json(const struct plan_answer *a, struct str *out)
{
    struct json *o = json_of_plan(a->plan);
    set_assumed(o, a);
    set_fix(o, a->fix);
    set_speedups(o, a->speedups);
    set_source(o, a->source);
    json_set_defaults(o, a->defaults);
    set_better(o, a->plan, a->better);
    set_comparison(o, a->plan, a->comparison);
    if (a->hints > 0)
        json_set(o, "hints", json_new_strings(a->hint, (size_t)a->hints));
    json_dump_release(o, out);
}
