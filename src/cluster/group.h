/* What the readers of pool strings and cluster files share: the usual shape of a group of nodes,
 * the ranges of its numbers, and how a number of nodes is written. */
#pragma once

#include "base/error.h"
#include "cluster/cluster.h"

enum { GROUP_MAX_PER_NODE = 1024 };
#define NIC_GBIT_MIN 0.001
#define NIC_GBIT_MAX 1e6
#define LINK_GBS_MIN 0.1
#define LINK_GBS_MAX 1e5
#define USABLE_MIN 1 /* GiB */
#define USABLE_MAX 4096
#define PRICE_MIN 0.01 /* USD per GPU-hour; 0 means "not known" in our structs and is no price */
#define PRICE_MAX 1000.0
#define MTBF_H_MIN 1.0
#define MTBF_H_MAX 1e9
#define INTERRUPTIONS_MIN 1e-6 /* of a node in an hour */
#define INTERRUPTIONS_MAX 60.0

/* As the GPU's line in the table says: the nodes are left to the caller. */
void group_init(struct node_group *, const struct gpu *, int per_node);
void group_set_nic(struct node_group *, double gbit_per_gpu);
/* Whether the nodes of two groups are the same. */
bool group_alike(const struct node_group *, const struct node_group *);

/* Digits at *at, 1 to `most`, or a range of them, "1..64": moves *at past them. On false *at stays
 * on what is wrong and the error says it, without a place: "the number of nodes is 0, 1 to 64 is
 * right". */
bool scan_number(const char **at, const char *what, int most, int *out, struct error *);
bool scan_nodes(const char **at, int *least, int *most, struct error *);

/* Keeps what the user wrote, cut with "..." when it is longer than there is room. */
void cluster_set_text(struct cluster *, const char *text);

/* Figures of a GPU that a cluster file made (own_gpu.def), by key. */
void own_gpu_figures(const struct gpu *, void (*take)(void *, const char *key, double value),
                     void *context);

/* The keys of a group in a cluster file. */
const char *const *cluster_file_keys(size_t *count);
