/* Options whose values have a form of their own: what is trained, where, and how. Files are read
 * when they are named. */
#include "base/str.h"
#include "cluster/group.h"
#include "price/prices.h"
#include "query/query_parts.h"

#include <string.h>

bool option_model(struct options *o, const char *v, struct error *err)
{
    o->has_model = model_load(&o->model, v, o->mem, err);
    return o->has_model;
}

enum { ANY_GPUS = 1024 }; /* of a type, at most */

static void add_any(struct str *pool, const struct gpu *g)
{
    int nodes = g->per_node < ANY_GPUS ? ANY_GPUS / g->per_node : 1;
    str_addf(pool, "%s1..%dx%d:%s", pool->length ? "," : "", nodes, g->per_node, g->name);
}

static void add_priced(struct str *pool)
{
    size_t count;
    const struct gpu *table = gpu_table(&count);
    for (size_t i = 0; i < count; i++)
        if (gpu_usual_price(&table[i]) > 0)
            add_any(pool, &table[i]);
}

static bool add_named(struct str *pool, const char *names, struct arena *mem, struct error *err)
{
    for (const char *at = names;;) {
        size_t n = strcspn(at, ",");
        struct error cause = {0};
        const struct gpu *g = gpu_find(arena_copy(mem, at, n), &cause);
        if (!g)
            return fail(err, ERROR_INPUT, "--cluster any:%s: %s", names, cause.text);
        add_any(pool, g);
        if (!at[n])
            return true;
        at += n + 1;
    }
}

/* "any", "any:H100,B200": one type at a time, 1 to 1,024 GPUs of each. */
static bool any_cluster(struct options *o, const char *v, struct error *err)
{
    struct str pool = {0};
    if (o->any_gpu)
        add_priced(&pool);
    o->has_cluster = (o->any_gpu || add_named(&pool, v + 4, o->mem, err)) &&
                     cluster_from_pool(&o->cluster, str_text(&pool), err);
    cluster_set_text(&o->cluster, v);
    str_release(&pool);
    return o->has_cluster;
}

bool option_cluster(struct options *o, const char *v, struct error *err)
{
    o->any_gpu = strcmp(v, "any") == 0;
    if (o->any_gpu || strncmp(v, "any:", 4) == 0)
        return any_cluster(o, v, err);
    o->has_cluster = cluster_load(&o->cluster, v, o->mem, err);
    return o->has_cluster;
}

bool option_gpu(struct options *o, const char *v, struct error *err)
{
    o->gpu = gpu_find(v, err);
    return o->gpu != NULL;
}

bool option_precision(struct options *o, const char *v, struct error *err)
{
    return param_parse(PARAM_precision, v, &o->terms.precision, err);
}

static bool has_value(const struct setting *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->value[i] == value)
            return true;
    return false;
}

/* Parsed on its own first, to see whether it was given before. */
bool option_set(struct options *o, const char *v, struct error *err)
{
    struct setting given[PARAMS] = {0};
    if (!setting_parse(given, v, err))
        return false;
    if (has_value(&given[PARAM_split], SPLIT_LAYOUT))
        return fail(
            err, ERROR_INPUT,
            "--set %s: a layout comes as --pipeline-model-parallel-layout, among the Megatron "
            "flags of estimate and explain",
            v);
    for (int p = 0; p < PARAMS; p++) {
        if (given[p].count == 0)
            continue;
        if (o->terms.settings[p].count > 0)
            return fail(err, ERROR_INPUT,
                        "--set %s: %s is set already, give its values in one list", v,
                        param_info((enum param)p)->name);
        o->terms.settings[p] = given[p];
    }
    return true;
}

bool option_rules(struct options *o, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--rules is empty, expected the name of a file");
    struct rules read;
    rules_init(&read);
    if (!rules_add_file(&read, v, o->mem, err))
        return false;
    rules_deal(&read, &o->terms.rules, &o->terms.cautions, o->mem);
    return true;
}

/* Whether the plan has stages of these numbers is seen when there is one. */
bool option_stages(struct options *o, const char *v, struct error *err)
{
    bool list = *v && strspn(v, "0123456789,") == strlen(v);
    o->verify.stages = arena_string(o->mem, v);
    return list || strcmp(v, "distinct") == 0 || strcmp(v, "all") == 0 ||
           fail(err, ERROR_INPUT, "--stages is '%s', expected distinct, all, or a list such as 0,3",
                v);
}

bool options_fit(const struct options *o, struct error *err)
{
    const struct fit_options *f = &o->fit;
    if (f->measured.count == 0)
        return fail(err, ERROR_INPUT,
                    "no measurements are given: astra fit PROFILE.csv --into FOLDER; "
                    "tools/profile/profile.py measures a GPU");
    return f->into ||
           fail(err, ERROR_INPUT, "no folder for the models is given: add --into FOLDER");
}
