/* What was given: the options table (options.def), and the values that came. */
#pragma once

#include "base/error.h"
#include "cluster/cluster.h"
#include "dataset/lengths.h"
#include "import/megatron/flags.h"
#include "import/shell/script.h"
#include "price/prices.h"
#include "rules/rules.h"
#include "simulate/score.h"
#include "strategy/space.h"

#include <stddef.h>

struct arena;
struct export_format;
struct imported;
struct options;
struct profile;

enum option_id {
#define ROW(id, ...) OPTION_##id,
#include "query/options.def"
#undef ROW
    OPTION_COUNT
};

/* What a value is, and so which reader takes it. */
enum option_kind {
    KIND_SWITCH,   /* bool */
    KIND_WHOLE,    /* int: a whole number in a range, 1.5K too; 0 = not given */
    KIND_LENGTH,   /* int: the same, 128k is 131072 (parse_length) */
    KIND_COUNT,    /* int64_t: as KIND_WHOLE */
    KIND_REAL,     /* double in a range */
    KIND_SHARE,    /* the same, as 0.01 or 1% */
    KIND_AMOUNT,   /* the same as 1.5T */
    KIND_DURATION, /* the same in seconds, as 10m */
    KIND_CHOICE,   /* int: which word of the argument */
    KIND_WORD,     /* const char *: the word */
    KIND_TEXT,     /* const char * */
    KIND_OUTPUT,   /* const char *: a file that is written beside the answer */
    KIND_LIST,     /* struct texts: one text each time */
    KIND_OWN       /* by a function of its own */
};

/* What an option is for: see options.def. */
enum option_use { ASKS, ASKS_EACH, ASKS_ALL, SHOWS, WRITES };

struct option {
    const char *name, *argument, *commands, *usual;
    enum option_kind kind;
    enum option_use use;
    int most; /* times that it may be given; 1 = the last one holds */
    size_t at;
    double lo, hi;
    const char *expected; /* for messages */
    bool (*read)(struct options *, const char *value, struct error *);
};

enum { TEXTS_MAX = 64 };
struct texts {
    int count;
    const char *text[TEXTS_MAX];
};

/* The words of --engine. */
enum asked_engine { ASK_MEGATRON, ASK_FLAGSCALE, ASK_ANY, ASK_FSDP2, ASK_ZERO2, ASK_ZERO3 };

/* What a job is asked to be. Plain values: a copy with one thing changed is what probes ask with
 * (query_derive). */
enum { NUMERICS_SAFE, NUMERICS_PRODUCTION };

struct query_terms {
    int64_t gpus;              /* 0 = at most the pool */
    int global_batch, seq_len; /* 0 = default */
    int precision;             /* -1 = default */
    int stack;                 /* enum stack */
    double release;            /* of Megatron core, as rules know it; 0 = the newest */
    int numerics;              /* which word of --numerics */
    double memory_margin;
    double imbalance; /* of experts, in time and memory; 0 = default */
    int mix;          /* types in one job; 0 = default */
    int engine;       /* enum asked_engine */
    struct setting settings[PARAMS];
    struct rules rules, cautions; /* the user's; their code is borrowed */
    bool no_cautions;             /* but the user's */
};

/* One --mtbf or --interruptions. */
enum { RATES_MAX = 64, ENVS_MAX = 64, WHAT_IFS_MAX = 16 };
struct outage_rate {
    const char *option, *text; /* for messages */
    const struct gpu *gpu;     /* NULL = all */
    bool failures;             /* hours between those of a GPU; otherwise interruptions an hour */
    double value;
};

struct money_options {
    struct texts price;                 /* of one type each */
    struct texts source, override_file; /* tables of prices, and what is wrong with them */
    struct rates rates;
    struct price_ask ask;
    int offer;          /* which word of --offer */
    const char *budget; /* as it came; NULL = none */
    double deadline_s;  /* of the run; 0 = no limit */
    int objective;      /* which word of --objective; -1 = default */
    bool of_plan;       /* prices came with a plan: options win over them */
};

struct outage_options {
    int rates;
    struct outage_rate rate[2 * RATES_MAX];
};

struct search_options {
    int top, threads;  /* threads 0 = all cores */
    double resolution; /* as in struct limits */
    double limit_s;    /* of the search; 0 = none */
    bool variants, exhaustive, check, stats;
};

