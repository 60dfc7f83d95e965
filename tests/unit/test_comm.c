/* Collectives: hand-computed times, and laws that hold whatever the model says: it is
 * noise here. */
#include "base/arena.h"
#include "base/parallel.h"
#include "cluster/cluster.h"
#include "cost/comm.h"
#include "cost/trees.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KINDS = COMM_SEND + 1, NOISE_DEPTH = 6 };

static const char *const POOLS[] = {"12500x8:H100", "64x8:A100",      "72x4:GB200",
                                    "8x8:L40S",     "8x8:V100",       "8x8:RTX4090",
                                    "8x8:MI300X",   "16x8:A100-PCIe", "1x8:B200"};
static const double LAST_BYTES = 274877906944.0; /* 2^38 */

static struct trees noise;
static uint32_t state = 1;

static float draw(float from, float to)
{
    state = state * 1664525u + 1013904223u;
    return from + (to - from) * (float)(state >> 8) / 16777216.0f;
}

/* Trees without any order: factors mostly between 1/4 and 4. */
static int draw_noise(void **context)
{
    enum { NODES = (1 << NOISE_DEPTH) * TREES_LANES };
    static float threshold[NODES], leaf[NODES];
    static unsigned char column[NODES];
    (void)context;
    for (int i = 0; i < NODES; i++) {
        column[i] = (unsigned char)draw(0, COMM_FEATURES);
        threshold[i] = column[i] == COMM_LOG_SHARE ? draw(-9, 38) : (float)(int)draw(-1, 4);
        leaf[i] = draw(-0.35f, 0.35f);
    }
    noise = (struct trees){TREES_LANES, NOISE_DEPTH, COMM_FEATURES, 0, threshold, column, leaf};
    return 0;
}

static struct node_group group_of(const char *pool)
{
    struct cluster c;
    struct error err = {0};
    if (!cluster_from_pool(&c, pool, &err))
        print_error("%s\n", err.text);
    assert_true(err.kind == ERROR_NONE);
    return c.group[0];
}

static struct comm_table *table_of(const struct node_group *g, const struct trees *model)
{
    struct comm_table *t = NULL;
    assert_true(comm_table_new(&t, g, model, NULL));
    return t;
}

/* Visits placements from two ranks to all GPUs of the group. */
static void each_placement(const struct node_group *g,
                           void (*visit)(const struct node_group *, enum comm_kind,
                                         struct placement))
{
    for (int stride = 1; stride <= 8; stride *= 2)
        for (int64_t n = 2; n <= (int64_t)g->nodes_max * g->per_node / stride; n = n * 5 / 2)
            for (int kind = 0; kind < KINDS; kind++)
                visit(g, (enum comm_kind)kind, placement_of(g, (int)n, stride));
}

static struct comm_curve curve_of(const struct node_group *g, const struct trees *model,
                                  enum comm_kind kind, struct placement p)
{
    struct comm_call call = comm_call_of(g, kind, p);
    struct comm_curve c;
    comm_curve_fill(&c, model, &call);
    return c;
}

static void check_curve(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    struct comm_call call = comm_call_of(g, kind, p);
    struct comm_curve c = curve_of(g, &noise, kind, p);
    double last = 0;
    for (double bytes = 1; bytes < 1e13; bytes *= 1.3) {
        double t = comm_curve_time(&c, bytes);
        assert_true(isfinite(t) && t > 0);
        assert_true(t >= last);
        assert_true(t >= comm_base_of(&call, bytes).floor_s * (1 - 1e-12));
        last = t;
    }
}

static void rises_and_respects_the_wire(void **context)
{
    (void)context;
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++) {
        struct node_group g = group_of(POOLS[i]);
        each_placement(&g, check_curve);
    }
}

/* At every point of the grid, its ends included, both sides meet. */
static void check_joints(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    struct comm_curve c = curve_of(g, &noise, kind, p);
    for (double bytes = 256; bytes <= LAST_BYTES; bytes *= 2) {
        double left = comm_curve_time(&c, bytes * (1 - 1e-9));
        double right = comm_curve_time(&c, bytes * (1 + 1e-9));
        assert_true(right - left <= 1e-6 * left);
    }
}

