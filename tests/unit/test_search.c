/* The search against brute force and against itself: pruned or exhaustive, on one thread or
 * several. */
#include "asked.h"
#include "base/units.h"
#include "cost/residual.h"
#include "random_order.h"
#include "reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* More can be asked for (make optimum): all of 60 agreed when this was written. */
static int problems = 4;

static void must(bool ok, const struct error *err)
{
    if (!ok)
        print_error("%s\n", err->text);
    assert_true(ok);
}

static void set(struct asked *q, const char *option, const char *value)
{
    struct error err = {0};
    must(asked_set(q, option, value, &err), &err);
}

static const char *const MODELS[] = {
    "layers=6,hidden=1024,ffn=4096,heads=8,vocab=32000",
    "layers=7,hidden=2048,ffn=5632,heads=16,kv=4,vocab=128256",
    "layers=8,hidden=4096,ffn=14336,heads=32,kv=8,vocab=128256,max_seq=32768",
    "layers=10,hidden=8192,ffn=28672,heads=64,kv=8,vocab=32000",
    "layers=5,hidden=12288,ffn=49152,heads=96,vocab=50257,gated=0",
    "layers=6,hidden=2048,ffn=6144,heads=16,kv=4,vocab=151936,experts=8,topk=2,expert_ffn=1408,"
    "dense_first=1",
    "layers=8,hidden=4096,heads=32,kv=8,vocab=32000,ffn=14336,experts=8,topk=2,expert_ffn=14336",
    "layers=8,hidden=1024,ffn=32768,heads=8,kv=2,vocab=32000,experts=16,topk=2,expert_ffn=4096,"
    "dense_first=4",
    "pattern=MEM*-EM*,hidden=2048,ffn=8192,heads=16,kv=4,vocab=32000,gated=0,norm=rms,linear_bias="
    "0,"
    "experts=8,topk=2,expert_ffn=1408,mamba_heads=64",
    "pattern=K-LE+EL-,hidden=2048,ffn=8192,heads=16,head_dim=128,vocab=32000,experts=8,topk=2,"
    "expert_ffn=1408,mla=1,kv_lora=512,qk_nope=128,qk_rope=64,v_dim=128,kda_heads=16,kda_dim=128",
    "pattern=H-H-H-H-,hidden=2048,ffn=8192,heads=16,kv=4,vocab=32000,mamba_heads=48,mamba_groups=4,"
    "mamba_bare=1",
    "layers=8,full_every=4,gdn_heads=32,gdn_dim=128,gdn_key_heads=16,gdn_key_dim=128,attn_gate=1,"
    "hidden=2048,ffn=8192,heads=16,kv=4,vocab=32000",
};
static const char *const SPLITS[] = {"split=even,uneven", "split=even,loss", "split=even,both",
                                     "split=even,embedding"};
static const char *const POOLS[] = {"1x4:A100", "2x2:H100",       "3x4:L40S", "2x4:V100",
                                    "1x8:A100", "1..4x2:H100@50", "2x8:H100"};

/* One of the switches that multiply the space is open, the others are not. */
static void free_one(struct asked *q, int which)
{
    set(q, "set",
        which == 0 ? "cuda_graph=none,transformer_engine,full_iteration" : "cuda_graph=none");
    set(q, "set", which == 1 ? "delay_wgrad=off,on" : "delay_wgrad=off");
    set(q, "set", which == 2 ? "dispatcher=flex,allgather" : "dispatcher=alltoall,allgather");
    if (which == 3)
        set(q, "megatron-version", "0.17"); /* takes TransformerEngine's loss */
    if (which == 4)
        set(q, "numerics", "production");
}

/* A small query: the space is cut to what brute force can walk. */
static void random_query(struct asked *q)
{
    char batch[16], length[16];
    asked_init(q);
    set(q, "model", MODELS[pick(0, 9)]);
    const char *pool = POOLS[pick(0, 6)];
    set(q, "cluster", pool);
    if (pool[4] == 'V')
        set(q, "precision", "fp16");
    snprintf(batch, sizeof batch, "%d", pick(1, 6) * 4);
    snprintf(length, sizeof length, "%d", 1024 << pick(0, 3));
    set(q, "global-batch", batch);
    set(q, "seq-len", length);
    set(q, "set", pick(0, 1) ? "tp=1,2,4" : "tp=1,2");
    set(q, "set", pick(0, 1) ? "cp=1" : "cp=1,2");
    set(q, "set", pick(0, 1) ? "pp=1,2,4" : "pp=1,3");
    set(q, "set", "micro_batch=1,2");
    set(q, "set", "cp_comm=p2p");
    set(q, "set", pick(0, 1) ? "vpp=1,2" : "vpp=1,2,3");
    set(q, "set", SPLITS[pick(0, 3)]);
    set(q, "set", pick(0, 1) ? "recompute=none,full" : "recompute_layers=0,1,2");
    set(q, "set",
        pick(0, 1) ? "recompute_modules=none" : "recompute_modules=none,layernorm,core_attn+mlp");
    set(q, "set", pick(0, 1) ? "optimizer_offload=0" : "optimizer_offload=0,50");
    set(q, "set", pick(0, 1) ? "fsdp=none" : "overlap_param_gather=off");
    set(q, "set", "ep=1,4");
    free_one(q, pick(0, 4));
    q->options.search.top = pick(1, 6);
    q->options.terms.memory_margin = pick(0, 1) ? 0.04 : 0.5;
}

