/* How far a predicted step may be off, and what that is known from. */
#pragma once

struct plan;
struct scene;

/* Of an evaluated plan: expected_error, provenance, evidence; those of the group that is least sure.
 * Where it was not computed, from its GPUs alone. */
void plan_error_fill(const struct scene *, struct plan *);
