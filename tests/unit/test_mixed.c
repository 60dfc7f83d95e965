/* Searches over several types of GPU against brute force: the best plan of each kind, to the last tick.
 *
 *     test_mixed [PROBLEMS [FIRST]]      as many random problems; `make optimum` runs more of them */
#include "asked.h"
#include "base/str.h"
#include "base/units.h"
#include "cost/residual.h"
#include "mixed_reference.h"
#include "random_order.h"
#include "search/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "must.h"

static int problems = 60, first_problem = 0;
static bool asked; /* for so many: then all of them, however long it takes */

/* Sanitizers and valgrind are 5 to 50 times as slow: as many as there is time for. */
static bool in_time(double seconds)
{
    return asked || (double)clock() < seconds * CLOCKS_PER_SEC;
}

enum { MOST_PLANS = 12000 }; /* of one problem */

static void set(struct asked *q, const char *option, const char *value)
{
    struct error err = {0};
    must(asked_set(q, option, value, &err), &err);
}

/* The last word on a parameter counts. */
static void restrict_to(struct asked *q, const char *setting)
{
    struct error err = {0};
    must(setting_parse(q->options.terms.settings, setting, &err), &err);
}

#define ONE_OF(list) list[pick(0, (int)COUNT(list) - 1)]

/* What is behind "layers=N". */
static const char *const MODELS[] = {
    "hidden=1024,ffn=4096,heads=8,vocab=32000",
    "hidden=1024,ffn=4096,heads=8,vocab=1024",
    "hidden=2048,ffn=5632,heads=16,kv=4,vocab=128256",
    "hidden=4096,ffn=14336,heads=32,kv=8,vocab=50257,tied=1",
    "hidden=2048,ffn=8192,heads=16,vocab=50257,gated=0",
    "hidden=2048,ffn=8192,heads=16,kv=8,vocab=64000,window=512,window_every=2",
    "hidden=2048,ffn=8192,heads=16,kv=8,vocab=64000,window=256,window_every=3,tied=1",
    "hidden=2048,ffn=6144,heads=16,kv=4,vocab=32000,experts=8,topk=2,expert_ffn=1408",
    ("hidden=2048,ffn=10944,heads=16,kv=4,vocab=32000,experts=4,topk=2,expert_ffn=1408,"
     "dense_first=1"),
    "hidden=1024,ffn=32768,heads=8,kv=2,vocab=32000,experts=4,topk=1,expert_ffn=2048,moe_every=2",
};

static const char *const LISTS[][4] = {
    {"tp=1", "tp=2", "tp=1,2", "tp=1,2,4"},
    {"cp=1", "cp=1", "cp=1", "cp=1,2"},
    {"dp=1", "dp=1,2", "dp=2,4", "dp=1,2,4"},
    {"ep=1", "ep=1", "ep=1", "ep=1,2"},
    {"micro_batch=1", "micro_batch=2", "micro_batch=1,4", "micro_batch=4,8"},
    {"vpp=1", "vpp=1", "vpp=1,2", "vpp=2,3"},
    {"seq_parallel=off", "seq_parallel=off,on", "seq_parallel=off", "seq_parallel=off"},
    {"tp_overlap=off", "tp_overlap=off", "tp_overlap=off,on", "tp_overlap=off"},
    {"p2p_overlap=off", "p2p_overlap=off,on", "p2p_overlap=off,on", "p2p_overlap=off,on"},
    {"moe_overlap=off", "moe_overlap=off", "moe_overlap=off", "moe_overlap=off"},
    {"dist_opt=off", "dist_opt=off,on", "dist_opt=off,on", "dist_opt=off,on"},
    {"fsdp=none", "fsdp=none", "fsdp=none", "fsdp=none,optim_grads"},
    {"optimizer_offload=0", "optimizer_offload=0", "optimizer_offload=0", "optimizer_offload=0,50"},
    {"overlap_grad_reduce=off", "overlap_grad_reduce=off,on", "overlap_grad_reduce=off,on",
     "overlap_grad_reduce=off,on"},
    {"overlap_param_gather=off", "overlap_param_gather=off,on", "overlap_param_gather=off",
     "overlap_param_gather=off,on"},
};

