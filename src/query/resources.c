#include "query/resources.h"

#include "base/arena.h"
#include "cost/group_costs.h"
#include "cost/learned.h"

#include <stdlib.h>
#include <string.h>

struct loaded {
    struct learned *learned; /* owned */
    struct loaded *next;
    char folder[]; /* "" = those compiled in */
};

struct kept_costs {
    struct group_costs *costs; /* owned */
    struct kept_costs *next;
};

void resources_init(struct resources *r)
{
    *r = (struct resources){0};
}

void resources_clear(struct resources *r)
{
    while (r->kept) {
        struct kept_costs *first = r->kept;
        r->kept = first->next;
        group_costs_free(first->costs);
        free(first);
    }
}

void resources_release(struct resources *r)
{
    resources_clear(r);
    while (r->models) {
        struct loaded *first = r->models;
        r->models = first->next;
        learned_free(first->learned);
        free(first);
    }
}

bool resources_models(struct resources *r, const char *folder, struct learned **out,
                      struct error *err)
{
    const char *name = folder ? folder : "";
    struct loaded *l = r->models;
    while (l && strcmp(l->folder, name) != 0)
        l = l->next;
    if (!l) {
        if (!learned_load(out, folder, err))
            return false;
        l = memory_grow(NULL, sizeof *l + strlen(name) + 1);
        *l = (struct loaded){*out, r->models};
        memcpy(l->folder, name, strlen(name) + 1);
        r->models = l;
    }
    *out = l->learned;
    return true;
}

bool resources_time(struct resources *r, const struct node_group *g, struct learned *models,
                    struct group_costs **out, struct error *err)
{
    struct kept_costs *k = memory_grow(NULL, sizeof *k);
    if (!group_costs_new(&k->costs, g, models, err)) {
        free(k);
        return false;
    }
    k->next = r->kept;
    r->kept = k;
    *out = k->costs;
    return true;
}
