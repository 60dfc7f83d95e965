/* Residual factors of a profile, or of a plan, for what verify runs. */
#ifndef ASTRA_VERIFY_FACTORS_H
#define ASTRA_VERIFY_FACTORS_H

#include "base/error.h"

struct arena;
struct query;
struct verify_report;

/* Notes the types that stages are predicted for and that have no factors though there is a profile.
 * False: nothing here is what the file is about. */
bool verify_note_factors(const struct query *, struct verify_report *, struct arena *,
                         struct error *);

#endif
