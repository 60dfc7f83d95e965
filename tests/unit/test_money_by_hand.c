/* Hours and dollars of runs, to the cent, against sums done by hand; and that plans say the same of
 * their own step. */
#include "asked.h"
#include "base/arena.h"
#include "cluster/cluster.h"
#include "price/rent.h"
#include "report/report.h"
#include "run/commands.h"
#include "schedule/schedule.h"
#include "simulate/score.h"
#include "strategy/mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "must.h"

enum { GROUPS = 3 };

struct held {
    int per_node;
    double usd;           /* per GPU-hour */
    double outages_per_h; /* of a node */
    int gpus;
};

static const struct {
    struct held held[GROUPS];
    double batch_tokens, tokens, step_s;
    struct outage outage;
    double steps, hours, usd; /* by hand: hours to 1e-6, USD to the cent */
} RUNS[] = {
    /* 1e12 / 4,194,304 = 238,418.58: 238,419 steps x 1.25 s = 298,023.75 s = 82.784375 h;
     * 24 x $2.7447 = $65.8728 an hour; 82.784375 x 65.8728 = 5453.2386. */
    {{{8, 2.7447, 0, 24}}, 4194304, 1e12, 1.25, {60, 600, 0}, 238419, 82.784375, 5453.24},
    /* 100 whole steps: 50 s = 0.0138889 h at $16 = 0.2222. */
    {{{8, 2, 0, 8}}, 1e6, 1e8, 0.5, {60, 600, 0}, 100, 0.013889, 0.22},
    /* One token more is one step more: 50.5 s = 0.0140278 h at $16 = 0.2244. */
    {{{8, 2, 0, 8}}, 1e6, 1e8 + 1, 0.5, {60, 600, 0}, 101, 0.014028, 0.22},
    /* 12 GPUs on nodes of 8 are billed as 16: 60 s = 0.0166667 h at 16 x $1.10 = 0.2933. */
    {{{8, 1.1, 0, 12}}, 1e6, 2e6, 30, {60, 600, 0}, 2, 0.016667, 0.29},
    /* Two types: 50e9 / 2,097,152 = 23,841.86: 23,842 x 2 s = 47,684 s = 13.245556 h; 16 x $1.35 +
     * 4 x $0.87 = $25.08 an hour; 332.1985. */
    {{{8, 1.35, 0, 16}, {4, 0.87, 0, 3}}, 2097152, 50e9, 2, {60, 600, 0}, 23842, 13.245556, 332.20},
    /* Three types, one GPU of the last node: 1e10 / 2,097,152 = 4768.37: 4,769 x 3.6 s = 4.769 h;
     * 8 x $0.5 + 8 x $2.25 + 4 x $12 = $70; 333.83. */
    {{{8, 0.5, 0, 8}, {8, 2.25, 0, 5}, {4, 12, 0, 1}},
     2097152,
     1e10,
     3.6,
     {60, 600, 0},
     4769,
     4.769,
     333.83},
    /* Ten nodes with 0.01 interruptions an hour each: one every 36,000 s. Checkpoints of 60 s every
     * 1800 s: 36,000 e^(600/36,000) (e^(1860/36,000) - 1) / 1800 = 20 x 1.016806 x 0.053025 =
     * 1.0783165;
     * 95,368 x 0.75 s = 71,526 s, with outages 77,127.667 s = 21.424352 h at $256 = 5484.6341. */
    {{{8, 3.2, 0.01, 80}}, 1048576, 1e11, 0.75, {60, 600, 1800}, 95368, 21.424352, 5484.63},
    /* 64 GPUs that fail every 10,000 h: 0.0064 outages an hour, one every 562,500 s. Checkpoints
     * cost nothing, so only restarts count: e^(900/562,500) = 1.00160128; 715,256 x 10 s =
     * 1986.822222 h, 1990.003682 with them, at 64 x $1.89 = $120.96: 240,710.8454. */
    {{{8, 1.89, 0.0008, 64}}, 4194304, 3e12, 10, {0, 900, 0}, 715256, 1990.003682, 240710.85},
    /* A single step of 7.2 s is 0.002 h at $20. */
    {{{8, 2.5, 0, 8}}, 4194304, 1, 7.2, {60, 600, 0}, 1, 0.002, 0.04},
};