static void no_jumps(void **context)
{
    (void)context;
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++) {
        struct node_group g = group_of(POOLS[i]);
        each_placement(&g, check_joints);
    }
}

static void assert_not_slower(const struct node_group *fast, const struct node_group *slow,
                              enum comm_kind kind, int ranks, int stride)
{
    struct comm_curve f = curve_of(fast, &noise, kind, placement_of(fast, ranks, stride));
    struct comm_curve s = curve_of(slow, &noise, kind, placement_of(slow, ranks, stride));
    for (double bytes = 64; bytes < 1e12; bytes *= 3)
        assert_true(comm_curve_time(&f, bytes) <= comm_curve_time(&s, bytes));
}

static void check_bandwidth(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    int stride = p.per_node > 1 ? 1 : g->per_node;
    struct node_group link = *g, nic = *g, far = *g;
    link.link_bs *= 1.37;
    nic.nic_bs *= 1.37;
    far.oversubscription *= 2;
    assert_not_slower(&link, g, kind, p.ranks, stride);
    assert_not_slower(&nic, g, kind, p.ranks, stride);
    assert_not_slower(g, &far, kind, p.ranks, stride);
}

static void more_bandwidth_is_never_slower(void **context)
{
    (void)context;
    for (size_t i = 0; i < sizeof POOLS / sizeof *POOLS; i++) {
        struct node_group g = group_of(POOLS[i]);
        each_placement(&g, check_bandwidth);
    }
}

static void check_nodes(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    struct comm_call few = comm_call_of(g, kind, p), many = few;
    struct comm_curve a, b;
    many.nodes = 2 * few.nodes;
    many.ranks = many.nodes * many.per_node;
    few.ranks = few.nodes * few.per_node;
    if (few.nodes == 1) /* inside a node it is another wire */
        return;
    comm_curve_fill(&a, &noise, &few);
    comm_curve_fill(&b, &noise, &many);
    for (int i = 0; i < CURVE_POINTS; i++)
        assert_true(b.time_s[i] >= a.time_s[i]);
}

static void more_nodes_are_never_faster(void **context)
{
    (void)context;
    struct node_group g = group_of("12500x8:H100");
    each_placement(&g, check_nodes);
}

/* The same ranks on a group and on one with twice the domain. */
static void check_domain(const struct node_group *g, enum comm_kind kind, struct placement p)
{
    struct node_group wide = *g;
    int stride = p.per_node > 1 ? 1 : g->per_node;
    wide.domain = g->domain < g->per_node ? g->per_node : 2 * g->domain;
    struct comm_table *a = table_of(g, &noise), *b = table_of(&wide, &noise);
    for (double bytes = 64; bytes < 1e12; bytes *= 7) {
        double before = comm_table_time(a, kind, bytes, placement_of(g, p.ranks, stride));
        assert_true(comm_table_time(b, kind, bytes, placement_of(&wide, p.ranks, stride)) <=
                    before);
    }
    comm_table_free(a);
    comm_table_free(b);
}

/* Ranks that fill nodes: uneven groups are another matter, test_laws has them. */
static void larger_domains_are_never_slower(void **context)
{
    (void)context;
    static const char *const NODES[] = {"64x8:H100", "64x8:V100@800", "16x8:A100-PCIe",
                                        "32x4:GB200", "16x4:H100-PCIe@25"};
    for (size_t i = 0; i < sizeof NODES / sizeof *NODES; i++) {
        struct node_group g = group_of(NODES[i]);
        g.domain = g.domain > g.per_node ? 4 * g.per_node : g.domain;
        for (int ranks = 2; ranks <= 64; ranks *= 2)
            for (int kind = 0; kind < KINDS; kind++)
                for (int stride = 1; stride <= g.per_node; stride *= g.per_node)
                    check_domain(&g, (enum comm_kind)kind, placement_of(&g, ranks, stride));
    }
}

