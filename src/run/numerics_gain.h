/* What production numerics would make of the layout of a plan. */
#pragma once

struct arena;
struct found;
struct query;
struct scene;

/* Seconds of a step of the fastest plan with the same tp, cp, pp, dp, ep and etp; of a job on several
 * types with the same stages, on `mixed`. 0 where nothing is known of it. */
double numerics_gain(const struct query *, const struct found *, const struct scene *mixed,
                     struct arena *);
