/* The scoreboard of memory: predicted peaks against ranks that we measured and stages that others
 * published, and what would have been said of each: fits or not. Ranks marked `blind` were drawn at
 * random and predicted before they ran; formulas were corrected afterwards, so that only the column
 * of what was predicted is a test. */
#include "accuracy.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 1000 };

#define STAGE_TABLE(X)                                                                             \
    X(ONLY, "only stage")                                                                          \
    X(FIRST, "first stage")                                                                        \
    X(MIDDLE, "middle stage")                                                                      \
    X(LAST, "last stage")                                                                          \
    X(INTERLEAVED, "any stage, interleaved")

enum stage_kind {
#define X(name, words) STAGE_##name,
    STAGE_TABLE(X)
#undef X
        STAGE_KINDS
};

/* Recompute modes as one number: the set of modules, or one of these. */
enum { MODE_NONE = 0, MODE_UNIFORM_1 = 128, MODE_UNIFORM, MODE_BLOCK, MODES };

struct rank {
    const char *id;
    enum stage_kind kind;
    int mode;
    bool blind, ran_out;
    bool at_setup; /* predicted to be fullest before the first step, which was not measured */
    bool moe, cp;
    bool fits, allowed;
    double measured, predicted, now; /* bytes; 0 = none */
    double usable, limit;
};

struct ranks {
    struct rank rank[MOST_RANKS];
    int count;
};

static enum stage_kind kind_of(const struct strategy *s, int stage)
{
    return s->vpp > 1           ? STAGE_INTERLEAVED
           : s->pp == 1         ? STAGE_ONLY
           : stage == 0         ? STAGE_FIRST
           : stage == s->pp - 1 ? STAGE_LAST
                                : STAGE_MIDDLE;
}

static int mode_of(const struct strategy *s)
{
    if (s->recompute == RECOMPUTE_NONE)
        return MODE_NONE;
    if (s->recompute == RECOMPUTE_SELECTIVE)
        return s->recompute_modules;
    if (s->recompute_method == METHOD_BLOCK)
        return MODE_BLOCK;
    return s->recompute_layers > 1 ? MODE_UNIFORM : MODE_UNIFORM_1;
}

static void name_mode(int mode, struct str *out)
{
    static const char *const FULL[] = {"full, uniform 1", "full, uniform n", "full, block"};
    str_clear(out);
    if (mode >= MODE_UNIFORM_1) {
        str_add(out, FULL[mode - MODE_UNIFORM_1]);
        return;
    }
    str_add(out, mode == MODE_NONE ? "no recompute" : "selective ");
    if (mode != MODE_NONE)
        param_print(PARAM_recompute_modules, mode, out);
}

typedef bool predictor(const struct csv *, int row, struct judged *, struct arena *,
                       struct error *);

static bool read_rank(const struct csv *c, int i, predictor *predict, struct rank *out,
                      struct arena *mem, struct error *err)
{
    struct judged j;
    int stage = (int)real_at(c, i, "stage");
    if (!predict(c, i, &j, mem, err))
        return false;
    if (!j.plan.computed || stage >= j.plan.stages)
        return fail(err, ERROR_INPUT, "%s cannot be computed", csv_at(c, i, 0));
    const struct plan_stage *s = &j.plan.stage[stage];
    *out = (struct rank){.id = csv_at(c, i, 0),
                         .kind = kind_of(&j.plan.strategy, stage),
                         .mode = mode_of(&j.plan.strategy),
                         .at_setup = s->moment == MOMENT_setup,
                         .moe = j.plan.strategy.ep > 1,
                         .cp = j.plan.strategy.cp > 1,
                         .fits = s->fits,
                         .allowed = j.allowed,
                         .measured = real_at(c, i, "peak_mib") * MIB,
                         .predicted = real_at(c, i, "foretold_mib") * MIB,
                         .now = s->peak_bytes,
                         .usable = j.usable_bytes,
                         .limit = j.plan.limit_bytes};
    return true;
}

static bool says(const struct csv *c, int row, const char *column, const char *text)
{
    int at = csv_column(c, column);
    return at >= 0 && strcmp(csv_at(c, row, at), text) == 0;
}

