/* Everything that the scripts of a page draw, as one JSON value. It is no promise to other
 * programs: --format json is. */
#include "report/page/page_parts.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "model/model.h"
#include "price/rent.h"
#include "probe/alternatives.h"
#include "probe/answer.h"
#include "report/advice_words.h"
#include "report/chart/front_chart.h"
#include "report/json/json_out.h"
#include "report/page/page.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "search/mixed/mixed.h"

#include <limits.h>
#include <math.h>

/* A plan that is only compared with plan 1. */
static struct json *brief_of(const struct plan *p)
{
    struct json *o = json_new_object();
    bool all = p->computed;
    json_set(o, "nodes", json_of_words(p, add_gpus));
    json_set(o, "plan", json_of_words(p, add_ways_of));
    json_set(o, "feasible", json_new_bool(p->feasible));
    json_set(o, "step_s", json_number_or_null(all, p->step_s));
    json_set(o, "tokens_per_s", json_number_or_null(all, p->tokens_per_s));
    json_set(o, "usd_per_mtoken",
             json_number_or_null(all && p->usd_per_mtoken > 0, p->usd_per_mtoken));
    json_set(o, "memory_gib",
             json_number_or_null(all, all ? plan_fullest(p)->device_bytes / GIB : 0));
    json_set(o, "limit_gib",
             json_number_or_null(all, all ? plan_fullest(p)->limit_bytes / GIB : 0));
    return o;
}

static struct json *model_of(const struct model *m)
{
    struct json *o = json_new_object();
    json_set(o, "name", json_new_string(m->name));
    json_set(o, "params", json_new_number((double)model_params_total(m)));
    json_set(o, "active", json_new_number((double)model_params_active(m)));
    return o;
}

static struct json *front_of(const struct page_list *l)
{
    struct json *list = json_new_array();
    for (int i = 0; i < l->fronts; i++)
        json_append(list, json_new_integer(l->front[i]));
    return list;
}

static struct json *axis_of(const struct scale *a)
{
    static const char *const FIGURE[] = {[FRONT_TOKENS_PER_S] = "net_tokens_per_s",
                                         [FRONT_HOURS] = "hours",
                                         [FRONT_USD_PER_MTOKEN] = "usd_per_mtoken",
                                         [FRONT_USD_TOTAL] = "usd_total",
                                         [FRONT_GPUS] = "gpus"};
    struct json *o = json_new_object(), *ticks = json_new_array();
    for (int i = 0; i < a->ticks; i++) {
        struct json *pair = json_new_array();
        json_append(pair, json_new_number(a->tick[i].at));
        json_append(pair, json_new_string(a->tick[i].text));
        json_append(ticks, pair);
    }
    json_set(o, "figure", json_new_string(FIGURE[a->what]));
    json_set(o, "title", json_new_string(a->title));
    json_set(o, "log", json_new_bool(a->logarithmic));
    json_set(o, "lo", json_new_number(a->lo));
    json_set(o, "hi", json_new_number(a->hi));
    json_set(o, "ticks", ticks);
    return o;
}

/* Of the front and of as many listed plans as can be told apart beside it. */
static struct json *axes_of(const struct search_report *r, const struct page_list *l,
                            struct arena *mem)
{
    enum { X_TICKS = 8, Y_TICKS = 6, MOST_LISTED = 300 };
    int listed = l->listed < MOST_LISTED ? l->listed : MOST_LISTED;
    struct json *o = json_new_object();
    struct chart c;
    chart_init(&c, r, listed, X_TICKS, Y_TICKS, mem);
    json_set(o, "x", axis_of(&c.x));
    json_set(o, "y", axis_of(&c.y));
    json_set(o, "listed", json_new_integer(listed));
    json_set(o, "deadline_h", json_number_or_null(c.deadline_h > 0, c.deadline_h));
    json_set(o, "budget_usd", json_number_or_null(c.budget_usd > 0, c.budget_usd));
    return o;
}

/* Pairs, as reasons may read like numbers, which objects of a script would sort. */
static struct json *funnel_of(const struct search_report *r)
{
    const struct funnel *f = r->funnel;
    struct json *o = json_new_object(), *drops = json_new_array();
    json_set(o, "generated", json_new_number(f->generated));
    json_set(o, "judged", json_new_number(f->judged));
    json_set(o, "simulated", json_new_number(f->simulated));
    json_set(o, "kept", json_new_number(f->kept));
    json_set(o, "mixed", json_new_bool(r->mixed != NULL));
    for (int i = 0; i < f->drops; i++) {
        struct json *pair = json_new_array();
        json_append(pair, json_new_string(f->drop[i].reason));
        json_append(pair, json_new_number(f->drop[i].count));
        json_append(drops, pair);
    }
    json_set(o, "drops", drops);
    return o;
}

static struct json *what_ifs_of(const struct search_report *r)
{
    struct json *list = json_new_array();
    for (int i = 0; i < r->what_ifs; i++) {
        const struct what_if *w = &r->what_if[i];
        struct json *o = w->plan ? brief_of(w->plan) : json_new_object();
        json_set(o, "change", json_new_string(w->change));
        json_set(o, "message", json_text_or_null(w->plan ? NULL : w->message));
        json_append(list, o);
    }
    return list;
}