static const char *const RECOMPUTE[][2] = {
    {"recompute=none", "recompute_modules=none"},
    {"recompute=none,full", "recompute_layers=0,1"},
    {"recompute=full", "recompute_method=uniform"},
    {"recompute=none,full", "recompute_layers=0,1,2,3"},
    {"recompute=full", "recompute_method=block"},
    {"recompute=none,selective", "recompute_modules=none,layernorm,mlp"},
};

/* What seldom meets by chance. */
static const char *const FLAVOURS[][4] = {
    {NULL},
    {NULL},
    {NULL},
    {"vpp=2,3", "p2p_overlap=on", "cp=1", NULL},
    {"fsdp=optim_grads", "dist_opt=on", "overlap_grad_reduce=on", "dp=2,4"},
    {"vpp=2", "recompute=full", "recompute_layers=1,2,3,4", "recompute_method=block"},
    {"recompute=full", "recompute_layers=2,3,4", "recompute_method=block", "tp=1,2"},
    {"recompute=full", "recompute_method=uniform", "micro_batch=4,8", "tp=1"},
    {"micro_batch=1", "tp=1", "dp=1,2", "recompute=none,full"},
    {"recompute=full", "recompute_layers=4", "recompute_method=block", "vpp=1"},
    {"recompute=full", "recompute_layers=1,2,3,4,5,6,7,8,9", "micro_batch=4,8", "dp=1"},
};

static void random_model(struct asked *q)
{
    char text[256];
    snprintf(text, sizeof text, "layers=%d,%s", pick(2, 10), ONE_OF(MODELS));
    set(q, "model", text);
}

/* Two or three groups; GPUs without bf16 mostly get a query that they can answer. */
static void random_pool(struct asked *q)
{
    char text[256] = "";
    size_t count, length = 0;
    const struct gpu *table = gpu_table(&count);
    int groups = pick(0, 2) ? 2 : 3;
    bool old = false;
    for (int g = 0; g < groups; g++) {
        const struct gpu *gpu = &table[pick(0, (int)count - 1)];
        int nodes = pick(1, groups == 2 ? 4 : 2), per_node = 1 << pick(0, 2);
        if (pick(0, 5) == 0)
            per_node = 3;
        old = old || gpu_capability(gpu) < 8;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%dx%d:%s", g ? "," : "",
                                   nodes, per_node, gpu->name);
    }
    set(q, "cluster", text);
    if (old && pick(0, 3))
        set(q, "precision", "fp16");
}

/* So little that a part of the plans does not fit. */
static void random_memory(struct asked *q)
{
    double states = 18 * (double)model_params_total(&q->query.model);
    if (pick(0, 3) == 0)
        return;
    for (int g = 0; g < q->query.cluster.groups; g++) {
        double bytes = 1.5 * GIB + states * pick(1, 16) / 16 + GIB / 8 * (1 << pick(0, 7));
        if (bytes < q->query.cluster.group[g].usable_bytes)
            q->query.cluster.group[g].usable_bytes = bytes;
    }
}

/* The same of hosts. */
static void random_host(struct asked *q)
{
    double states = 20 * (double)model_params_total(&q->query.model);
    int some = (int)q->query.model.layers + query_seq_len(&q->query) / 512;
    for (int g = 0; g < q->query.cluster.groups && some % 2; g++) {
        struct node_group *group = &q->query.cluster.group[g];
        group->host_bytes = group->per_node * 4 * GIB + states * (some % 7) / 20;
    }
}

/* Links of other speeds than usual, and slower ones between some groups. */
static void random_network(struct cluster *c)
{
    if (pick(0, 2))
        return;
    for (int g = 0; g < c->groups; g++) {
        c->group[g].nic_bs *= pick(1, 32) / 8.0;
        c->group[g].link_bs *= pick(1, 16) / 8.0;
    }
    if (pick(0, 1))
        c->link[c->links++] = (struct group_link){0, 1, 1e8 * pick(1, 100)};
}