/* H100, 450 GB/s: latency 4.5 us + 0.8 us a step; half a message beside what is exchanged. */
static void by_hand_inside_a_node(void **context)
{
    (void)context;
    struct node_group g = group_of("1x8:H100");
    struct comm_call c = comm_call_of(&g, COMM_ALL_GATHER, placement_of(&g, 8, 1));
    struct comm_base b = comm_base_of(&c, 450e6);
    assert_true(fabs(b.latency_s - (4.5e-6 + 7 * 0.8e-6)) < 1e-12);
    assert_true(fabs(b.wire_s - (0.875 + 0.5) * 1e-3) < 1e-12);
    assert_true(fabs(b.floor_s - 0.875e-3) < 1e-12);
    c.kind = COMM_ALL_REDUCE; /* in the switch: everything once, the reduced eighth again */
    assert_true(fabs(comm_base_of(&c, 450e6).floor_s - 1.125e-3) < 1e-12);
    c.in_switch = false;
    assert_true(fabs(comm_base_of(&c, 450e6).floor_s - 1.75e-3) < 1e-12);
}

/* 50 GB/s a NIC. A ring of eight ranks a node has eight NICs, one of single ranks has one. */
static void by_hand_across_nodes(void **context)
{
    (void)context;
    struct node_group g = group_of("10x8:H100");
    struct comm_call c = comm_call_of(&g, COMM_ALL_GATHER, placement_of(&g, 80, 1));
    assert_int_equal(c.per_node, 8);
    assert_true(fabs(comm_base_of(&c, 400e6).floor_s - 0.9e-3) < 1e-12);
    c = comm_call_of(&g, COMM_ALL_GATHER, placement_of(&g, 10, 8));
    assert_int_equal(c.per_node, 1);
    assert_true(fabs(comm_base_of(&c, 400e6).floor_s - 7.2e-3) < 1e-12);
    c = comm_call_of(&g, COMM_ALL_TO_ALL, placement_of(&g, 80, 1));
    assert_true(fabs(comm_base_of(&c, 400e6).floor_s - 7.2e-3) < 1e-12);
    c = comm_call_of(&g, COMM_SEND, placement_of(&g, 2, 8));
    assert_true(fabs(comm_base_of(&c, 400e6).floor_s - 8e-3) < 1e-12);
}

/* GB/s as nccl-tests counts them, of 1 GB on 16 GPUs of two nodes, by the formulas alone. */
static double bus_gbs(const char *pool, enum comm_kind kind)
{
    struct node_group g = group_of(pool);
    struct comm_call c = comm_call_of(&g, kind, placement_of(&g, 16, 1));
    double times = kind == COMM_ALL_REDUCE ? 2 : 1;
    return times * 15 / 16 / comm_base_of(&c, 1e9).wire_s;
}

/* A ring carries nearly the whole message over every hop: no more than all NICs together. A switch
 * that reduces inside the nodes halves that between two of them. */
static void rings_fill_the_nics(void **context)
{
    (void)context;
    static const struct {
        const char *pool;
        enum comm_kind kind;
        double low, high;
    } CASES[] = {{"2x8:A100", COMM_ALL_REDUCE, 180, 200},
                 {"2x8:A100@100", COMM_ALL_REDUCE, 97, 100},
                 {"2x8:A100@100", COMM_ALL_GATHER, 97, 100},
                 {"2x8:H100", COMM_REDUCE_SCATTER, 300, 400},
                 {"2x8:H100", COMM_ALL_REDUCE, 400, 750}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double gbs = bus_gbs(CASES[i].pool, CASES[i].kind);
        if (gbs < CASES[i].low || gbs > CASES[i].high)
            fail_msg("%s: %g GB/s", CASES[i].pool, gbs);
    }
}

/* Behind NICs of a quarter of the bandwidth only the wire is longer, whatever was learned. */
static void slow_nics_add_their_wire(void **context)
{
    (void)context;
    struct node_group fast = group_of("64x8:H100"), slow;
    fast.link_bs *= 1e6; /* the NICs alone */
    slow = fast;
    slow.nic_bs /= 4;
    for (int kind = 0; kind < KINDS; kind++) {
        struct placement p = placement_of(&fast, 256, 1);
        struct comm_call f = comm_call_of(&fast, (enum comm_kind)kind, p),
                         s = comm_call_of(&slow, (enum comm_kind)kind, p);
        struct comm_curve a = curve_of(&fast, &noise, (enum comm_kind)kind, p),
                          b = curve_of(&slow, &noise, (enum comm_kind)kind, p);
        for (double bytes = 256; bytes <= LAST_BYTES; bytes *= 2) {
            double wire = comm_base_of(&s, bytes).wire_s - comm_base_of(&f, bytes).wire_s;
            double more = comm_curve_time(&b, bytes) - comm_curve_time(&a, bytes);
            assert_true(more <= wire * (1 + 1e-9));
        }
    }
}

