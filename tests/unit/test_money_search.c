/* What to rent, against the plainest loop over all types, counts and strategies: the list, the
 * front, which limit binds, what more of it buys, and what is said where no plan keeps the limits.
 *
 *     test_money_search [PROBLEMS [FIRST]]      as many random problems, from that number on */
#include "asked.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/learned.h"
#include "random.h"
#include "report/report.h"
#include "run/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "money_reference.h"
#include "must.h"

static int problems = 200, first_problem = 0;
static bool asked; /* for so many: then all of them, however long it takes */

enum { MOST_PLANS = 3000, MOST_OPTIONS = 64, TOP_MAX = 12 };

#define ONE_OF(list) list[pick(0, (int)COUNT(list) - 1)]

struct problem {
    int options;
    struct {
        const char *name;
        char value[200];
    } option[MOST_OPTIONS];
    struct money_terms terms;
    struct money_limits limits;
    bool cheap; /* the objective */
    int top;
    bool chains; /* nodes of one GPU, one stage each: many numbers of stages, alike but for that */
};

__attribute__((format(printf, 3, 4))) static void say(struct problem *p, const char *name,
                                                      const char *format, ...)
{
    va_list list;
    assert_true(p->options < MOST_OPTIONS);
    p->option[p->options].name = name;
    va_start(list, format);
    vsnprintf(p->option[p->options++].value, sizeof p->option->value, format, list);
    va_end(list);
}

static void ask(const struct problem *p, struct asked *q)
{
    struct error err = {0};
    asked_init(q);
    for (int i = 0; i < p->options; i++)
        must(asked_set(q, p->option[i].name, p->option[i].value, &err), &err);
}

/* What is behind "layers=N". */
static const char *const MODELS[] = {
    "hidden=1024,ffn=4096,heads=8,vocab=32000",
    "hidden=2048,ffn=5632,heads=16,kv=4,vocab=128256",
    "hidden=8192,ffn=28672,heads=64,kv=8,vocab=32000",
    "hidden=4096,ffn=14336,heads=32,kv=8,vocab=1024",
    "hidden=6144,ffn=24576,heads=48,vocab=8192,gated=0",
    "hidden=4096,ffn=14336,heads=32,kv=8,vocab=50257,tied=1",
    "hidden=2048,ffn=8192,heads=16,kv=8,vocab=64000,window=512,window_every=2",
    "hidden=2048,ffn=6144,heads=16,kv=4,vocab=32000,experts=4,topk=2,expert_ffn=1408",
};

static const char *const LISTS[][4] = {
    {"tp=1", "tp=1,2", "tp=1,2,4", "tp=1,2,4"},
    {"cp=1", "cp=1", "cp=1", "cp=1,2"},
    {"dp=1", "dp=1,2,4", "dp=1,2,3,4,6", "dp=1,2,4,8"},
    {"ep=1", "ep=1", "ep=1", "ep=1,2"},
    {"micro_batch=1", "micro_batch=1,2,4", "micro_batch=1,2", "micro_batch=1,4"},
    {"vpp=1", "vpp=1", "vpp=1", "vpp=1,2"},
    {"recompute=none", "recompute=full", "recompute=none,full", "recompute=none"},
    {"recompute_layers=0,1", "recompute_layers=0,1", "recompute_layers=0,1",
     "recompute_layers=0,1"},
    {"dist_opt=off", "dist_opt=on", "dist_opt=off", "dist_opt=off,on"},
    {"overlap_grad_reduce=off", "overlap_grad_reduce=off", "overlap_grad_reduce=off,on",
     "overlap_grad_reduce=on"},
};

static const char *const FIXED[] = {"seq_parallel=off",
                                    "tp_overlap=off",
                                    "p2p_overlap=off",
                                    "moe_overlap=off",
                                    "fsdp=none",
                                    "cp_comm=p2p",
                                    "etp=1",
                                    "optimizer_offload=0",
                                    "cuda_graph=none",
                                    "overlap_param_gather=off"};

static const char *const GPUS[] = {"H100", "A100", "L40S", "H200", "A10G", "MI300X", "B200"};

static void random_model(struct problem *p)
{
    say(p, "model", "layers=%d,%s", p->chains ? pick(5, 7) : pick(2, 5), ONE_OF(MODELS));
    say(p, "global-batch", "%d", 4 * pick(1, 8));
    say(p, "seq-len", "%d", 1024 << pick(0, 3));
    for (size_t i = 0; i < COUNT(LISTS); i++)
        say(p, "set", "%s", p->chains ? LISTS[i][0] : ONE_OF(LISTS[i]));
    for (size_t i = 0; i < COUNT(FIXED); i++)
        say(p, "set", "%s", FIXED[i]);
    if (pick(0, 3) == 0)
        say(p, "memory-margin", "0.%d", pick(50, 95)); /* so little that some do not fit */
}

