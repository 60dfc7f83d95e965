/* What queries borrow: models of operators, loaded once, and the times that they predict for groups
 * of nodes. */
#pragma once

#include "base/error.h"

struct group_costs;
struct learned;
struct node_group;

struct resources {
    struct loaded *models;   /* owned, by folder */
    struct kept_costs *kept; /* owned */
};

void resources_init(struct resources *);
void resources_release(struct resources *);
/* Forgets the times: queries that have them are done. */
void resources_clear(struct resources *);

/* The models of a folder; NULL = those compiled in. */
bool resources_models(struct resources *, const char *folder, struct learned **, struct error *);
/* The learned times of a group, which must not change while they are asked. */
bool resources_time(struct resources *, const struct node_group *, struct learned *,
                    struct group_costs **out, struct error *);
