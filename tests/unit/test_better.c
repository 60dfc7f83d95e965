/* What Astra would run instead, as a change of the flags that were given: it names the user's own
 * flags, and keeps to what the others allow. */
#include "probe/answer.h"

#include "asked.h"
#include "import/megatron/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MODEL                                                                                      \
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "         \
    "--group-query-attention --num-query-groups 8 --seq-length 4096 "                              \
    "--max-position-embeddings 8192 --vocab-size 128256 --swiglu --normalization RMSNorm "         \
    "--position-embedding-type rope --untie-embeddings-and-output-weights "                        \
    "--disable-bias-linear --attention-dropout 0 --hidden-dropout 0 --bf16 "                       \
    "--micro-batch-size 1 --global-batch-size 128 "

struct bench {
    struct asked query;
    struct estimate_query asked;
    struct plan plan;
    struct arena mem;
    const struct better_plan *better_plan;
};

static void ask(struct bench *b, const char *cluster, const char *flags)
{
    struct error err = {0};
    const char *word[128];
    size_t count = 0;
    asked_init(&b->query);
    arena_init(&b->mem);
    for (const char *at = arena_format(&b->mem, "%s%s", MODEL, flags); *at;) {
        size_t n = strcspn(at, " ");
        assert_true(count < sizeof word / sizeof *word);
        word[count++] = arena_copy(&b->mem, at, n);
        at += n + strspn(at + n, " ");
    }
    if (!asked_set(&b->query, "cluster", cluster, &err) ||
        !asked_flags(&b->query, count, word, &err) || !asked_estimate(&b->query, &b->asked, &err))
        fail_msg("%s: %s", flags, err.text);
    plan_evaluate(&b->asked.scene, &b->asked.strategy, b->asked.layout, &b->mem, &b->plan);
    b->better_plan = better_of(&b->query.query, &b->asked, &b->plan, &b->mem);
}

static void release(struct bench *b)
{
    asked_release(&b->query);
    arena_release(&b->mem);
}

/* The list has the word. */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' '))
            return true;
    return false;
}

