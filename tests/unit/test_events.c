/* What is exposed of gathers and reductions: the closed form of the step against the events, on random
 * plans. */
#include "base/arena.h"
#include "cluster/cluster.h"
#include "simulate/beside.h"
#include "simulate/events.h"
#include "simulate/partition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "random.h"
#include "scene.h"

/* Of a step: most, and on the average. */
static const double WORST = 0.03, MEAN = 0.001;

struct step {
    struct partition *f;
    struct pass_times t;
    struct state st;
};

static bool set_step(struct step *x, const struct scene *sc, const struct strategy *s)
{
    x->f = partition_new(sc, s, NULL, &mem, NULL);
    if (!x->f)
        return false;
    pass_times_of(x->f, s, &mem, &x->t);
    pass_times_stages(x->f, s, &mem, &x->t);
    state_of(x->f, s, &mem, &x->st);
    state_times(x->f, s, &mem, &x->st);
    return true;
}

/* The step as events, in ticks; what is behind the reductions as the closed form has it. */
static int64_t events_step(const struct step *x, const struct strategy *s)
{
    const struct partition *f = x->f;
    int stages = f->layout.stages;
    double *gather = arena_array(&mem, 2 * (size_t)stages, sizeof *gather);
    struct company *company = arena_array(&mem, (size_t)s->pp, sizeof *company);
    for (int i = 0; i < stages; i++) {
        gather[i] = x->st.gather_s[f->shape_of[i]] * TICKS_PER_S;
        gather[stages + i] = x->st.reduce_s[f->shape_of[i]] * TICKS_PER_S;
    }
    for (int r = 0; r < s->pp; r++)
        company[r] = company_of(&x->t, &x->st, f->class_of[r]);
    struct step_collectives c = {s->overlap_param_gather, s->overlap_grad_reduce,       gather,
                                 gather + stages,         (int64_t)stage_buckets(f, 0), company};
    struct pipeline p = pass_times_pipeline(f, s, &x->t);
    int64_t end = events_run_step(&p, &c);
    assert_true(end >= 0);
    struct step_parts parts = partition_parts(f, s, &x->t, &x->st);
    return end + parts.tied + parts.behind;
}

static struct strategy random_strategy(int gpus)
{
    struct strategy s;
    strategy_init(&s);
    s.tp = 1 << pick(0, 2);
    s.pp = 1 << pick(0, gpus < 64 ? 1 : 3);
    s.vpp = s.pp > 1 && pick(0, 2) ? pick(2, 5) : 1;
    s.cp = 1 << pick(0, 1);
    s.dp = gpus / s.tp / s.pp / s.cp;
    s.ep = model.experts > 0 && s.dp >= 8 ? 8 : 1;
    s.micro_batch = pick(1, 2);
    s.micro_batch_group = s.vpp > 1 && pick(0, 3) == 0 ? s.pp + pick(1, 3) : 0;
    s.global_batch =
        s.micro_batch * s.dp * (s.micro_batch_group > 0 ? s.micro_batch_group : s.pp) * pick(1, 6);
    s.seq_len = 1024 << pick(0, 2);
    s.seq_parallel = s.tp > 1;
    s.p2p_overlap = s.vpp > 1 && pick(0, 1);
    s.dist_opt = s.overlap_grad_reduce = 1;
    s.overlap_param_gather = pick(0, 3) > 0;
    s.grad_bf16 = pick(0, 1);
    return s;
}

static double exposed_part(const struct step *x, const struct strategy *s, int64_t step)
{
    struct step_parts parts = partition_parts(x->f, s, &x->t, &x->st);
    int64_t latest = 0;
    for (int r = 0; r < s->pp; r++)
        latest = x->t.end[r] > latest ? x->t.end[r] : latest;
    return (double)(parts.delay + parts.pipeline - latest) / (double)step;
}

struct worst {
    int plans;
    double most, sum;
    double exposed; /* parts of the steps that are data parallelism */
    struct strategy at;
};

static void compare(struct worst *w, int gpus)
{
    struct scene sc = scene();
    struct strategy s = random_strategy(gpus);
    struct step x;
    if (!set_step(&x, &sc, &s))
        return;
    int64_t bound = partition_step(x.f, &s, &x.t, &x.st);
    pass_times_run(x.f, &s, &mem, &x.t);
    int64_t closed = partition_step(x.f, &s, &x.t, &x.st), events = events_step(&x, &s);
    double off = fabs((double)closed / (double)events - 1);
    assert_true(bound <= closed);
    w->plans++;
    w->sum += off;
    w->exposed += exposed_part(&x, &s, closed);
    if (off > w->most) {
        w->most = off;
        w->at = s;
    }
}

static void closed_form_is_that_of_events(void **state)
{
    (void)state;
    static const struct {
        const char *model, *pool;
        int gpus;
    } QUERY[] = {{"llama3-8b", "2x8:H100", 16},      {"llama3-70b", "16x8:H100", 128},
                 {"llama3-70b", "64x8:A100", 512},   {"nemotron4-340b", "64x8:B200", 512},
                 {"mixtral-8x7b", "16x8:H100", 128}, {"gpt3-175b", "128x8:H100", 1024}};
    struct worst w = {0};
    for (int i = 0; w.plans < 1000; i++) {
        int q = i / 200 % 6;
        if (i % 200 == 0)
            load(QUERY[q].model, QUERY[q].pool);
        compare(&w, QUERY[q].gpus);
    }
    print_message("%d plans, %.1f %% exposed: mean %.3f %% off, worst %.2f %% (tp %d pp %d vpp %d "
                  "dp %d cp %d, %d of micro-batch %d)\n",
                  w.plans, 100 * w.exposed / w.plans, 100 * w.sum / w.plans, 100 * w.most, w.at.tp,
                  w.at.pp, w.at.vpp, w.at.dp, w.at.cp, w.at.global_batch, w.at.micro_batch);
    assert_true(w.exposed / w.plans > 0.05);
    assert_true(w.most <= WORST && w.sum / w.plans <= MEAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_is_that_of_events),
    };
    arena_init(&mem);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&mem);
    return failed;
}
