/* A partition is what the structural parameters of a strategy fix (tp, pp, dp, micro-batch, virtual
 * stages, split ...): the layers of each stage and the cost of their blocks. On a partition stand
 *   pass times  what their parameters add (recompute, overlap of tp and p2p): seconds of a stage,
 *               activations, the pipeline's end;
 *   states      what the state parameters add (optimizer sharding, offload, overlap of dp): memory of
 *               states, reduction and optimizer seconds.
 * A step is one set of pass times and one state on a partition. Search, estimate and explain all go
 * through here. The levels of params.def say which parameter is whose. */
#pragma once

#include "cost/cost.h"
#include "cost/placement.h"
#include "dataset/dataset.h"
#include "dataset/task.h"
#include "model/model.h"
#include "schedule/schedule.h"
#include "simulate/memory.h"
#include "simulate/overlap.h"
#include "simulate/plan.h"
#include "strategy/layout.h"
#include "strategy/mesh.h"

struct arena;
struct cluster;
struct rent;

/* One query on one group of nodes, or on the meshes of a mixed job. */
struct scene {
    const struct model *model;
    const struct node_group *group; /* of the first mesh where there are several */
    bool te, stock;                 /* stack_of() */
    double release;                 /* of Megatron core, as rules know it; 0: the newest */
    double memory_margin;           /* fraction of the usable memory that stays free */
    double imbalance;               /* of experts, as in ops.h: of the run predicted */
    double memory_imbalance;        /* that it must fit at; 0 = the same */
    double attention_dropout, hidden_dropout; /* rates: masks are kept */
    struct run_switches switches;
    const struct mesh_list *meshes; /* NULL: every rank is on `group` and runs one strategy */
    const struct cluster *cluster;  /* links between its groups; NULL: as fast as their NICs */
    const struct dataset *dataset;  /* NULL: full sequences */
    const struct task *task;        /* NULL: as pre-training */
    const struct run_terms *run;    /* NULL: of no known length, without outages */
    const struct costing *costing;  /* by group, whose own pointer does not count; NULL: analytic */
    const struct rent *rent;        /* by group; NULL: no prices, no outages */
    bool part;                      /* of a mixed job: its other ranks are not known here */
};
enum stack scene_stack(const struct scene *);
double scene_release(const struct scene *); /* RELEASE_HEAD: the newest */
bool scene_is_mixed(const struct scene *);
/* Products add their weight gradients to the buffer as they compute them. */
bool scene_adds_wgrads(const struct scene *);
/* What times on a group are made of; the same where the ranks of a strategy sit. */
struct costing scene_costing(const struct scene *, const struct node_group *);
struct costing placed_costing(const struct scene *, const struct node_group *,
                              const struct strategy *);
/* The same query on one of its meshes alone. */
struct scene scene_on(const struct scene *, const struct node_group *);

/* How much fuller than balanced the fullest rank's experts can be at most: all copies of all tokens of
 * the group reach one rank, and no token one expert twice. 1 where a rank has all experts. */
double most_imbalance(const struct model *, const struct strategy *);
/* Of so much what a strategy's experts can have at most. */
double scene_imbalance(const struct scene *, const struct strategy *, double imbalance);
/* The scene in which nothing is held back for experts fuller than the run's. */
struct scene scene_unreserved(const struct scene *);
bool scene_reserves(const struct scene *, const struct strategy *); /* whether that is another */

/* A block of the model as the strategy cuts it, of full sequences; of full attention, the caller sets a
 * window. */
struct block_shape block_shape_of(const struct scene *, const struct strategy *, enum block_kind);
/* The sequences that it works on, on average, where they are not full: room for block_shape.work, which
 * times are of. Bytes are of full sequences, for these come too. */
/* Sequences of a micro-batch. */
int scene_sequences(const struct scene *, const struct strategy *);
const struct sequence_work *scene_work(const struct scene *, const struct strategy *,
                                       struct sequence_work *room);

