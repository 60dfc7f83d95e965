/* From a plan to the script that starts it. */
#ifndef ASTRA_EXPORT_ANSWER_H
#define ASTRA_EXPORT_ANSWER_H

#include "base/error.h"

struct arena;
struct plan;
struct question;
struct str;

/* As the question's export asks; writes the hostfile where one is asked for. */
bool export_answer(const struct question *, const struct plan *, struct arena *, struct str *out,
                   struct error *);

#endif
