/* Any text as a pool string: refused with a message, or a cluster whose every number is in range.
 */
#include "cluster/cluster.h"

#include "base/arena.h"
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
    assert(g->link_bs > 0 && g->nic_bs > 0 && g->nic_bs <= 1e15 / 8);
    assert(g->usable_bytes > 0 && g->oversubscription == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct cluster c;
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct error err = {0};
    arena_init(&mem);
    const char *text = arena_copy(&mem, (const char *)data, size);
    if (cluster_from_pool(&c, text, &err)) {
        assert(c.groups >= 1 && c.groups <= CLUSTER_MAX_GROUPS);
        for (int i = 0; i < c.groups; i++)
            check_group(&c.group[i]);
        assert(cluster_max_gpus(&c) >= c.groups);
        rents_init(rent, &c, "");
        for (int i = 0; i < c.groups; i++)
            assert(rent[i].usd_per_hour >= 0);
        rents_give(rent, &c, text, NULL, &err);
    } else
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "pool '", 6) == 0);
    assert(strlen(c.text) < sizeof c.text);
    arena_release(&mem);
    return 0;
}
