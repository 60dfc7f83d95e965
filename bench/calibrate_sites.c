/* The scoreboard of calibration: three runs of a site are given, its others predicted, before and
 * with the factors of the three. First the three that a rule picks, then many random threes. */
#include "base/arena.h"
#include "base/csv.h"
#include "calibrate/calibrate.h"
#include "calibrate/calibrate_input.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SITE_RUNS = 80, GIVEN = 3, DRAWS = 60 };

/* Runs of one site: rows of the tables whose source begins so. */
static const struct site_row {
    const char *name, *source, *models; /* "dense", "experts", "" = both */
} SITES[] = {
    {"GH200, Alps", "Zeltrxn2333/lsaie-ss26-gipfelsturm", ""},
    {"B200, Together, dense", "togethercomputer/", "dense"},
    {"B200, Together", "togethercomputer/", ""},
};

struct site {
    int runs;
    struct calibrate_input run[MOST_SITE_RUNS];
    const char *model[MOST_SITE_RUNS];
};

struct site_score {
    int count, inside_before, inside_after;
    double before, after;               /* sums of |error| */
    double stated_before, stated_after; /* sums */
};

static bool add_runs(struct site *s, const struct site_row *site, const char *path,
                     struct resources *resources, struct arena *mem, struct error *err)
{
    struct csv c;
    struct options none;
    options_init(&none, mem);
    if (!calibrate_table_load(path, &c, mem, err))
        return false;
    int source = csv_column(&c, "source"), model = csv_column(&c, "model");
    for (int i = 0; i < c.rows && s->runs < MOST_SITE_RUNS; i++) {
        if (strncmp(csv_at(&c, i, source), site->source, strlen(site->source)) != 0)
            continue;
        struct calibrate_input *in = &s->run[s->runs];
        if (!calibrate_table_row(in, &none, resources, path, &c, i, mem, err))
            return false;
        s->model[s->runs] = csv_at(&c, i, model);
        s->runs += in->observations > 0;
    }
    return true;
}

/* The first runs of different models. */
static void first_of_models(const struct site *s, int given[GIVEN])
{
    int count = 0;
    for (int i = 0; i < s->runs && count < GIVEN; i++) {
        bool seen = false;
        for (int k = 0; k < count; k++)
            seen |= strcmp(s->model[i], s->model[given[k]]) == 0;
        if (!seen)
            given[count++] = i;
    }
    for (int i = 0; count < GIVEN; i++) /* a site with fewer models */
        if (i != given[0] && (count < 2 || i != given[1]))
            given[count++] = i;
}

static void draw(const struct site *s, int given[GIVEN])
{
    for (int k = 0; k < GIVEN; k++) {
        bool again = true;
        while (again) {
            given[k] = pick(0, s->runs - 1);
            again = false;
            for (int j = 0; j < k; j++)
                again |= given[j] == given[k];
        }
    }
}

static void add_run(struct calibrate_input *in, const struct residual *r, struct site_score *to,
                    struct arena *mem)
{
    struct plan *p = arena_alloc(mem, sizeof *p);
    double measured = in->observation[0].measured;
    in->query.costing[0].residual = NULL;
    plan_evaluate(&in->asked.scene, &in->asked.strategy, in->asked.layout, mem, p);
    double before = fabs(p->step_s / measured - 1), stated = p->expected_error;
    in->query.costing[0].residual = r;
    plan_evaluate(&in->asked.scene, &in->asked.strategy, in->asked.layout, mem, p);
    double after = fabs(p->step_s / measured - 1);
    in->query.costing[0].residual = NULL;
    to->count++;
    to->before += before;
    to->after += after;
    to->stated_before += stated;
    to->stated_after += p->expected_error;
    to->inside_before += before <= stated;
    to->inside_after += after <= p->expected_error;
}

