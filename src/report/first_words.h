/* The answer of a search in one sentence. */
#pragma once

struct search_report;
struct str;

/* "Run tp 4, pp 4x7, dp 32, micro-batch 1 on 512 GPUs: 7.40 s a step, 73.1 of 75.9 GiB; the next
 * layout is 4 % slower." There must be a plan. */
void add_first_words(const struct search_report *, struct str *out);
