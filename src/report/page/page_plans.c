/* Plans by column, so that thousands of them are read at once: a column of words is a list of the
 * words and the place of each plan's word in it; where all plans have the same value it stands
 * there once. */
#include "report/page/page_parts.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "export/export.h"
#include "report/page/page.h"
#include "report/plan_words.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* Of one search, so that groups are the same where their addresses are. */
static bool same_plan(const struct plan *a, const struct plan *b)
{
    if (a->gpus != b->gpus || a->group != b->group || !a->meshes != !b->meshes ||
        a->step_s != b->step_s || a->stages != b->stages)
        return false;
    for (int i = 0; i < a->stages; i++)
        if (a->stage[i].group != b->stage[i].group || a->stage[i].layers != b->stage[i].layers)
            return false;
    return strategy_compare(&a->strategy, &b->strategy) == 0;
}

static int place_of(const struct page_list *l, const struct plan *p)
{
    int i = 0;
    while (i < l->count && !same_plan(l->plan[i], p))
        i++;
    return i;
}

void page_list_init(struct page_list *l, const struct search_report *r, struct arena *mem)
{
    l->listed = l->count = r->best < PAGE_MOST_PLANS ? r->best : PAGE_MOST_PLANS;
    l->plan = arena_array(mem, (size_t)(l->count + r->front), sizeof *l->plan);
    l->front = arena_array(mem, (size_t)r->front, sizeof *l->front);
    for (int i = 0; i < l->listed; i++)
        l->plan[i] = &r->plan[i];
    l->fronts = r->front;
    for (int i = 0; i < r->front; i++) {
        l->front[i] = place_of(l, &r->pareto[i]);
        if (l->front[i] == l->count)
            l->plan[l->count++] = &r->pareto[i];
    }
}

/* Words that are no parameter. */
static void add_engine(const struct plan *p, struct str *out)
{
    str_add(out, plan_engine(p));
}

static void add_env(const struct plan *p, struct str *out)
{
    struct arena mem = {0};
    const char **env;
    size_t count;
    plan_environment(p, &mem, &env, &count);
    for (size_t i = 0; i < count; i++)
        str_addf(out, "%s%s", i ? " " : "", env[i]);
    arena_release(&mem);
}

static void add_provenance(const struct plan *p, struct str *out)
{
    str_add(out, p->provenance ? p->provenance : "");
}

/* A line each. */
static void add_cautions(const struct plan *p, struct str *out)
{
    for (int i = 0; i < p->cautions; i++) {
        str_add(out, i ? "\n" : "");
        add_caution(p->caution[i], out);
    }
}

static const struct {
    const char *name, *help;
    void (*add)(const struct plan *, struct str *);
} WORDS[] = {
    {"gpu", "type of GPU", add_gpu_names},
    {"nodes", "GPUs by type", add_gpus},
    {"engine", "what runs the plan", add_engine},
    {"env", "environment that all ranks need", add_env},
    {"provenance", "what the error comes from", add_provenance},
    {"cautions", "what to mind", add_cautions},
};

static double gpus_of(const struct plan *p)
{
    return (double)p->gpus;
}

static double memory_of(const struct plan *p)
{
    return p->computed ? plan_fullest(p)->device_bytes / GIB : NAN;
}

static double limit_of(const struct plan *p)
{
    return p->computed ? plan_fullest(p)->limit_bytes / GIB : NAN;
}

static double or_nan(double value)
{
    return value > 0 ? value : NAN;
}

/* What does not run has no speed. */
#define FIGURE(field)                                                                              \
    static double field##_of(const struct plan *p)                                                 \
    {                                                                                              \
        return p->feasible ? or_nan(p->field) : NAN;                                               \
    }
FIGURE(step_s)
FIGURE(mfu)
FIGURE(expected_error)
FIGURE(usd_per_hour)
FIGURE(usd_per_mtoken)
FIGURE(hours)
FIGURE(usd_total)
FIGURE(slowdown)
#undef FIGURE

enum { WHOLE = 0, DOLLARS = -1 }; /* the latter rounded as add_usd() prints them */

/* What follows from these is left to the scripts: tokens per second, FLOP/s. */
static const struct {
    const char *name;
    int digits; /* or one of these */
    double (*get)(const struct plan *);
} NUMBERS[] = {
    {"gpus", WHOLE, gpus_of},
    {"step_s", 6, step_s_of},
    {"mfu", 4, mfu_of},
    {"expected_error", 3, expected_error_of},
    {"memory_gib", 4, memory_of},
    {"limit_gib", 4, limit_of},
    {"usd_per_hour", DOLLARS, usd_per_hour_of},
    {"usd_per_mtoken", 9, usd_per_mtoken_of},
    {"hours", 6, hours_of},
    {"usd_total", DOLLARS, usd_total_of},
    {"slowdown", 6, slowdown_of},
};