/* Factors of own runs, of each group its own. */
static void random_residuals(struct query *q)
{
    static struct residual residual[CLUSTER_MAX_GROUPS];
    for (int g = 0; g < q->cluster.groups; g++) {
        residual_init(&residual[g]);
        for (int f = 0; f < RESIDUALS; f++)
            residual[g].value[f] = 0.7 + 0.01 * pick(0, 70);
        q->costing[g].residual = &residual[g];
    }
}

static void random_query(struct asked *q)
{
    char batch[16], length[16];
    struct error err = {0};
    asked_init(q);
    random_model(q);
    random_pool(q);
    snprintf(batch, sizeof batch, "%d", 4 * pick(1, 8));
    snprintf(length, sizeof length, "%d", 512 << pick(0, 4));
    set(q, "global-batch", batch);
    set(q, "seq-len", length);
    for (size_t i = 0; i < COUNT(LISTS); i++)
        restrict_to(q, ONE_OF(LISTS[i]));
    const char *const *recompute = ONE_OF(RECOMPUTE);
    restrict_to(q, recompute[0]);
    restrict_to(q, recompute[1]);
    const char *const *flavour = ONE_OF(FLAVOURS);
    for (int i = 0; i < 4 && flavour[i]; i++)
        restrict_to(q, flavour[i]);
    restrict_to(q, "cp_comm=p2p");
    restrict_to(q, "etp=1");
    int gpus = pick(0, 2) == 0 ? pick(2, (int)cluster_max_gpus(&q->options.cluster)) : 0;
    q->options.search.top = pick(0, 1) ? 3 : pick(1, 2);
    must(asked_resolve(q, QUERY_ESTIMATE, &err), &err); /* groups that are alike stay apart */
    q->query.terms.gpus = gpus;
    random_memory(q);
    random_host(q);
    random_network(&q->query.cluster);
}

/* Plans on one type of which the search is told: faster and slower ones than it will find. They are
 * among the choices then. */
static void random_known(struct mixed_reference *ref, const struct mixed_query *mq,
                         struct results *results)
{
    int choices = ref->choices.count, count = choices > 0 && pick(0, 1) ? pick(1, 3) : 0;
    struct rental free = {.slowdown = 1};
    for (int i = 0; i < count; i++) {
        struct found x = ref->choices.x[pick(0, choices - 1)];
        x.step += pick(-1, 1) * (x.step / pick(2, 1000));
        x.strategy.tp = 100 + i; /* a row of its own */
        x.mixed = NULL;
        x.group = mq->cluster->group;
        found_judge(&x, ref->limits, &free);
        x.score.usd = INFINITY;
        results_add(results, &x);
        choices_add(&ref->choices, &x, ref->limits->row);
    }
}

static void must_be_as_said(const struct mixed_query *mq, const struct mixed_found *x,
                            struct arena *mem)
{
    struct scene sc = reference_scene(mq, &x->meshes);
    struct plan p;
    plan_evaluate(&sc, &x->strategy, &x->layout, mem, &p);
    assert_true(p.computed && p.feasible);
    assert_int_equal(llround(p.step_s * TICKS_PER_S), x->step);
    assert_int_equal(p.gpus, x->gpus);
}

struct tally {
    int answered, tight, wrong;
    double plans;
    int own;    /* found plans whose meshes differ */
    bool ruled; /* by rules of a user */
};

static void show_plan(const char *who, const struct found *found)
{
    const struct mixed_found *x = found->mixed;
    struct str text = {0};
    strategy_print(&found->strategy, &text);
    print_error("%s %lld, trouble %x: %s |", who, (long long)found->step, found->trouble,
                text.data);
    str_release(&text);
    if (!x) {
        print_error(" known\n");
        return;
    }
    for (int i = 0; i < x->meshes.count; i++) {
        const struct mesh *m = &x->meshes.mesh[i];
        print_error(" %d:%s", m->stages, m->group->gpu->name);
        if (m->own)
            print_error(" (tp %d dp %d recompute %d)", m->tp, m->dp, m->recompute);
    }
    print_error(" |");
    for (int i = 0; i < x->layout.stages; i++)
        print_error(" %d", x->layout.layers[i]);
    print_error("\n");
}

