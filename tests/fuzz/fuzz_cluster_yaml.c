/* Any bytes as a cluster file: refused with a message that begins with the file's name, or a
 * cluster whose every number is in range. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/units.h"
#include "price/rent.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_group(const struct node_group *g)
{
    assert(g->gpu);
    assert(g->nodes_min >= 1 && g->nodes_min <= g->nodes_max && g->nodes_max <= CLUSTER_MAX_NODES);
    assert(g->per_node >= 1 && g->per_node <= 1024 && g->domain >= 1);
    assert(g->domain <= g->per_node || g->domain % g->per_node == 0);
    assert(g->link_bs > 0 && g->link_bs <= 1e14 && g->nic_bs > 0 && g->nic_bs <= 1e18);
    assert(g->usable_bytes >= GIB && g->usable_bytes <= 4096 * GIB);
    assert(g->oversubscription >= 1 && g->oversubscription <= 1000);
}

static void check_rent(const struct rent *r)
{
    assert(r->usd_per_hour >= 0 && r->usd_per_hour <= 1e3);
    assert(r->outages_per_h >= 0 && r->outages_per_h <= 1024 + 60);
}

static void check_link(const struct cluster *c, const struct group_link *l)
{
    assert(l->from >= 0 && l->from < c->groups && l->to >= 0 && l->to < c->groups);
    assert(l->from != l->to && l->bs > 0 && l->bs <= 1e15);
    assert(cluster_between(c, &c->group[l->to], &c->group[l->from]) == l->bs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct cluster c;
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct error err = {0};
    arena_init(&mem);
    if (cluster_from_yaml(&c, (const char *)data, size, "f", &mem, &err)) {
        assert(c.groups >= 1 && c.groups <= CLUSTER_MAX_GROUPS);
        rents_init(rent, &c, "f");
        for (int i = 0; i < c.groups; i++) {
            check_group(&c.group[i]);
            check_rent(&rent[i]);
        }
        assert(c.links >= 0 && c.links <= CLUSTER_MAX_LINKS);
        for (int i = 0; i < c.links; i++)
            check_link(&c, &c.link[i]);
        assert(cluster_max_gpus(&c) >= c.groups);
    } else
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "f:", 2) == 0);
    arena_release(&mem);
    return 0;
}
