/* The scoreboard of calibration: three runs of a site are given, its others predicted, before and
 * with the factors of the three. Sites are the runs of one project on one type of GPU. Of two that
 * are shown by themselves the first runs of three models are given, then many random threes; of all
 * others random threes, summed by how well their GPU is known. */
#include "base/arena.h"
#include "base/csv.h"
#include "calibrate/calibrate.h"
#include "calibrate/calibrate_input.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RUNS = 1000, LEAST_RUNS = 8, GIVEN = 3, DRAWS = 100, FEW_DRAWS = 20 };

struct site_run {
    struct calibrate_input input;
    const char *id, *project, *model;
    bool used;            /* by a site that is done */
    double before, after; /* predicted seconds, of the last choice that was scored */
};

struct site {
    int runs;
    struct site_run *run[MOST_RUNS];
};

struct site_score {
    int count, inside_before, inside_after;
    double before, after;                 /* sums of |error| */
    double stated_before, stated_after;   /* sums */
    int draws, silent, worse;             /* choices; that tell nothing; after which errors grew */
    int pairs, right_before, right_after; /* of layouts of one job, in the measured order */
};

struct all_runs {
    int count;
    struct site_run run[MOST_RUNS];
};

/* Shown by themselves: nobody's operators were measured on their GPUs when this was written. */
static const struct shown_site {
    const char *name, *project, *gpu;
    bool dense; /* alone */
} SHOWN[] = {
    {"GH200, Alps", "Zeltrxn2333/lsaie-ss26-gipfelsturm", "GH200", false},
    {"B200, Together, dense", "togethercomputer/", "B200", true},
    {"B200, Together", "togethercomputer/", "B200", false},
};

static bool is_named(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool has_experts(const struct site_run *r)
{
    return r->input.asked.scene.model->experts > 0;
}

static bool read_runs(struct all_runs *all, const char *path, struct resources *resources,
                      struct arena *mem, struct error *err)
{
    struct csv c;
    struct options none;
    options_init(&none, mem);
    if (!calibrate_table_load(path, &c, mem, err))
        return false;
    for (int i = 0; i < c.rows && all->count < MOST_RUNS; i++) {
        struct site_run *r = &all->run[all->count];
        const char *source = csv_at(&c, i, csv_column(&c, "source"));
        if (!calibrate_table_row(&r->input, &none, resources, path, &c, i, mem, err))
            return false;
        r->id = csv_at(&c, i, csv_column(&c, "id"));
        r->model = csv_at(&c, i, csv_column(&c, "model"));
        r->project = arena_copy(mem, source, strcspn(source, " "));
        all->count += r->input.observations > 0;
    }
    return true;
}

/* The first runs of different models; of all where there are fewer. */
static void first_of_models(const struct site *s, struct site_run *given[GIVEN])
{
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->runs && count < GIVEN; i++) {
            bool seen = false;
            for (int k = 0; k < count; k++)
                seen |= s->run[i] == given[k] ||
                        (pass == 0 && strcmp(s->run[i]->model, given[k]->model) == 0);
            if (!seen)
                given[count++] = s->run[i];
        }
}

static void draw(const struct site *s, struct site_run *given[GIVEN])
{
    for (int k = 0; k < GIVEN; k++) {
        bool again = true;
        while (again) {
            given[k] = s->run[pick(0, s->runs - 1)];
            again = (k > 0 && given[k] == given[0]) || (k > 1 && given[k] == given[1]);
        }
    }
}

static double step_with(struct calibrate_input *in, const struct residual *r, double *stated,
                        struct arena *mem)
{
    struct plan *p = arena_alloc(mem, sizeof *p);
    in->query.costing[0].residual = r;
    plan_evaluate(&in->asked.scene, &in->asked.strategy, in->asked.layout, mem, p);
    in->query.costing[0].residual = NULL;
    *stated = p->expected_error;
    return p->step_s;
}

static void add_run(struct site_run *run, const struct residual *r, struct site_score *to,
                    struct arena *mem)
{
    double stated, stated_after, measured = run->input.observation[0].measured;
    run->before = step_with(&run->input, NULL, &stated, mem);
    run->after = step_with(&run->input, r, &stated_after, mem);
    double before = fabs(run->before / measured - 1), after = fabs(run->after / measured - 1);
    to->count++;
    to->before += before;
    to->after += after;
    to->stated_before += stated;
    to->stated_after += stated_after;
    to->inside_before += before <= stated;
    to->inside_after += after <= stated_after;
}

/* Layouts of one model, batch and length on as many GPUs; one that ran twice is no pair. */
static bool same_job(const struct site_run *a, const struct site_run *b)
{
    const struct estimate_query *x = &a->input.asked, *y = &b->input.asked;
    return strcmp(a->model, b->model) == 0 && x->gpus == y->gpus &&
           x->strategy.global_batch == y->strategy.global_batch &&
           x->strategy.seq_len == y->strategy.seq_len &&
           x->strategy.precision == y->strategy.precision;
}

static void add_pair(const struct site_run *a, const struct site_run *b, struct site_score *to)
{
    double measured = a->input.observation[0].measured - b->input.observation[0].measured;
    if (!same_job(a, b) || measured == 0 || a->before == b->before)
        return;
    to->pairs++;
    to->right_before += (a->before - b->before) * measured > 0;
    to->right_after += (a->after - b->after) * measured > 0;
}

static bool is_given(const struct site_run *r, struct site_run *const given[GIVEN])
{
    return r == given[0] || r == given[1] || r == given[2];
}

