/* Pieces of text about plans, shared by `search`, `estimate` and `explain`. What prints ends in a
 * newline. */
#pragma once

struct advice_section;
struct arena;
struct drawn_step;
struct plan;
struct plan_answer;
struct report_style;
struct search_report;
struct str;
struct table;

/* Model, GPUs, batch, parameters: what is judged. */
void print_plan_query(const struct plan_answer *, const struct report_style *, struct str *out);
/* The file that it was read from, and notes about that. */
void print_source(const struct plan_answer *, const struct report_style *, struct str *out);
/* Fits, does not fit, or is invalid, with every reason and a fix. */
void print_verdict(const struct plan_answer *, const struct report_style *, struct arena *,
                   struct str *out);
/* A heading and its items; nothing without items. */
void print_advice(const struct advice_section *, const struct report_style *, struct str *out);
/* What a mixed plan is worth, if that was asked for. */
void print_comparison(const struct plan_answer *, const struct report_style *, struct str *out);
/* Step, throughput, FLOP/s, money. The plan must be computed. */
void print_figures(const struct plan *, const struct report_style *, struct str *out);
/* The residual factors that acted on so many plans; nothing without a profile. */
void print_profile(const struct plan *, int plans, const struct report_style *, struct str *out);
/* Where the step's time goes, with bars. The plan must be computed. */
void print_breakdown(const struct plan *, const struct report_style *, struct str *out);

/* Of a mixed job: which stage is busiest, which least. */
void print_bottleneck(const struct plan *, const struct report_style *, struct str *out);

/* Behind the last of a run of alike stages that begins at `from`. */
int end_of_run(const struct plan *, int from);
/* "3", or "1-6". */
void add_run(int from, int end, struct str *out);

/* What single stages of Astra hand on for a plan: the pieces of `explain --stage`. */
void explain_ops(const struct plan_answer *, const struct report_style *, struct arena *,
                 struct str *out);
void explain_cost(const struct plan_answer *, const struct report_style *, struct arena *,
                  struct str *out);
void explain_schedule(const struct plan_answer *, const struct report_style *, struct arena *,
                      struct str *out);
void explain_memory(const struct plan_answer *, const struct report_style *, struct arena *,
                    struct str *out);
/* A picture of one step; nothing where it has more passes than can be simulated one by one. */
void print_pipeline(const struct drawn_step *, const struct report_style *, struct arena *,
                    struct str *out);

/* What launches it; nothing where nothing does. */
void print_launch(const struct plan *, const struct report_style *, struct arena *,
                  struct str *out);

/* Below the plans: each change with what becomes of the best plan. It is the same when types and
 * numbers of GPUs are, and every parameter that is chosen. Nothing when no change was asked for. */
void print_what_ifs(const struct search_report *, const struct report_style *, struct str *out);

/* The cell of memory: beyond the limit, or crowded, it has a colour. */
void table_memory(struct table *, const struct plan *);
/* "12.1 d", "never ends", "" where the run's tokens are not known. */
void add_run_time(const struct plan *, struct str *out);
/* "$1,168,123", "" where it is not known. */
void add_run_cost(const struct plan *, struct str *out);
/* The section on a run and its limits: what binds, what a little more buys, prices, outages. */
void print_run(const struct search_report *, const struct report_style *, struct arena *,
               struct str *out);
/* Rows on the run of one plan. */
void add_run_rows(struct table *, const struct plan *);