/* Whether they agree. */
static bool compare(int number, const struct mixed_reference *ref, const struct mixed_query *mq,
                    const struct found have[], int count)
{
    enum { TOP_MAX = 3 };
    const struct found *want[TOP_MAX];
    int wanted = choices_rank(&ref->choices, ref->limits, mq->top, want);
    bool same = wanted == count;
    for (int i = 0; i < wanted && same; i++)
        same = want[i]->step == have[i].step && want[i]->trouble == have[i].trouble;
    if (same)
        return true;
    print_error("problem %d, resolution %g:\n", number, ref->limits->resolution);
    for (int i = 0; i < wanted; i++)
        show_plan("best ", want[i]);
    for (int i = 0; i < count; i++)
        show_plan("found", &have[i]);
    return false;
}

/* Cautions of any kind. */
static const char *const CAUTIONS[] = {
    "avoid tp > 1 \"a, b\"\navoid vpp > 1 && dist_opt \"a, b\"",
    "avoid recompute == full \"a, b\"\navoid pp > 2 || cluster.gpus_per_node > 2 \"a, b\"",
    "avoid overlap_grad_reduce && dp > 1 \"a, b\"", "# none",
    "avoid fsdp != none || optimizer_offload > 0 \"a, b\""};

/* Rules of a user that look at the number of stages beside what comes before and behind it. */
static const char *const RULES[] = {
    "require pp * vpp <= 4",
    "reject pp > 2 && dist_opt",
    "require dist_opt || pp < 3",
    "require dist_opt || vpp == 1",
    "require dist_opt || recompute != none",
    "require tp_overlap || dist_opt",
    "require p2p_overlap == (pp > 2)",
    "require recompute_layers <= pp",
    "reject recompute == full && pp % 2 == 0",
    "require recompute == none || gpus % 4 == 0",
    "require dp == 1 || pp > 2",
    "reject overlap_grad_reduce && pp == 2",
    "require overlap_grad_reduce || p2p_overlap || pp > 3",
    "reject overlap_param_gather && gpus > 4",
    "require micro_batches / pp >= 2 || dist_opt",
    "require optimizer_offload == 0 || pp <= 2",
    "require cluster.compute_capability >= 9 || !dist_opt || pp == 2",
    "require cluster.gpus_per_node > 1 || recompute == none || pp == 3",
    "require fsdp == none || pp * dp < 8",
    "require 1 / (pp - 2) < 1",
};

/* Two or three of them more. */
static void random_rules(struct mixed_query *mq, struct rules *all, struct arena *mem)
{
    struct error err = {0};
    rules_init(all);
    rules_append(all, mq->rules, mem);
    for (int i = pick(2, 3); i > 0; i--) {
        const char *text = ONE_OF(RULES);
        must(rules_add(all, text, strlen(text), "test", mem, &err), &err);
    }
    mq->rules = all;
}

/* False: no plans to compare, or more than brute force should walk. */
static bool solve_one(int number, struct tally *t)
{
    struct asked q;
    struct mixed_query mq;
    struct mixed_result r;
    struct mixed_reference ref = {.limit = MOST_PLANS};
    struct results results;
    struct limits limits;
    struct rules cautions, rules;
    struct error err = {0};
    random_query(&q);
    q.query.terms.engine =
        number % 3 == 0 ? ASK_ANY : ASK_MEGATRON; /* types with their own tp and dp */
    must(query_mixed(&q.query, &q.mem, &mq, &err), &err);
    if (number % 2)
        random_residuals(&q.query);
    must(random_order(CAUTIONS, COUNT(CAUTIONS), &limits, &cautions, &q.mem, &err), &err);
    mq.cautions = &cautions;
    if (t->ruled)
        random_rules(&mq, &rules, &q.mem);
    mq.threads = 1 + number % 2;
    ref.limits = mq.limits = &limits;
    mixed_reference_run(&ref, &mq);
    bool solved = ref.plans > 0 && !reference_gave_up(&ref);
    if (solved) {
        struct found have[3];
        int answers = ref.choices.count;
        results_init(&results, &limits, mq.top, &q.mem);
        random_known(&ref, &mq, &results);
        mq.results = &results;
        mixed_run(&mq, &q.mem, &r);
        t->wrong += !compare(number, &ref, &mq, have, shortlist_rank(&results.best, have));
        results_release(&results);
        for (int i = 0; i < r.best; i++)
            must_be_as_said(&mq, &r.found[i], &q.mem);
        t->answered += answers > 0;
        for (int i = 0; i < r.best; i++)
            t->own += r.found[i].meshes.mesh[0].own;
        t->tight += answers > 0 && ref.fitting < ref.plans;
        t->plans += ref.plans;
    }
    mixed_reference_release(&ref);
    asked_release(&q);
    return solved;
}