static bool read_ranks(const char *path, predictor *predict, struct ranks *out, struct arena *mem,
                       struct error *err)
{
    struct csv c;
    if (!load_table(path, &c, mem, err))
        return false;
    for (int i = 0; i < c.rows && i < MOST_RANKS; i++) {
        struct rank *r = &out->rank[i];
        if (!read_rank(&c, i, predict, r, mem, err))
            return false;
        r->blind = says(&c, i, "use", "blind");
        r->ran_out = says(&c, i, "status", "out of memory");
        out->count = i + 1;
    }
    return true;
}

struct spread {
    int count;
    double sum, size, low, high;
};

static void add(struct spread *s, double error)
{
    s->low = s->count ? fmin(s->low, error) : error;
    s->high = s->count ? fmax(s->high, error) : error;
    s->sum += error;
    s->size += fabs(error);
    s->count++;
}

static void print_heads(void)
{
    printf(" %5s %6s %8s %6s %6s", "ranks", "mean", "mean abs", "low", "high");
}

static void print_spread(const struct spread *s)
{
    if (s->count)
        printf(" %5d %+6.2f %8.2f %+6.2f %+6.2f", s->count, 100 * s->sum / s->count,
               100 * s->size / s->count, 100 * s->low, 100 * s->high);
    else
        printf(" %5d %6s %8s %6s %6s", 0, "", "", "", "");
}

/* Which ranks a line is about; -1 = any. */
struct about {
    int blind, kind, mode;
};

static bool is_about(const struct about *a, const struct rank *r)
{
    return (a->blind < 0 || a->blind == r->blind) && (a->kind < 0 || a->kind == (int)r->kind) &&
           (a->mode < 0 || a->mode == r->mode);
}

/* What was predicted, and what is said now; nothing for a mode that no rank has. */
static void print_line(const char *name, const struct ranks *all, struct about about)
{
    struct spread predicted = {0}, now = {0};
    for (int i = 0; i < all->count; i++) {
        const struct rank *r = &all->rank[i];
        if (!is_about(&about, r) || r->measured <= 0)
            continue;
        if (r->predicted > 0)
            add(&predicted, r->predicted / r->measured - 1);
        if (!r->at_setup)
            add(&now, r->now / r->measured - 1);
    }
    if (predicted.count + now.count == 0)
        return;
    printf("%-25s", name);
    print_spread(&predicted);
    print_spread(&now);
    putchar('\n');
}

static void print_groups(const struct ranks *all)
{
    static const char *const KIND[] = {
#define X(name, words) words,
        STAGE_TABLE(X)
#undef X
    };
    struct str name;
    str_init(&name);
    for (int k = 0; k < STAGE_KINDS; k++)
        print_line(KIND[k], all, (struct about){-1, k, -1});
    for (int m = 0; m < MODES; m++) {
        name_mode(m, &name);
        print_line(str_text(&name), all, (struct about){-1, -1, m});
    }
    str_release(&name);
}

static void print_measured(const struct ranks *all)
{
    int setup = 0;
    for (int i = 0; i < all->count; i++)
        setup += all->rank[i].at_setup && all->rank[i].measured > 0;
    printf("\npeak memory of single Megatron ranks on an H200, torch stack: error in percent\n"
           "%-25s %-35s %s\n%-25s",
           "", "predicted, then measured", "now, corrected since: no test", "");
    print_heads();
    print_heads();
    putchar('\n');
    print_line("blind", all, (struct about){1, -1, -1});
    print_line("seen", all, (struct about){0, -1, -1});
    print_line("all", all, (struct about){-1, -1, -1});
    print_groups(all);
    printf("left out of `now`, fullest before the first step, where nothing was measured: %d\n",
           setup);
}

static void print_stages(const char *name, const struct ranks *all, int moe, int cp)
{
    struct spread s = {0};
    for (int i = 0; i < all->count; i++) {
        const struct rank *r = &all->rank[i];
        if ((moe < 0 || r->moe == moe) && (cp < 0 || r->cp == cp))
            add(&s, r->now / r->measured - 1);
    }
    printf("%-58s", name);
    print_spread(&s);
    putchar('\n');
}

