/* Megatron numbers ranks with tensor parallelism fastest, then context, data, pipeline (experts: their
 * own tensor parallelism, expert parallelism, data, pipeline), and ranks fill nodes one after the other.
 * So all groups of one kind are
 *
 *     start, start + stride, ... start + (ranks - 1) stride
 *     start = s + j ranks stride      s < stride, j < blocks
 *
 * and what a group looks like depends on its start modulo the GPUs of a node or scale-up domain (its
 * reach): tensor parallelism of 4 on nodes of 6,
 *
 *     | 0 1 2 3 4 5 | 6 7 8 9 10 11 |       ranks 4 to 7 are on two nodes
 *       a a a a b b   b b c c c  c
 *
 * A step waits for the slowest group, so all are priced as the one that is worst off: on most nodes,
 * and with fewest ranks on one of them, for a node sends through the NICs of the ranks it has; the
 * link inside carries what the fullest node needs. Starts repeat after reach / gcd(reach, block)
 * blocks; where strides and blocks divide the reach, or it them, all groups are alike: O(1). */
#include "cost/placement.h"

#include "base/units.h"
#include "cluster/cluster.h"
#include "strategy/strategy.h"

#include <assert.h>

static int whole_reach(const struct node_group *g)
{
    return g->domain > g->per_node ? g->domain : g->per_node;
}

/* Whether all groups look alike in pieces of `reach` GPUs. */
static bool is_even(int reach, int ranks, int stride)
{
    if (stride >= reach)
        return true;
    int places = reach / stride;
    return reach % stride == 0 && (places % ranks == 0 || ranks % places == 0);
}

/* The same of the scale-up links inside a node. */
static bool is_even_inside(const struct node_group *g, int ranks, int stride)
{
    return g->domain >= g->per_node || stride >= g->per_node ||
           (g->per_node % g->domain == 0 && is_even(g->domain, ranks, stride));
}

static double pcie_bs(const struct node_group *g)
{
    return 1e9 * g->gpu->pcie_gbs;
}

