/* The answer of `search` for people: the query, the best plans side by side, the front of speed
 * and money, the flags that launch the best one, and what was looked at. A column in which every
 * plan says the same uninteresting thing is left out; parameters that all plans share are said once
 * below. */
#include "report/report.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "price/rent.h"
#include "report/chart/front_chart.h"
#include "report/first_words.h"
#include "report/plan_words.h"
#include "report/text/plan_text.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "search/mixed/mixed.h"

#include <math.h>

static bool all_share(const struct search_report *r, enum param p)
{
    for (int i = 1; i < r->best; i++)
        if (strategy_get(&r->plan[i].strategy, p) != strategy_get(&r->plan[0].strategy, p))
            return false;
    return true;
}

/* Options in which this plan differs from others of the list. */
static void add_differing(const struct search_report *r, const struct strategy *s, struct str *out)
{
    for (int p = 0; p < PARAMS; p++)
        if (param_info((enum param)p)->shown == SHOWN_OPTION && !all_share(r, (enum param)p))
            add_option(s, (enum param)p, " ", out);
}

static void print_shared(const struct search_report *r, const struct report_style *style,
                         struct str *out)
{
    struct str text = {0};
    for (int p = 0; p < PARAMS; p++)
        if (param_info((enum param)p)->shown == SHOWN_OPTION && all_share(r, (enum param)p))
            add_option(&r->plan[0].strategy, (enum param)p, ", ", &text);
    if (text.length) {
        str_add(out, r->best > 1 ? "  all: " : "  with: ");
        typeset_wrap(style, str_text(&text), 7, out);
    }
    str_release(&text);
}

static void print_notes(const struct search_report *r, const struct report_style *style,
                        struct str *out)
{
    struct str text = {0};
    for (int i = 0; i < r->best; i++)
        for (int k = 0; k < r->plan[i].notes; k++)
            if (add_note_of_plans(r->plan, r->best, i, k, &text)) {
                str_add(out, "  ");
                typeset_wrap(style, str_text(&text), 4, out);
                str_clear(&text);
            }
    str_release(&text);
}

/* Of the plans with a mark. */
static void print_cautions(const struct search_report *r, const struct report_style *style,
                           struct str *out)
{
    struct str text = {0};
    for (int i = 0; i < r->best; i++)
        for (int k = 0; k < r->plan[i].cautions; k++)
            if (add_caution_of_plans(r->plan, r->best, i, k, &text)) {
                str_add(out, "  ");
                typeset_ink(style, INK_WARN, out);
                str_add(out, "! mind, ");
                typeset_wrap(style, str_text(&text), 4, out);
                typeset_end(style, out);
                str_clear(&text);
            }
    str_release(&text);
}

enum plan_column {
    RANK,
    GPU,
    GPUS,
    TP,
    CP,
    PP,
    DP,
    EP,
    ETP,
    MICRO_BATCH,
    SEQ_PARALLEL,
    RECOMPUTE,
    OPTIONS,
    STEP,
    TOKENS,
    TFLOPS,
    MFU,
    MEMORY,
    MONEY,
    RUN_TIME,
    RUN_COST,
    PLAN_COLUMNS
};

static const struct table_column PLAN_TABLE[PLAN_COLUMNS] = {
    [RANK] = {"#", TABLE_RIGHT, 0},          [GPU] = {"GPU", TABLE_LEFT, 0},
    [GPUS] = {"GPUs", TABLE_RIGHT, 0},       [TP] = {"tp", TABLE_RIGHT, 0},
    [CP] = {"cp", TABLE_RIGHT, 3},           [PP] = {"pp", TABLE_RIGHT, 0},
    [DP] = {"dp", TABLE_RIGHT, 1},           [EP] = {"ep", TABLE_RIGHT, 4},
    [ETP] = {"etp", TABLE_RIGHT, 10},        [MICRO_BATCH] = {"mbs", TABLE_RIGHT, 5},
    [SEQ_PARALLEL] = {"sp", TABLE_LEFT, 12}, [RECOMPUTE] = {"recompute", TABLE_LEFT, 9},
    [OPTIONS] = {"options", TABLE_LEFT, 13}, [STEP] = {"step", TABLE_RIGHT, 6},
    [TOKENS] = {"tokens/s", TABLE_RIGHT, 0}, [TFLOPS] = {"TFLOP/s/GPU", TABLE_RIGHT, 11},
    [MFU] = {"MFU", TABLE_RIGHT, 7},         [MEMORY] = {"memory", TABLE_RIGHT, 1},
    [MONEY] = {"$/Mtoken", TABLE_RIGHT, 2},  [RUN_TIME] = {"run", TABLE_RIGHT, 1},
    [RUN_COST] = {"cost", TABLE_RIGHT, 0},
};

