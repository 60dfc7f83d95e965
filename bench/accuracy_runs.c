/* Tables of published runs, each run predicted. New runs come at the end of a table. */
#include "accuracy.h"

#include "base/arena.h"
#include "base/units.h"
#include "strategy/precision.h"

#include <stdio.h>
#include <string.h>
#include <math.h>

/* The last rows of the tables as they were when today's aims were set. */
static const char *const BASELINE_END[] = {"swift_03", "zoo_5"};

static double fullest_peak(const struct plan *p)
{
    double most = 0;
    for (int i = 0; i < p->stages; i++)
        most = fmax(most, p->stage[i].peak_bytes);
    return most;
}

static const char *field(const struct csv *c, int i, const char *column)
{
    return csv_at(c, i, csv_column(c, column));
}

/* "NVIDIA-NeMo/Megatron-Bridge container 26.02". */
static const char *project_of(const char *source, struct arena *mem)
{
    const char *release = strstr(source, "container ");
    return arena_format(mem, "%.*s %.*s", (int)strcspn(source, " "), source,
                        release ? (int)strcspn(release, ",)") : 0, release ? release : "");
}

/* Names of a run: the source up to its details, the GPU without its network. */
static void name_row(struct row *r, const struct csv *c, int i, struct arena *mem)
{
    const char *source = field(c, i, "source");
    size_t n = strcspn(source, "(");
    while (n > 0 && source[n - 1] == ' ')
        n--;
    r->source = arena_copy(mem, source, n);
    r->file = source_file(source, mem);
    r->project = project_of(source, mem);
    r->cluster = field(c, i, "cluster");
    r->model = field(c, i, "model");
    r->precision = field(c, i, "precision");
    const char *gpu = strchr(r->cluster, ':');
    gpu = gpu ? gpu + 1 : r->cluster;
    r->gpu = arena_copy(mem, gpu, strcspn(gpu, "@"));
    snprintf(r->group, sizeof r->group, "%-46.46s %.20s", r->source, r->gpu);
    snprintf(r->kind, sizeof r->kind, "%.20s %s", r->gpu,
             precision_is_narrow(r->strategy.precision) ? r->precision : "16 bits");
}

/* Whether row `i` could be computed is in `computed`. */
static bool read_run(const struct csv *c, int i, struct row *out, bool *computed, struct arena *mem,
                     struct error *err)
{
    struct judged j;
    double step = real_at(c, i, "step_s"), peak = real_at(c, i, "peak_gib");
    if (!predict_run(c, i, &j, mem, err))
        return false;
    if (step <= 0)
        return fail(err, ERROR_INPUT, "%s: step_s is not above 0", csv_at(c, i, 0));
    *computed = j.plan.computed;
    if (!*computed) {
        printf("not computed: %s: %s\n", csv_at(c, i, 0), j.plan.reasons ? j.plan.reason[0] : "?");
        return true;
    }
    *out = (struct row){.id = csv_at(c, i, 0),
                        .strategy = j.plan.strategy,
                        .moe = j.moe,
                        .tp_across = j.plan.strategy.tp > j.reach,
                        .measured_s = step,
                        .predicted_s = j.plan.step_s,
                        .error = j.plan.step_s / step - 1,
                        .evidence = j.plan.evidence,
                        .fits = j.plan.feasible,
                        .allowed = j.allowed,
                        .has_memory = peak > 0};
    out->memory_error = peak > 0 ? fullest_peak(&j.plan) / GIB / peak - 1 : 0;
    name_row(out, c, i, mem);
    return true;
}

/* The rows of a table behind the `*rows` that there are. */
static bool read_runs(const char *path, const char *baseline_end, struct row *row, int *rows,
                      struct arena *mem, struct error *err)
{
    struct csv c;
    bool baseline = baseline_end != NULL, sweep = strstr(path, "sweeps") != NULL;
    int before = *rows;
    if (!load_table(path, &c, mem, err))
        return false;
    if (c.rows > MOST_ROWS - before)
        return fail(err, ERROR_INPUT, "%s: more than %d rows", path, MOST_ROWS - before);
    for (int i = 0; i < c.rows; i++) {
        bool computed;
        if (!read_run(&c, i, &row[*rows], &computed, mem, err))
            return false;
        row[*rows].baseline = baseline;
        row[*rows].small = !baseline_end && !sweep;
        row[*rows].sweep = sweep;
        *rows += computed;
        baseline = baseline && strcmp(csv_at(&c, i, 0), baseline_end) != 0;
    }
    return !baseline || fail(err, ERROR_INPUT, "%s: row %s is missing", path, baseline_end);
}

bool read_published(struct runs *r, struct arena *mem, struct error *err)
{
    int rows = 0;
    if (!read_runs("data/published.csv", BASELINE_END[0], r->row, &rows, mem, err))
        return false;
    r->dense = rows;
    if (!read_runs("data/published_moe.csv", BASELINE_END[1], r->row, &rows, mem, err))
        return false;
    r->moe = rows - r->dense;
    if (!read_runs("data/published_small.csv", NULL, r->row, &rows, mem, err))
        return false;
    r->small = rows - r->dense - r->moe;
    bool ok = read_runs("data/published_sweeps.csv", NULL, r->row, &rows, mem, err);
    r->all = rows;
    return ok;
}
