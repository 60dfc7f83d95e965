/* What the files behind flags.h share; private to the import stage. */
#pragma once

#include "import/megatron/flags.h"

struct words;

/* flags.c: why Megatron or FlagScale would refuse the plan. */
__attribute__((format(printf, 2, 3))) void flags_refuse(struct flags_result *, const char *format,
                                                        ...);
/* "--flag: what is planned instead". */
void flags_note(struct flags_result *, const char *flag, const char *text);
/* Whether the flag's value is this word; `missing` (may be NULL) is its value when it is not there. */
bool flags_is(const struct words *, const char *flag, const char *word, const char *missing);

/* flags_model.c: fills the model's part of the result; finishes the model where it is complete. */
bool flags_read_model(struct flags_result *, const struct words *, struct error *);
/* The whole number behind `flag`, which is there. */
bool flags_number(const struct words *, const char *flag, int lo, int hi, int *out, struct error *);

/* flags_hybrid.c: layers of one half each, and where its '|' cut the pipeline. `hybrid`: there is such a pattern. */
bool flags_read_hybrid(struct flags_result *, const struct words *, bool *hybrid, struct error *);

/* flags_sparse.c: sparse attention, its indexer and its kernels; before the model is finished. */
bool flags_read_sparse(struct flags_result *, const struct words *, struct error *);

/* flags_rl.c: what of reinforcement learning is planned, after the strategy is read. */
void flags_read_rl(struct flags_result *, const struct words *);

/* flags_run.c: which layers, fusions, offloading; after all else that a strategy has. */
bool flags_read_run(struct flags_result *, const struct words *, struct error *);
bool flags_read_offload(struct flags_result *, const struct words *, struct error *);

/* flags_batch.c: dp, and the global batch where no flag says it. */
bool flags_set_batch(struct flags_result *, int64_t world, struct error *);

/* flags_meaning.c: what the model means, before it is finished. */
bool flags_read_meaning(struct flags_result *, const struct words *, struct error *);
/* An error where a flag says something else than the model beside the flags; settings of the run are
 * taken over from the flags, with a note. A note where a flag is missing and its default is something
 * else. */
bool flags_meaning_agrees(struct flags_result *, struct model *given, struct error *);

/* flags_hetero.c: FlagScale's flags of a mixed job. The meshes as they stand there; the strategy then
 * has the values of the first. */
bool flags_read_hetero(struct flags_result *, const struct words *, struct error *);
/* What follows from the model and the number of GPUs: layers, batches, recompute of each mesh. */
bool flags_finish_hetero(struct flags_result *, int64_t world, struct error *);

/* flag_conflicts.c: flags that exclude or need each other. Adds to `reasons` what Megatron refuses
 * although the strategy alone looks right: rules on a strategy are in megatron.rules. Needs a complete
 * model, and etp as Megatron takes it (tp where it is not given, also without experts). */
void flag_conflicts(struct flags_result *, const struct words *);
