/* Options whose values have a form of their own: what is trained, where, and how. Files are read
 * when they are named. */
#include "base/str.h"
#include "cost/learned.h"
#include "query/query_parts.h"

#include <string.h>

bool option_model(struct query *q, const char *v, struct error *err)
{
    q->has_model = model_load(&q->model, v, &q->mem, err);
    return q->has_model;
}

bool option_cluster(struct query *q, const char *v, struct error *err)
{
    q->has_cluster = cluster_load(&q->cluster, v, &q->mem, err);
    return q->has_cluster;
}

bool option_gpu(struct query *q, const char *v, struct error *err)
{
    q->pricing.gpu = gpu_find(v, err);
    return q->pricing.gpu != NULL;
}

bool option_precision(struct query *q, const char *v, struct error *err)
{
    return param_parse(PARAM_precision, v, &q->precision, err);
}

static bool has_value(const struct setting *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->value[i] == value)
            return true;
    return false;
}

/* Parsed on its own first, to see whether it was given before. */
bool option_set(struct query *q, const char *v, struct error *err)
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
        if (q->settings[p].count > 0)
            return fail(err, ERROR_INPUT,
                        "--set %s: %s is set already, give its values in one list", v,
                        param_info((enum param)p)->name);
        q->settings[p] = given[p];
    }
    return true;
}

bool option_rules(struct query *q, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--rules is empty, expected the name of a file");
    return rules_add_file(&q->rules, v, &q->mem, err);
}

bool option_efficiency(struct query *q, const char *v, struct error *err)
{
    struct learned *l;
    if (!*v)
        return fail(err, ERROR_INPUT, "--efficiency is empty, expected a folder");
    if (!learned_load(&l, v, err))
        return false;
    query_drop_costs(q); /* they look at the models of before */
    learned_free(q->learned);
    q->learned = l;
    q->efficiency = arena_string(&q->mem, v);
    return true;
}

/* Whether the plan has stages of these numbers is seen when there is one. */
bool option_stages(struct query *q, const char *v, struct error *err)
{
    bool list = *v && strspn(v, "0123456789,") == strlen(v);
    q->verify.stages = arena_string(&q->mem, v);
    return list || strcmp(v, "distinct") == 0 || strcmp(v, "all") == 0 ||
           fail(err, ERROR_INPUT, "--stages is '%s', expected distinct, all, or a list such as 0,3",
                v);
}
