/* What would make a plan faster or make it fit, guessed from its figures alone. */
#ifndef ASTRA_HINTS_H
#define ASTRA_HINTS_H

struct plan;

enum { HINTS_MAX = 16 };

/* One sentence each; returns how many. None of a plan that is not computed. */
int hints_of(const struct plan *, const char *hint[HINTS_MAX]);

#endif
