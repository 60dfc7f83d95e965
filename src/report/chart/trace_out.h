/* One step of a plan as a Chrome / Perfetto trace: JSON in the Trace Event Format. Every rank of
 * the pipeline is a process, what it does at once are its threads. Every moment is one of those
 * that make up step_s. */
#pragma once

#include "base/error.h"

struct plan;
struct str;

/* Beyond, no viewer is of use. */
enum { TRACE_MOST_SLICES = 5000000 };

/* A plan that was computed has a trace, feasible or not. False, with the reason, for one that was
 * not, and for one of too many slices. */
bool trace_print(const struct plan *, struct str *out, struct error *);

/* The same to a file, whole or not at all. */
bool trace_write(const struct plan *, const char *path, struct error *);
