/* Memory of the host. Bytes. */
#pragma once

#include <stdint.h>

struct node_group;
struct partition;
struct partition_mesh;
struct rank_params;
struct strategy;

/* What a rank keeps there of its optimizer. */
double host_of_states(const struct rank_params *, const struct strategy *);
/* With its process and the activations that it has offloaded. */
double host_of_rank(double states, double activations);
/* Ranks on a node of a group of which a job has so many GPUs. */
int host_ranks(const struct node_group *, int64_t gpus);
/* Of a node whose ranks all are so: those of the stages that share a node are near enough alike. */
double host_of_node(const struct partition_mesh *, double states, double activations);
/* The same as a fraction of what the node has; 0 where nobody said. */
double host_fullness(const struct partition_mesh *, double states, double activations);

/* Offloaded activations of one micro-batch of a stage; recomputed layers have none. */
double shape_hosted(const struct partition *, const struct strategy *all, int shape);