/* Seconds of the run, bytes that it must have room for: scene.memory_imbalance. */
struct layer_costs {
    struct block_cost kind[MODEL_MAX_KINDS]; /* attention and MLP of a whole layer */
    double clock[MODEL_MAX_KINDS];           /* its seconds over those of its operators */
    struct block_cost embedding, head,
        mtp; /* mtp: projection, decoder layer and head of one MTP layer */
    double boundary_bytes;
    double dummies, head_dummies; /* bytes, of layers and of the logits: see partition.c */
};
void layer_costs_of(const struct scene *, const struct strategy *, struct layer_costs *);
/* Which of the reaches_of() a strategy it is that counts. */
int layer_seat(const struct scene *, const struct strategy *, int reach[REACHES]);
/* Costs for ranks that sit so. */
void layer_costs_at(const struct scene *, const struct strategy *, int reach, struct layer_costs *);

/* Virtual stages on one mesh with the same layers, embedding and head cost the same. */
struct stage_shape {
    struct stage_layers has; /* `first` of the first such stage: the order of kinds */
    int mesh;
};

/* Sums over a stage, before the parameters of pass times: its layers, and embedding, head and MTP apart
 * because they are never recomputed. */
struct stage_sums {
    struct block_cost layers, ends;
    struct rank_params params; /* partition_init() alone sets them */
};

/* Ranks with the same shapes need the same memory, but for the micro-batches in flight: the
 * first of them has most. */
struct rank_class {
    int rank, mesh;
    struct rank_params params;
    double buffers; /* rank_buffers() */
};

/* A mesh as the partition sees it: what its ranks run, and on what. */
struct partition_mesh {
    struct costing costing; /* of its group */
    const struct layer_costs *costs;
    struct strategy strategy; /* structural parameters of its own */
    double limit;             /* bytes that the framework may allocate */
    double crowded;           /* fullness from which its GPUs are CROWDED */
    int host_ranks;           /* of one node */
    int first_rank;
    struct rank_params layer[MODEL_MAX_KINDS]; /* one of each kind */
    bool crosses[AXES]; /* collectives of passes that leave a node, and so go through its NICs */
};

struct partition {
    const struct scene *scene;
    struct strategy strategy; /* what all ranks share, and the first mesh's own */
    int meshes;
    bool hosts; /* what the host of some mesh has is known: only then its bytes are summed up */
    struct partition_mesh mesh[MESHES_MAX];
    struct layout layout;
    int64_t micro_batches;
    int shapes, classes;
    struct lateness late; /* of the rank with the longest samples */
    struct stage_shape shape[LAYOUT_MAX_STAGES];
    struct stage_sums sums[LAYOUT_MAX_STAGES]; /* by shape */
    struct rank_class class[SCHEDULE_MAX_RANKS];
    uint16_t shape_of[LAYOUT_MAX_STAGES];  /* by virtual stage */
    uint16_t class_of[SCHEDULE_MAX_RANKS]; /* by rank */
    uint8_t mesh_of[SCHEDULE_MAX_RANKS];   /* by rank */
    int64_t send[SCHEDULE_MAX_RANKS];      /* ticks */
    bool send_crosses[SCHEDULE_MAX_RANKS]; /* from node to node */
};

/* False, with the reason, when the layers cannot be split that way. The strategy's layout is
 * computed unless split is SPLIT_LAYOUT, for which `layout` must be given. `costs` are of each
 * mesh. */
bool partition_init(struct partition *, const struct scene *,
                    const struct layer_costs *const costs[], const struct strategy *,
                    const struct layout *layout, struct error *);
/* The same with costs of its own, all in the arena; NULL for false. */
struct partition *partition_new(const struct scene *, const struct strategy *,
                                const struct layout *layout, struct arena *, struct error *);

/* How near two ranks of a mesh are, counted from its first; ticks of a transfer between ranks of one
 * mesh, and between two meshes. */
enum nearness pair_nearness(const struct partition_mesh *, int from, int to);
int64_t send_ticks(const struct partition_mesh *, enum nearness);
int64_t crossing_ticks(const struct cluster *, const struct partition_mesh *,
                       const struct partition_mesh *);

