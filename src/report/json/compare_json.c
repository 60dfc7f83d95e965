/* Plans side by side, as JSON and as rows of CSV. */
#include "report/report.h"

#include "base/json.h"
#include "base/str.h"
#include "probe/differences.h"
#include "report/csv/csv_out.h"
#include "report/json/json_out.h"

static struct json *json_of_change(const struct plan *then, const struct plan *now)
{
    return then ? json_new_number(plan_token_s(then) / plan_token_s(now) - 1) : json_new_null();
}

static struct json *json_of_step(const struct differences *d, const struct difference_step *s,
                                 const struct plan *before)
{
    struct json *o = json_new_object(), *names = json_new_array();
    for (int k = 0; k < s->count; k++)
        json_append(names, json_new_string(d->difference[s->first + k].name));
    json_set(o, "differences", names);
    json_set(o, "step_s", json_new_number(s->plan->step_s));
    json_set(o, "tokens_per_s", json_new_number(s->plan->tokens_per_s));
    json_set(o, "change", json_of_change(s->plan, before));
    json_set(o, "alone", json_of_change(s->alone, d->a->plan));
    json_set(o, "device_bytes", json_new_number(plan_fullest(s->plan)->device_bytes));
    json_set(o, "feasible", json_new_bool(s->plan->feasible));
    json_set(o, "reasons",
             json_new_strings((const char *const *)s->plan->reason, (size_t)s->plan->reasons));
    return o;
}

static struct json *json_of_pair(const struct differences *d, int to)
{
    struct json *o = json_new_object(), *list = json_new_array(), *steps = json_new_array();
    bool computed = d->a->plan->computed && d->b->plan->computed;
    for (int k = 0; k < d->count; k++) {
        struct json *x = json_new_object();
        json_set(x, "name", json_new_string(d->difference[k].name));
        json_set(x, "from", json_new_string(d->difference[k].from));
        json_set(x, "to", json_new_string(d->difference[k].to));
        json_append(list, x);
    }
    for (int k = 0; k < d->steps; k++)
        json_append(steps, json_of_step(d, &d->step[k], k ? d->step[k - 1].plan : d->a->plan));
    json_set(o, "from", json_new_integer(0));
    json_set(o, "to", json_new_integer(to));
    json_set(o, "change", computed ? json_of_change(d->b->plan, d->a->plan) : json_new_null());
    json_set(o, "differences", list);
    json_set(o, "steps", steps);
    json_set(o, "why_not", d->why_not ? json_new_string(d->why_not) : json_new_null());
    return o;
}

struct json *json_of_compare(const struct compare_report *r)
{
    struct json *o = json_new_object(), *plans = json_new_array(), *pairs = json_new_array();
    for (int i = 0; i < r->sides; i++) {
        struct json *side = json_new_object();
        json_set(side, "name", json_new_string(r->side[i].name));
        json_set(side, "kind", json_new_string(r->side[i].kind));
        json_set(side, "plan", json_of_plan(r->side[i].plan));
        json_append(plans, side);
    }
    for (int i = 1; i < r->sides; i++)
        json_append(pairs, json_of_pair(r->pair[i], i));
    json_set(o, "plans", plans);
    json_set(o, "comparisons", pairs);
    return o;
}

void report_compare_json(const struct compare_report *r, struct str *out)
{
    struct json *o = json_of_compare(r);
    json_dump_release(o, out);
}

static void add_figures(struct csv_writer *c, const struct plan *p)
{
    csv_number_if(c, p->computed, p->step_s);
    csv_number_if(c, p->computed, p->tokens_per_s);
    csv_number_if(c, p->computed, p->computed ? plan_fullest(p)->device_bytes : 0);
    csv_text(c, p->feasible ? "1" : "0");
}

static void add_step_rows(struct csv_writer *c, const char *plan, const struct differences *d,
                          const struct difference_step *s, const struct plan *before)
{
    for (int k = 0; k < s->count; k++) {
        const struct difference *x = &d->difference[s->first + k];
        bool last = k == s->count - 1;
        csv_text(c, "difference");
        csv_text(c, plan);
        csv_text(c, x->name);
        csv_text(c, x->from);
        csv_text(c, x->to);
        if (last)
            add_figures(c, s->plan);
        for (int i = 0; i < 4 && !last; i++)
            csv_text(c, "");
        csv_number_if(c, last, last ? plan_token_s(s->plan) / plan_token_s(before) - 1 : 0);
        csv_number_if(c, last && s->alone,
                      s->alone ? plan_token_s(s->alone) / plan_token_s(d->a->plan) - 1 : 0);
        csv_end(c);
    }
}

void report_compare_csv(const struct compare_report *r, struct str *out)
{
    struct csv_writer c = {.out = out};
    csv_heads(&c, "row,plan,difference,from,to,step_s,tokens_per_s,device_bytes,feasible,change,"
                  "alone");
    csv_end(&c);
    for (int i = 0; i < r->sides; i++) {
        csv_text(&c, "plan");
        csv_text(&c, r->side[i].name);
        for (int k = 0; k < 3; k++)
            csv_text(&c, "");
        add_figures(&c, r->side[i].plan);
        csv_text(&c, "");
        csv_text(&c, "");
        csv_end(&c);
    }
    for (int i = 1; i < r->sides; i++) {
        const struct differences *d = r->pair[i];
        for (int k = 0; k < d->steps; k++)
            add_step_rows(&c, r->side[i].name, d, &d->step[k],
                          k ? d->step[k - 1].plan : d->a->plan);
    }
}