/* Ranks of one node talk over the scale-up link where it joins them all, else over PCIe. */
static struct placement even_placement(const struct node_group *g, int reach, int ranks, int stride)
{
    int per_node = reach / stride;
    if (per_node < 1)
        per_node = 1;
    if (per_node > ranks)
        per_node = ranks;
    struct placement p = {ranks, per_node, (ranks + per_node - 1) / per_node, g->link_bs, 0};
    if (per_node > 1 && (per_node - 1) * stride >= g->domain)
        p.link_bs = pcie_bs(g);
    return p;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Makes `p` no better off than the group that starts `at` GPUs behind the beginning of a node. Other
 * nodes of the group hold what another group has on its first one, or less. */
static void note_group(const struct node_group *g, int reach, int stride, int at,
                       struct placement *p)
{
    int first = smaller(p->ranks, (reach - at - 1) / stride + 1);
    int64_t end = at + (int64_t)(p->ranks - 1) * stride;
    int nodes = (int)(end / reach) + 1, last = (int)(end % reach) / stride + 1;
    p->nodes = larger(p->nodes, nodes);
    p->most = larger(p->most, nodes > 2 ? (reach - 1) / stride + 1 : first);
    p->per_node = smaller(p->per_node, first);
    if (nodes > 1) {
        p->most = larger(p->most, last);
        p->per_node = smaller(p->per_node, last);
    }
    if (nodes > 2)
        p->per_node = smaller(p->per_node, reach / stride);
    if (g->domain < g->per_node && at / g->domain != (at + (first - 1) * stride) / g->domain)
        p->link_bs = pcie_bs(g);
}

struct placement placement_on(const struct costing *on, int ranks, int stride, int blocks)
{
    const struct node_group *g = on->group;
    int reach = on->reach ? on->reach : whole_reach(g);
    assert(ranks >= 1 && stride >= 1 && blocks >= 0 && g->per_node >= 1);
    if ((reach == REACH_ALL || is_even(reach, ranks, stride)) && is_even_inside(g, ranks, stride))
        return even_placement(g, reach, ranks, stride);
    struct placement p = {ranks, ranks, 1, g->link_bs, 1};
    int64_t block = (int64_t)ranks * stride, turns = reach / common_divisor(reach, block);
    bool alike = reach % stride == 0 && (g->domain >= g->per_node || g->domain % stride == 0);
    if (reach == REACH_ALL) /* on one node: its links alone differ */
        turns = g->per_node / block > 1 ? g->per_node / block : 1;
    if (blocks > 0 && blocks < turns)
        turns = blocks;
    for (int64_t j = 0; j < turns; j++)
        for (int s = 0; s < (alike ? 1 : smaller(stride, reach)); s++)
            note_group(g, reach, stride, (int)((s + j * block) % reach), &p);
    assert(p.per_node >= 1 && p.per_node <= p.most && p.most <= ranks);
    return p;
}

struct placement placement_of(const struct node_group *g, int ranks, int stride)
{
    const struct costing on = {.group = g};
    return placement_on(&on, ranks, stride, 0);
}

/* Where one of the blocks crosses a border, so does a pair: less far apart than the border's next. */
static bool are_within(int64_t piece, int64_t low, int64_t high)
{
    return low / piece == high / piece;
}

enum nearness nearness_of(const struct costing *on, int64_t block, int from, int to)
{
    const struct node_group *g = on->group;
    int64_t low = smaller(from, to) * block, high = (larger(from, to) + 1) * block - 1;
    if (!are_within(on->reach ? on->reach : whole_reach(g), low, high))
        return OTHER_NODE;
    bool joined =
        g->domain >= g->per_node || are_within(g->domain, low % g->per_node, high % g->per_node);
    return joined ? SAME_DOMAIN : SAME_NODE;
}

struct placement placement_of_pair(const struct node_group *g, enum nearness near)
{
    bool inside = near != OTHER_NODE;
    return (struct placement){2, inside ? 2 : 1, inside ? 1 : 2,
                              near == SAME_NODE ? pcie_bs(g) : g->link_bs, 0};
}

/* Groups that talk in every layer: tensor parallelism with context, and those of experts. Whether those
 * that `domain` GPUs can hold lie in one piece of `reach`, and larger ones fill as many. */
static bool holds_groups(int domain, int reach, const struct strategy *s)
{
    const int64_t blocks[] = {s->tp, (int64_t)s->tp * s->cp, s->etp, (int64_t)s->etp * s->ep};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (blocks[i] <= domain ? reach % blocks[i] != 0 : blocks[i] % reach != 0)
            return false;
    return true;
}

static bool has_racks(const struct node_group *g)
{
    return g->domain > g->per_node;
}

/* On consecutive nodes. */
static int plain_reach(const struct node_group *g)
{
    return has_racks(g) && g->segment > 0 ? g->segment * g->per_node : whole_reach(g);
}

/* The most nodes of a domain, more than half of them, with which the groups lie so; 0 if none. */
static int nodes_used(const struct node_group *g, const struct strategy *s)
{
    int all = g->domain / g->per_node, nodes = all;
    if (!has_racks(g) || g->segment > 0)
        return has_racks(g) ? g->segment : 0;
    while (2 * nodes > all && !holds_groups(g->domain, nodes * g->per_node, s))
        nodes--;
    return 2 * nodes > all ? nodes : 0;
}

/* Fewer nodes of each domain that the job fills evenly, where that does not matter to its layers: data
 * parallelism has as many ranks everywhere. 0 if there are none. */
static int even_nodes(const struct node_group *g, const struct strategy *s, int64_t job, int used)
{
    int all = g->domain / g->per_node;
    if ((int64_t)s->tp * s->cp > g->domain || (int64_t)s->etp * s->ep > g->domain)
        return 0;
    for (int nodes = used; 2 * nodes > all; nodes--)
        if (job % nodes == 0 && holds_groups(g->domain, nodes * g->per_node, s))
            return nodes;
    return 0;
}

/* A pool has as few domains as hold its nodes; a job that takes a part of each needs more. */
int domain_nodes(const struct node_group *g, const struct strategy *s, int64_t gpus)
{
    int used = gpus > 0 && gpus % g->per_node == 0 ? nodes_used(g, s) : 0;
    if (used == 0 || g->segment > 0)
        return used;
    int64_t all = g->domain / g->per_node, job = gpus / g->per_node;
    int64_t domains = (g->nodes_max + all - 1) / all;
    int even = even_nodes(g, s, job, used);
    if (job <= all)
        return (int)all;
    if (even > 0 && job / even <= domains)
        return even;
    return (job + used - 1) / used <= domains ? used : 0;
}

int reach_of(const struct node_group *g, const struct strategy *s, int64_t gpus)
{
    int reach = plain_reach(g);
    if (gpus > 0 && gpus <= reach)
        return REACH_ALL;
    int nodes = domain_nodes(g, s, gpus);
    return nodes > 0 ? nodes * g->per_node : reach;
}

int reaches_of(const struct node_group *g, const struct strategy *s, int reach[REACHES])
{
    int count = 0, used = nodes_used(g, s) * g->per_node;
    reach[count++] = plain_reach(g);
    if (holds_groups(reach[0], reach[0], s))
        return count;
    if (used > 0 && used != reach[0])
        reach[count++] = used;
    reach[count++] = REACH_ALL;
    return count;
}

int segment_of(const struct node_group *g, const struct strategy *s, int64_t gpus)
{
    int64_t nodes = (gpus + g->per_node - 1) / g->per_node;
    if (!has_racks(g) || gpus <= 0)
        return 0;
    if (reach_of(g, s, gpus) == REACH_ALL)
        return (int)nodes;
    int used = domain_nodes(g, s, gpus);
    return used > 0 ? (int)common_divisor(nodes, used) : 0; /* Slurm: it divides the job's nodes */
}
