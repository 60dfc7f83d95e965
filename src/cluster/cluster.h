/* What it is trained on: GPU types and pools of nodes. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct arena;

/* One line of gpus.def. Data-sheet units; 0 where the part has no such thing. */
struct gpu {
    const char *name;    /* H100-SXM5-80GB */
    const char *aliases; /* blank-separated short names, case ignored: "H100 H100-SXM" */
    const char *vendor, *arch;
    double bf16_tflops, fp16_tflops, fp8_tflops, fp4_tflops, fp32_tflops; /* dense peaks */
    double memory_gb;                                                     /* marketing figure */
    double usable_gib; /* what the driver reports as total */
    double memory_gbs; /* bandwidth */
    double l2_mb;
    int sms;
    double boost_mhz;
    double link_gbs; /* scale-up link, per GPU and direction */
    int domain;      /* GPUs joined by it */
    int per_node;    /* usual GPUs per node */
    double pcie_gbs; /* per direction */
    double nic_gbit; /* typical NIC speed per GPU */
    double tdp_w;
    const char *source;
    const char *like; /* of a cluster file's own: the type it was made of; NULL: in the table */
};

/* CUDA compute capability; other makers' parts have that of NVIDIA's with the same formats. */
double gpu_capability(const struct gpu *);

const struct gpu *gpu_table(size_t *count);
const struct gpu *gpu_find(const char *name,
                           struct error *); /* name or alias; nearest name on error */

/* How fast one thread of the CPU issues calls that such GPUs usually have, of an x86 server's. */
double gpu_host_speed(const struct gpu *);
/* Of the link between the two, per GPU and direction: PCIe, or what they are soldered to. */
double gpu_host_gbs(const struct gpu *);

/* As the driver names a device, "NVIDIA H100 80GB HBM3"; NULL when it is not in the table. */
const struct gpu *gpu_of_device(const char *said);

enum { CLUSTER_MAX_GROUPS = 32, CLUSTER_MAX_NODES = 1000000 };

/* Some nodes of one type: what they are, and nothing else. */
struct node_group {
    int index; /* its place in the cluster: what later stages know of it stands there in arrays */
    const struct gpu *gpu;
    int nodes_min, nodes_max; /* equal unless a range was given */
    int per_node;             /* GPUs of a node */
    int64_t gpus;             /* of them that a plan to be estimated uses; 0 = all */
    int domain;               /* GPUs joined by the scale-up link; may exceed per_node (NVL72) */
    int segment;              /* nodes of each such domain that a job takes; 0 = as suits it */
    double link_bs;           /* scale-up bandwidth per GPU and direction, bytes/s */
    double nic_bs;            /* NIC bandwidth per GPU, bytes/s */
    double oversubscription;  /* >= 1: how much slower the network is between far nodes */
    double usable_bytes;      /* of one GPU */
    double host_bytes;        /* memory of a node's host; 0 = nobody said */
    double host_speed;        /* of the thread that issues a rank's calls, of an x86 server's */
};

/* What a cluster file says of a group beside its nodes, for later stages; 0 = nothing. */
struct group_said {
    double price;               /* USD per GPU-hour */
    double mtbf_h;              /* mean time between failures of one GPU */
    double interruptions_per_h; /* of one node: the provider takes it back */
};

/* A link between two groups that is slower than their NICs. */
struct group_link {
    int from, to; /* groups, either way */
    double bs;    /* per GPU, bytes/s */
};

enum { CLUSTER_MAX_LINKS = CLUSTER_MAX_GROUPS * CLUSTER_MAX_GROUPS / 2 };

struct cluster {
    int groups;
    struct node_group group[CLUSTER_MAX_GROUPS];
    struct group_said said[CLUSTER_MAX_GROUPS];
    int links;
    struct group_link link[CLUSTER_MAX_LINKS];
    char text[256]; /* as the user wrote it */
};

/* `text` is a pool string ("64x8:H100", "1..16x8:A100@50,8x8:H100") or a path to a YAML file,
 * or what it holds as JSON, from its brace on. */
bool cluster_load(struct cluster *, const char *text, struct arena *, struct error *);
bool cluster_from_pool(struct cluster *, const char *pool, struct error *);
bool cluster_from_yaml(struct cluster *, const char *text, size_t length, const char *name,
                       struct arena *, struct error *);

/* One figure of every group of a type (group_change.c): "nodes", "nic" (Gbit/s per GPU), "link"
 * (GB/s per GPU) or "memory" (usable GiB of a GPU) becomes another value, or a multiple of what it
 * is, as parse_factor() reads it. */
bool cluster_change(struct cluster *, const char *figure, const char *type, const char *change,
                    struct error *);
const char *const *cluster_figures(size_t *count); /* their names */

int64_t cluster_max_gpus(const struct cluster *);
/* Whether the groups in `bits` are of one maker: collectives of others do not talk to theirs. */
bool cluster_one_maker(const struct cluster *, unsigned bits);
/* Bytes/s per GPU that the link between two of its groups carries; 0 = as much as their NICs. */
double cluster_between(const struct cluster *, const struct node_group *,
                       const struct node_group *);
