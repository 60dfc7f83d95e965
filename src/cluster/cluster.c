/* A cluster as the other stages see it: groups of nodes in the order the user gave them. This file
 * has what does not depend on how the cluster was written: the usual values of a group,
 * counts. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/units.h"
#include "cluster/group.h"

#include <string.h>

/* GPUs that the scale-up link joins. Inside a node it cannot join more than the node has; where it
 * spans nodes (NVL72: 72 GPUs, 4 per node) it joins whole nodes. A superchip that is usually alone in
 * its node has nothing to be joined to there: several in one node are (GH200: four by NVLink). */
static int usual_domain(const struct gpu *g, int per_node)
{
    if (g->per_node == 1)
        return per_node;
    if (g->domain <= g->per_node)
        return g->domain < per_node ? g->domain : per_node;
    return per_node < g->domain ? g->domain - g->domain % per_node : g->domain;
}

void group_init(struct node_group *group, const struct gpu *g, int per_node)
{
    *group = (struct node_group){
        .gpu = g,
        .nodes_min = 1,
        .nodes_max = 1,
        .per_node = per_node,
        .domain = usual_domain(g, per_node),
        .link_bs = g->link_gbs * 1e9,
        .oversubscription = 1,
        .usable_bytes = g->usable_gib * GIB,
        .host_speed = gpu_host_speed(g),
    };
    group_set_nic(group, g->nic_gbit);
}

void group_set_nic(struct node_group *group, double gbit_per_gpu)
{
    group->nic_bs = gbit_per_gpu * 1e9 / 8;
}

void cluster_set_text(struct cluster *c, const char *text)
{
    size_t length = strlen(text);
    if (length < sizeof c->text) {
        memcpy(c->text, text, length + 1);
        return;
    }
    size_t kept = sizeof c->text - sizeof "...";
    while (kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80)
        kept--; /* not inside a UTF-8 character */
    memcpy(c->text, text, kept);
    memcpy(c->text + kept, "...", sizeof "...");
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* No pool string has a slash in it: what has one is a path, even a misspelt one. */
static bool names_file(const char *text)
{
    return ends_with(text, ".yaml") || ends_with(text, ".yml") || strchr(text, '/') ||
           file_exists(text);
}

bool cluster_load(struct cluster *c, const char *text, struct arena *mem, struct error *err)
{
    struct text file;
    if (*text == '{') /* JSON is YAML */
        return cluster_from_yaml(c, text, strlen(text), "cluster", mem, err);
    if (!names_file(text))
        return cluster_from_pool(c, text, err);
    return file_read(text, mem, &file, err) &&
           cluster_from_yaml(c, file.data, file.length, text, mem, err);
}

int64_t cluster_max_gpus(const struct cluster *c)
{
    int64_t gpus = 0;
    for (int i = 0; i < c->groups; i++)
        gpus += (int64_t)c->group[i].nodes_max * c->group[i].per_node;
    return gpus;
}

double cluster_between(const struct cluster *c, const struct node_group *a,
                       const struct node_group *b)
{
    int from = (int)(a - c->group), to = (int)(b - c->group);
    for (int i = 0; i < c->links; i++)
        if ((c->link[i].from == from && c->link[i].to == to) ||
            (c->link[i].from == to && c->link[i].to == from))
            return c->link[i].bs;
    return 0;
}

bool group_alike(const struct node_group *a, const struct node_group *b)
{
    return a->gpu == b->gpu && a->per_node == b->per_node && a->domain == b->domain &&
           a->segment == b->segment && a->link_bs == b->link_bs && a->nic_bs == b->nic_bs &&
           a->oversubscription == b->oversubscription && a->usable_bytes == b->usable_bytes &&
           a->host_speed == b->host_speed && a->host_bytes == b->host_bytes;
}

bool cluster_one_maker(const struct cluster *c, unsigned bits)
{
    const char *vendor = NULL;
    for (int g = 0; g < c->groups; g++) {
        if (!(bits >> g & 1))
            continue;
        if (vendor && strcmp(vendor, c->group[g].gpu->vendor) != 0)
            return false;
        vendor = c->group[g].gpu->vendor;
    }
    return true;
}
