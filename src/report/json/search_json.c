/* The answer of a search: its query, plans, front, and what became of the space. */
#include "report/json/json_out.h"

#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "report/first_words.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "search/mixed/mixed.h"

#include <math.h>

static struct json *plans_of(const struct plan *p, int count)
{
    struct json *list = json_new_array();
    for (int i = 0; i < count; i++)
        json_append(list, json_of_plan(&p[i]));
    return list;
}

/* Batch, sequence, precision and stack are those of any plan that was found. */
static struct json *query_of(const struct search_report *r)
{
    const struct plan *p = r->best > 0 ? &r->plan[0] : r->front > 0 ? &r->pareto[0] : NULL;
    struct json *o = json_new_object();
    json_set(o, "text", json_new_string(r->query));
    json_set(o, "model", json_of_model(r->model));
    json_set(o, "cluster", json_new_string(r->cluster->text));
    for (int i = 0; i < PARAM_FIRST_CELL; i++)
        json_set(o, param_info((enum param)i)->name,
                 p ? json_of_param((enum param)i, strategy_get(&p->strategy, (enum param)i))
                   : json_new_null());
    json_set(o, "stack", p ? json_new_string(plan_stack(p)) : json_new_null());
    return o;
}

/* Counts are doubles as spaces can exceed 2^63; up to 2^53 they are whole and written so. */
static struct json *count_of(double count)
{
    return count <= 9007199254740992.0 ? json_new_integer(llround(count)) : json_new_number(count);
}

/* Structures, and arrangements of stages on several types. */
static struct json *mixed_of(const struct mixed_result *m)
{
    struct json *o = json_new_object();
    json_set(o, "structures", count_of(m->structures));
    json_set(o, "arrangements", count_of(m->judged));
    json_set(o, "assigned", count_of(m->problems));
    json_set(o, "simulated", count_of(m->simulated));
    json_set(o, "unproven", count_of(m->unproven));
    return o;
}

static struct json *funnel_of(const struct funnel *f)
{
    struct json *o = json_new_object(), *dropped = json_new_object();
    json_set(o, "generated", count_of(f->generated));
    json_set(o, "judged", count_of(f->judged));
    json_set(o, "simulated", count_of(f->simulated));
    json_set(o, "kept", count_of(f->kept));
    for (int i = 0; i < f->drops; i++) {
        double before =
            json_number_of(json_get(dropped, f->drop[i].reason)); /* rules may share one */
        json_set(dropped, f->drop[i].reason, count_of(before + f->drop[i].count));
    }
    json_set(o, "dropped", dropped);
    return o;
}

static struct json *summary_of(const struct search_report *r)
{
    struct str text = {0};
    add_first_words(r, &text);
    struct json *o = json_new_string(str_text(&text));
    str_release(&text);
    return o;
}

void report_search_json(const struct search_report *r, struct str *out)
{
    struct json *o = json_new_object();
    json_set(o, "question", query_of(r));
    if (r->best > 0)
        json_set(o, "summary", summary_of(r));
    json_set(o, "best", plans_of(r->plan, r->best));
    json_set(o, "pareto", plans_of(r->pareto, r->front));
    if (r->money)
        json_set(o, "money", json_of_run(r));
    json_set(o, "funnel", funnel_of(r->funnel));
    if (r->mixed)
        json_set(o, "mixed", mixed_of(r->mixed));
    if (r->what_ifs > 0)
        json_set(o, "what_if", json_of_what_ifs(r));
    json_set(o, "notes", json_new_strings(r->note, (size_t)r->notes));
    json_set_defaults(o, r->defaults);
    if (r->production_s > 0)
        json_set(o, "production_step_s", json_new_number(r->production_s));
    json_set(o, "proven", json_new_bool(!r->open));
    json_set(o, "gap", r->gap < INFINITY ? json_new_number(r->gap) : json_new_null());
    json_set(o, "elapsed_s", json_new_number(r->elapsed_s));
    json_dump_release(o, out);
}
