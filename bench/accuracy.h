/* What the parts of the scoreboard share: tables that are read, their rows predicted, medians and
 * ranks. */
#pragma once

#include "base/csv.h"
#include "simulate/plan.h"

enum { MOST_ROWS = 2000 };

/* A published run (data/published.csv). */
struct row {
    const char *id;
    const char *source;  /* as published, details apart */
    const char *file;    /* the same without versions: what is left out together */
    const char *project; /* repository, and the release of its software where it says one */
    const char *cluster, *model, *gpu, *precision;
    char group[80]; /* source and GPU */
    char kind[80];  /* GPU and precision */
    struct strategy strategy;
    bool moe;
    bool small;     /* data/published_small.csv */
    bool sweep;     /* data/published_sweeps.csv: GPUs that hardly anybody trains on */
    bool baseline;  /* of the tables as they were when the aims were set */
    bool tp_across; /* tensor parallelism reaches over more than one node or NVLink domain */
    double measured_s, predicted_s;
    double error; /* of the step time: predicted over measured, less 1 */
    struct plan_evidence evidence;
    double stated, stated_in_sample; /* expected_error without its source's runs, and with them */
    bool fits;
    bool allowed; /* as in struct judged */
    bool has_memory;
    double memory_error; /* of the fullest stage's peak, where the source has one */
};

struct judged {
    struct plan plan;
    bool allowed;        /* by the rules of `astra estimate`; memory apart */
    bool moe;            /* any layer has experts */
    int reach;           /* GPUs of a node, or of an NVLink domain where that is larger */
    double usable_bytes; /* of a GPU, before the margin */
};

bool load_table(const char *path, struct csv *, struct arena *, struct error *);
double real_at(const struct csv *, int row, const char *column); /* 0 where there is none */

/* A row with model and strategy in columns, one with the flags of Megatron, and one of a rank that we
 * ran with our own layers. */
bool predict_run(const struct csv *, int row, struct judged *, struct arena *, struct error *);
bool predict_flags(const struct csv *, int row, struct judged *, struct arena *, struct error *);
bool predict_rank(const struct csv *, int row, struct judged *, struct arena *, struct error *);

bool is_named(const char *text, const char *start); /* whether the text begins so */

/* Both sort what they are given; `count` is at least 1. The smallest value that at least `share`
 * of the values do not exceed. */
double median(double *value, int count);
double value_at_share(double *value, int count, double share);

/* Rank from 1; equal values share the mean of their ranks. */
double rank_of(const double *value, int count, double one);
/* Spearman's correlation of the ranks; 0 where one side does not vary. */
double rank_correlation(const double *a, const double *b, int count);

/* Without versions and details (accuracy_errors.c). */
const char *source_file(const char *source, struct arena *);

/* Published runs: the main table, those with experts, small ones, sweeps, one after the other. */
struct runs {
    struct row row[MOST_ROWS];
    int dense, moe, small, all;
};
bool read_published(struct runs *, struct arena *, struct error *);

/* Step times of published runs (accuracy_time.c). Sorts the main table by group. */
void board_time(struct runs *);

/* Coverage of the stated error (accuracy_errors.c); both sort the rows by source. */
bool board_errors(struct row *, int rows, struct arena *, struct error *);
bool write_step_errors(const char *path, struct row *, int rows, struct error *);

/* One picture for each family of runs in the folder (accuracy_picture.c), after board_errors(). */
bool draw_pictures(const char *folder, const struct row *, int rows, struct arena *,
                   struct error *);

/* Order of layouts (accuracy_rank.c). */
void board_rank(const struct row *row, int rows);

/* Peak memory and fit decisions (accuracy_memory.c). `row` sorted by group. */
bool board_memory(const struct row *row, int rows, struct arena *, struct error *);
/* The same of Megatron's own tests (accuracy_golden.c). */
bool board_golden(struct arena *, struct error *);
/* Published runs of hybrids, and of adapters. */
bool board_hybrid(struct arena *, struct error *);
/* Of FSDP and ZeRO without Megatron. */
bool board_hf(struct arena *, struct error *);
