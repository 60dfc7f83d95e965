/* What the files that make up a query share. */
#ifndef ASTRA_QUERY_PARTS_H
#define ASTRA_QUERY_PARTS_H

#include "query/query.h"

enum { MAX_GLOBAL_BATCH = 1 << 30 };

/* Setters of options that have files of their own. */
bool set_tokens(struct query *, const char *, struct error *);
bool set_budget(struct query *, const char *, struct error *);
bool query_set_budget(struct query *, struct error *);
bool set_deadline(struct query *, const char *, struct error *);
bool set_objective(struct query *, const char *, struct error *);

int default_seq_len(const struct model *);
int query_seq_len(const struct query *); /* asked for, or the default */
struct scene query_scene(const struct query *, const struct node_group *);
/* Those of Megatron and of the engine, for a search those of sense and of the pool, the user's. */
bool query_rules(struct query *, bool search, struct rules *, struct error *);

/* Options of prices (query_prices.c). */
bool set_prices(struct query *, const char *, struct error *);
bool set_price_overrides(struct query *, const char *, struct error *);
bool set_market(struct query *, const char *, struct error *);
bool set_provider(struct query *, const char *, struct error *);
bool set_region(struct query *, const char *, struct error *);
bool set_offer(struct query *, const char *, struct error *);
bool set_rate(struct query *, const char *, struct error *);
bool set_gpu(struct query *, const char *, struct error *);

/* Outages (query_outages.c): options, and the rates of them on the groups of the cluster. */
bool set_mtbf(struct query *, const char *, struct error *);
bool set_interruptions(struct query *, const char *, struct error *);
bool set_checkpoint_every(struct query *, const char *, struct error *);
bool set_checkpoint_write(struct query *, const char *, struct error *);
bool set_restart(struct query *, const char *, struct error *);
bool query_set_outages(struct query *, struct error *);

/* --env of a launch script (query_file.c). */
bool set_env(struct query *, const char *, struct error *);

/* --what-if and what it is about (what_if.c). */
bool set_what_if(struct query *, const char *value, struct error *);
void query_drop_changed(struct query *);

/* Residual factors (query_profile.c). */
bool set_profile(struct query *, const char *, struct error *);
bool set_from(struct query *, const char *, struct error *);
bool set_hold_out(struct query *, const char *, struct error *);

/* Options of an export (query_export.c). */
bool set_to(struct query *, const char *, struct error *);
bool set_export(struct query *, const char *, struct error *);
bool set_megatron_version(struct query *, const char *, struct error *);
bool set_launcher(struct query *, const char *, struct error *);
bool set_job_name(struct query *, const char *, struct error *);
bool set_hosts(struct query *, const char *, struct error *);
/* What the file of --hosts says; `text` ends in 0. */
bool query_hosts(struct query *, const char *text, size_t size, const char *path, struct error *);
bool set_hostfile(struct query *, const char *, struct error *);
bool set_plan(struct query *, const char *, struct error *);

/* Options of verify (query_verify.c). */
bool set_megatron(struct query *, const char *, struct error *);
bool set_stages(struct query *, const char *, struct error *);
bool set_dry_run(struct query *, const char *, struct error *);
bool set_python(struct query *, const char *, struct error *);
bool set_timeout(struct query *, const char *, struct error *);

#endif