static struct json *changes_of(const struct page *page)
{
    struct json *list = json_new_array();
    for (int i = 0; i < page->changes; i++) {
        const struct sensitivity *c = &page->change[i];
        struct json *o = brief_of(c->plan);
        json_set(o, "input", json_new_string(c->input));
        json_set(o, "change", json_new_string(c->change));
        json_set(o, "reason", json_text_or_null(c->plan->reasons > 0 ? c->plan->reason[0] : NULL));
        json_append(list, o);
    }
    return list;
}

static struct json *others_of(const struct page *page)
{
    struct json *list = json_new_array();
    for (int i = 0; i < page->others; i++) {
        const struct alternative *x = &page->other[i];
        struct json *o = x->plan ? brief_of(x->plan) : json_new_object();
        json_set(o, "param", json_new_string(param_info(x->param)->name));
        json_set(o, "help", json_new_string(param_info(x->param)->help));
        json_set(o, "value", json_new_string(x->value));
        json_set(o, "chosen", json_new_bool(x->chosen));
        json_set(o, "best", json_new_bool(x->best));
        json_set(o, "reason", json_text_or_null(x->reason));
        json_append(list, o);
    }
    return list;
}

static void set_run(struct json *o, const struct search_report *r)
{
    const struct strategy *s = &r->plan[0].strategy;
    const struct plan *p = &r->plan[0];
    json_set(o, "batch", json_new_integer(s->global_batch));
    json_set(o, "seq_len", json_new_integer(s->seq_len));
    json_set(o, "tflop_per_token",
             json_number_or_null(p->computed && p->tokens_per_s > 0,
                                 p->tflops_per_gpu / p->tokens_per_s_per_gpu));
    json_set(
        o, "tokens",
        json_number_or_null(r->money && r->money->tokens > 0, r->money ? r->money->tokens : 0));
    json_set(o, "money", r->money ? json_of_run(r) : json_new_null());
    json_set(o, "prices", json_of_prices(r));
}

/* What the text of an estimate says behind its figures. */
static struct json *advice_of(const struct plan_answer *a, struct arena *mem)
{
    struct advice_section section[ADVICE_SECTIONS];
    struct json *list = json_new_array();
    int count = a ? advice_words(a, mem, section) : 0;
    for (int i = 0; i < count; i++) {
        struct json *o = json_new_object();
        json_set(o, "heading", json_new_string(section[i].heading));
        json_set(o, "items", json_new_strings(section[i].item, (size_t)section[i].items));
        json_append(list, o);
    }
    return list;
}

/* Those of plans, of an answer with one of them as they are. */
static void add_plan_notes(struct json *list, const struct search_report *r)
{
    struct str text = {0};
    for (int i = 0; i < r->best; i++)
        for (int k = 0; k < r->plan[i].notes; k++)
            if (r->best == 1) {
                json_append(list, json_new_string(r->plan[i].note[k]));
            } else if (add_note_of_plans(r->plan, r->best, i, k, &text)) {
                json_append(list, json_new_string(str_text(&text)));
                str_clear(&text);
            }
    str_release(&text);
}

/* And what flags cannot say of the model. */
/* What is known of plan 1 beside its figures. */
static void add_first(struct json *list, const struct plan *p,
                      void (*add)(const struct plan *, struct str *))
{
    struct str text = {0}, line = {0};
    if (p->computed)
        add(p, &text);
    str_addf(&line, "plan 1 %s", str_text(&text));
    if (text.length > 0)
        json_append(list, json_new_string(str_text(&line)));
    str_release(&text);
    str_release(&line);
}

static struct json *notes_of(const struct search_report *r, struct arena *mem)
{
    const char *untold = export_untold_text(r->model, INT_MAX, mem);
    struct json *list = json_new_strings(r->note, (size_t)r->notes);
    add_plan_notes(list, r);
    add_first(list, &r->plan[0], add_expert_room);
    add_first(list, &r->plan[0], add_host_memory);
    if (untold)
        json_append(
            list, json_new_string(arena_format(mem, "%s: %s",
                                               model_lacks(r->model)
                                                   ? "Nothing launches these plans"
                                                   : "These flags are for timing, not for training",
                                               untold)));
    return list;
}

struct json *page_data(const struct page *page, struct arena *mem)
{
    const struct search_report *r = page->report;
    const struct plan *first = &r->plan[0];
    struct json *o = json_new_object();
    struct page_list list;
    page_list_init(&list, r, mem);
    json_set(o, "version", json_new_string(ASTRA_VERSION));
    json_set(o, "search", json_new_bool(r->funnel != NULL));
    json_set(o, "question", json_new_string(r->query));
    json_set(o, "model", model_of(r->model));
    json_set(o, "cluster", json_new_string(r->cluster->text));
    json_set(o, "feasible", json_new_bool(first->feasible));
    json_set(o, "reasons", json_new_strings(first->reason, (size_t)first->reasons));
    json_set(o, "advice", advice_of(page->answer, mem));
    json_set(o, "notes", notes_of(r, mem));
    json_set(o, "unlisted", json_new_integer(r->best - list.listed));
    set_run(o, r);
    json_set(o, "plans", page_plans(&list, mem));
    json_set(o, "flags", page_flags(&list, mem));
    json_set(o, "stages", page_stages(&list));
    json_set(o, "front", front_of(&list));
    json_set(o, "axes", r->front > 0 ? axes_of(r, &list, mem) : json_new_null());
    json_set(o, "funnel", r->funnel ? funnel_of(r) : json_new_null());
    json_set(o, "what_if", what_ifs_of(r));
    json_set(o, "changes", changes_of(page));
    json_set(o, "others", others_of(page));
    json_set(o, "timeline", page_timeline(first));
    return o;
}