/* Any figure, one like the last, or hundreds of times as dear. */
static void random_price(struct problem *p, int i)
{
    struct money_type *t = &p->terms.type[i];
    int way = pick(0, 5);
    double usual = gpu_find(t->name, NULL)->bf16_tflops / 300; /* about what they are rented for */
    t->usd = way == 0 && i > 0 ? t[-1].usd : way == 1 ? 0.01 : way == 2 ? 1000 : usual;
    t->usd = round(1e4 * t->usd * (way > 2 ? pick(50, 200) / 100.0 : 1)) / 1e4;
    say(p, "price", "%s=%.4f", t->name, t->usd);
}

static void random_pool(struct problem *p)
{
    char text[200] = "";
    size_t length = 0;
    int fixed = pick(0, 9) == 0, first = pick(0, 99);
    p->terms.types = pick(0, 5) ? pick(2, 3) : 1;
    for (int i = 0; i < p->terms.types; i++) {
        int more = fixed ? 0 : pick(1, 2), least = pick(1, 6) / 3, per_node = 1 << pick(0, 2);
        least = least < 1 ? 1 : least;
        per_node = p->chains ? 1 : pick(0, 7) ? per_node : 3;
        more = p->chains ? 4 - p->terms.types / 3 : more;
        p->terms.type[i].name = GPUS[(size_t)(first + i * pick(1, 3)) % COUNT(GPUS)];
        for (int k = 0; k < i; k++) /* one price each */
            if (p->terms.type[k].name == p->terms.type[i].name)
                p->terms.type[i].name = k == 0 ? "H20" : "L40";
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%d", i ? "," : "", least);
        if (more > 0)
            length += (size_t)snprintf(text + length, sizeof text - length, "..%d", least + more);
        length += (size_t)snprintf(text + length, sizeof text - length, "x%d:%s", per_node,
                                   p->terms.type[i].name);
    }
    say(p, "cluster", "%s", text);
    for (int i = 0; i < p->terms.types; i++)
        random_price(p, i);
    say(p, "mix", "%d", pick(0, 3) ? pick(2, 3) : 1);
    say(p, "engine", "%s", pick(0, 1) ? "megatron" : "any");
    if (pick(0, 9) == 0)
        say(p, "gpus", "%d", pick(1, 6));
}

static void random_outages(struct problem *p)
{
    struct money_terms *t = &p->terms;
    t->write_s = 60;
    t->restart_s = 600;
    if (pick(0, 1))
        return;
    for (int i = 0; i < t->types; i++) {
        t->type[i].mtbf_h = pick(0, 1) ? pick(1, 1000) * 10 : 0;
        t->type[i].interruptions_h = pick(0, 1) ? pick(1, 400) / 1e3 : 0;
        if (t->type[i].mtbf_h > 0)
            say(p, "mtbf", "%s=%.0fh", t->type[i].name, t->type[i].mtbf_h);
        if (t->type[i].interruptions_h > 0)
            say(p, "interruptions", "%s=%.3f", t->type[i].name, t->type[i].interruptions_h);
    }
    if (pick(0, 2) == 0)
        say(p, "checkpoint-every", "%.0fs", t->interval_s = pick(60, 7200));
    if (pick(0, 1))
        say(p, "checkpoint-write", "%.0fs", t->write_s = pick(0, 3) * 45);
    if (pick(0, 1))
        say(p, "restart", "%.0fs", t->restart_s = pick(0, 60) * 30);
}

static void random_problem(struct problem *p)
{
    memset(p, 0, sizeof *p);
    p->chains = pick(0, 5) == 0;
    random_model(p);
    random_pool(p);
    random_outages(p);
    p->terms.tokens = pick(1, 999) * (pick(0, 1) ? 1e7 : 123456789.0);
    say(p, "tokens", "%.0f", p->terms.tokens);
    p->top = pick(0, 1) ? pick(1, 3) : pick(4, TOP_MAX - 2);
    say(p, "top", "%d", p->top);
    say(p, "threads", "%d", pick(1, 2));
    p->terms.resolution = pick(0, 2) ? pick(1, 20) / 100.0 : 0;
    say(p, "resolution", "%g", p->terms.resolution);
}