/* The strategy `s` of all ranks as those of one mesh run it: mesh_strategy(). */
const struct strategy *partition_strategy(const struct partition *, int mesh,
                                          const struct strategy *s, struct strategy *room);

/* One shape by itself: a search over layers asks for many. */
void partition_set_shape(struct partition *, int shape, const struct stage_shape *);
struct rank_params shape_params(const struct partition *, const struct stage_shape *);

/* How many layers from `first` on, before `end`, are of its kind. */
int layers_alike(const struct model *, int first, int end);

/* Seconds of one pass of a stage, by where they go. */
struct pass {
    double compute_s, recompute_s, comm_s[AXES];
    bool waits; /* for the host */
};
void shape_passes(const struct partition *, const struct strategy *all, int shape,
                  struct pass *forward, struct pass *backward);
/* Of them what the rank with the longest samples takes longer. */
double shape_late_s(const struct partition *, int shape);

/* The same in ticks, `fixed_s` of transfer_fixed_s() with it. */
void shape_ticks(const struct partition *, const struct strategy *all, int shape, double fixed_s,
                 int64_t *forward, int64_t *backward);
/* Bytes of one micro-batch. */
struct chunk_bytes shape_bytes(const struct partition *, const struct strategy *all, int shape);

/* Recompute modules that take effect; how many of a stage's layers are recomputed whole. */
int effective_modules(const struct strategy *);
int layers_again(const struct strategy *, int layers);

/* Seconds that a pass of a stage spends on posting its transfers. */
double transfer_fixed_s(const struct partition *, const struct strategy *);

/* Compute and what no overlap hides, forward and backward: least over all parameters of pass times.
 * `hides`: passes may be combined, so that one hides the other's transfers of experts. */
double block_least_s(const struct block_cost *, bool hides);
double block_least_backward_s(const struct block_cost *, bool hides); /* of it backward */

/* Computed in steps, so that a search can stop at the first that rules them out. */
struct pass_times {
    int64_t *forward, *backward;           /* [shapes] ticks of one pass */
    int64_t *rank_forward, *rank_backward; /* [classes] ticks of one micro-batch, all chunks */
    int64_t *fill;                         /* [classes] earliest start of the class's first rank */
    int64_t bound;                         /* lower bound of the pipeline's end */
    double *activations;                   /* [classes] bytes kept at the fullest moment */
    double *temporary;                     /* [classes] beside them */
    double *hosted;                        /* [classes] offloaded ones, at their fullest moment */
    int64_t *stage_forward,
        *stage_backward;         /* [pp * vpp] by virtual stage, once pass_times_stages has run */
    int64_t *end;                /* [pp] exact, once pass_times_run has */
    struct pipeline_marks marks; /* the same, with virtual stages */
    double *sending;             /* [classes] part of a rank's passes in which its NICs send */
    bool waits;                  /* a pass waits for the host */
    bool exact;
};
/* `s` has the parameters of pass times; arrays live in the arena. Passes, fill and a first bound,
 * O(classes). */
void pass_times_of(const struct partition *, const struct strategy *, struct arena *,
                   struct pass_times *);
/* Whether nothing that is redone beside, and no overlap switched off, makes a pass of these shorter. */
bool pass_times_grow(const struct partition *, const struct strategy *, const struct pass_times *);
void pass_times_memory(const struct partition *, const struct strategy *, struct arena *,
                       struct pass_times *);
/* The same from below, without walking the schedule: every chunk as small as the smallest of its
 * rank. */
void pass_times_least_memory(const struct partition *, const struct strategy *, struct arena *,
                             struct pass_times *);
/* What CUDA graphs of `s` need more than the memory found without them. */
void pass_times_graph(const struct partition *, const struct strategy *, struct pass_times *);
/* Spreads the passes over the virtual stages and sharpens the bound, O(pp vpp). */
void pass_times_stages(const struct partition *, const struct strategy *, struct arena *,
                       struct pass_times *);
/* The exact end; needs pass_times_stages. */
void pass_times_run(const struct partition *, const struct strategy *, struct arena *,
                    struct pass_times *);
