/* --profile: residual factors for the groups of the pool. */
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cost/residual_file.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "simulate/plan.h"

bool option_profile(struct options *o, const char *v, struct error *err)
{
    struct profile *p = arena_alloc(o->mem, sizeof *p);
    struct text text;
    if (!*v)
        return fail(err, ERROR_INPUT, "--profile is empty, expected the name of a file");
    if (o->profile)
        return fail(err, ERROR_INPUT, "--profile is given twice: one holds for all groups");
    if (!file_read(v, o->mem, &text, err) ||
        !profile_read(p, text.data, text.length, arena_string(o->mem, v), o->mem, err))
        return false;
    o->profile = p;
    return true;
}

bool options_take_residual(struct options *o, const struct json *list, struct error *err)
{
    struct profile *p = arena_alloc(o->mem, sizeof *p);
    struct error inner = {0};
    if (!list || o->profile)
        return true;
    if (!profile_read_entries(p, list, o->mem, &inner))
        return fail(err, ERROR_INPUT, "residual.%s", inner.text);
    o->profile = p;
    return true;
}

static void add_entries(const struct profile *p, struct str *out)
{
    for (int i = 0; i < p->entries; i++)
        str_addf(out, "%s%s with stack %s", i ? ", " : "", p->entry[i].gpu->name,
                 stack_name(p->entry[i].stack));
}

bool query_no_residual(const struct query *q, const struct gpu *gpu, enum stack stack,
                       struct error *err)
{
    struct str has = {0};
    add_entries(q->given->profile, &has);
    fail(err, ERROR_INPUT, "%s: the profile has nothing about %s with stack %s: it has %s",
         q->given->profile->name, gpu->name, stack_name(stack), str_text(&has));
    str_release(&has);
    return false;
}

const struct residual *query_residual(const struct query *q, const struct gpu *gpu,
                                      enum stack stack)
{
    const struct profile_entry *e =
        q->given->profile ? profile_find(q->given->profile, gpu, stack) : NULL;
    return e ? &e->residual : NULL;
}

/* It is wrong when no group has any. */
bool query_set_residuals(struct query *q, struct error *err)
{
    const struct profile *p = q->given->profile;
    int matched = 0;
    for (int g = 0; g < q->cluster.groups; g++) {
        q->costing[g].residual = query_residual(q, q->cluster.group[g].gpu, query_stack(q));
        matched += q->costing[g].residual != NULL;
    }
    /* what a plan carries may be asked about elsewhere, and verify may run another stack or GPU */
    return !p || !p->name || q->kind == QUERY_VERIFY || matched > 0 ||
           query_no_residual(q, q->cluster.group[0].gpu, query_stack(q), err);
}

int query_profile_notes(const struct query *q, const char **note, struct arena *mem)
{
    int notes = 0;
    for (int g = 0; q->given->profile && g < q->cluster.groups; g++) {
        const struct gpu *gpu = q->cluster.group[g].gpu;
        bool said = q->costing[g].residual != NULL;
        for (int h = 0; h < g && !said; h++)
            said = q->cluster.group[h].gpu == gpu;
        if (!said)
            note[notes++] = arena_format(mem, "the profile has nothing about %s with stack %s",
                                         gpu->name, stack_name(query_stack(q)));
    }
    return notes;
}

const struct plan_source *query_source(const struct query *q, const struct plan_source *from,
                                       struct arena *mem)
{
    const char *more[CLUSTER_MAX_GROUPS + 1], *length = query_length_note(q, mem);
    int count = query_profile_notes(q, more, mem), before = from ? from->notes : 0;
    if (length)
        more[count++] = length;
    if (count == 0)
        return from;
    struct plan_source *s = arena_alloc(mem, sizeof *s);
    *s = from ? *from : (struct plan_source){.kind = "options"};
    s->note = arena_array(mem, (size_t)(before + count), sizeof *s->note);
    for (int i = 0; i < before; i++)
        s->note[i] = from->note[i];
    for (int i = 0; i < count; i++)
        s->note[before + i] = more[i];
    s->notes = before + count;
    return s;
}