static struct json *rounded(double value, int digits)
{
    if (!isfinite(value))
        return json_new_null();
    if (digits == WHOLE)
        return json_new_integer(llround(value));
    if (digits == DOLLARS)
        return json_new_number(usd_shown(value));
    double unit = value == 0 ? 1 : pow(10, digits - 1 - floor(log10(fabs(value))));
    return json_new_number(round(value * unit) / unit);
}

/* NaN is the same as NaN here. */
static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static struct json *numbers_of(const struct page_list *l, int digits,
                               double (*get)(const struct plan *))
{
    bool same = true;
    for (int i = 1; i < l->count && same; i++)
        same = same_number(get(l->plan[i]), get(l->plan[0]));
    if (same)
        return rounded(get(l->plan[0]), digits);
    struct json *list = json_new_array();
    for (int i = 0; i < l->count; i++)
        json_append(list, rounded(get(l->plan[i]), digits));
    return list;
}

struct word_column {
    struct page_words words;
    int *at; /* [plans] */
};

/* A digit each where there are enough of them, otherwise numbers. */
static struct json *places_of(const struct word_column *c, int count)
{
    static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (c->words.count < (int)sizeof digit) {
        struct str text = {0};
        for (int i = 0; i < count; i++)
            str_add_bytes(&text, &digit[c->at[i]], 1);
        struct json *digits = json_new_string(str_text(&text));
        str_release(&text);
        return digits;
    }
    struct json *list = json_new_array();
    for (int i = 0; i < count; i++)
        json_append(list, json_new_integer(c->at[i]));
    return list;
}

static struct json *column_of(const struct word_column *c, int count, const char *name,
                              const char *help)
{
    struct json *o = json_new_object();
    json_set(o, "name", json_new_string(name));
    json_set(o, "help", json_new_string(help));
    json_set(o, "words", page_words_json(&c->words));
    if (c->words.count > 1)
        json_set(o, "at", places_of(c, count));
    return o;
}

/* One of both: `add`, or the parameter. */
static struct json *words_of(const struct page_list *l, const char *name, const char *help,
                             void (*add)(const struct plan *, struct str *), enum param p,
                             struct arena *mem)
{
    struct word_column c;
    struct str text = {0};
    page_words_init(&c.words, mem);
    c.at = arena_array(mem, (size_t)l->count, sizeof *c.at);
    for (int i = 0; i < l->count; i++) {
        str_clear(&text);
        if (add)
            add(l->plan[i], &text);
        else
            add_param_of(l->plan[i], p, &text);
        c.at[i] = page_words_add(&c.words, str_text(&text));
    }
    str_release(&text);
    return column_of(&c, l->count, name, help);
}

/* Thousandths of the step: exact shares of plan 1 are worth no more in a chart. */
static struct json *shares_of(const struct page_list *l, int part)
{
    struct json *list = json_new_array();
    for (int i = 0; i < l->count; i++) {
        const struct plan *p = l->plan[i];
        json_append(list, p->feasible
                              ? json_new_integer(llround(1000 * p->breakdown[part] / p->step_s))
                              : json_new_null());
    }
    return list;
}

static bool has_part(const struct page_list *l, int part)
{
    for (int i = 0; i < l->count; i++)
        if (l->plan[i]->feasible && 1000 * l->plan[i]->breakdown[part] >= 0.5 * l->plan[i]->step_s)
            return true;
    return false;
}

struct json *page_plans(const struct page_list *l, struct arena *mem)
{
    struct json *o = json_new_object(), *words = json_new_array(), *params = json_new_array();
    struct json *numbers = json_new_object(), *breakdown = json_new_object();
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        json_append(words, words_of(l, WORDS[i].name, WORDS[i].help, WORDS[i].add, PARAMS, mem));
    for (int i = 0; i < PARAMS; i++) {
        const struct param_info *info = param_info((enum param)i);
        if (param_info((enum param)i)->shown != SHOWN_WITHIN)
            json_append(params, words_of(l, info->name, info->help, NULL, (enum param)i, mem));
    }
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        json_set(numbers, NUMBERS[i].name, numbers_of(l, NUMBERS[i].digits, NUMBERS[i].get));
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        if (has_part(l, i))
            json_set(breakdown, breakdown_name((enum breakdown_part)i), shares_of(l, i));
    json_set(o, "count", json_new_integer(l->count));
    json_set(o, "listed", json_new_integer(l->listed));
    json_set(o, "words", words);
    json_set(o, "params", params);
    json_set(o, "numbers", numbers);
    json_set(o, "breakdown", breakdown);
    return o;
}