struct pipeline pass_times_pipeline(const struct partition *, const struct strategy *,
                                    const struct pass_times *);

/* What one rank of a mesh keeps, and how long its data-parallel work takes in one step. */
struct rank_state {
    double bytes;       /* always */
    double step_bytes;  /* only while the optimizer steps, without activations */
    double setup_bytes; /* all there is before the first step */
    double host_bytes;  /* of the host: host_of_states(); 0 unless partition.hosts */
};
struct rank_state rank_state_of(const struct partition *, int mesh, const struct rank_params *,
                                const struct strategy *all);
struct rank_times {
    double reduce_s, gather_s; /* all buckets of one step */
    double optimizer_s;
    double shard_s, shard_back_s; /* FSDP collectives of one micro-batch, by pass */
    double shard_tax;             /* what a hidden second of them slows compute */
};
struct rank_times rank_times_of(const struct partition *, int mesh, const struct rank_params *,
                                double buckets, const struct strategy *all);
/* The same of the collectives alone: those of one chunk. */
struct rank_times chunk_times_of(const struct partition *, int mesh, const struct rank_params *,
                                 double buckets, const struct strategy *all);

/* In two steps as well: bytes first, seconds when they are needed. Of each class as in rank_state
 * and rank_times. */
struct state {
    double *bytes, *step_bytes, *setup_bytes, *host_bytes; /* [classes] */
    double stretch; /* bytes on the GPU, of those that the partition's own state would need */
    bool timed;     /* the rest is there */
    double *reduce_s, *gather_s;         /* [shapes] of one chunk */
    double *reduce_all_s, *gather_all_s; /* [classes] of all chunks of a rank */
    double *optimizer_s;                 /* [classes] */
    double *shard_s, *shard_back_s, *shard_tax;
    double *crossing; /* [classes] 1 where reduction and gather leave a node, else 0 */
    double tied_s;    /* all-reduce of tied embeddings */
    int64_t beside;   /* step_beside(), where it was asked for */
};
enum { STATE_ARRAYS = 4 }; /* of bytes, one behind the other in this order */
struct state state_bytes(const struct partition *, struct arena *);
void state_of(const struct partition *, const struct strategy *, struct arena *, struct state *);
void state_times(const struct partition *, const struct strategy *, struct arena *, struct state *);

double state_stretch(const struct partition *, const struct strategy *);

/* What stays beside states and activations on a rank of a mesh. */
double rank_buffers(const struct partition *, int mesh, bool first, bool last);
/* What a rank allocates as a fraction of what it may; `fullest` are activations and temporaries. */
double rank_fullness(const struct partition *, int mesh, double fullest, const struct rank_state *,
                     double buffers, double stretch);

/* Largest allocation over the ranks as a fraction of what may be allocated, of GPUs and of hosts: fits
 * when <= 1. HOPELESS when nothing may be. */
#define HOPELESS 1e9
double partition_fullness(const struct partition *, const struct pass_times *,
                          const struct state *);
/* Whether the memory of some GPU is CROWDED. */
bool partition_crowded(const struct partition *, const struct pass_times *, const struct state *);
double partition_host_fullness(const struct partition *, const struct pass_times *,
                               const struct state *);

/* What a rank does outside the passes of the pipeline. Seconds. */
struct edges {
    double delay;  /* before its first forward */
    double after;  /* between its last backward and the optimizer */
    double behind; /* optimizer and what follows */
};
/* From below, of a rank of which only this is known: `chunk` are the times of its chunk 0, made of so
 * many buckets, `all` those of all chunks. Exact where a rank has one chunk, but for NICs that other
 * collectives use. */
struct edges rank_edges(const struct partition *, const struct strategy *, double forward_s,
                        double backward_s, const struct rank_times *chunk, double buckets,
                        const struct rank_times *all);

/* Of one rank of the partition; from below where pass times are not exact. Without virtual stages the
 * delays of all ranks add up, with them the longest counts. */