/* A limit between what the front has, at it, beyond it, or too low for any plan. */
static double random_limit(const struct money_reference *r, bool usd)
{
    const struct money_plan *a = &r->front[pick(0, r->fronts - 1)];
    const struct money_plan *b = &r->front[pick(0, r->fronts - 1)];
    double x = usd ? a->usd : 3600 * a->hours, y = usd ? b->usd : 3600 * b->hours;
    double least = usd ? r->front[r->fronts - 1].usd : 3600 * r->front[0].hours;
    switch (pick(0, 5)) {
    case 0:
        return 0.6 * least;
    case 1:
        return 3 * (x + y);
    case 2:
        return x; /* as written: a hair more or less */
    case 3:
        return 1.0001 * x;
    default:
        return (x + y) / 2;
    }
}

static double as_written(const char *text)
{
    return strtod(text, NULL);
}

/* Once the plans are known. */
static void random_limits(struct problem *p, const struct money_reference *r)
{
    int which = pick(0, 3), objective = pick(0, 4);
    p->limits = (struct money_limits){INFINITY, INFINITY};
    if (which & 1) {
        say(p, "budget", "%.2f", fmax(0.01, random_limit(r, true)));
        p->limits.usd = as_written(p->option[p->options - 1].value);
    }
    if (which & 2) {
        say(p, "deadline", "%.3fs", fmax(1, random_limit(r, false)));
        p->limits.seconds = as_written(p->option[p->options - 1].value);
    }
    static const char *const names[] = {"throughput", "time", "cost", "usd-per-token"};
    if (objective < 4)
        say(p, "objective", "%s", names[objective]);
    p->cheap = objective < 4 ? objective >= 2 : which == 2;
}

struct tally {
    int asked, skipped, empty, answered, refused, binding, more, own_front;
    int mixed_front, mixed_best, outages, long_fronts, wrong;
    double plans;
};

static bool close_to(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fabs(b);
}

static bool same_plan(const struct plan *p, const struct money_plan *x)
{
    return llround(p->step_s * TICKS_PER_S) == x->step && p->gpus == x->gpus &&
           close_to(p->hours, x->hours) && close_to(p->usd_total, x->usd);
}

/* The plan, or none where there is none. */
static bool same_or_none(const struct plan *p, const struct money_plan *x)
{
    return p && x ? same_plan(p, x) : !p && !x;
}

static bool complain(const char *what)
{
    print_error("  %s\n", what);
    return false;
}

static bool same_list(const struct search_report *r, const struct money_plan *const best[],
                      int count)
{
    bool same = r->best == count;
    for (int i = 0; i < r->best && same; i++)
        same = same_plan(&r->plan[i], best[i]);
    return same || complain("the list differs");
}

static bool same_front(const struct search_report *r, const struct money_reference *ref)
{
    bool same = r->front == ref->fronts;
    for (int i = 0; i < r->front && same; i++)
        same = same_plan(&r->pareto[i], &ref->front[ref->fronts - 1 - i]);
    return same || complain("the front differs");
}

/* By the report's own figures: none of the front is beaten, the best is as good as one of it. */
static bool front_is_sound(const struct search_report *r, bool cheap, bool exact)
{
    const double less = 1 - 1e-12;
    bool best_on_it = false;
    for (int i = 0; i < r->front; i++) {
        const struct plan *x = &r->pareto[i];
        for (int j = 0; j < r->front + r->best; j++) {
            const struct plan *y = j < r->front ? &r->pareto[j] : &r->plan[j - r->front];
            if ((y->hours < less * x->hours && y->usd_total < less * x->usd_total) ||
                (j < r->front && j != i && y->hours <= x->hours && y->usd_total <= x->usd_total))
                return complain("a point of the front is dominated");
        }
        best_on_it = best_on_it || (cheap ? close_to(x->usd_total, r->plan[0].usd_total)
                                          : close_to(x->hours, r->plan[0].hours));
    }
    return !exact || best_on_it || complain("the best is not on the front");
}

/* The best within other limits, where that is better than `chosen`. */
static const struct money_plan *better(const struct money_reference *ref, struct money_limits l,
                                       bool cheap, const struct money_plan *chosen)
{
    const struct money_plan *x = money_exact(ref, l, cheap);
    if (!x)
        return NULL;
    return (cheap ? x->usd < chosen->usd : x->hours < chosen->hours) ? x : NULL;
}