/* The others with what the given runs say; factors of 1 where nothing can be fitted to them. */
static void score_others(struct site *s, struct site_run *const given[GIVEN],
                         struct site_score *out, struct residual *factors, struct arena *mem)
{
    struct calibrate_input chosen[GIVEN];
    struct calibrate_report report = {0};
    struct error err = {0};
    struct site_score one = *out;
    for (int k = 0; k < GIVEN; k++)
        chosen[k] = given[k]->input;
    bool told = calibrate_fit(chosen, GIVEN, mem, &report, &err) && calibrate_told(&report, &err);
    residual_init(factors);
    if (told)
        *factors = report.profile->entry[0].residual;
    for (int i = 0; i < s->runs; i++)
        if (!is_given(s->run[i], given))
            add_run(s->run[i], told ? factors : NULL, out, mem);
    for (int i = 0; i < s->runs; i++)
        for (int k = 0; k < i; k++)
            if (!is_given(s->run[i], given) && !is_given(s->run[k], given))
                add_pair(s->run[i], s->run[k], out);
    out->draws++;
    out->silent += !told;
    out->worse += out->after - one.after > out->before - one.before + 0.005 * s->runs;
}

static void print_score(const char *name, const struct site_score *s)
{
    if (s->count == 0)
        return;
    printf("%-26s %7d %8.1f %8.1f %9.1f %8.1f %9.0f %8.0f %8.0f %7.0f %7.0f %5.0f\n", name,
           s->count, 100 * s->before / s->count, 100 * s->after / s->count,
           100 * s->stated_before / s->count, 100 * s->stated_after / s->count,
           100.0 * s->inside_before / s->count, 100.0 * s->inside_after / s->count,
           100.0 * s->silent / s->draws, 100.0 * s->worse / s->draws,
           s->pairs ? 100.0 * s->right_before / s->pairs : NAN,
           s->pairs ? 100.0 * s->right_after / s->pairs : NAN);
}

static void print_factors(struct site_run *const given[GIVEN], const struct residual *r)
{
    printf("  given:");
    for (int k = 0; k < GIVEN; k++)
        printf(" %s", given[k]->id);
    for (int f = 0; f < RESIDUAL_TIMES; f++)
        if (r->fitted[f])
            printf(", %s x %.3f ±%.3f", residual_name((enum residual_factor)f), r->value[f],
                   r->error[f]);
    printf(", scatter %.1f %%\n", 100 * r->time_scatter);
}

static void score_draws(struct site *s, int draws, struct site_score *to)
{
    for (int i = 0; i < draws; i++) {
        struct arena scratch;
        struct site_run *given[GIVEN];
        struct residual factors;
        arena_init(&scratch);
        draw(s, given);
        score_others(s, given, to, &factors, &scratch);
        arena_release(&scratch);
    }
}

static void board_shown(struct all_runs *all, const struct shown_site *shown, struct site *s,
                        struct arena *mem)
{
    struct site_score one = {0}, many = {0};
    struct site_run *given[GIVEN];
    struct residual factors;
    s->runs = 0;
    for (int i = 0; i < all->count; i++) {
        struct site_run *r = &all->run[i];
        if (!is_named(r->project, shown->project) || !is_named(r->input.gpu->name, shown->gpu) ||
            (shown->dense && has_experts(r)))
            continue;
        r->used = true;
        s->run[s->runs++] = r;
    }
    printf("%s, %d runs\n", shown->name, s->runs);
    if (s->runs <= GIVEN)
        return;
    first_of_models(s, given);
    score_others(s, given, &one, &factors, mem);
    print_factors(given, &factors);
    print_score("  first of three models", &one);
    score_draws(s, DRAWS, &many);
    print_score("  random threes", &many);
}

/* What is left, site by site. */
static void board_others(struct all_runs *all, struct site *s)
{
    static const char *const KNOWN[] = {"A100", "H100"};
    struct site_score known = {0}, other = {0};
    for (int i = 0; i < all->count; i++) {
        const struct site_run *first = &all->run[i];
        bool is_known = false;
        s->runs = 0;
        for (int k = i; k < all->count && !first->used; k++) {
            struct site_run *r = &all->run[k];
            if (r->input.gpu == first->input.gpu && r->input.stack == first->input.stack &&
                strcmp(r->project, first->project) == 0)
                s->run[s->runs++] = r;
        }
        for (int k = 0; k < s->runs; k++)
            s->run[k]->used = true;
        for (int k = 0; k < 2; k++)
            is_known |= is_named(first->input.gpu->name, KNOWN[k]);
        if (s->runs >= LEAST_RUNS)
            score_draws(s, FEW_DRAWS, is_known ? &known : &other);
    }
    print_score("other sites, A100 and H100", &known);
    print_score("other sites", &other);
}

int main(void)
{
    struct arena mem;
    struct resources resources;
    struct error err = {0};
    arena_init(&mem);
    resources_init(&resources);
    struct all_runs *all = arena_alloc(&mem, sizeof *all);
    struct site *s = arena_alloc(&mem, sizeof *s);
    bool ok = read_runs(all, "data/published.csv", &resources, &mem, &err) &&
              read_runs(all, "data/published_moe.csv", &resources, &mem, &err);
    printf("%-26s %7s %17s %18s %18s %8s %7s %13s\n", "three runs of a site are", "others",
           "mean error %", "stated error %", "inside it %", "tell", "make it", "pairs right %");
    printf("%-26s %7s %8s %8s %9s %8s %9s %8s %8s %7s %7s %5s\n", "given, the others not", "",
           "before", "after", "before", "after", "before", "after", "nothing", "worse", "before",
           "after");
    for (size_t i = 0; ok && i < sizeof SHOWN / sizeof *SHOWN; i++)
        board_shown(all, &SHOWN[i], s, &mem);
    if (ok)
        board_others(all, s);
    else
        fprintf(stderr, "%s\n", err.text);
    resources_release(&resources);
    arena_release(&mem);
    return ok ? 0 : 2;
}
