/* Hours and dollars of a run, for people and programs. */
#include "report/text/plan_text.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "price/rent.h"
#include "report/json/json_out.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <math.h>

void add_run_time(const struct plan *p, struct str *out)
{
    if (p->hours < INFINITY && p->hours > 0)
        add_seconds(out, 3600 * p->hours);
    else if (p->hours > 0)
        str_add(out, "never ends");
}

void add_run_cost(const struct plan *p, struct str *out)
{
    if (p->usd_total < INFINITY && p->usd_total > 0)
        add_usd(out, p->usd_total);
}

/* "512 B200-SXM, 12.1 d, $1,168,123". */
static void add_run_of(const struct plan *p, struct str *out)
{
    add_gpus(p, out);
    str_add(out, ", ");
    add_run_time(p, out);
    str_add(out, p->usd_total > 0 ? ", " : "");
    add_run_cost(p, out);
}

static void print_line(const struct report_style *style, struct str *line, struct str *out)
{
    str_add(out, "  ");
    typeset_wrap(style, str_text(line), 4, out);
    str_clear(line);
}

static bool all_priced(const struct search_report *r)
{
    for (int g = 0; g < r->cluster->groups; g++)
        if (rent_of(r->rent, &r->cluster->group[g])->usd_per_hour <= 0)
            return false;
    return true;
}

static void print_ends(const struct money *m, const char *of, const struct report_style *style,
                       struct str *line, struct str *out)
{
    bool limits = m->budget_usd > 0 || m->deadline_s > 0;
    const struct {
        const char *what;
        const struct plan *plan;
    } ends[] = {{"fastest", m->fastest}, {"cheapest", m->cheapest}};
    for (int i = 0; i < 2; i++) {
        str_addf(line, "%s%s%s: ", ends[i].what, of, limits ? " within the limits" : "");
        add_run_of(ends[i].plan ? ends[i].plan : m->chosen, line);
        print_line(style, line, out);
    }
}

static bool uses_all(const struct plan *p)
{
    return !p->meshes && p->gpus == (int64_t)p->group->nodes_max * p->group->per_node;
}

static void print_limit(const struct money *m, const struct report_style *style, struct str *line,
                        struct str *out)
{
    static const char *const binds[] = {
        [LIMIT_NONE] = "no limit binds",
        [LIMIT_BUDGET] = "the budget binds: every faster plan costs more",
        [LIMIT_DEADLINE] = "the deadline binds: every cheaper plan takes longer"};
    if (m->budget_usd <= 0 && m->deadline_s <= 0)
        return;
    str_add(line, "limits:");
    if (m->budget_usd > 0) {
        str_add(line, " budget ");
        add_usd(line, m->budget_usd);
    }
    if (m->deadline_s > 0) {
        str_addf(line, "%s deadline ", m->budget_usd > 0 ? "," : "");
        add_seconds(line, m->deadline_s);
    }
    str_addf(line, "; %s", binds[m->binds]);
    if (m->binds == LIMIT_NONE && uses_all(m->chosen))
        str_addf(line, ": plan 1 has all %lld GPUs of its type", (long long)m->chosen->gpus);
    print_line(style, line, out);
}

/* What a tenth more of the limit buys that can stand in the way: money of speed, time of the
 * cheapest. */
static void print_more(const struct money *m, const struct report_style *style, struct str *line,
                       struct str *out)
{
    bool cost = m->objective == OBJECTIVE_COST;
    const struct plan *then = cost ? m->more_time : m->more_budget;
    if ((cost ? m->deadline_s : m->budget_usd) <= 0)
        return;
    str_addf(line, "10 %% more %s buys ", cost ? "time" : "budget");
    if (!then) {
        str_add(line, "nothing");
    } else {
        double from = cost ? m->chosen->usd_total : m->chosen->hours;
        double to = cost ? then->usd_total : then->hours;
        add_run_of(then, line);
        str_addf(line, " (%.*f %% %s)", to > 0.99 * from ? 3 : 1, 100 * (1 - to / from),
                 cost ? "cheaper" : "less time");
    }
    print_line(style, line, out);
}

static void add_usd_per_hour(const struct rent *r, struct str *out)
{
    if (r->usd_per_hour > 0)
        str_addf(out, "$%.7g per GPU-hour", r->usd_per_hour);
    else
        str_add(out, "not known");
}