static void print_sources(const struct row *row, int rows)
{
    for (int i = 0, end; i < rows; i = end) {
        struct spread s = {0};
        for (end = i; end < rows && strcmp(row[end].group, row[i].group) == 0; end++)
            if (row[end].has_memory)
                add(&s, row[end].memory_error);
        if (s.count == 0)
            continue;
        printf("%-58s", row[i].group);
        print_spread(&s);
        putchar('\n');
    }
}

static void print_published(const struct ranks *te, const struct row *row, int rows)
{
    printf("\n%-58s", "peak memory, published: error in percent");
    print_heads();
    printf("\nSimuMax, every stage (data/published_memory.csv), TransformerEngine\n");
    print_stages("  dense, 4k", te, 0, 0);
    print_stages("  dense, context parallel, 32k and 128k", te, 0, 1);
    print_stages("  DeepSeek V2 and V3 (MoE, MLA), 4k", te, 1, -1);
    print_stages("  all", te, -1, -1);
    printf("fullest stage of a run (data/published.csv), several engines\n");
    print_sources(row, rows);
}

/* As `astra estimate` answers, but for the memory of stages that were not run. */
static bool is_feasible(const struct rank *r)
{
    return r->fits && r->allowed;
}

/* Ranks that ended in one way and of which the other was said. */
static void print_wrong(const struct ranks *all, bool ran_out, const char *said)
{
    int count = 0, wrong = 0;
    for (int i = 0; i < all->count; i++)
        if (all->rank[i].ran_out == ran_out) {
            count++;
            wrong += is_feasible(&all->rank[i]) == ran_out;
        }
    printf("%-40s %4d, %s %d (%.1f %%)%s",
           ran_out ? "ranks that ran out of memory" : "ranks that worked", count, said, wrong,
           100.0 * wrong / count, wrong ? ":" : "");
    for (int i = 0; i < all->count; i++)
        if (all->rank[i].ran_out == ran_out && is_feasible(&all->rank[i]) == ran_out)
            printf(" %s", all->rank[i].id);
    putchar('\n');
}

/* By what was predicted: a rank that ran out has no measured peak. */
static void print_near(const struct ranks *all)
{
    int near = 0, out = 0;
    for (int i = 0; i < all->count; i++) {
        const struct rank *r = &all->rank[i];
        if (fabs(r->predicted / r->usable - 1) > 0.1)
            continue;
        near++;
        out += r->ran_out;
    }
    printf("%-40s %4d, ran out of memory %d\n", "ranks predicted within 10 % of the limit", near,
           out);
}

static void print_runs(const struct row *row, int rows)
{
    int tight = 0, refused = 0;
    for (int i = 0; i < rows; i++) {
        tight += !row[i].fits;
        refused += !row[i].allowed;
    }
    printf("%-40s %4d, said not to fit %d (%.1f %%)%s", "published runs, all worked", rows, tight,
           100.0 * tight / rows, tight ? ":" : "");
    for (int i = 0; i < rows; i++)
        if (!row[i].fits)
            printf(" %s", row[i].id);
    printf("\n  refused by a rule, memory apart: %d\n", refused);
}

static void print_tight(const struct ranks *te)
{
    int tight = 0;
    for (int i = 0; i < te->count; i++)
        tight += !te->rank[i].fits;
    printf("%-40s %4d, said not to fit %d\n", "published stages, all worked", te->count, tight);
}

bool board_memory(const struct row *row, int rows, struct arena *mem, struct error *err)
{
    struct ranks *torch = arena_alloc(mem, sizeof *torch), *te = arena_alloc(mem, sizeof *te);
    torch->count = te->count = 0;
    if (!read_ranks("data/measured/h200_memory.csv", predict_rank, torch, mem, err) ||
        !read_ranks("data/published_memory.csv", predict_run, te, mem, err))
        return false;
    print_measured(torch);
    print_published(te, row, rows);
    printf("\nfit decisions at the default margin (%.1f of %.1f GiB of an H200)\n",
           torch->rank[0].limit / GIB, torch->rank[0].usable / GIB);
    print_wrong(torch, true, "called feasible");
    print_wrong(torch, false, "refused");
    print_near(torch);
    print_runs(row, rows);
    print_tight(te);
    return board_golden(mem, err);
}
