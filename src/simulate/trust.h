/* How far a calibrated plan may be off. */
#pragma once

struct arena;
struct layout;
struct plan;
struct scene;

/* expected_error of an evaluated plan from what its groups' residual factors are known to, and its
 * name, calibrated; without fitted factors of seconds nothing changes. It is larger than before
 * where the runs scatter more than was expected. */
void trust_residuals(const struct scene *, const struct layout *, struct arena *scratch,
                     struct plan *);
