/* What the groups of a cluster cost and how often their nodes are lost: an array beside the
 * cluster, in the order of its groups. */
#pragma once

#include "cluster/cluster.h"

struct price_ask;
struct price_list;
struct rates;

struct rent {
    double usd_per_hour; /* per GPU; 0 = not known */
    bool given;          /* by the user for this group or GPU: no table changes it */
    char from[160];      /* for people: "median of 8 providers, on-demand, 8-GPU instances" */
    double mtbf_h;       /* mean time between failures of one GPU; 0 = it never fails */
    double interruptions_per_h; /* of one node: the provider takes it back */
    double outages_per_h;       /* of one node, both together */
};

/* That of a group; where there are none, nothing is known and no node is lost. */
const struct rent *rent_of(const struct rent *, const struct node_group *);

/* What the cluster's file says of its groups, for people `from` there, and the usual prices of the
 * others: those of the table that is compiled in, on demand. */
void rents_init(struct rent *, const struct cluster *, const char *from);
/* Prices of the groups but for those that are given. With `must` a GPU without a price is an error
 * that says what there is; otherwise its price is 0, not known. */
bool rents_apply(struct rent *, const struct cluster *, const struct price_list *,
                 const struct price_ask *, bool must, struct error *);
/* "H100=2.5" gives a price per GPU-hour, "H100=2.5EUR" where the rates have the currency. */
bool rents_give(struct rent *, const struct cluster *, const char *assignment, const struct rates *,
                struct error *);
/* 0: it never fails; none. */
void rent_set_outages(struct rent *, const struct node_group *, double mtbf_h,
                      double interruptions_per_h);

/* Groups without a price go. False, and nothing goes, where none has one. */
bool rents_keep_priced(struct rent *, struct cluster *);

/* Fixed groups that differ in nothing become one; not where links between groups are given. */
void rents_join_alike(struct rent *, struct cluster *);
