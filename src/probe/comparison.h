/* How a mixed plan compares: with one layer moved, other splits, and each of its types alone. */
#ifndef ASTRA_COMPARISON_H
#define ASTRA_COMPARISON_H

struct arena;
struct estimate_query;
struct node_group;
struct plan;
struct query;

/* What a mixed plan is worth, beside other uses of the same GPUs. */
enum { COMPARISON_SPLITS = 2 };
struct comparison {
    struct more_layer {
        int from;          /* stage that gives a layer away; -1 when none can */
        double seconds;    /* more of a micro-batch, forward and backward, compute only */
        struct plan *plan; /* with the layer moved; NULL when none can be */
    } * more;              /* [stages] the cheapest way to one more layer on each */
    struct comparison_split {
        const char *name, *words;
        const struct plan *plan; /* NULL when there are fewer layers than stages */
    } split[COMPARISON_SPLITS];  /* layers as many on each stage, and by the speed of its GPUs */
    int groups;
    struct comparison_alone {
        const struct node_group *group;
        const struct plan *plan; /* the best on this group alone; NULL when there is none */
    } * alone;                   /* [groups] */
};

/* NULL unless the job is mixed and the plan computed. Batch, sequence and numerics stay. Runs a
 * search on every group. Everything lives in the arena; the same for any number of threads. */
const struct comparison *comparison_of(const struct query *, const struct estimate_query *,
                                       const struct plan *, struct arena *);

#endif