static void take_money(struct table *t, double usd_per_mtoken, int more)
{
    if (usd_per_mtoken > 0)
        str_addf(&t->text, "%.*f", more + (usd_per_mtoken < 0.1 ? 4 : 3), usd_per_mtoken);
    table_take(t);
}

/* Digits that tell the prices of neighbours on the front apart. */
static int more_digits(const struct search_report *r)
{
    enum { MOST = 5 };
    int more = 0;
    for (int i = 0; i + 1 < r->front; i++) {
        double low = r->pareto[i].usd_per_mtoken, high = r->pareto[i + 1].usd_per_mtoken;
        double unit = pow(10, more + (low < 0.1 ? 4 : 3));
        for (; more < MOST && low > 0 && rint(low * unit) == rint(high * unit); unit *= 10)
            more++;
    }
    return more;
}

/* Time and cost of the run; the columns stay empty where its tokens are not known. */
static void take_run(struct table *t, const struct plan *p)
{
    add_run_time(p, &t->text);
    table_take(t);
    add_run_cost(p, &t->text);
    table_take(t);
}

/* What differs between the meshes of a mixed job as "2/4". */
static void take_param(struct table *t, const struct plan *p, enum param param)
{
    add_param_of(p, param, &t->text);
    table_take(t);
}

static void add_shape_cells(struct table *t, const struct plan *p)
{
    const struct strategy *s = &p->strategy;
    add_gpu_counts(p, &t->text);
    table_take(t);
    take_param(t, p, PARAM_tp);
    table_add(t, "%d", s->cp);
    add_pipeline(s, &t->text);
    table_take(t);
    take_param(t, p, PARAM_dp);
    take_param(t, p, PARAM_ep);
    take_param(t, p, PARAM_etp);
    take_param(t, p, PARAM_micro_batch);
    table_add(t, "%s", s->tp > 1 || s->seq_parallel ? (s->seq_parallel ? "on" : "off") : "");
    take_param(t, p, PARAM_recompute);
}

static void add_plan_row(struct table *t, const struct search_report *r, int i)
{
    const struct plan *p = &r->plan[i];
    table_add(t, "%s%d", p->cautions > 0 ? "! " : "", i + 1);
    table_ink(t, p->cautions > 0 ? INK_WARN : INK_PLAIN);
    add_gpu_names(p, &t->text);
    table_take(t);
    add_shape_cells(t, p);
    add_differing(r, &p->strategy, &t->text);
    table_take(t);
    table_seconds(t, p->step_s);
    table_count(t, p->net_tokens_per_s);
    table_add(t, "%.0f", p->tflops_per_gpu);
    table_add(t, "%.1f %%", 100 * p->mfu);
    table_memory(t, p);
    take_money(t, p->usd_per_mtoken, 0);
    take_run(t, p);
    if (i == 0)
        table_row_ink(t, INK_BOLD);
}

static const char *types_of(const struct plan *p, struct arena *mem)
{
    struct str text = {0};
    add_gpu_names(p, &text);
    return str_keep(&text, mem);
}

static bool interleaves(const struct search_report *r)
{
    for (int i = 0; i < r->best; i++)
        if (r->plan[i].strategy.vpp > 1)
            return true;
    return false;
}

/* Speeds are those of a run: with outages they are less than what a log shows. */
static const char *tokens_head(const struct search_report *r)
{
    for (int i = 0; i < r->best; i++)
        if (r->plan[i].slowdown > 1)
            return "net tokens/s";
    return "tokens/s";
}

/* The largest of the list; where that of plan 1 is much smaller, both: types of GPU differ in it. */
static const double MUCH_MORE = 1.5;

static void print_error(const struct search_report *r, const struct report_style *style,
                        struct str *out)
{
    const struct plan *worst = &r->plan[0];
    for (int i = 1; i < r->best; i++)
        if (r->plan[i].expected_error > worst->expected_error)
            worst = &r->plan[i];
    struct str text = {0};
    const struct plan *first =
        worst->expected_error > MUCH_MORE * r->plan[0].expected_error ? &r->plan[0] : worst;
    str_addf(&text, "step times ±%.0f %% (%s)", 100 * first->expected_error, first->provenance);
    if (first != worst)
        str_addf(&text, " of plan 1, up to ±%.0f %% (%s) of others", 100 * worst->expected_error,
                 worst->provenance);
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

/* What is known of plan 1 beside its row. */
static void print_first(const struct plan *p, const struct report_style *style, struct str *out)
{
    static void (*const WORDS[])(const struct plan *, struct str *) = {add_expert_room,
                                                                       add_host_memory};
    struct str text = {0};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        str_clear(&text);
        WORDS[i](p, &text);
        if (text.length == 0)
            continue;
        str_add(out, "  plan 1 ");
        typeset_wrap(style, str_text(&text), 2, out);
    }
    str_release(&text);
}

