/* How far a calibrated plan may be off. */
#pragma once

struct arena;
struct layout;
struct plan;
struct scene;

/* Tightens expected_error of an evaluated plan by what its groups' residual factors are known to,
 * and names it calibrated; without fitted factors of seconds nothing changes. Raises it
 * only where own runs scatter more. */
void trust_residuals(const struct scene *, const struct layout *, struct arena *scratch,
                     struct plan *);