static void runs_cost_what_hands_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(RUNS); i++) {
        struct limits w = {.outage = RUNS[i].outage};
        struct run_terms run = {.tokens = RUNS[i].tokens, .outage = RUNS[i].outage};
        struct rental h = {0};
        for (int g = 0; g < GROUPS && RUNS[i].held[g].gpus > 0; g++) {
            const struct held *x = &RUNS[i].held[g];
            const struct node_group group = {.per_node = x->per_node};
            const struct rent rent = {.usd_per_hour = x->usd, .outages_per_h = x->outages_per_h};
            rental_add(&h, &w, &rent, &group, x->gpus);
        }
        rental_finish(&h, &w);
        struct score score = score_of(&h, llround(RUNS[i].step_s * TICKS_PER_S));
        double steps = run_steps(&run, (struct step_content){1, RUNS[i].batch_tokens});
        double hours = steps * score.time / TICKS_PER_S / 3600;
        double usd = steps * score.usd / TICKS_PER_S / 3600;
        if (steps != RUNS[i].steps || fabs(hours - RUNS[i].hours) > 0.6e-6 ||
            round(100 * usd) != round(100 * RUNS[i].usd))
            fail_msg("case %zu: %.0f steps, %.8f h, $%.6f", i, steps, hours, usd);
    }
}

/* The one plan of a query, with its price by the hour and slowdown by hand. */
static const struct {
    const char *option[8][2];
    double usd_per_h, slowdown, steps, batch_tokens;
} PLANS[] = {
    /* 6 GPUs on two nodes of 4: 8 x $2.7447 = $21.9576. 7e9 / (12 x 4096 = 49,152) = 142,415.36. */
    {{{"cluster", "2x4:H100"},
      {"gpus", "6"},
      {"price", "H100=2.7447"},
      {"global-batch", "12"},
      {"tokens", "7B"}},
     21.9576,
     1,
     142416,
     49152},
    /* All of 8 x $3 and 4 x $1.25: $29. 1e9 / 65,536 = 15,258.79. */
    {{{"cluster", "1x8:H100,1x4:A100"},
      {"gpus", "12"},
      {"price", "H100=3"},
      {"price", "A100=1.25"},
      {"global-batch", "16"},
      {"set", "dp=4"},
      {"tokens", "1B"}},
     29,
     1,
     15259,
     65536},
    /* Two nodes with 0.5 interruptions an hour: one every 3600 s; 30 s every 600 s and restarts of
     * 360 s: 3600 e^0.1 (e^0.175 - 1) / 600 = 6 x 1.1051709181 x 0.1912462166 = 1.2681585.
     * 1e9 / 32,768 =
     * 30,517.58. */
    {{{"cluster", "2x8:H100"},
      {"gpus", "16"},
      {"price", "H100=2"},
      {"interruptions", "0.5"},
      {"checkpoint-every", "10m"},
      {"checkpoint-write", "30s"},
      {"restart", "6m"},
      {"tokens", "1B"}},
     32,
     1.2681585,
     30518,
     32768},
};

static void plans_cost_what_hands_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(PLANS); i++) {
        struct asked q;
        struct search_report r = {0};
        struct error err = {0};
        struct arena mem;
        struct answering a = {.query = &q.query, .mem = &mem, .report = &r, .err = &err};
        arena_init(&mem);
        asked_init(&q);
        must(asked_set(&q, "model", "layers=4,hidden=2048,ffn=8192,heads=16,vocab=32000", &err),
             &err);
        must(asked_set(&q, "seq-len", "4096", &err), &err);
        must(asked_set(&q, "global-batch", "8", &err), &err);
        for (int k = 0; k < 8 && PLANS[i].option[k][0]; k++)
            must(asked_set(&q, PLANS[i].option[k][0], PLANS[i].option[k][1], &err), &err);
        must(asked_resolve(&q, QUERY_SEARCH, &err) && run_search(&a), &err);
        const struct plan *p = &r.plan[0];
        double hours = PLANS[i].steps * p->step_s * PLANS[i].slowdown / 3600;
        assert_true(fabs(p->usd_per_hour - PLANS[i].usd_per_h) < 1e-9);
        assert_true(fabs(p->hours - hours) < 1e-7 * hours);
        assert_true(fabs(p->usd_total - hours * PLANS[i].usd_per_h) < 0.005);
        assert_true(fabs(p->usd_per_mtoken * PLANS[i].batch_tokens * PLANS[i].steps / 1e6 -
                         p->usd_total) < 0.005); /* all steps are paid for, the last one too */
        arena_release(&mem);
        asked_release(&q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_cost_what_hands_say),
        cmocka_unit_test(plans_cost_what_hands_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
