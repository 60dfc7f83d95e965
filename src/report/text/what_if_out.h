/* The best plan beside the best one with an input changed. */
#ifndef ASTRA_WHAT_IF_OUT_H
#define ASTRA_WHAT_IF_OUT_H

struct json;
struct report_style;
struct search_report;
struct str;

/* Below the plans: each change with what becomes of the best plan. It is the same when types and
 * numbers of GPUs are, and every parameter that is chosen. Nothing when no change was asked for. */
void print_what_ifs(const struct search_report *, const struct report_style *, struct str *out);
struct json *json_of_what_ifs(const struct search_report *);

#endif