/* The others with what the given runs say. False where nothing can be fitted to them. */
static bool score_others(struct site *s, const int given[GIVEN], struct site_score *out,
                         struct residual *factors, struct arena *mem)
{
    struct calibrate_input chosen[GIVEN];
    struct calibrate_report report = {0};
    struct error err = {0};
    for (int k = 0; k < GIVEN; k++)
        chosen[k] = s->run[given[k]];
    bool told = calibrate_fit(chosen, GIVEN, mem, &report, &err) && calibrate_told(&report, &err);
    residual_init(factors);
    if (told)
        *factors = report.profile->entry[0].residual;
    for (int i = 0; i < s->runs; i++) {
        if (i != given[0] && i != given[1] && i != given[2])
            add_run(&s->run[i], told ? factors : NULL, out, mem);
    }
    return told;
}

static void print_score(const char *name, const struct site_score *s)
{
    printf("%-24s %6d %8.1f %8.1f %9.1f %8.1f %9.0f %8.0f\n", name, s->count,
           100 * s->before / s->count, 100 * s->after / s->count, 100 * s->stated_before / s->count,
           100 * s->stated_after / s->count, 100.0 * s->inside_before / s->count,
           100.0 * s->inside_after / s->count);
}

static void print_factors(const struct site *s, const int given[GIVEN], const struct residual *r)
{
    printf("  given:");
    for (int k = 0; k < GIVEN; k++)
        printf(" %s", strrchr(s->run[given[k]].path, ' ') + 1);
    for (int f = 0; f < RESIDUAL_TIMES; f++)
        if (r->fitted[f])
            printf(", %s x %.3f ±%.3f", residual_name((enum residual_factor)f), r->value[f],
                   r->error[f]);
    printf(", scatter %.1f %%\n", 100 * r->time_scatter);
}

static bool board_site(const struct site_row *row, struct resources *resources, struct arena *mem,
                       struct error *err)
{
    static const char *const TABLES[] = {"data/published.csv", "data/published_moe.csv"};
    struct site *s = arena_alloc(mem, sizeof *s);
    struct site_score one = {0}, many = {0};
    struct residual factors;
    int given[GIVEN], worse = 0, silent = 0;
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? strcmp(row->models, "experts") : strcmp(row->models, "dense")) != 0 &&
            !add_runs(s, row, TABLES[i], resources, mem, err))
            return false;
    if (s->runs <= GIVEN)
        return true;
    printf("%s\n", row->name);
    first_of_models(s, given);
    score_others(s, given, &one, &factors, mem);
    print_factors(s, given, &factors);
    print_score("  first of three models", &one);
    for (int i = 0; i < DRAWS; i++) {
        struct arena scratch;
        struct site_score drawn = {0};
        arena_init(&scratch);
        draw(s, given);
        silent += !score_others(s, given, &drawn, &factors, &scratch);
        worse += drawn.after > drawn.before + 0.005 * drawn.count;
        many.count += drawn.count;
        many.before += drawn.before;
        many.after += drawn.after;
        many.stated_before += drawn.stated_before;
        many.stated_after += drawn.stated_after;
        many.inside_before += drawn.inside_before;
        many.inside_after += drawn.inside_after;
        arena_release(&scratch);
    }
    print_score("  random threes", &many);
    printf("  of %d random threes %d tell nothing, %d make it worse\n", DRAWS, silent, worse);
    return true;
}

int main(void)
{
    struct arena mem;
    struct resources resources;
    struct error err = {0};
    bool ok = true;
    arena_init(&mem);
    resources_init(&resources);
    printf("\n%-24s %6s %17s %18s %18s\n", "calibrate: three runs of", "others", "mean error %",
           "stated error %", "inside it %");
    printf("%-24s %6s %8s %8s %9s %8s %9s %8s\n", "a site, its others", "", "before", "after",
           "before", "after", "before", "after");
    for (size_t i = 0; ok && i < sizeof SITES / sizeof *SITES; i++)
        ok = board_site(&SITES[i], &resources, &mem, &err);
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    resources_release(&resources);
    arena_release(&mem);
    return ok ? 0 : 2;
}
