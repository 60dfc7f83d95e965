/* What the files that make up a question share. */
#ifndef ASTRA_QUESTION_PARTS_H
#define ASTRA_QUESTION_PARTS_H

#include "query/query.h"

enum { MAX_GLOBAL_BATCH = 1 << 30 };

/* Setters of options that have files of their own. */
bool set_tokens(struct question *, const char *, struct error *);
bool set_budget(struct question *, const char *, struct error *);
bool question_set_budget(struct question *, struct error *);
bool set_deadline(struct question *, const char *, struct error *);
bool set_objective(struct question *, const char *, struct error *);

int default_seq_len(const struct model *);
int question_seq_len(const struct question *); /* asked for, or the default */
struct scene question_scene(const struct question *, const struct node_group *);
/* Those of Megatron and of the engine, for a search those of sense and of the pool, the user's. */
bool question_rules(struct question *, bool search, struct rules *, struct error *);

/* Options of prices (query_prices.c). */
bool set_prices(struct question *, const char *, struct error *);
bool set_price_overrides(struct question *, const char *, struct error *);
bool set_market(struct question *, const char *, struct error *);
bool set_provider(struct question *, const char *, struct error *);
bool set_region(struct question *, const char *, struct error *);
bool set_offer(struct question *, const char *, struct error *);
bool set_rate(struct question *, const char *, struct error *);
bool set_gpu(struct question *, const char *, struct error *);

/* Outages (query_outages.c): options, and the rates of them on the groups of the cluster. */
bool set_mtbf(struct question *, const char *, struct error *);
bool set_interruptions(struct question *, const char *, struct error *);
bool set_checkpoint_every(struct question *, const char *, struct error *);
bool set_checkpoint_write(struct question *, const char *, struct error *);
bool set_restart(struct question *, const char *, struct error *);
bool question_set_outages(struct question *, struct error *);

/* --env of a launch script (query_file.c). */
bool set_env(struct question *, const char *, struct error *);

/* --what-if and what it is about (what_if.c). */
bool set_what_if(struct question *, const char *value, struct error *);
void question_drop_changed(struct question *);

/* Residual factors (query_profile.c). */
bool set_profile(struct question *, const char *, struct error *);
bool set_from(struct question *, const char *, struct error *);
bool set_hold_out(struct question *, const char *, struct error *);

/* Options of an export (query_export.c). */
bool set_to(struct question *, const char *, struct error *);
bool set_export(struct question *, const char *, struct error *);
bool set_megatron_version(struct question *, const char *, struct error *);
bool set_launcher(struct question *, const char *, struct error *);
bool set_job_name(struct question *, const char *, struct error *);
bool set_hosts(struct question *, const char *, struct error *);
/* What the file of --hosts says; `text` ends in 0. */
bool question_hosts(struct question *, const char *text, size_t size, const char *path,
                    struct error *);
bool set_hostfile(struct question *, const char *, struct error *);
bool set_plan(struct question *, const char *, struct error *);

/* Options of verify (query_verify.c). */
bool set_megatron(struct question *, const char *, struct error *);
bool set_stages(struct question *, const char *, struct error *);
bool set_dry_run(struct question *, const char *, struct error *);
bool set_python(struct question *, const char *, struct error *);
bool set_timeout(struct question *, const char *, struct error *);

#endif
