/* A plan in few words: what the text, JSON and CSV reports share. */
#pragma once

#include "simulate/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct report_style;
struct str;

/* Numbers of a plan that are reported under their own name. */
struct plan_figure {
    const char *name;
    size_t offset; /* of a double in struct plan */
};
const struct plan_figure *plan_figures(size_t *count);
/* False when it is not known: the plan was not computed, or the GPU has no such peak. */
bool plan_figure_get(const struct plan *, const struct plan_figure *, double *value);

/* "H100-SXM5-80GB", or the types of a mixed job joined by a plus. */
void add_gpu_names(const struct plan *, struct str *out);
/* "64", "16+48": of each type, as add_gpu_names() has them. */
void add_gpu_counts(const struct plan *, struct str *out);
/* "64 H100-SXM5-80GB", "16 A100-SXM4-80GB + 16 H100-SXM5-80GB". */
void add_gpus(const struct plan *, struct str *out);
/* "8x8:H100-SXM5-80GB@200,...": the nodes used, as --cluster takes them. */
void add_pool(const struct plan *, struct str *out);

/* "Four of five runs like this one lie within ±10 %: from 36 runs of 6 sources (dense, this GPU in 16
 * bits) ...": what expected_error comes from. */
/* Whether its samples were asked about: lengths, or how many there are. */
bool plan_has_samples(const struct plan *);
/* "36.7 samples/s, 22.7 min an epoch". */
void add_sample_words(const struct plan *, struct str *out);
/* "fits with 3.0 GiB to spare". */
void add_spare_words(const struct plan *, struct str *out);

void add_error_words(const struct plan *, struct str *out);

/* "none", "sel core_attn+mlp", "full", "full/4" (groups of 4), "block 2". */
void add_recompute(const struct strategy *, struct str *out);
/* "4", or "4x2" with two virtual stages a rank. */
void add_pipeline(const struct strategy *, struct str *out);
/* "tp 8, pp 4x2, dp 16, micro-batch 1, full": what tells plans of one search apart. */
void add_plan_words(const struct strategy *, struct str *out);
/* The same of a plan; what differs between its meshes as "tp 2/4". */
void add_ways_of(const struct plan *, struct str *out);
/* One parameter of a plan, "2" or "2/4"; the parameter recompute stands for all of them. */
void add_param_of(const struct plan *, enum param, struct str *out);
/* "64.1/76.0 GiB": the fullest stage and what it may use. */
void add_memory_of_limit(const struct plan *, struct str *out);

/* "fits up to an expert imbalance of 1.37 (judged at 1.2)"; nothing where experts cannot be
 * uneven, or balanced ones are too much. */
void add_expert_room(const struct plan *, struct str *out);

/* "needs 212.4 of 1024.0 GiB of a node's host memory"; nothing where ranks offload nothing and nobody
 * said what a node has, nor where it is too much: a reason says that. */
void add_host_memory(const struct plan *, struct str *out);

/* "grad-ov", "split=loss". Nothing when the value is the initial one. */
void add_option(const struct strategy *, enum param, const char *between, struct str *out);

/* Note k of plan i with the plans that have it, "plans 1, 3-5: ...". False, and nothing, where a plan
 * before has it too. */
bool add_note_of_plans(const struct plan *, int plans, int i, int k, struct str *out);

/* "reason (source)". */
void add_caution(const struct rule *, struct str *out);
/* As notes: caution k of plan i, "plans 1, 3: reason (source)". */
bool add_caution_of_plans(const struct plan *, int plans, int i, int k, struct str *out);

/* Flags as lines for bash, joined by backslashes: a flag stays with its values. */
void add_shell_lines(const char *const *words, size_t count, const struct report_style *,
                     struct str *out);
