#include "price/rent.h"

#include "base/arena.h"
#include "cluster/group.h"
#include "price/prices.h"

#include <stdio.h>
#include <string.h>

const struct rent *rent_of(const struct rent *rent, const struct node_group *g)
{
    static const struct rent none = {0};
    return rent ? &rent[g->index] : &none;
}

void rent_set_outages(struct rent *r, const struct node_group *g, double mtbf_h,
                      double interruptions_per_h)
{
    r->mtbf_h = mtbf_h;
    r->interruptions_per_h = interruptions_per_h;
    r->outages_per_h = (mtbf_h > 0 ? g->per_node / mtbf_h : 0) + interruptions_per_h;
}

static void apply_usual(struct rent *rent, const struct cluster *c)
{
    const struct price_ask usual = {0};
    struct price_list list;
    struct arena mem = {0};
    prices_init(&list, &mem);
    prices_add_built_in(&list);
    rents_apply(rent, c, &list, &usual, false, NULL);
    arena_release(&mem);
}

void rents_init(struct rent *rent, const struct cluster *c, const char *from)
{
    for (int i = 0; i < c->groups; i++) {
        const struct group_said *said = &c->said[i];
        rent[i] = (struct rent){.usd_per_hour = said->price, .given = said->price > 0};
        snprintf(rent[i].from, sizeof rent[i].from, "%s", rent[i].given ? from : "");
        rent_set_outages(&rent[i], &c->group[i], said->mtbf_h, said->interruptions_per_h);
    }
    apply_usual(rent, c);
}

double gpu_usual_price(const struct gpu *gpu)
{
    const struct cluster c = {.groups = 1, .group = {{.gpu = gpu, .per_node = gpu->per_node}}};
    struct rent rent = {0};
    apply_usual(&rent, &c);
    return rent.usd_per_hour;
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

bool rents_give(struct rent *rent, const struct cluster *c, const char *assignment,
                const struct rates *rates, struct error *err)
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
            rent[i].usd_per_hour = usd;
            rent[i].given = true;
            memcpy(rent[i].from, "--price", sizeof "--price");
            found++;
        }
    return found || fail(err, ERROR_INPUT, "price '%.200s': the cluster %s has no %s", assignment,
                         c->text, g->name);
}

static void move_group(struct rent *rent, struct cluster *c, int from, int to)
{
    c->group[to] = c->group[from];
    c->group[to].index = to;
    c->said[to] = c->said[from];
    rent[to] = rent[from];
}

bool rents_keep_priced(struct rent *rent, struct cluster *c)
{
    int kept = 0;
    for (int i = 0; i < c->groups; i++)
        if (rent[i].usd_per_hour > 0)
            move_group(rent, c, i, kept++);
    c->groups = kept > 0 ? kept : c->groups;
    return kept > 0;
}

static bool joins(const struct node_group *a, const struct rent *of_a, const struct node_group *b,
                  const struct rent *of_b)
{
    return group_alike(a, b) && of_a->usd_per_hour == of_b->usd_per_hour &&
           of_a->mtbf_h == of_b->mtbf_h && of_a->interruptions_per_h == of_b->interruptions_per_h &&
           a->nodes_min == a->nodes_max && b->nodes_min == b->nodes_max &&
           a->nodes_max + b->nodes_max <= CLUSTER_MAX_NODES;
}

void rents_join_alike(struct rent *rent, struct cluster *c)
{
    int kept = 0;
    for (int i = 0; i < c->groups && c->links == 0; i++) {
        int at = 0;
        while (at < kept && !joins(&c->group[at], &rent[at], &c->group[i], &rent[i]))
            at++;
        if (at < kept) {
            c->group[at].nodes_max += c->group[i].nodes_max;
            c->group[at].nodes_min = c->group[at].nodes_max;
        } else {
            move_group(rent, c, i, kept++);
        }
    }
    c->groups = c->links == 0 ? kept : c->groups;
}