/* Types without a price, where their money would stand. */
static void print_unpriced(const struct search_report *r, const struct report_style *style,
                           struct str *out)
{
    struct str text = {0};
    const char *first = NULL;
    for (int g = 0; g < r->cluster->groups; g++) {
        const struct node_group *group = &r->cluster->group[g];
        if (rent_of(r->rent, group)->usd_per_hour > 0 || (first && group->gpu->name == first))
            continue;
        str_addf(&text, "%s%s", first ? ", " : "no price of ", group->gpu->name);
        first = first ? first : group->gpu->name;
    }
    if (first) {
        str_addf(&text, " is known: --price %s=USD (per GPU-hour) shows what tokens cost", first);
        str_add(out, "  ");
        typeset_wrap(style, str_text(&text), 2, out);
    }
    str_release(&text);
}

static void print_best(const struct search_report *r, const struct report_style *style,
                       struct str *out)
{
    struct table t;
    table_init(&t, PLAN_TABLE, PLAN_COLUMNS);
    t.column[PP].head = interleaves(r) ? "pp x vpp" : "pp";
    t.column[TOKENS].head = tokens_head(r);
    for (int i = 0; i < r->best; i++)
        add_plan_row(&t, r, i);
    if (r->cluster->groups == 1)
        table_hide_if_all(&t, GPU, types_of(&r->plan[0], &t.mem));
    table_hide_if_all(&t, CP, "1");
    table_hide_if_all(&t, SEQ_PARALLEL, "");
    table_hide_if_all(&t, OPTIONS, "");
    table_hide_if_all(&t, MONEY, "");
    table_hide_if_all(&t, RUN_TIME, "");
    table_hide_if_all(&t, RUN_COST, "");
    if (r->model->experts == 0) {
        table_hide(&t, EP);
        table_hide(&t, ETP);
    }
    table_print(&t, style, out);
    print_unpriced(r, style, out);
    print_shared(r, style, out);
    print_notes(r, style, out);
    print_cautions(r, style, out);
    print_error(r, style, out);
    print_first(&r->plan[0], style, out);
    print_profile(r->plan, r->best, style, out);
}

static void print_front(const struct search_report *r, const struct report_style *style,
                        struct str *out)
{
    const struct table_column columns[] = {
        {"GPU", TABLE_LEFT, 0},       {"GPUs", TABLE_RIGHT, 0}, {tokens_head(r), TABLE_RIGHT, 0},
        {"$/Mtoken", TABLE_RIGHT, 1}, {"run", TABLE_RIGHT, 0},  {"cost", TABLE_RIGHT, 0},
        {"plan", TABLE_LEFT, 2}};
    enum { FRONT_GPU = 0, FRONT_MONEY = 3, FRONT_COST = 5 };
    struct table t;
    int more = more_digits(r);
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < r->front; i++) {
        const struct plan *p = &r->pareto[i];
        add_gpu_names(p, &t.text);
        table_take(&t);
        add_gpu_counts(p, &t.text);
        table_take(&t);
        table_count(&t, p->net_tokens_per_s);
        take_money(&t, p->usd_per_mtoken, more);
        take_run(&t, p);
        add_ways_of(p, &t.text);
        table_take(&t);
    }
    if (r->cluster->groups == 1)
        table_hide_if_all(&t, FRONT_GPU, types_of(&r->pareto[0], &t.mem));
    for (int c = FRONT_MONEY; c <= FRONT_COST; c++)
        table_hide_if_all(&t, c, "");
    typeset_heading(style, "Pareto front of speed and money", out);
    table_print(&t, style, out);
    print_front_plot(r, style, out);
}

/* Counts are exact up to a million, then rounded. */
static void add_whole(struct str *out, double value)
{
    if (value < 1e6)
        str_addf(out, "%.0f", value);
    else
        add_count(out, value);
}

static void add_funnel_row(struct table *t, double count, double of, const char *what,
                           const char *reason)
{
    add_whole(&t->text, count);
    table_take(t);
    table_add(t, "%.2f %%", of > 0 ? 100 * count / of : 0);
    table_add(t, "%s%s", what, reason);
}

