/* A query with all that it stands on, for tests and benchmarks. Models of operators are loaded once
 * for all of them. */
#pragma once

#include "query/query.h"

struct asked {
    struct arena mem;
    struct options options;
    struct resources resources;
    struct query query; /* once it is resolved */
};

static struct resources asked_models;

static inline void asked_init(struct asked *a)
{
    arena_init(&a->mem);
    options_init(&a->options, &a->mem);
    resources_init(&a->resources);
}

static inline void asked_release(struct asked *a)
{
    a->resources.models = NULL; /* lent */
    resources_release(&a->resources);
    arena_release(&a->mem);
}

static inline bool asked_set(struct asked *a, const char *option, const char *value,
                             struct error *err)
{
    return options_set(&a->options, option, value, err);
}

static inline bool asked_flags(struct asked *a, size_t count, const char *const *words,
                               struct error *err)
{
    return options_flags(&a->options, count, words, err);
}

static inline bool asked_lend(struct asked *a, struct error *err)
{
    struct learned *l;
    bool ok = resources_models(&asked_models, NULL, &l, err);
    a->resources.models = asked_models.models;
    return ok;
}

static inline bool asked_resolve(struct asked *a, enum query_kind kind, struct error *err)
{
    return asked_lend(a, err) &&
           query_resolve(&a->options, kind, &a->resources, &a->mem, &a->query, err);
}

static inline bool asked_estimate(struct asked *a, struct estimate_query *out, struct error *err)
{
    return asked_resolve(a, QUERY_ESTIMATE, err) && query_estimate(&a->query, &a->mem, out, err);
}

/* A pipeline layout ("" = none) is no value of --set: it takes the place of the row's split. */
static inline bool asked_lay_out(const char *text, struct estimate_query *e, struct arena *mem,
                                 struct error *err)
{
    if (!*text)
        return true;
    struct layout *l = arena_alloc(mem, sizeof *l);
    e->layout = l;
    return layout_parse(l, text, e->scene.model, &e->strategy, err);
}
