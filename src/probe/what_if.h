/* What would the answer be with one input changed? */
#ifndef ASTRA_WHAT_IF_H
#define ASTRA_WHAT_IF_H

#include "base/error.h"

struct answering;
struct query;

/* Builds the changed query of each --what-if, so that what is wrong with them is known before
 * anything is searched. */
bool what_if_prepare(struct query *, struct error *);

/* Answers them, once the query itself is answered, into the same report. No plan is an answer
 * too. */
bool what_if_answer(struct answering *);

#endif