static void prepare(struct asked *q, struct search_query *sq)
{
    struct error err = {0};
    must(asked_resolve(q, QUERY_SEARCH, &err), &err);
    must(query_search(&q->query, 0, &q->mem, sq, &err), &err);
}

/* Factors of own runs, one of them at times nothing at all. */
static void random_residual(struct asked *q, struct residual *r)
{
    residual_init(r);
    for (int f = 0; f < RESIDUALS; f++)
        r->value[f] = 0.7 + 0.01 * pick(0, 70);
    if (pick(0, 3) == 0)
        r->value[RESIDUAL_intra] = r->value[RESIDUAL_inter] = 0;
    q->query.costing[0].residual = r;
}

/* Hosts that are too small for some of the states, or for all. */
static void small_host(struct asked *q, int i)
{
    struct node_group *g = &q->query.cluster.group[0];
    double states = 20 * (double)model_params_total(&q->query.model);
    if (i % 3 < 2)
        g->host_bytes = g->per_node * 4 * GIB - GIB + states * i / problems;
}

static double dropped_for(const struct funnel *f, const char *reason)
{
    double sum = 0;
    for (int i = 0; i < f->drops; i++)
        sum += strstr(f->drop[i].reason, reason) ? f->drop[i].count : 0;
    return sum;
}

static void same_lists(const struct found *a, int n, const struct found *b, int m)
{
    assert_int_equal(n, m);
    for (int i = 0; i < n; i++) {
        assert_int_equal(a[i].step, b[i].step);
        assert_int_equal(a[i].gpus, b[i].gpus);
        assert_int_equal(a[i].trouble, b[i].trouble);
    }
}

/* Cautions of any kind. */
static const char *const CAUTIONS[] = {
    "avoid tp_overlap \"a, b\"\navoid vpp > 1 && dist_opt \"a, b\"",
    "avoid recompute == full \"a, b\"\navoid pp > 2 || fsdp != none \"a, b\"",
    "avoid optimizer_offload > 0 \"a, b\"\navoid overlap_grad_reduce && tp > 1 \"a, b\"", "# none"};

static void search_equals_brute_force(void **state)
{
    (void)state;
    int answered = 0, hosts = 0;
    double tried = 0;
    for (int i = 0; i < problems; i++) {
        struct asked q;
        struct search_query sq;
        struct search_result r;
        struct reference ref = {.limit = 0};
        struct error err = {0};
        struct residual residual;
        struct limits limits;
        struct rules cautions;
        const struct found *best[16];
        struct found list[16];
        random_query(&q);
        if (i % 3 == 0)
            set(&q, "expert-imbalance", i % 2 ? "1" : "2.5");
        prepare(&q, &sq);
        must(random_order(CAUTIONS, 4, &limits, &cautions, &q.mem, &err), &err);
        sq.limits = &limits;
        sq.cautions = &cautions;
        small_host(&q, i);
        if (i % 2)
            random_residual(&q, &residual);
        sq.threads = 1 + i % 2;
        search_run(&sq, &q.mem, &r);
        reference_run(&ref, &sq, &q.mem);
        const struct front *front = &ref.front;
        int bests = choices_rank(&ref.choices, &limits, sq.top, best);
        for (int k = 0; k < bests; k++)
            list[k] = *best[k];
        for (int k = 0; k < r.front / 2; k++) { /* the reference has the fastest first */
            struct found x = r.pareto[k];
            r.pareto[k] = r.pareto[r.front - 1 - k];
            r.pareto[r.front - 1 - k] = x;
        }
        same_lists(r.found, r.best, list, bests);
        same_lists(r.pareto, r.front, front->entry, front->count);
        for (int k = 0; k < r.best; k++)
            must(search_check(&sq, &r.found[k], &err), &err);
        answered += r.best > 0;
        hosts += r.best > 0 && dropped_for(&r.funnel, "host memory") > 0;
        tried += ref.tried;
        reference_release(&ref);
        asked_release(&q);
    }
    print_message("%d of %d problems have an answer, %d where hosts are too small for some, %.0f "
                  "strategies tried\n",
                  answered, problems, hosts, tried);
    assert_true(answered > problems / 2 && hosts > 0);
}

