/* Another figure for the groups of one type: what a cluster file would say, changed in place. A
 * multiple is rounded to 12 digits, so that 400 by 1.1 is what a user writes as 440. */
#include "cluster/cluster.h"

#include "base/str.h"
#include "base/units.h"
#include "cluster/group.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_CHANGE = 64 };

static const struct figure {
    const char *name, *words;
    size_t offset; /* of a double in struct node_group */
    double unit;   /* of the figure, in that of the struct */
    double lo, hi;
} FIGURES[] = {
    {"nic", "Gbit/s per GPU", offsetof(struct node_group, nic_bs), 1e9 / 8, NIC_GBIT_MIN,
     NIC_GBIT_MAX},
    {"link", "GB/s per GPU", offsetof(struct node_group, link_bs), 1e9, LINK_GBS_MIN, LINK_GBS_MAX},
    {"memory", "GiB of a GPU", offsetof(struct node_group, usable_bytes), GIB, USABLE_MIN,
     USABLE_MAX},
};
enum { FIGURE_COUNT = sizeof FIGURES / sizeof *FIGURES };

const char *const *cluster_figures(size_t *count)
{
    static const char *const names[] = {"nodes", "nic", "link", "memory"};
    *count = sizeof names / sizeof *names;
    return names;
}

static bool change_nodes(struct node_group *g, const char *change, struct error *err)
{
    char text[LONGEST_CHANGE];
    const char *at = change;
    struct error cause = {0};
    double factor;
    if (parse_factor(change, &factor)) {
        int n = snprintf(text, sizeof text, "%.12g", g->nodes_min * factor);
        if (g->nodes_min < g->nodes_max)
            snprintf(text + n, sizeof text - (size_t)n, "..%.12g", g->nodes_max * factor);
        at = change = text;
    }
    if (!scan_nodes(&at, &g->nodes_min, &g->nodes_max, &cause))
        return fail(err, ERROR_INPUT, "nodes of %s: '%.63s': %s", g->gpu->name, change, cause.text);
    return !*at || fail(err, ERROR_INPUT,
                        "nodes of %s: '%.63s', a whole number or a range as in 1..64 is right",
                        g->gpu->name, change);
}

static bool change_figure(struct node_group *g, const struct figure *f, const char *change,
                          struct error *err)
{
    double *figure = (double *)((char *)g + f->offset), factor, value;
    char text[LONGEST_CHANGE];
    if (parse_factor(change, &factor)) {
        snprintf(text, sizeof text, "%.12g", *figure / f->unit * factor);
        change = text;
    }
    if (!parse_real(change, &value) || value < f->lo || value > f->hi)
        return fail(err, ERROR_INPUT, "%s of %s: '%.63s', %s from %g to %.0f is right", f->name,
                    g->gpu->name, change, f->words, f->lo, f->hi);
    *figure = value * f->unit;
    return true;
}

static bool change_group(struct node_group *g, const char *figure, const char *change,
                         struct error *err)
{
    for (int i = 0; i < FIGURE_COUNT; i++)
        if (strcmp(FIGURES[i].name, figure) == 0)
            return change_figure(g, &FIGURES[i], change, err);
    return change_nodes(g, change, err);
}

bool cluster_change(struct cluster *c, const char *figure, const char *type, const char *change,
                    struct error *err)
{
    const struct gpu *g = gpu_find(type, err);
    char text[sizeof c->text + 3 * LONGEST_CHANGE];
    int found = 0;
    if (!g)
        return false;
    for (int i = 0; i < c->groups; i++) {
        if (c->group[i].gpu != g)
            continue;
        if (!change_group(&c->group[i], figure, change, err))
            return false;
        found++;
    }
    if (!found)
        return fail(err, ERROR_INPUT, "the cluster %s has no %s", c->text, g->name);
    snprintf(text, sizeof text, "%s with %s:%.63s=%.63s", c->text, figure, type, change);
    cluster_set_text(c, text);
    return true;
}