/* Queries whose answer changes with the memory, step by step from too little to enough. */
static const struct {
    const char *model, *pool, *settings[6];
} SWEEPS[] = {
    {"layers=8,hidden=1024,ffn=4096,heads=8,vocab=1024",
     "1x1:A100,1x1:H100",
     {"vpp=2", "recompute=full", "recompute_layers=1,2,3,4", "recompute_method=block"}},
    {"layers=6,hidden=2048,ffn=8192,heads=16,vocab=32000",
     "1x1:A100,1x1:H100",
     {"vpp=1,3", "recompute=full", "recompute_method=uniform"}},
    {"layers=5,hidden=1024,ffn=4096,heads=8,vocab=1024",
     "1x1:A100,1x2:H100",
     {"vpp=1", "micro_batch=8"}},
    {"layers=4,hidden=1024,ffn=4096,heads=8,vocab=1024,experts=4,topk=2,expert_ffn=2048",
     "1x2:A100,1x1:H100",
     {"vpp=1", "micro_batch=2,8", "recompute=none,full"}},
};

static void ask_sweep(struct asked *q, size_t i)
{
    static const char *const same[] = {"tp=1",
                                       "cp=1",
                                       "dp=1",
                                       "p2p_overlap=off,on",
                                       "dist_opt=off",
                                       "fsdp=none",
                                       "optimizer_offload=0",
                                       "moe_overlap=off",
                                       "micro_batch=1",
                                       "overlap_param_gather=off"};
    struct error err = {0};
    asked_init(q);
    set(q, "model", SWEEPS[i].model);
    set(q, "cluster", SWEEPS[i].pool);
    set(q, "global-batch", "8");
    set(q, "seq-len", "8192");
    for (size_t k = 0; k < COUNT(same); k++)
        restrict_to(q, same[k]);
    for (int k = 0; k < 6 && SWEEPS[i].settings[k]; k++)
        restrict_to(q, SWEEPS[i].settings[k]);
    q->options.search.top = 1;
    must(asked_resolve(q, QUERY_SEARCH, &err), &err);
}

static void any_memory_is_used(void **state)
{
    enum { STEPS = 48 };
    (void)state;
    for (size_t i = 0; i < COUNT(SWEEPS); i++) {
        struct asked q;
        struct mixed_query mq;
        struct mixed_result r;
        struct error err = {0};
        int64_t last = 0;
        int answers = 0, wrong = 0;
        ask_sweep(&q, i);
        must(query_mixed(&q.query, &q.mem, &mq, &err), &err);
        for (int k = 0; k < STEPS && in_time(15); k++) {
            struct mixed_reference ref = {.limit = 0};
            for (int g = 0; g < q.query.cluster.groups; g++)
                q.query.cluster.group[g].usable_bytes = (2 + 0.25 * k) * GIB;
            mixed_reference_run(&ref, &mq);
            mixed_run(&mq, &q.mem, &r);
            const struct found *best = mixed_reference_best(&ref);
            int64_t step = best ? best->step : 0;
            wrong += step != (r.best > 0 ? r.found[0].step : 0);
            answers += best && step != last;
            last = step;
            mixed_reference_release(&ref);
        }
        asked_release(&q);
        assert_int_equal(wrong, 0);
        assert_true(answers >= 2 || !in_time(15)); /* it does change */
    }
}

static bool solve_seeded(int number, struct tally *t)
{
    seed = 88172645463325252ull + 7919 * (uint64_t)number; /* each can be asked alone */
    for (int warm = 0; warm < 16; warm++)
        pick(0, 1);
    return solve_one(number, t);
}

/* Overlap that was slower than none; jobs that take as long to the tick. */
static const int ALSO[] = {118, 1020};