/* A limit binds if without it the answer is better. */
static bool same_money(const struct problem *p, const struct search_report *r,
                       const struct money_reference *ref, struct tally *t)
{
    const struct money *m = r->money;
    struct money_limits l = p->limits, any_usd = l, any_time = l, more_usd = l, more_time = l;
    any_usd.usd = any_time.seconds = INFINITY;
    more_usd.usd *= 1.1;
    more_time.seconds *= 1.1;
    const struct money_plan *cheapest = money_exact(ref, l, true),
                            *fastest = money_exact(ref, l, false);
    const struct money_plan *reached = p->cheap ? cheapest : fastest;
    enum limit binds = better(ref, any_usd, p->cheap, reached)    ? LIMIT_BUDGET
                       : better(ref, any_time, p->cheap, reached) ? LIMIT_DEADLINE
                                                                  : LIMIT_NONE;
    t->binding += binds != LIMIT_NONE;
    t->more += m && (m->more_budget || m->more_time);
    if (!m || m->binds != binds || m->objective != (p->cheap ? OBJECTIVE_COST : OBJECTIVE_SPEED))
        return complain("the limit that binds, or the objective, differs");
    return (same_or_none(m->cheapest, cheapest) && same_or_none(m->fastest, fastest) &&
            same_or_none(m->more_budget, better(ref, more_usd, p->cheap, reached)) &&
            same_or_none(m->more_time, better(ref, more_time, p->cheap, reached))) ||
           complain("what limits leave, or what more of them buys, differs");
}

/* GPUs of "8 H100... + 16 A100...", up to the comma. */
static long long told_gpus(const char *at)
{
    long long sum = strtoll(at, NULL, 10);
    for (const char *end = at + strcspn(at, ","); at < end; at++)
        if (strncmp(at, " + ", 3) == 0)
            sum += strtoll(at + 3, NULL, 10);
    return sum;
}

/* "8 H100..., 3.20 h, $12.30" of the plan is in the message, but for the names. */
static bool tells(const char *message, const char *before, const struct money_plan *x)
{
    struct str s;
    const char *at = strstr(message, before);
    if (!at || told_gpus(at + strlen(before)) != x->gpus)
        return false;
    str_init(&s);
    str_add(&s, ", ");
    add_seconds(&s, 3600 * x->hours);
    str_add(&s, ", ");
    add_cents(&s, x->usd);
    bool told = strstr(at, str_text(&s));
    str_release(&s);
    return told;
}

static bool rightly_refused(const struct problem *p, const struct money_reference *ref,
                            const struct error *err)
{
    const struct money_limits none = {INFINITY, INFINITY}, usd = {p->limits.usd, INFINITY},
                              time = {INFINITY, p->limits.seconds};
    const struct money_plan *x = money_exact(ref, usd, false), *y = money_exact(ref, time, true);
    bool told;
    if (err->kind != ERROR_INFEASIBLE)
        return complain("not refused as infeasible");
    if (!x)
        told = strstr(err->text, "no plan stays within the budget of $") == err->text &&
               tells(err->text, ": the cheapest is ", money_exact(ref, none, true));
    else if (!y)
        told = strstr(err->text, "no plan meets the deadline of ") == err->text &&
               tells(err->text, ": the fastest is ", money_exact(ref, none, false));
    else
        told = tells(err->text, "the fastest within the budget is ", x) &&
               tells(err->text, "the cheapest within the deadline ", y);
    return told || complain("the reason differs");
}

static void show(int number, const struct problem *p, const struct search_report *r,
                 const struct money_reference *ref, const struct money_plan *const best[],
                 int count)
{
    print_error("problem %d:", number);
    for (int i = 0; i < p->options; i++)
        print_error(" --%s %s", p->option[i].name, p->option[i].value);
    print_error("\n");
    for (int i = 0; i < count; i++)
        print_error("  best  %lld on %lld, %g h, $%.4f\n", (long long)best[i]->step,
                    (long long)best[i]->gpus, best[i]->hours, best[i]->usd);
    for (int i = 0; i < r->best; i++)
        print_error("  found %.0f on %lld, %g h, $%.4f\n", r->plan[i].step_s * TICKS_PER_S,
                    (long long)r->plan[i].gpus, r->plan[i].hours, r->plan[i].usd_total);
    for (int i = ref->fronts; i > 0; i--)
        print_error("  front %lld on %lld, %g h, $%.4f\n", (long long)ref->front[i - 1].step,
                    (long long)ref->front[i - 1].gpus, ref->front[i - 1].hours,
                    ref->front[i - 1].usd);
    for (int i = 0; i < r->front; i++)
        print_error("  found %.0f on %lld, %g h, $%.4f\n", r->pareto[i].step_s * TICKS_PER_S,
                    (long long)r->pareto[i].gpus, r->pareto[i].hours, r->pareto[i].usd_total);
}