/* One row a type, the cheapest or fastest first as they were asked. */
static void print_offers(const struct search_report *r, const struct report_style *style,
                         struct str *out)
{
    static const struct table_column columns[] = {
        {"GPU", TABLE_LEFT, 0},  {"$/GPU-hour", TABLE_RIGHT, 0}, {"GPUs", TABLE_RIGHT, 0},
        {"run", TABLE_RIGHT, 0}, {"cost", TABLE_RIGHT, 0},       {"", TABLE_LEFT, 0},
        {"plan", TABLE_LEFT, 1}};
    const struct offers *o = r->offers;
    struct table t;
    if (!o)
        return;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < o->count; i++) {
        const struct offer *x = &o->offer[i];
        table_add(&t, "%s", x->group->gpu->name);
        if (x->rent->usd_per_hour > 0)
            table_add(&t, "%.4g", x->rent->usd_per_hour);
        else
            table_add(&t, "no price");
        if (x->plan)
            str_addf(&t.text, "%lld", (long long)x->plan->gpus);
        table_take(&t);
        if (x->plan)
            add_run_time(x->plan, &t.text);
        table_take(&t);
        if (x->plan)
            add_run_cost(x->plan, &t.text);
        table_take(&t);
        table_add(&t, "%s", x->why);
        table_ink(&t, x->within ? INK_PLAIN : INK_WARN);
        if (x->plan)
            add_plan_words(&x->plan->strategy, &t.text);
        table_take(&t);
        if (i == 0 && x->within)
            table_row_ink(&t, INK_BOLD);
    }
    typeset_heading(style, "What to rent: the best plan of each type", out);
    table_print(&t, style, out);
    if (o->other) {
        str_add(out, "  ");
        typeset_wrap(style, o->other, 4, out);
    }
}

static void print_prices(const struct search_report *r, const struct report_style *style,
                         struct str *line, struct str *out)
{
    for (int g = 0; g < r->cluster->groups; g++) {
        const struct node_group *group = &r->cluster->group[g];
        const struct rent *rent = rent_of(r->rent, group);
        str_addf(line, "price of %s: ", group->gpu->name);
        add_usd_per_hour(rent, line);
        str_addf(line, "%s%s", *rent->from ? ", " : "", rent->from);
        if (rent->usd_per_hour <= 0)
            str_add(line, r->cluster->groups > 1 ? ": its plans are left out of the front"
                                                 : ", GPU-hours stand in for money");
        print_line(style, line, out);
    }
}

enum { PRICES_LISTED = 6 }; /* of more types the table alone says them */

static void add_outages(const struct plan *p, struct str *out)
{
    bool given = p->run && p->run->outage.interval_s > 0;
    str_addf(out, "%.3g outages a day expected, ", 24 * p->outages_per_h);
    if (p->checkpoint_s > 0) {
        str_add(out, "a checkpoint every ");
        add_seconds(out, p->checkpoint_s);
    } else {
        str_add(out, "checkpoints take no time");
    }
    if (!given && p->checkpoint_s > 0)
        str_add(out, " (which loses least)");
    str_addf(out, ", %.1f %% of the time lost", 100 * (1 - 1 / p->slowdown));
}

static bool has_outages(const struct plan *p)
{
    return p->slowdown > 1 && p->slowdown < INFINITY;
}

void print_run(const struct search_report *r, const struct report_style *style, struct arena *mem,
               struct str *out)
{
    const struct money *m = r->money;
    struct str line = {0};
    if (!m)
        return;
    if (m->tokens > 0) {
        str_add(&line, "Run of ");
        add_count(&line, m->samples > 0 ? m->samples : m->tokens);
        str_addf(&line, " %s: %.0f steps", m->samples > 0 ? "samples" : "tokens", m->steps);
    } else {
        str_add(&line, "Money");
    }
    typeset_heading(style, arena_string(mem, str_text(&line)), out);
    str_clear(&line);
    if (m->fastest) {
        print_ends(m, all_priced(r) ? "" : " of those with a price", style, &line, out);
        print_limit(m, style, &line, out);
        print_more(m, style, &line, out);
    }
    if (has_outages(m->chosen)) {
        str_add(&line, "plan 1: ");
        add_outages(m->chosen, &line);
        print_line(style, &line, out);
    }
    if (!r->offers || r->offers->count <= PRICES_LISTED)
        print_prices(r, style, &line, out);
    else
        str_add(out, "  astra prices shows where each price comes from\n");
    str_add(&line, "whole nodes are billed; network egress and storage are not counted");
    print_line(style, &line, out);
    str_release(&line);
    print_offers(r, style, out);
}

void add_run_rows(struct table *t, const struct plan *p)
{
    struct str *cell = &t->text;
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++) {
        const struct rent *rent = rent_of(p->rent, part[i].group);
        table_add(t, i ? "" : "price");
        str_add(cell, parts > 1 ? part[i].group->gpu->name : "");
        str_add(cell, parts > 1 ? " " : "");
        add_usd_per_hour(rent, cell);
        table_take(t);
        if (*rent->from) {
            table_take(t);
            table_add(t, "%s", rent->from);
        }
    }
    if (p->hours > 0) {
        table_add(t, "run");
        add_run_time(p, cell);
        str_add(cell, p->usd_total > 0 && p->usd_total < INFINITY ? ", " : "");
        add_run_cost(p, cell);
        table_take(t);
    }
    if (has_outages(p)) {
        table_add(t, "outages");
        add_outages(p, cell);
        table_take(t);
    }
}