static void pcie_beyond_the_domain(void **context)
{
    (void)context;
    struct node_group g = group_of("2x8:A100-PCIe");
    struct placement pair = placement_of(&g, 2, 1), four = placement_of(&g, 4, 1);
    assert_true(pair.link_bs == g.link_bs && !comm_call_of(&g, COMM_SEND, pair).pcie);
    assert_true(four.link_bs == 32e9 && comm_call_of(&g, COMM_ALL_REDUCE, four).pcie);
}

static void nothing_to_do(void **context)
{
    (void)context;
    struct node_group g = group_of("2x8:H100");
    struct comm_table *t = table_of(&g, &noise);
    assert_true(comm_table_time(t, COMM_ALL_REDUCE, 1e6, placement_of(&g, 1, 1)) == 0);
    assert_true(comm_table_time(t, COMM_ALL_REDUCE, 0, placement_of(&g, 8, 1)) == 0);
    const struct costing on = {.group = &g};
    assert_true(comm_time(&on, COMM_ALL_REDUCE, 1e6, placement_of(&g, 1, 1)) == 0);
    comm_table_free(t);
}

/* Without a model a table is close to the plain formula: it only reads between its points. */
static void without_a_model(void **context)
{
    (void)context;
    struct node_group g = group_of("10x8:H100");
    const struct costing on = {.group = &g};
    struct comm_table *t = table_of(&g, NULL);
    for (double bytes = 300; bytes < 1e11; bytes *= 1.7) {
        struct placement p = placement_of(&g, 40, 2);
        double a = comm_time(&on, COMM_ALL_GATHER, bytes, p);
        assert_true(fabs(comm_table_time(t, COMM_ALL_GATHER, bytes, p) / a - 1) < 1e-9);
    }
    comm_table_free(t);
}

enum { QUERIES = 4000 };

struct crowd {
    const struct node_group *group;
    struct comm_table *table;
    double answer[QUERIES];
};

static void ask(void *context, int worker, long item)
{
    (void)worker;
    struct crowd *c = context;
    struct placement p = placement_of(c->group, 2 + (int)(item * 7 % 97), 1 + (int)(item % 8));
    enum comm_kind kind = (enum comm_kind)(item % KINDS);
    c->answer[item] = comm_table_time(c->table, kind, 1000.0 * (double)(item + 1), p);
}

static void threads_agree(void **context)
{
    (void)context;
    static struct crowd one, many;
    struct node_group g = group_of("64x8:H100");
    one = (struct crowd){.group = &g, .table = table_of(&g, &noise)};
    many = (struct crowd){.group = &g, .table = table_of(&g, &noise)};
    for (long i = QUERIES - 1; i >= 0; i--)
        ask(&one, 0, i);
    parallel_for(8, QUERIES, ask, &many);
    for (int i = 0; i < QUERIES; i++)
        assert_true(one.answer[i] == many.answer[i]);
    comm_table_free(one.table);
    comm_table_free(many.table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rises_and_respects_the_wire),
        cmocka_unit_test(no_jumps),
        cmocka_unit_test(more_bandwidth_is_never_slower),
        cmocka_unit_test(more_nodes_are_never_faster),
        cmocka_unit_test(larger_domains_are_never_slower),
        cmocka_unit_test(by_hand_inside_a_node),
        cmocka_unit_test(by_hand_across_nodes),
        cmocka_unit_test(rings_fill_the_nics),
        cmocka_unit_test(slow_nics_add_their_wire),
        cmocka_unit_test(pcie_beyond_the_domain),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(without_a_model),
        cmocka_unit_test(threads_agree),
    };
    return cmocka_run_group_tests(tests, draw_noise, NULL);
}