static void print_funnel(const struct funnel *f, const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {
        {"strategies", TABLE_RIGHT, 0}, {"of all", TABLE_RIGHT, 0}, {"", TABLE_LEFT, 0}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    add_funnel_row(&t, f->generated, f->generated, "generated", "");
    for (int i = 0; i < f->drops; i++)
        add_funnel_row(&t, f->drop[i].count, f->generated, "dropped: ", f->drop[i].reason);
    add_funnel_row(&t, f->judged, f->generated, "judged one by one", "");
    add_funnel_row(&t, f->simulated, f->generated, "simulated exactly", "");
    add_funnel_row(&t, f->kept, f->generated, "kept", "");
    typeset_heading(style, "Funnel", out);
    table_print(&t, style, out);
}

static void print_mixed_effort(const struct mixed_result *m, const struct report_style *style,
                               struct str *out)
{
    struct str text = {0};
    str_addf(&text,
             "several types: %.0f structures, %.0f arrangements of stages bounded, layers "
             "assigned %.0f times (for each state of the optimizer), %.0f splits simulated",
             m->structures, m->judged, m->problems, m->simulated);
    str_add(out, "  ");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

/* What --numerics production would do on the layout of plan 1. */
static void print_production(const struct search_report *r, const struct report_style *style,
                             struct str *out)
{
    struct str text = {0};
    if (r->best == 0 || r->production_s <= 0)
        return;
    double gain = 1 - r->production_s / r->plan[0].step_s;
    str_add(&text,
            "production numerics (--numerics production: gradients and moments in 16 bits) ");
    if (gain >= 0.0005) {
        str_add(&text, "would take ");
        add_seconds(&text, r->production_s);
        str_addf(&text, " a step on this layout, %.*f %% less", gain < 0.0095 ? 1 : 0, 100 * gain);
    } else {
        str_add(&text, "would gain nothing on this layout");
    }
    str_add(out, "\n");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

/* Of a search that was stopped. */
static void print_gap(const struct search_report *r, const struct report_style *style,
                      struct str *out)
{
    struct str text = {0};
    if (!(r->left > 0))
        return;
    str_add(&text, "stopped early: ");
    if (isinf(r->gap))
        str_add(&text, "how far this is from the best possible is unknown");
    else if (r->gap <= 0)
        str_add(&text, "nothing better is possible, but other rows and the front may be");
    else
        str_addf(&text, "at most %.*f %% from the best possible", r->gap < 0.0995 ? 1 : 0,
                 100 * r->gap);
    str_add(&text, ", ");
    add_whole(&text, r->left);
    str_add(&text, " groups of strategies are left");
    str_add(out, "\n");
    typeset_wrap(style, str_text(&text), 2, out);
    str_release(&text);
}

static void print_effort(const struct search_report *r, struct str *out)
{
    str_add(out, "\n");
    add_whole(out, r->funnel->generated);
    str_add(out, " strategies, ");
    add_whole(out, r->funnel->judged);
    str_add(out, " judged, elapsed ");
    add_seconds(out, r->elapsed_s);
    str_add(out, "\n");
}

static void print_summary(const struct search_report *r, const struct report_style *style,
                          struct str *out)
{
    struct str text = {0};
    add_first_words(r, &text);
    str_add(out, "\n");
    typeset_ink(style, INK_BOLD, out);
    typeset_wrap(style, str_text(&text), 2, out);
    typeset_end(style, out);
    str_release(&text);
}

void report_search_text(const struct search_report *r, const struct report_style *style,
                        struct str *out)
{
    struct arena mem = {0};
    typeset_wrap(style, r->query, 2, out);
    if (r->best > 0) {
        print_summary(r, style, out);
        typeset_heading(style, "Best plans", out);
        print_best(r, style, out);
    } else {
        str_add(out, "\n");
        typeset_text(style, INK_BAD, "No strategy is valid and fits.", out);
        str_add(out, "\n");
    }
    print_run(r, style, &mem, out);
    if (r->front > 1)
        print_front(r, style, out);
    print_what_ifs(r, style, out);
    if (r->best > 0)
        print_launch(&r->plan[0], style, &mem, out);
    if (r->stats)
        print_funnel(r->funnel, style, out);
    if (r->stats && r->mixed)
        print_mixed_effort(r->mixed, style, out);
    for (int i = 0; i < r->notes; i++) {
        str_add(out, i ? "note: " : "\nnote: ");
        typeset_wrap(style, r->note[i], 2, out);
    }
    print_production(r, style, out);
    print_gap(r, style, out);
    print_effort(r, out);
    arena_release(&mem);
}
