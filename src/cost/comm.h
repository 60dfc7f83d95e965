/* Learned times of collectives, ready to be asked often: one curve per kind and placement, time by
 * message on powers of two, straight lines between them. Curves are made when first asked for. */
#pragma once

#include "cost/comm_features.h"
#include "cost/cost.h"

struct comm_table;
struct trees;

/* 256 B to 256 GiB. */
enum { CURVE_FIRST = 8, CURVE_POINTS = 31 };

struct comm_curve {
    double time_s[CURVE_POINTS]; /* at 2^(CURVE_FIRST + i) bytes; never falls */
};

/* `model` NULL: analytic times. Whatever the model says, more bandwidth or fewer bytes are never
 * slower, twice the nodes never faster, nothing beats the wire. */
void comm_curve_fill(struct comm_curve *, const struct trees *model, const struct comm_call *);
/* Below the first point its time, beyond the last one the last bandwidth. 0 for no bytes. */
double comm_curve_time(const struct comm_curve *, double bytes);

/* The call that comm_time() is asked for. */
struct comm_call comm_call_of(const struct node_group *, enum comm_kind, struct placement);

/* Curves of one node group, which also keep to each other: a domain twice as large is never slower,
 * nor is a link in place of PCIe. The group and the model are borrowed and must not change; safe from
 * several threads at once, and the answers do not depend on who asks first. */
bool comm_table_new(struct comm_table **out, const struct node_group *, const struct trees *model,
                    struct error *);
void comm_table_free(struct comm_table *);
double comm_table_time(struct comm_table *, enum comm_kind, double bytes, struct placement);