static void best_equal_brute_force(void **state)
{
    struct tally t = {0};
    (void)state;
    int i = 0;
    for (int tried = first_problem; i < problems && in_time(40); tried++)
        i += solve_seeded(tried, &t);
    for (size_t k = 0; k < COUNT(ALSO); k++)
        solve_seeded(ALSO[k], &t);
    print_message(
        "%d of %d problems have an answer, memory binds in %d, %.0f plans tried, %d of the "
        "best have meshes of their own\n",
        t.answered, i, t.tight, t.plans, t.own);
    assert_int_equal(t.wrong, 0);
    assert_true(i < 60 || (t.answered > i / 2 && t.tight > i / 4));
}

static void rules_of_a_user_are_kept(void **state)
{
    struct tally t = {.ruled = true};
    (void)state;
    int i = 0;
    for (int tried = first_problem; i < problems / 2 && in_time(60); tried++)
        i += solve_seeded(tried, &t);
    print_message(
        "%d of %d problems have an answer, %.0f plans tried, %d with meshes of their own\n",
        t.answered, i, t.plans, t.own);
    assert_int_equal(t.wrong, 0);
    assert_true(i < 30 || t.answered > i / 3);
}

static void must_be_same(const struct mixed_found *a, const struct mixed_found *b)
{
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->gpus, b->gpus);
    assert_int_equal(strategy_compare(&a->strategy, &b->strategy), 0);
    assert_memory_equal(&a->meshes, &b->meshes, sizeof a->meshes);
    assert_int_equal(a->layout.stages, b->layout.stages);
    assert_memory_equal(a->layout.layers, b->layout.layers,
                        (size_t)a->layout.stages * sizeof *a->layout.layers);
}

/* By time alone, or in the order of a search that is asked for: cautions and a resolution. */
static void threads_agree(struct asked *q, bool weighs)
{
    static const int threads[] = {2, 5};
    struct mixed_query mq;
    struct mixed_result one, many;
    struct limits limits = SPEED_ALONE;
    struct error err = {0};
    must(asked_resolve(q, QUERY_SEARCH, &err) && query_mixed(&q->query, &q->mem, &mq, &err), &err);
    limits.resolution = RESOLUTION_USUAL;
    mq.limits = weighs ? &limits : NULL;
    mq.top = 5;
    mq.threads = 1;
    mixed_run(&mq, &q->mem, &one);
    assert_int_equal(one.best, 5);
    for (size_t i = 0; i < COUNT(threads); i++) {
        mq.threads = threads[i];
        mixed_run(&mq, &q->mem, &many);
        assert_int_equal(one.best, many.best);
        for (int k = 0; k < one.best; k++)
            must_be_same(&one.found[k], &many.found[k]);
        assert_true(one.structures == many.structures && one.judged == many.judged &&
                    one.problems == many.problems && one.simulated == many.simulated);
    }
}

static void threads_change_nothing(void **state)
{
    struct asked q;
    (void)state;
    asked_init(&q);
    set(&q, "model", "llama3-8b");
    set(&q, "cluster", "2x8:A100,1x8:L40S,2x8:H100");
    set(&q, "global-batch", "128");
    restrict_to(&q, "cp=1");
    restrict_to(&q, "vpp=1,2");
    threads_agree(&q, false);
    asked_release(&q);
}

/* What one structure leaves behind must not reach the next, which another thread may take: states of
 * several kinds, and cautions of states. */
static void cautions_are_asked_anew(void **state)
{
    struct asked q;
    (void)state;
    asked_init(&q);
    set(&q, "model", "llama3-8b");
    set(&q, "cluster", "2x8:A100,2x8:H100");
    threads_agree(&q, true);
    asked_release(&q);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_memory_is_used),       cmocka_unit_test(best_equal_brute_force),
        cmocka_unit_test(rules_of_a_user_are_kept), cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(cautions_are_asked_anew),
    };
    asked = argc > 1;
    problems = argc > 1 ? (int)strtol(argv[1], NULL, 10) : problems;
    first_problem = argc > 2 ? (int)strtol(argv[2], NULL, 10) : first_problem;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