struct edges partition_edges(const struct partition *, const struct strategy *,
                             const struct pass_times *, const struct state *, int rank);

/* By how much a rank's passes are late when they wait for the gathers of its chunks, and how long
 * after its last pass the last reduction is done, each launched as the marks of exact pass times say.
 * Seconds. `visit` may be NULL; ticks of a reduction count from the pipeline's beginning. */
struct collective {
    int rank, chunk;
    int64_t bucket; /* of the chunk */
    bool reduction;
    int64_t start, end; /* ticks */
};
struct collective_visit {
    void (*call)(void *context, const struct collective *);
    void *context;
};
double gathers_late(const struct partition *, const struct pass_times *, const struct state *,
                    int rank, struct company, const struct collective_visit *);
double reductions_shown(const struct partition *, const struct pass_times *, const struct state *,
                        int rank, struct company, const struct collective_visit *);
/* What collectives of a class of ranks run beside. */
struct company company_of(const struct pass_times *, const struct state *, int class);

/* One step, part after part. Ticks. */
struct step_parts {
    int64_t delay;    /* until the pipeline begins */
    int64_t pipeline; /* until the last rank has reduced its gradients */
    int64_t tied;     /* all-reduce of tied embeddings */
    int64_t behind;   /* optimizer and what follows */
};
struct step_parts partition_parts(const struct partition *, const struct strategy *,
                                  const struct pass_times *, const struct state *);

/* Ticks that every step with this state has beside its pipeline, whatever the pass times: delay and
 * reduction of the first rank, where the pipeline begins and ends, and what is behind it. */
int64_t step_beside(const struct partition *, const struct strategy *, const struct state *);

/* Ticks of one step, the sum of its parts. With pass_times.exact false a lower bound: never above the
 * exact value. */
int64_t partition_step(const struct partition *, const struct strategy *, const struct pass_times *,
                       const struct state *);

/* Buckets of the gradients of a chunk, as overlapped reduction makes them on the first rank. */
double rank_buckets(const struct partition *, int mesh, const struct rank_params *);
/* Those of a virtual stage: Megatron makes several of chunk 0 of the first rank alone, one of every
 * other chunk (distributed_data_parallel.py). Without overlap there is one of each; it is not counted
 * as faster for that, so that overlap is never slower. */
double stage_buckets(const struct partition *, int stage);

/* Bytes of the state that are neither weights nor gradients nor optimizer: padding of buckets,
 * gathered units of FSDP. */
double state_buffers(const struct partition *, int mesh, const struct rank_params *,
                     const struct strategy *all);

/* What the plan says of one rank. */
void partition_stage(const struct partition *, const struct strategy *, const struct state *,
                     int rank, struct arena *, struct plan_stage *out);

/* The memory of one rank, by part, and when it is fullest; for partition_stage. */
void partition_stage_memory(const struct partition *, const struct strategy *, int rank,
                            struct arena *, struct plan_stage *out);

/* The same where experts are as full as it must have room for: whether it fits then, and the reserve
 * that this takes. `judged` is the partition of the scene, the stage's memory of scene_unreserved(). */
void partition_stage_reserve(const struct partition *judged, const struct strategy *, int rank,
                             struct arena *, struct plan_stage *out);

/* What the framework may allocate so that the device's memory suffices; before a residual factor,
 * which shows in what a plan says alone. */
double framework_limit(const struct scene *, const struct strategy *);
/* Sets it for a mesh, and what of it makes its GPUs CROWDED. */
void mesh_set_limits(struct partition_mesh *, const struct scene *);

/* Bytes a GPU may use. */
double scene_limit(const struct scene *);

/* The scene a plan was evaluated in. */
struct scene plan_scene(const struct plan *);

/* Adds what is to be said of where the ranks lie (seating.c). */
void plan_note_seats(const struct scene *, struct plan *, struct arena *);

/* Everything for one strategy: rules are the caller's. `s` may use SPLIT_LAYOUT with `layout`. */
void plan_evaluate(const struct scene *, const struct strategy *s, const struct layout *layout,
                   struct arena *, struct plan *out);
