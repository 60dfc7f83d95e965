/* A cluster as the other stages see it: groups of nodes in the order the user gave them. This file
 * has what does not depend on how the cluster was written: the usual values of a group, prices,
 * counts. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/units.h"
#include "cluster/group.h"
#include "price/money.h"
#include "price/prices.h"

#include <string.h>

/* GPUs that the scale-up link joins. Inside a node it cannot join more than the node has; where it
 * spans nodes (NVL72: 72 GPUs, 4 per node) it joins whole nodes. */
static int usual_domain(const struct gpu *g, int per_node)
{
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
    };
    group_set_nic(group, g->nic_gbit);
}

void group_set_nic(struct node_group *group, double gbit_per_gpu)
{
    group->nic_bs = gbit_per_gpu * 1e9 / 8;
}

void group_set_outages(struct node_group *group, double mtbf_h, double interruptions_per_h)
{
    group->mtbf_h = mtbf_h;
    group->interruptions_per_h = interruptions_per_h;
    group->outages_per_h = (mtbf_h > 0 ? group->per_node / mtbf_h : 0) + interruptions_per_h;
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
    if (!names_file(text))
        return cluster_from_pool(c, text, err);
    return file_read(text, mem, &file, err) &&
           cluster_from_yaml(c, file.data, file.length, text, mem, err);
}

/* Splits "H100=2.5"; the name must fit, as every known one does. */
static bool split_price(const char *assignment, const struct rates *rates, char name[64],
                        double *usd, struct error *err)
{
    struct error cause;
    const char *equals = strchr(assignment, '=');
    size_t length = equals ? (size_t)(equals - assignment) : 0;
    if (length == 0)
        return fail(err, ERROR_INPUT, "price '%.200s': write TYPE=USD per GPU-hour, as in H100=2.5",
                    assignment);
    size_t value = length + 1;
    if (!money_parse(assignment + value, rates, usd, &cause))
        return fail(err, ERROR_INPUT, "price '%.200s': %s", assignment, cause.text) ||
               error_show(err, assignment, value);
    if (!price_in_range(*usd))
        return fail(err, ERROR_INPUT,
                    "price '%.200s': '%.63s' is no price, USD per GPU-hour from %g to %g is right",
                    assignment, assignment + value, PRICE_MIN, PRICE_MAX) ||
               error_show(err, assignment, value);
    if (length > 63)
        length = 63;
    memcpy(name, assignment, length);
    name[length] = 0;
    return true;
}

bool cluster_set_price(struct cluster *c, const char *assignment, const struct rates *rates,
                       struct error *err)
{
    char name[64];
    double usd;
    struct error cause;
    int found = 0;
    if (!split_price(assignment, rates, name, &usd, err))
        return false;
    const struct gpu *g = gpu_find(name, &cause);
    if (!g)
        return fail(err, ERROR_INPUT, "price '%.200s': %s", assignment, cause.text) ||
               error_show(err, assignment, 0);
    for (int i = 0; i < c->groups; i++)
        if (c->group[i].gpu == g) {
            c->group[i].usd_per_hour = usd;
            c->group[i].price_given = true;
            memcpy(c->group[i].price_from, "--price", sizeof "--price");
            found++;
        }
    return found || fail(err, ERROR_INPUT, "price '%.200s': the cluster %s has no %s", assignment,
                         c->text, g->name);
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

static bool alike(const struct node_group *a, const struct node_group *b)
{
    return a->gpu == b->gpu && a->per_node == b->per_node && a->domain == b->domain &&
           a->link_bs == b->link_bs && a->nic_bs == b->nic_bs &&
           a->oversubscription == b->oversubscription && a->usable_bytes == b->usable_bytes &&
           a->usd_per_hour == b->usd_per_hour && a->mtbf_h == b->mtbf_h &&
           a->interruptions_per_h == b->interruptions_per_h && a->nodes_min == a->nodes_max &&
           b->nodes_min == b->nodes_max && a->nodes_max + b->nodes_max <= CLUSTER_MAX_NODES;
}

void cluster_join_alike(struct cluster *c)
{
    int kept = 0;
    for (int i = 0; i < c->groups && c->links == 0; i++) {
        int at = 0;
        while (at < kept && !alike(&c->group[at], &c->group[i]))
            at++;
        if (at < kept) {
            c->group[at].nodes_max += c->group[i].nodes_max;
            c->group[at].nodes_min = c->group[at].nodes_max;
        } else {
            c->group[kept] = c->group[i];
            c->group[kept].index = kept;
            kept++;
        }
    }
    c->groups = c->links == 0 ? kept : c->groups;
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
