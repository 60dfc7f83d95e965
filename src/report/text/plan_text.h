/* Pieces of text about one plan, shared by `estimate` and `explain`. Each ends in a newline. */
#ifndef ASTRA_PLAN_TEXT_H
#define ASTRA_PLAN_TEXT_H

struct arena;
struct plan;
struct plan_answer;
struct report_style;
struct str;

/* Model, GPUs, batch, parameters: what is judged. */
void print_plan_query(const struct plan *, const struct report_style *, struct str *out);
/* The file that it was read from, and notes about that. */
void print_source(const struct plan_answer *, const struct report_style *, struct str *out);
/* Fits, does not fit, or is invalid, with every reason and a fix. */
void print_verdict(const struct plan_answer *, const struct report_style *, struct arena *,
                   struct str *out);
/* A heading and its items; nothing without items. */
struct advice_section;
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

#endif
