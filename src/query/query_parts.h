/* What the files that make up a query share. */
#pragma once

#include "query/query.h"

enum { MAX_GLOBAL_BATCH = 1 << 30 };

/* Readers of options whose values have a form of their own (options.def). */
typedef bool option_reader(struct options *, const char *value, struct error *);
option_reader option_model, option_cluster, option_gpu, option_precision, option_set, option_rules,
    option_stages;                               /* option_readers.c */
option_reader option_provider, option_rate;      /* query_prices.c */
option_reader option_mtbf, option_interruptions; /* query_outages.c */
option_reader option_format, option_release, option_job_name, option_hosts,
    option_hostfile;                   /* query_export.c */
option_reader option_lengths;          /* query_dataset.c */
option_reader option_env, option_args; /* query_file.c */
option_reader option_profile;          /* query_profile.c */
option_reader option_what_if;          /* query_change.c */

/* The factors that a plan was made with, unless --profile is given; `list` may be NULL. */
struct json;
bool options_take_residual(struct options *, const struct json *list, struct error *);

int default_seq_len(const struct model *);
/* The same where lengths of samples are known; and what is asked, by an option or by flags. */
int query_default_seq_len(const struct query *);
int query_asked_seq_len(const struct query *);
struct scene query_scene(const struct query *, const struct node_group *);

/* Parts of query_resolve(). Prices: the usual ones, those of --price, then those of the tables
 * where they are asked for; outages; what the run may cost; for an estimate the
 * flags; what of the model is trained; residual factors. */
bool query_set_prices(struct query *, struct arena *, struct error *);
bool query_set_outages(struct query *, struct error *);
bool query_set_budget(struct query *, struct error *);
bool query_set_flags(struct query *, struct arena *, struct error *);
bool query_set_trained(struct query *, struct arena *, struct error *);
bool query_set_task(struct query *, struct arena *, struct error *);
bool query_set_dataset(struct query *, struct arena *, struct error *);
bool query_set_residuals(struct query *, struct error *);
