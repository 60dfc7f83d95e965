/* What the files that make up a question share. */
#ifndef ASTRA_QUESTION_PARTS_H
#define ASTRA_QUESTION_PARTS_H

#include "question.h"

enum { MAX_GLOBAL_BATCH = 1 << 30 };

/* Setters of options that have files of their own. */
bool set_tokens(struct question *, const char *, struct error *);
bool set_budget(struct question *, const char *, struct error *);
bool set_deadline(struct question *, const char *, struct error *);
bool set_objective(struct question *, const char *, struct error *);

int default_seq_len(const struct model *);
int question_seq_len(const struct question *); /* asked for, or the default */
struct scene question_scene(const struct question *, const struct node_group *);
/* Those of Megatron and of the engine, for a search those of sense and of the pool, the user's. */
bool question_rules(struct question *, bool search, struct rules *, struct error *);

#endif
