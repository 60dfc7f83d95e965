/* What would the answer be with one input changed? */
#ifndef ASTRA_RUN_WHAT_IF_H
#define ASTRA_RUN_WHAT_IF_H

#include "base/error.h"

struct answering;
struct arena;
struct query;

/* The changed query of each --what-if, so that what is wrong with them is known before anything is
 * searched; NULL with a message. They live in the arena, and with them what plans look at. */
const struct query **what_if_queries(const struct query *, struct arena *, struct error *);

/* Answers them, once the query itself is answered, into the same report. No plan is an answer
 * too. */
bool what_if_answer(struct answering *, const struct query *const *changed);

#endif
