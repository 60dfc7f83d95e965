/* Which stages to run. Two compute the same when all their chunks do: as many layers of the same
 * kinds in the same order, embedding, head and MTP alike, on the same type of GPU. */
#include "verify/verify.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

void verify_note(struct verify_report *r, struct arena *mem, const char *text)
{
    const char **more = arena_array(mem, (size_t)r->notes + 1, sizeof *more);
    for (int i = 0; i < r->notes; i++)
        more[i] = r->note[i];
    more[r->notes++] = text;
    r->note = more;
}

static bool same_chunk(const struct plan *p, int a, int b)
{
    const struct layout *l = &p->layout;
    const struct model *m = p->model;
    if (l->layers[a] != l->layers[b] || (a == 0) != (b == 0) ||
        (a == l->loss_stage) != (b == l->loss_stage) ||
        (m->mtp > 0 && (a == l->mtp_stage) != (b == l->mtp_stage)))
        return false;
    return memcmp(&m->layer[l->first[a]], &m->layer[l->first[b]], l->layers[a]) == 0;
}

static bool same_stage(const struct plan *p, int a, int b)
{
    if (p->stage[a].group->gpu != p->stage[b].group->gpu)
        return false;
    for (int chunk = 0; chunk < p->strategy.vpp; chunk++)
        if (!same_chunk(p, a + chunk * p->strategy.pp, b + chunk * p->strategy.pp))
            return false;
    return true;
}

/* The fullest of those like `stage`, the first of equals. */
static int fullest_like(const struct plan *p, int stage)
{
    int fullest = -1;
    for (int r = 0; r < p->stages; r++)
        if (same_stage(p, stage, r) &&
            (fullest < 0 || p->stage[r].peak_bytes > p->stage[fullest].peak_bytes))
            fullest = r;
    return fullest;
}

static void add_stage(const struct plan *p, int stage, struct verify_report *out)
{
    struct verify_stage *s = &out->stage[out->stages++];
    int pp = p->strategy.pp;
    *s = (struct verify_stage){.stage = stage,
                               .rank = p->gpus / pp * stage,
                               .kind = pp == 1           ? "only"
                                       : stage == 0      ? "first"
                                       : stage == pp - 1 ? "last"
                                                         : "middle",
                               .virtual_stages = p->strategy.vpp,
                               .layers = p->stage[stage].layers,
                               .status = "not run",
                               .log = ""};
    for (int r = 0; r < p->stages; r++)
        s->alike += same_stage(p, stage, r);
}

static bool chosen(const struct verify_report *r, int stage)
{
    for (int i = 0; i < r->stages; i++)
        if (r->stage[i].stage == stage)
            return true;
    return false;
}

static bool add_listed(const struct plan *p, const char *word, struct verify_report *out,
                       struct error *err)
{
    int64_t stage;
    if (!parse_int(word, &stage) || stage < 0 || stage >= p->stages)
        return fail(err, ERROR_INPUT,
                    "--stages has '%.20s', the plan has %d stage%s: expected numbers from 0 to %d, "
                    "distinct or all",
                    word, p->stages, p->stages > 1 ? "s" : "", p->stages - 1);
    if (chosen(out, (int)stage))
        return fail(err, ERROR_INPUT, "--stages has %lld twice", (long long)stage);
    add_stage(p, (int)stage, out);
    return true;
}

static bool add_list(const struct plan *p, const char *which, struct verify_report *out,
                     struct arena *mem, struct error *err)
{
    for (const char *at = which;; at++) {
        size_t n = strcspn(at, ",");
        if (!add_listed(p, arena_copy(mem, at, n), out, err))
            return false;
        at += n;
        if (!*at)
            return true;
    }
}

static int by_stage(const void *a, const void *b)
{
    return ((const struct verify_stage *)a)->stage - ((const struct verify_stage *)b)->stage;
}

bool verify_choose(const struct plan *p, const char *which, struct verify_report *out,
                   struct arena *mem, struct error *err)
{
    bool distinct = strcmp(which, "distinct") == 0, all = strcmp(which, "all") == 0;
    out->stage = arena_array(mem, (size_t)p->stages, sizeof *out->stage);
    out->stages = 0;
    for (int r = 0; (distinct || all) && r < p->stages; r++)
        if (all || fullest_like(p, r) == r)
            add_stage(p, r, out);
    if (!distinct && !all && !add_list(p, which, out, mem, err))
        return false;
    qsort(out->stage, (size_t)out->stages, sizeof *out->stage, by_stage);
    return true;
}

const struct verify_stage *verify_like(const struct verify_report *r, int stage)
{
    const struct verify_stage *nearest = NULL;
    for (int i = 0; i < r->stages; i++) {
        const struct verify_stage *s = &r->stage[i];
        if (s->outcome != VERIFY_OK)
            continue;
        if (s->stage == stage || same_stage(r->run, s->stage, stage))
            return s;
        if (!nearest || abs(s->stage - stage) < abs(nearest->stage - stage))
            nearest = s;
    }
    return nearest;
}
