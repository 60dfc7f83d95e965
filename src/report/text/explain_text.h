/* What single stages of Astra hand on for a plan, as text: the pieces of `explain --stage`. */
#ifndef ASTRA_EXPLAIN_H
#define ASTRA_EXPLAIN_H

struct arena;
struct drawn_step;
struct plan_answer;
struct report_style;
struct str;

void explain_ops(const struct plan_answer *, const struct report_style *, struct arena *,
                 struct str *out);
void explain_cost(const struct plan_answer *, const struct report_style *, struct arena *,
                  struct str *out);
void explain_schedule(const struct plan_answer *, const struct report_style *, struct arena *,
                      struct str *out);
/* A picture of one step; nothing where it has more passes than can be simulated one by one. */
void print_pipeline(const struct drawn_step *, const struct report_style *, struct arena *,
                    struct str *out);
void explain_memory(const struct plan_answer *, const struct report_style *, struct arena *,
                    struct str *out);

#endif
