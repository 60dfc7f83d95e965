/* Where groups sit, against a plain placement: ranks are listed in Megatron's order, put on nodes one
 * after the other, and every group is looked at. Searches on nodes that parallel groups do not fill,
 * and on racks of 72: none is priced as if it were inside a node or rack that it leaves. */
#include "asked.h"
#include "cost/placement.h"
#include "random.h"
#include "search/search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static int problems = 10; /* 400 take a minute: make laws */

enum { MOST_PIECES = 4096 };

/* What is seen of groups as they are. */
struct seen {
    int nodes, fewest, most; /* over all groups: most nodes, ranks of one node */
    bool crosses;            /* inside a node the scale-up link does not join two of them */
};

/* A group, rank after rank, in pieces of `reach` GPUs. */
static void look_at(const struct node_group *g, int64_t reach, int64_t start, int64_t stride,
                    int ranks, struct seen *out)
{
    static int count[MOST_PIECES];
    int64_t first = start / reach, last = (start + (ranks - 1) * stride) / reach;
    int nodes = 0, domain[2] = {-1, -1};
    assert_true(last - first < MOST_PIECES);
    memset(count, 0, (size_t)(last - first + 1) * sizeof *count);
    for (int k = 0; k < ranks; k++) {
        int64_t rank = start + k * stride;
        int node = (int)(rank / g->per_node), link = (int)(rank % g->per_node) / g->domain;
        count[rank / reach - first]++;
        out->crosses |= g->domain < g->per_node && node == domain[0] && link != domain[1];
        domain[0] = node;
        domain[1] = link;
    }
    for (int64_t i = 0; i <= last - first; i++)
        if (count[i] > 0) {
            nodes++;
            out->fewest = count[i] < out->fewest ? count[i] : out->fewest;
            out->most = count[i] > out->most ? count[i] : out->most;
        }
    out->nodes = nodes > out->nodes ? nodes : out->nodes;
}

/* All groups of one axis of a grid: `ranks` values of it, `inner` ranks before the next value, in a job
 * of so many GPUs. */
static struct seen look_at_all(const struct node_group *g, int64_t reach, int64_t gpus, int ranks,
                               int64_t inner)
{
    struct seen seen = {.fewest = INT32_MAX};
    for (int64_t rank = 0; rank < gpus; rank++)
        if (rank / inner % ranks == 0) /* the first of its group */
            look_at(g, reach, rank, inner, ranks, &seen);
    return seen;
}

static struct node_group group_of(const char *pool)
{
    struct cluster c;
    struct error err = {0};
    must(cluster_from_pool(&c, pool, &err), &err);
    return c.group[0];
}

static void by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *pool;
        int ranks, stride, nodes, fewest, most;
    } CASES[] = {
        {"4x8:H100", 8, 1, 1, 8, 0},      {"4x8:H100", 16, 1, 2, 8, 0},
        {"4x8:H100", 4, 8, 4, 1, 0},      {"4x6:H100", 4, 1, 2, 2, 4}, /* 4 5 | 6 7 */
        {"4x6:H100", 6, 1, 1, 6, 0},      {"4x6:H100", 2, 4, 2, 1, 2}, /* 2 | 6 */
        {"7x5:H100", 4, 1, 2, 1, 4},      {"4x7:H100", 2, 1, 2, 1, 2}, /* 6 | 7 */
        {"4x3:H100", 2, 1, 2, 1, 2},      {"36x4:GB200", 72, 1, 1, 72, 0},
        {"36x4:GB200", 64, 1, 2, 8, 64},  {"36x4:GB200", 32, 1, 2, 8, 32},
        {"36x4:GB200", 128, 1, 3, 8, 72}, /* 64 .. 71 | 72 .. 143 | 144 .. 191 */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct node_group g = group_of(CASES[i].pool);
        struct placement p = placement_of(&g, CASES[i].ranks, CASES[i].stride);
        if (p.nodes != CASES[i].nodes || p.per_node != CASES[i].fewest || p.most != CASES[i].most)
            fail_msg("%s, %d ranks %d apart: %d nodes, %d to %d ranks on one", CASES[i].pool,
                     CASES[i].ranks, CASES[i].stride, p.nodes, p.per_node, p.most);
    }
}