static void names_the_users_flags(void **state)
{
    static const struct {
        const char *flags, *add, *remove;
    } cases[] = {
        {"--use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch_dcp",
         "--use-megatron-fsdp", "--use-torch-fsdp2"},
        {"--use-custom-fsdp --data-parallel-sharding-strategy optim --ckpt-format fsdp_dtensor",
         "--use-megatron-fsdp", "--use-custom-fsdp"},
        {"--tensor-model-parallel-size 8 --recompute-activations", "--micro-batch-size",
         "--recompute-activations"},
        {"--pipeline-model-parallel-size 8 --num-virtual-stages-per-pipeline-rank 4",
         "--pipeline-model-parallel-size", "--num-virtual-stages-per-pipeline-rank"},
        {"--tensor-model-parallel-size=8 --recompute-granularity=selective", "fsdp_dtensor",
         "--recompute-granularity"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        ask(&b, "2x8:H100", cases[i].flags);
        assert_true(b.better_plan->better);
        if (!lists(b.better_plan->change.add, cases[i].add))
            fail_msg("%s: add %s", cases[i].flags, b.better_plan->change.add);
        if (strcmp(b.better_plan->change.remove, cases[i].remove) != 0)
            fail_msg("%s: remove %s", cases[i].flags, b.better_plan->change.remove);
        release(&b);
    }
}

static void keeps_to_what_flags_allow(void **state)
{
    static const struct {
        const char *flags, *never[3];
    } cases[] = {
        {"--deterministic-mode --tensor-model-parallel-size 4",
         {"--cross-entropy-loss-fusion", "--tp-comm-overlap"}},
        {"--optimizer muon --tensor-model-parallel-size 4",
         {"--use-megatron-fsdp", "--use-distributed-optimizer", "--use-precision-aware-optimizer"}},
        {"--save-params-interval 5 --tensor-model-parallel-size 4", {"--overlap-param-gather"}},
        {"--check-weight-hash-across-dp-replicas-interval 5 --tensor-model-parallel-size 4",
         {"optim_grads_params"}},
        {"--rampup-batch-size 32 32 1000 --tensor-model-parallel-size 8", {"--micro-batch-size"}},
        {"--fp8-format hybrid --tensor-model-parallel-size 8", {"--fp8-recipe", "--fp8-format"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        ask(&b, "2x8:H100", cases[i].flags);
        assert_true(b.better_plan->better);
        assert_true(*b.better_plan->change.add);
        for (int k = 0; k < 3 && cases[i].never[k]; k++)
            if (lists(b.better_plan->change.add, cases[i].never[k]))
                fail_msg("%s: add %s", cases[i].flags, b.better_plan->change.add);
        release(&b);
    }
}

/* 6 sequences of an evaluation go to 1, 2, 3 or 6 ranks. */
static void evaluation_divides(void **state)
{
    struct bench b;
    (void)state;
    ask(&b, "2x8:H100",
        "--tensor-model-parallel-size 8 --eval-global-batch-size +6 --eval-micro-batch-size 1");
    assert_true(b.better_plan->better);
    assert_int_equal(6 % b.better_plan->change.plan->strategy.dp, 0);
    release(&b);
}

static void quotes_for_a_shell(void **state)
{
    struct bench b;
    (void)state;
    ask(&b, "2x8:H100", "--pipeline-model-parallel-size 4 --defer-embedding-wgrad-compute");
    const char *layout = strstr(b.better_plan->change.add, "--pipeline-model-parallel-layout ");
    assert_non_null(layout);
    assert_int_equal(layout[strlen("--pipeline-model-parallel-layout ")], '\'');
    release(&b);
}

static void says_the_environment(void **state)
{
    struct bench b;
    (void)state;
    ask(&b, "2x8:H100", "--tensor-model-parallel-size 8");
    assert_true(b.better_plan->change.plan->strategy.fsdp != FSDP_NONE);
    assert_string_equal(b.better_plan->unset, "CUDA_DEVICE_MAX_CONNECTIONS");
    assert_string_equal(b.better_plan->env, "");
    release(&b);
    ask(&b, "2x8:A100-40GB", "--optimizer muon --pipeline-model-parallel-size 8");
    assert_true(b.better_plan->change.plan->strategy.tp > 1);
    assert_string_equal(b.better_plan->env, "CUDA_DEVICE_MAX_CONNECTIONS=1");
    assert_string_equal(b.better_plan->unset, "");
    release(&b);
}

static void says_why_not(void **state)
{
    static const struct {
        const char *cluster, *flags, *why;
    } cases[] = {
        {"1x8:H100,1x8:A100", "--pipeline-model-parallel-size 2", "several groups of nodes"},
        {"2x8:H100",
         "--tensor-model-parallel-size 8 --cuda-graph-impl local --cuda-graph-modules attn",
         "--cuda-graph-modules: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        ask(&b, cases[i].cluster, cases[i].flags);
        assert_false(b.better_plan->better);
        assert_non_null(b.better_plan->why_not);
        assert_non_null(strstr(b.better_plan->why_not, cases[i].why));
        release(&b);
    }
}

/* Every flag that binds a plan is one of Megatron's, and its rule can be read. */
static void limits_are_of_flags(void **state)
{
    static const char *const flags[] = {
#define LIMIT(flag, harmless, rule) flag,
#define KEEP(flag, harmless, param) flag,
#define SET(flag, harmless, param, value) flag,
#define OPEN(flag, harmless, why) flag,
#include "import/megatron/flag_limits.def"
    };
    static const char *const rules[] = {
#define LIMIT(flag, harmless, rule) "require " rule "\n",
#define KEEP(flag, harmless, param)
#define SET(flag, harmless, param, value)
#define OPEN(flag, harmless, why)
#include "import/megatron/flag_limits.def"
    };
    struct rules read;
    struct arena mem;
    struct error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (words_most_values(flags[i]) < 0)
            fail_msg("%s is no flag", flags[i]);
    rules_init(&read);
    arena_init(&mem);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules_add(&read, rules[i], strlen(rules[i]), "limits", &mem, &err))
            fail_msg("%s", err.text);
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_users_flags), cmocka_unit_test(keeps_to_what_flags_allow),
        cmocka_unit_test(evaluation_divides),    cmocka_unit_test(quotes_for_a_shell),
        cmocka_unit_test(says_the_environment),  cmocka_unit_test(says_why_not),
        cmocka_unit_test(limits_are_of_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