static void count_answer(const struct search_report *r, const struct money_reference *ref,
                         struct tally *t)
{
    bool mixed = false, own = false;
    for (int i = 0; i < r->front; i++) {
        const struct mesh_list *m = r->pareto[i].meshes;
        mixed = mixed || (m && m->count > 1);
        own = own || (m && m->mesh[0].own);
    }
    t->answered++;
    t->mixed_front += mixed;
    t->own_front += own;
    t->mixed_best += r->plan[0].meshes != NULL;
    t->outages += r->plan[0].slowdown > 1;
    t->long_fronts += ref->fronts > 3;
}

/* The real search against the loop. */
static void compare(int number, const struct problem *p, const struct money_reference *ref,
                    struct tally *t)
{
    const struct money_plan *best[TOP_MAX];
    int count = money_best(ref, p->limits, p->cheap, p->top, best);
    struct asked q;
    struct search_report r = {0};
    struct error err = {0};
    struct arena mem;
    bool right;
    ask(p, &q);
    arena_init(&mem);
    struct answering a = {.query = &q.query, .mem = &mem, .report = &r, .err = &err};
    must(asked_resolve(&q, QUERY_SEARCH, &err), &err);
    bool found = run_search(&a);
    if (!found) {
        right = (count == 0 || complain(err.text)) && rightly_refused(p, ref, &err);
        t->refused++;
    } else {
        right = same_list(&r, best, count) && same_front(&r, ref) &&
                front_is_sound(&r, p->cheap, p->terms.resolution == 0) && same_money(p, &r, ref, t);
        count_answer(&r, ref, t);
    }
    t->wrong += !right;
    if (!right)
        show(number, p, &r, ref, best, count);
    if (!right && !found)
        print_error("  %s\n", err.text);
    arena_release(&mem);
    asked_release(&q);
}

/* False: no plan at all, or more than brute force should walk. */
static bool solve_one(int number, struct tally *t)
{
    struct problem p;
    struct asked q;
    struct error err = {0};
    struct money_reference ref = {.terms = &p.terms};
    random_problem(&p);
    ask(&p, &q);
    must(asked_resolve(&q, QUERY_SEARCH, &err), &err);
    money_reference_run(&ref, &q, MOST_PLANS);
    bool whole = ref.whole && ref.count > 0;
    t->skipped += !ref.whole;
    t->empty += ref.whole && ref.count == 0;
    for (int i = 0; i < 2 && whole; i++) { /* limits, twice: the loop takes longest */
        struct problem limited = p;
        random_limits(&limited, &ref);
        compare(number, &limited, &ref, t);
        t->asked++;
    }
    t->plans += ref.count;
    money_reference_release(&ref);
    asked_release(&q);
    return whole;
}

static void answers_equal_brute_force(void **state)
{
    struct tally t = {0};
    int solved = 0;
    (void)state;
    for (int tried = first_problem; solved < problems; tried++) {
        if (!asked && (double)clock() > 40.0 * CLOCKS_PER_SEC) /* sanitizers are slow */
            break;
        seed = 88172645463325252ull + 7919 * (uint64_t)tried; /* each can be asked alone */
        for (int warm = 0; warm < 16; warm++)
            pick(0, 1);
        solved += solve_one(tried, &t);
    }
    print_message("%d problems, %d too large and %d without a plan left out; %d questions: %d have "
                  "an answer, %d are refused, limits bind in %d, more buys more in %d, %d fronts "
                  "have more than three points, %d mixed plans, %d with meshes of their own; the "
                  "best is mixed in %d and has outages in %d; %.0f kinds of plan\n",
                  solved, t.skipped, t.empty, t.asked, t.answered, t.refused, t.binding, t.more,
                  t.long_fronts, t.mixed_front, t.own_front, t.mixed_best, t.outages, t.plans);
    assert_int_equal(t.wrong, 0);
    if (solved >= 200) /* each kind was among them */
        assert_true(t.refused > 10 && t.binding > 10 && t.more > 5 && t.long_fronts > 10 &&
                    t.mixed_front > 5 && t.own_front > 0 && t.mixed_best > 5 && t.outages > 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_equal_brute_force)};
    asked = argc > 1;
    problems = argc > 1 ? (int)strtol(argv[1], NULL, 10) : problems;
    first_problem = argc > 2 ? (int)strtol(argv[2], NULL, 10) : first_problem;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