static void equals_a_walk(void **state)
{
    (void)state;
    struct node_group g = group_of("4x8:A100");
    for (int i = 0; i < 3000; i++) {
        int ranks = pick(1, 20), stride = pick(1, 12), blocks = pick(1, 5);
        g.per_node = pick(1, 9);
        g.domain = pick(0, 1) ? g.per_node * pick(1, 4) : pick(1, g.per_node);
        const struct costing on = {.group = &g};
        int reach = g.domain > g.per_node ? g.domain : g.per_node;
        if (pick(0, 2) == 0) /* any number of blocks: after so many they repeat */
            blocks = reach;
        struct seen seen = look_at_all(&g, reach, (int64_t)ranks * stride * blocks, ranks, stride);
        struct placement p = placement_on(&on, ranks, stride, blocks == reach ? 0 : blocks);
        int most = p.most > p.per_node ? p.most : p.per_node;
        if (p.nodes != seen.nodes || p.per_node != seen.fewest || most != seen.most ||
            (p.link_bs != g.link_bs) != seen.crosses)
            fail_msg("%d ranks %d apart, %d times, on %d of %d: %d nodes with %d to %d, not %d "
                     "with %d to %d",
                     ranks, stride, blocks, g.per_node, g.domain, p.nodes, p.per_node, most,
                     seen.nodes, seen.fewest, seen.most);
    }
}

/* Priced as a group that is not better off than any; on whole nodes exactly as the worst. */
static void check_groups(const struct node_group *g, int64_t reach, int64_t gpus, int ranks,
                         int64_t inner, struct placement p, const char *what)
{
    struct seen seen = look_at_all(g, reach, gpus, ranks, inner);
    bool exact = g->domain <= g->per_node && gpus % g->per_node == 0;
    if (ranks <= 1)
        return;
    if (p.nodes < seen.nodes || p.per_node > seen.fewest || (p.nodes > 1 && seen.nodes == 1) ||
        (exact && (p.nodes != seen.nodes || p.per_node != seen.fewest)))
        fail_msg(
            "%s on nodes of %d, domain %d: %d nodes with %d of %d ranks at least, priced as %d "
            "with %d",
            what, g->per_node, g->domain, seen.nodes, seen.fewest, ranks, p.nodes, p.per_node);
}

static void check_pipeline(const struct node_group *g, int64_t reach, const struct costing *on,
                           const struct strategy *s)
{
    int64_t block = (int64_t)s->tp * s->cp * s->dp;
    for (int r = 0; r < s->pp; r++) {
        struct seen seen = {.fewest = INT32_MAX};
        int to = (r + 1) % s->pp;
        for (int64_t x = 0; x < block && s->pp > 1; x++) {
            int64_t a = (r < to ? r : to) * block + x, b = (r < to ? to : r) * block + x;
            look_at(g, reach, a, b - a, 2, &seen);
        }
        bool inside = nearness_of(on, block, r, to) != OTHER_NODE;
        if (s->pp > 1 && inside != (seen.nodes == 1))
            fail_msg("transfer %d to %d of %lld GPUs is priced %s", r, to, (long long)block,
                     inside ? "inside" : "outside");
    }
}

