/* From a plan to the script that starts it. */
#ifndef ASTRA_EXPORT_ANSWER_H
#define ASTRA_EXPORT_ANSWER_H

#include "base/error.h"

struct arena;
struct plan;
struct export_options;
struct str;

/* As the options of an export ask. A hostfile that is asked for is written beside its place, for
 * files_replace() or files_forget(). */
bool export_answer(const struct export_options *, const struct plan *, struct arena *,
                   struct str *out, struct error *);

#endif