/* A script to write. */
struct export_options {
    const struct export_format *format; /* NULL = none is asked for */
    const char *version;                /* of Megatron core; NULL = HEAD */
    int launcher;                       /* which word of --launcher: srun starts every rank */
    const char *job_name;               /* NULL = after the model */
    const char *hosts_file;             /* for messages */
    size_t hosts;
    const char **host;    /* [hosts] in rank order */
    const char *hostfile; /* to write; NULL = none */
    size_t untolds;
    const char **untold; /* what the plan's file says that its flags do not; anyone's text */
};

/* Ranks to run. */
struct verify_options {
    const char *megatron; /* checkout; NULL = not given */
    const char *python;   /* NULL = python3 */
    const char *stages;   /* NULL = distinct */
    double limit_s;       /* of one rank */
    bool dry_run;
};

/* What it is trained on. */
struct dataset_options {
    struct lengths lengths; /* count 0 = full sequences */
    int packing;            /* 1 = on */
    int padding;            /* enum padding */
    double epochs;
};

/* What it is trained for. */
struct task_options {
    int kind;      /* enum task_kind */
    int reference; /* which word of --reference */
    double generation_s;
};

struct fit_options {
    struct texts measured;
    const char *into;
};

enum { SIDES_MAX = 16 };
struct calibrate_options {
    struct texts from, held_out; /* fitted, and only compared with */
};

/* What clients of a server may do. */
enum { ALLOW_MAX = 16 };
struct serve_options {
    struct texts allow; /* folders whose files may be read */
    double call_s;      /* longest that one call may take */
    int message_bytes;
};

/* What is shown of an answer, and files that are written beside it; NULL = all, and none. */
struct output_options {
    const char *stage; /* of explain */
    const char *plot, *report, *trace;
    const char *answer; /* which the caller writes */
};

/* An option as it came. */
struct given {
    const struct option *option;
    const char *value;
    const struct given *next;
};

/* Everything that was given, file by file and option by option. It owns nothing: what is read lives
 * in the arena. */
struct options {
    struct arena *mem;
    struct given *first, *last; /* in the order they came; NULL: none */
    int times[OPTION_COUNT];    /* that each was given */
    bool has_model, has_cluster, has_flags;
    struct defaults *defaults; /* of files, owned by the arena; NULL = none */
    bool any_gpu;              /* the cluster is every type with a price */
    struct model model;
    const char *train;      /* what of it; NULL = what the model, or the file, says */
    const char *file_train; /* the file's words; NULL = all, as far as it says */
    struct cluster cluster;
    struct flags_result flags;
    const struct imported *imported; /* the file that was read; NULL = none (query_file.c) */
    const char *at_hand;             /* its text where it is no file; NULL = it is one */
    int plan;                        /* of the best of a search that it holds */
    int envs;                        /* variables of a launch script */
    struct script_env env[ENVS_MAX];
    const struct gpu *gpu; /* of the file's nodes, or the one to list; NULL = not said */
    struct query_terms terms;
    struct dataset_options dataset;
    struct task_options task;
    struct run_terms run; /* what a step is part of */
    struct money_options money;
    struct outage_options outages;
    const struct profile *profile; /* residual factors; NULL = none */
    const char *efficiency;        /* folder of learned models; NULL = those compiled in */
    struct search_options search;
    struct texts what_if;
    struct export_options export;
    struct verify_options verify;
    struct fit_options fit;
    struct calibrate_options calibrate;
    struct texts compared; /* plans side by side */
    struct output_options output;
    struct serve_options serve;
};

void options_init(struct options *, struct arena *mem);
bool options_set(struct options *, const char *option, const char *value, struct error *);
/* Megatron's flags, behind those of a file that was read. */
bool options_flags(struct options *, size_t count, const char *const *words, struct error *);

/* Nothing is missing for a fit, and nothing contradicts; no option of an export is without
 * effect. */
bool options_fit(const struct options *, struct error *);
bool options_export(const struct options *, struct error *);
/* Something of prices was asked: one that is missing is an error. */
bool options_ask_prices(const struct options *);
/* The tables of prices, and which of their offers count. */
bool options_price_list(const struct options *, struct arena *, struct price_list *,
                        struct price_ask *, struct error *);
/* What the file of --hosts says; `text` ends in 0. */
bool options_hosts(struct options *, const char *text, size_t size, const char *path,
                   struct error *);

/* Names that values may have, with a blank between them (known_names.c): of "gpus" (short ones too),
 * "models" or "parameters". Nothing for another word. */
struct str;
void known_names(const char *of, struct str *out);

const struct option *option_row(enum option_id);
/* NULL without such an option. */
const struct option *option_find(const char *name);
bool option_takes(const struct option *, const char *command);
/* Whether --what-if may change it. */
bool option_is_input(const struct option *);