static void check_plan(const struct scene *sc, const struct strategy *s)
{
    const struct node_group *g = sc->group;
    int64_t gpus = strategy_gpus(s), edp = gpus / ((int64_t)s->etp * s->ep * s->pp);
    int reach[REACHES], seat = layer_seat(sc, s, reach), segment = segment_of(g, s, gpus);
    struct costing layer = {.group = g, .reach = reach[seat]}, on = placed_costing(sc, g, s);
    int64_t rack = g->domain > g->per_node ? g->domain : g->per_node;
    int64_t asked = segment > 0 ? (int64_t)segment * g->per_node : rack; /* of the scheduler */
    int64_t filled = on.reach == REACH_ALL ? rack : on.reach;
    assert_true(segment == 0 || gpus % asked == 0);
    assert_true(asked <= rack && filled <= rack);
    check_groups(g, asked, gpus, s->tp, 1, placement_on(&layer, s->tp, 1, 0), "tp");
    check_groups(g, asked, gpus, s->cp, s->tp, placement_on(&layer, s->cp, s->tp, 0), "cp");
    check_groups(g, asked, gpus, s->etp, 1, placement_on(&layer, s->etp, 1, 0), "etp");
    check_groups(g, asked, gpus, s->ep, s->etp, placement_on(&layer, s->ep, s->etp, 0), "ep");
    check_groups(g, filled, gpus, s->dp * s->cp, s->tp,
                 placement_on(&on, s->dp * s->cp, s->tp, s->pp), "dp");
    check_groups(g, filled, gpus, (int)edp, (int64_t)s->etp * s->ep,
                 placement_on(&on, (int)edp, s->etp * s->ep, s->pp), "expert dp");
    check_pipeline(g, filled, &on, s);
}

static void set(struct asked *q, const char *option, const char *value)
{
    struct error err = {0};
    must(asked_set(q, option, value, &err), &err);
}

/* Nodes of 3, 5, 6 or 7, or racks of GB200: whole ones, or what a job has of them. */
static void random_query(struct asked *q)
{
    static const char *const MODELS[] = {"llama3-8b",     "gpt3-13b",    "mixtral-8x7b",
                                         "qwen3-30b-a3b", "deepseek-v2", "llama2-70b"};
    static const int PER_NODE[] = {3, 5, 6, 7}, BATCH[] = {120, 128, 210, 256, 288, 512};
    char text[64];
    asked_init(q);
    if (pick(0, 2))
        snprintf(text, sizeof text, "%dx%d:%s", pick(1, 12), PER_NODE[pick(0, 3)],
                 pick(0, 1) ? "H100" : "A100");
    else
        snprintf(text, sizeof text, "%dx4:GB200", pick(0, 1) ? 18 * pick(1, 8) : pick(1, 144));
    set(q, "cluster", text);
    set(q, "model", MODELS[pick(0, 5)]);
    snprintf(text, sizeof text, "%d", BATCH[pick(0, 5)]);
    set(q, "global-batch", text);
    set(q, "seq-len", pick(0, 1) ? "4096" : "8192");
    q->options.search.top = 8;
}

static void no_group_is_priced_inside_what_it_leaves(void **state)
{
    (void)state;
    int plans = 0;
    for (int i = 0; i < problems; i++) {
        struct asked q;
        struct search_query sq;
        struct search_result r;
        struct error err = {0};
        random_query(&q);
        must(asked_resolve(&q, QUERY_SEARCH, &err), &err);
        must(query_search(&q.query, 0, &q.mem, &sq, &err), &err);
        search_run(&sq, &q.mem, &r);
        for (int k = 0; k < r.best; k++)
            check_plan(&sq.scene, &r.found[k].strategy);
        for (int k = 0; k < r.front; k++)
            check_plan(&sq.scene, &r.pareto[k].strategy);
        for (int k = 0; k < r.best && k < 1; k++)
            must(search_check(&sq, &r.found[k], &err), &err);
        plans += r.best + r.front;
        asked_release(&q);
    }
    print_message("%d plans of %d searches\n", plans, problems);
    assert_true(plans > problems);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(equals_a_walk),
        cmocka_unit_test(no_group_is_priced_inside_what_it_leaves),
    };
    problems = argc > 1 ? (int)strtol(argv[1], NULL, 10) : problems;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