struct json *json_of_money(const struct plan *p)
{
    struct json *o = json_new_object();
    json_set(o, "usd_per_hour", json_number_or_null(p->usd_per_hour > 0, p->usd_per_hour));
    json_set(o, "usd_per_mtoken", json_number_or_null(p->usd_per_mtoken > 0, p->usd_per_mtoken));
    if (p->hours > 0) {
        json_set(o, "hours", json_new_number(p->hours));
        json_set(o, "usd_total", p->usd_total > 0 ? json_new_cents(p->usd_total) : json_new_null());
    }
    if (p->slowdown > 1) {
        json_set(o, "outages_per_h", json_new_number(p->outages_per_h));
        json_set(o, "slowdown", json_new_number(p->slowdown));
        json_set(o, "checkpoint_s", json_new_number(p->checkpoint_s));
        json_set(o, "net_tokens_per_s", json_new_number(p->net_tokens_per_s));
    }
    return o;
}

struct json *json_of_terms(const struct run_terms *run)
{
    struct json *o = json_new_object();
    json_set(o, "tokens", json_number_or_null(run->tokens > 0, run->tokens));
    if (run->samples > 0) {
        json_set(o, "samples", json_new_number(run->epoch));
        json_set(o, "epochs", json_new_number(run->samples / run->epoch));
    }
    json_set(o, "checkpoint_every_s",
             json_number_or_null(run->outage.interval_s > 0, run->outage.interval_s));
    json_set(o, "checkpoint_write_s", json_new_number(run->outage.write_s));
    json_set(o, "restart_s", json_new_number(run->outage.restart_s));
    return o;
}

/* Its place in the list "pareto". */
static struct json *index_of(const struct search_report *r, const struct plan *p)
{
    return p ? json_new_integer(p - r->pareto) : json_new_null();
}

struct json *json_of_prices(const struct search_report *r)
{
    const struct cluster *c = r->cluster;
    struct json *list = json_new_array();
    for (int g = 0; g < c->groups; g++) {
        const struct rent *rent = rent_of(r->rent, &c->group[g]);
        struct json *o = json_new_object();
        json_set(o, "gpu", json_new_string(c->group[g].gpu->name));
        json_set(o, "usd_per_gpu_hour",
                 json_number_or_null(rent->usd_per_hour > 0, rent->usd_per_hour));
        json_set(o, "from", json_new_string(rent->from));
        json_append(list, o);
    }
    return list;
}

static struct json *json_of_offers(const struct offers *list)
{
    struct json *out = json_new_array();
    for (int i = 0; i < list->count; i++) {
        const struct offer *x = &list->offer[i];
        const struct plan *p = x->plan;
        struct json *o = json_new_object();
        json_set(o, "gpu", json_new_string(x->group->gpu->name));
        json_set(o, "usd_per_gpu_hour",
                 json_number_or_null(x->rent->usd_per_hour > 0, x->rent->usd_per_hour));
        json_set(o, "within_limits", json_new_bool(x->within));
        json_set(o, "why", json_new_string(x->why));
        json_set(o, "gpus", p ? json_new_integer(p->gpus) : json_new_null());
        json_set(o, "hours", json_number_or_null(p && p->hours > 0, p ? p->hours : 0));
        json_set(o, "usd_total",
                 p && p->usd_total > 0 ? json_new_cents(p->usd_total) : json_new_null());
        json_set(o, "tokens_per_s", json_number_or_null(p, p ? p->net_tokens_per_s : 0));
        json_set(o, "plan", p ? json_of_words(p, add_ways_of) : json_new_null());
        json_append(out, o);
    }
    return out;
}

struct json *json_of_run(const struct search_report *r)
{
    static const char *const binds[] = {[LIMIT_BUDGET] = "budget", [LIMIT_DEADLINE] = "deadline"};
    const struct money *m = r->money;
    struct json *o = json_new_object();
    json_set(o, "objective",
             json_new_string(m->objective == OBJECTIVE_COST ? "cost" : "throughput"));
    json_set(o, "tokens", json_number_or_null(m->tokens > 0, m->tokens));
    if (m->samples > 0)
        json_set(o, "samples", json_new_number(m->samples));
    json_set(o, "steps", json_number_or_null(m->tokens > 0, m->steps));
    json_set(o, "budget_usd", json_number_or_null(m->budget_usd > 0, m->budget_usd));
    json_set(o, "deadline_h", json_number_or_null(m->deadline_s > 0, m->deadline_s / 3600));
    json_set(o, "binds", m->binds ? json_new_string(binds[m->binds]) : json_new_null());
    json_set(o, "fastest", index_of(r, m->fastest));
    json_set(o, "cheapest", index_of(r, m->cheapest));
    json_set(o, "more_budget", index_of(r, m->more_budget));
    json_set(o, "more_time", index_of(r, m->more_time));
    json_set(o, "prices", json_of_prices(r));
    if (r->offers) {
        json_set(o, "offers", json_of_offers(r->offers));
        json_set(o, "other_offer",
                 r->offers->other ? json_new_string(r->offers->other) : json_new_null());
    }
    return o;
}
