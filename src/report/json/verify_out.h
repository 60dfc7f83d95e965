/* The answer of `verify`: text, JSON (data/schema/verify.schema.json), CSV. All append to `out`. */
#ifndef ASTRA_VERIFY_OUT_H
#define ASTRA_VERIFY_OUT_H

struct report_style;
struct str;
struct verify_report;

void report_verify_text(const struct verify_report *, const struct report_style *, struct str *out);
void report_verify_json(const struct verify_report *, struct str *out);
void report_verify_csv(const struct verify_report *, struct str *out);

#endif
