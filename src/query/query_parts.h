/* What the files that make up a query share. */
#ifndef ASTRA_QUERY_PARTS_H
#define ASTRA_QUERY_PARTS_H

#include "query/query.h"

enum { MAX_GLOBAL_BATCH = 1 << 30 };

/* Readers of options whose values have a form of their own (options.def). */
typedef bool option_reader(struct query *, const char *value, struct error *);
option_reader option_model, option_cluster, option_precision, option_set, option_rules, option_gpu,
    option_efficiency, option_stages;            /* option_readers.c */
option_reader option_provider, option_rate;      /* query_prices.c */
option_reader option_mtbf, option_interruptions; /* query_outages.c */
option_reader option_format, option_release, option_job_name, option_hosts,
    option_hostfile;          /* query_export.c */
option_reader option_env;     /* query_file.c */
option_reader option_profile; /* query_profile.c */
option_reader option_what_if; /* what_if.c */

void query_defaults(struct query *);

int default_seq_len(const struct model *);
int query_seq_len(const struct query *); /* asked for, or the default */
struct scene query_scene(const struct query *, const struct node_group *);
/* Those of Megatron and of the engine, for a search those of sense and of the pool, the user's. */
bool query_rules(struct query *, bool search, struct rules *, struct error *);

/* Money and outages as options say, once the cluster is known. */
bool query_set_budget(struct query *, struct error *);
bool query_set_outages(struct query *, struct error *);

/* What --what-if is about (what_if.c). */
void query_drop_changed(struct query *);

/* What the file of --hosts says; `text` ends in 0. */
bool query_hosts(struct query *, const char *text, size_t size, const char *path, struct error *);

#endif
