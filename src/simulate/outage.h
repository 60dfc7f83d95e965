/* What outages of nodes do to a run: work since the last checkpoint is lost, a restart takes time.
 * The model, its assumptions and sources are in doc/outages.md. */
#pragma once

struct outage {
    double write_s;    /* that training stands still for one checkpoint */
    double restart_s;  /* from an outage to training again: new node, start of the job, loading */
    double interval_s; /* seconds of training between checkpoints; 0 = the best for the rate */
};

/* All seconds and rates are finite and not negative. Results are never NaN. */

/* Seconds of training between two checkpoints that make the run shortest, whatever interval_s says:
 * `per_s` outages a second of the whole job. INFINITY when there are none, 0 when checkpoints cost
 * nothing. */
double outage_interval(const struct outage *, double per_s);

/* Expected seconds of wall clock for one second of training, >= 1; INFINITY when it cannot be
 * expected to end. 1 when per_s is 0 and no interval was given. */
double outage_slowdown(const struct outage *, double per_s);