static void pruned_equals_exhaustive(void **state)
{
    (void)state;
    static const char *const queries[][3] = {{"llama3-8b", "4x8:A100", "256"},
                                             {"gpt3-13b", "8x8:V100", "128"},
                                             {"mixtral-8x7b", "4x8:H100", "64"}};
    for (int i = 0; i < 3; i++) {
        struct asked q;
        struct search_query sq;
        struct search_result pruned, all;
        asked_init(&q);
        set(&q, "model", queries[i][0]);
        set(&q, "cluster", queries[i][1]);
        set(&q, "global-batch", queries[i][2]);
        if (i == 1)
            set(&q, "precision", "fp16");
        set(&q, "set", "cp=1");
        set(&q, "set", "tp=2,8");
        set(&q, "set", "pp=2,4,8");
        set(&q, "set", "vpp=1,2");
        set(&q, "set", "optimizer_offload=0");
        set(&q, "set", "recompute_layers=0,1,3");
        prepare(&q, &sq);
        struct limits limits = SPEED_ALONE;
        limits.resolution = RESOLUTION_USUAL;
        sq.limits = i == 0 ? NULL : &limits;
        search_run(&sq, &q.mem, &pruned);
        sq.exhaustive = true;
        search_run(&sq, &q.mem, &all);
        same_lists(pruned.found, pruned.best, all.found, all.best);
        same_lists(pruned.pareto, pruned.front, all.pareto, all.front);
        assert_true(pruned.best > 0);
        assert_true(pruned.funnel.simulated < all.funnel.simulated);
        asked_release(&q);
    }
}

/* Copies of offloaded activations over a slow link: what is recomputed is not copied, so that more
 * recompute may be faster. */
static void more_recompute_may_be_faster(void **state)
{
    (void)state;
    struct asked q;
    struct search_query sq;
    struct search_result pruned, all;
    struct gpu slow;
    asked_init(&q);
    set(&q, "model", "llama3-8b");
    set(&q, "cluster", "2x8:H100");
    set(&q, "global-batch", "64");
    set(&q, "set", "cp=1");
    set(&q, "set", "tp=1,2");
    set(&q, "set", "pp=2,4");
    set(&q, "set", "vpp=1,2");
    set(&q, "set", "optimizer_offload=0");
    set(&q, "set", "recompute_layers=0,1,3,8,16");
    prepare(&q, &sq);
    slow = *q.query.cluster.group[0].gpu;
    slow.pcie_gbs = 4;
    q.query.cluster.group[0].gpu = &slow;
    sq.scene.switches.offload = 0x1f;
    search_run(&sq, &q.mem, &pruned);
    sq.exhaustive = true;
    search_run(&sq, &q.mem, &all);
    same_lists(pruned.found, pruned.best, all.found, all.best);
    same_lists(pruned.pareto, pruned.front, all.pareto, all.front);
    assert_true(pruned.best > 0 && pruned.found[0].strategy.recompute == RECOMPUTE_FULL);
    asked_release(&q);
}

static void counts_add_up(const struct funnel *f)
{
    double sum = f->kept;
    for (int i = 0; i < f->drops; i++)
        sum += f->drop[i].count;
    assert_true(sum == f->generated);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct asked q;
    struct search_query sq;
    struct search_result one, many;
    asked_init(&q);
    set(&q, "model", "llama3-8b");
    set(&q, "cluster", "16x8:H100");
    prepare(&q, &sq);
    struct limits limits = SPEED_ALONE;
    limits.resolution = RESOLUTION_USUAL;
    sq.limits = &limits;
    sq.threads = 1;
    search_run(&sq, &q.mem, &one);
    sq.threads = 5;
    search_run(&sq, &q.mem, &many);
    assert_int_equal(one.best, many.best);
    for (int i = 0; i < one.best; i++) {
        assert_int_equal(one.found[i].step, many.found[i].step);
        assert_int_equal(strategy_compare(&one.found[i].strategy, &many.found[i].strategy), 0);
    }
    assert_true(one.funnel.judged == many.funnel.judged &&
                one.funnel.simulated == many.funnel.simulated);
    counts_add_up(&one.funnel);
    counts_add_up(&many.funnel);
    asked_release(&q);
}

int main(int argc, char **argv)
{
    problems = argc > 1 ? (int)strtol(argv[1], NULL, 10) : problems;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_equals_brute_force),
        cmocka_unit_test(pruned_equals_exhaustive),
        cmocka_unit_test(more_recompute_may_be_faster),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
