/* Mixed jobs on FlagScale: which meshes it refuses, its flags in both directions, and that a plan
 * leads back to itself. */
#include "asked.h"
#include "base/str.h"
#include "export/export.h"
#include "import/megatron/flags.h"
#include "report/plan_words.h"
#include "strategy/mesh_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

static const char *const *split_words(const char *text, int *count)
{
    const char **word = arena_array(&mem, strlen(text) / 2 + 1, sizeof *word);
    int n = 0;
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        word[n++] = arena_copy(&mem, text, length);
        text += length;
    }
    *count = n;
    return word;
}

/* "tp=2 dp=4": parameters of a strategy, by their names. */
static void set_pairs(struct strategy *s, const char *text)
{
    int count;
    const char *const *pairs = split_words(text, &count);
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(pairs[i], "=");
        int p = param_find(arena_copy(&mem, pairs[i], length)), value = 0;
        struct error err = {0};
        assert_true(p >= 0);
        must(param_parse((enum param)p, pairs[i] + length + 1, &value, &err), &err);
        strategy_set(s, (enum param)p, value);
    }
}

/* A mesh that runs `s` but for `pairs`. */
static struct mesh mesh_of(int group, int stages, const struct strategy *s, const char *pairs)
{
    struct strategy own = *s;
    struct mesh m = {.group = &cluster.group[group], .stages = stages, .own = true};
    set_pairs(&own, pairs);
#define X(name) m.name = own.name;
    MESH_TABLE(X)
#undef X
    return m;
}

/* Two meshes of two stages: parameters of all, what the second has of its own, and the message. */
static const struct {
    const char *model, *all, *own, *refused;
} REFUSALS[] = {
    {"llama3-8b", "tp=2 dp=4", "", NULL},
    {"llama3-8b", "tp=2 dp=4 seq_parallel=on", "tp=4 dp=2 micro_batch=2", NULL},
    {"llama3-8b", "tp=2 dp=4 micro_batch=3", "dp=12 micro_batch=1", NULL},
    {"llama3-8b", "tp=2 dp=4", "dp=3 micro_batch=1",
     "FlagScale: dp 3 of mesh 2 does not divide dp x micro-batch of the first mesh, 4 x 1"},
    {"llama3-8b", "tp=2 dp=4", "dp=2",
     "FlagScale: the micro-batch of mesh 2 is 1, but dp x micro-batch of the first mesh by dp 2 "
     "makes it 2"},
    {"llama3-8b", "tp=2 dp=4 cp=2", "",
     "FlagScale: cp is 2, meshes run without context parallelism"},
    {"llama3-8b", "tp=2 dp=4 vpp=2", "", "FlagScale: vpp is 2, meshes run without virtual stages"},
    {"llama3-8b", "dp=8 optimizer_instances=2", "",
     "FlagScale: the distributed optimizer has 2 instances, meshes run one"},
    {"llama3-8b", "tp=2 dp=4", "tp=4",
     "FlagScale: meshes 1 and 2 have tp 2 and 4: transfers between them need sequence "
     "parallelism"},
    {"llama3-8b", "tp=2 dp=4 seq_parallel=on tp_overlap=on", "tp=1",
     "FlagScale: overlap of tensor-parallel communication needs sequence parallelism, which mesh "
     "2 with tp 1 has not"},
    {"llama3-8b", "tp=2 dp=4", "recompute=full recompute_method=block recompute_layers=2", NULL},
    {"llama3-8b", "tp=2 dp=4 recompute=selective recompute_modules=mlp", "", NULL},
    {"llama3-8b", "tp=2 dp=4 recompute=selective recompute_modules=mlp", "recompute=none",
     "FlagScale: mesh 1 and mesh 2 recompute differently and one selectively: only full recompute "
     "and none can differ"},
    {"llama3.2-1b", "tp=2 dp=4 seq_parallel=on", "tp=4",
     "FlagScale: tied embeddings: the first and the last mesh need one tp, they have 2 and 4"},
    {"llama3.2-1b", "tp=2 dp=6", "dp=4 micro_batch=1",
     "FlagScale: dp 4 of mesh 2 does not divide dp x micro-batch of the first mesh, 6 x 1"},
    {"llama3.2-1b", "tp=2 dp=6 micro_batch=2 dist_opt=on", "dp=4 micro_batch=3",
     "FlagScale: tied embeddings with the distributed optimizer: dp of the first and the last mesh "
     "must divide each other, they are 6 and 4"},
    {"llama3.2-1b", "tp=2 dp=6 micro_batch=2", "dp=4 micro_batch=3", NULL},
    {"llama3.2-1b", "tp=2 dp=4 dist_opt=on", "dp=2 micro_batch=2", NULL},
    {"llama3.2-1b", "tp=2 dp=1024 dist_opt=on", "dp=512 micro_batch=2",
     "FlagScale: tied embeddings with the distributed optimizer: dp 1024 does not divide the 64128 "
     "rows of the embedding on a GPU"},
    {"deepseek-v3", "tp=2 dp=4 seq_parallel=on", "tp=4",
     "FlagScale: multi-token prediction: the first and the last mesh need one tp, they have 2 and "
     "4"},
};

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(REFUSALS); i++) {
        struct strategy s;
        load(REFUSALS[i].model, "2x8:A100,2x8:H100");
        strategy_init(&s);
        s.pp = 4;
        set_pairs(&s, REFUSALS[i].all);
        struct mesh_list l = {2, {mesh_of(0, 2, &s, ""), mesh_of(1, 2, &s, REFUSALS[i].own)}};
        const char *why = meshes_refused(&l, &s, &model, &mem);
        if (why ? !REFUSALS[i].refused || strcmp(why, REFUSALS[i].refused) != 0
                : REFUSALS[i].refused != NULL)
            fail_msg("%s / %s: %s", REFUSALS[i].all, REFUSALS[i].own, why ? why : "not refused");
        assert_true(meshes_differ(&l, &s) == (*REFUSALS[i].own != 0));
    }
    arena_release(&mem);
}

/* Ranks of one device type are consecutive, so its meshes are, and none is empty. */
static void order_of_types(void **state)
{
    struct strategy s;
    (void)state;
    load("llama3-8b", "2x8:A100,2x8:H100");
    strategy_init(&s);
    struct mesh a = mesh_of(0, 1, &s, ""), b = mesh_of(1, 1, &s, ""), none = a;
    struct mesh_list mixed = {3, {a, b, a}}, sorted = {3, {a, a, b}}, empty = {2, {a, b}};
    none.stages = 0;
    empty.mesh[1] = none;
    assert_string_equal(
        meshes_refused(&mixed, &s, &model, &mem),
        "FlagScale: meshes 1 and 3 are on the same nodes with another between them: "
        "ranks of one device type are consecutive");
    assert_null(meshes_refused(&sorted, &s, &model, &mem));
    assert_string_equal(meshes_refused(&empty, &s, &model, &mem),
                        "FlagScale: mesh 2 has no pipeline stage, each needs one");
    arena_release(&mem);
}

static const char *exported(const struct strategy *s, const struct layout *layout,
                            const struct mesh_list *l)
{
    const char **flags;
    size_t count;
    struct error err = {0};
    struct str text;
    must(export_flagscale_flags(&model, s, layout, l, NULL, &mem, &flags, &count, &err), &err);
    str_init(&text);
    for (size_t i = 0; i < count; i++)
        str_addf(&text, "%s%s", i ? " " : "", flags[i]);
    const char *copy = arena_string(&mem, str_text(&text));
    str_release(&text);
    return copy;
}

/* Pools of two groups, parameters of all, what the second mesh has of its own, and what stands in
 * the flags and what does not. */
static const struct {
    const char *model, *pool, *all, *own, *flags, *without;
} EXPORTS[] = {
    {"llama3-8b", "2x8:A100,1x8:H100", "tp=2 dp=4 seq_parallel=on micro_batch=1",
     "tp=1 dp=4 micro_batch=1",
     "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --micro-batch-size 1 "
     "--sequence-parallel --attention-dropout 0.0 --hidden-dropout 0.0 "
     "--no-create-attention-mask-in-dataloader --enable-hetero "
     "--hetero-device-types A100 H100 --hetero-process-meshes 2 1 1 4 2 1 1 1 4 2 "
     "--hetero-pipeline-layer-split 5 6 10 11",
     "-per- --use-partial --pipeline-model-parallel-layout --recompute"},
    {"llama3-8b", "2x8:A100,2x8:A100@50", "tp=2 dp=4", "",
     "--hetero-device-types A100 A100-2 --hetero-process-meshes 2 1 1 4 2 2 1 1 4 2", "-per-"},
    {"llama3.2-1b", "2x8:A100,1x8:H100", "tp=2 dp=4 dist_opt=on", "dp=2 micro_batch=2",
     "--hetero-process-meshes 2 1 1 4 2 2 1 1 2 2 --hetero-pipeline-layer-split 5 6 2 3 "
     "--use-partial-reduce-for-shared-embedding",
     "-per-"},
    {"mixtral-8x7b", "2x8:A100,2x8:H100", "tp=2 dp=4 ep=4 etp=1 seq_parallel=on", "tp=1 ep=2 dp=4",
     "--hetero-process-meshes 2 1 4 4 2 1 1 2 4 2 --hetero-pipeline-layer-split 5 6 10 11 "
     "--expert-tensor-parallel-size-per-process-mesh 1 1",
     "--recompute"},
    {"llama3-8b", "2x8:A100,2x8:H100", "tp=2 dp=4 global_batch=64",
     "recompute=full recompute_method=block recompute_layers=3",
     "--recompute-granularity full --recompute-method block --recompute-num-layers 3 ", "-modules"},
    {"llama3-8b", "2x8:A100,2x8:H100", "tp=2 dp=4 global_batch=64",
     "recompute=full recompute_method=block recompute_layers=3",
     "--recompute-granularity-per-stage-micro-batch [2,16,0] [2,16,1] "
     "--recompute-method-per-stage-micro-batch [2,16,0] [2,16,1] "
     "--recompute-num-layers-per-stage-micro-batch [2,16,1] [2,16,3]",
     "-modules"},
};

static void set_layout(struct layout *l, int layers)
{
    const int counts[] = {5, 6, (layers - 11) / 2, (layers - 10) / 2};
    *l = (struct layout){.stages = 4, .mtp_stage = 3, .loss_stage = 3};
    for (int i = 0; i < 4; i++) {
        l->layers[i] = (uint16_t)counts[i];
        l->first[i] = (uint16_t)(i ? l->first[i - 1] + l->layers[i - 1] : 0);
    }
}

static void must_lead_back(const char *flags, const struct strategy *s, const struct mesh_list *l)
{
    int count;
    const char *const *words = split_words(flags, &count);
    struct flags_result r;
    struct error err = {0};
    must(flags_import(count, words, &r, &mem, &err) && flags_model(&r, NULL, &err) &&
             flags_finish(&r, mesh_list_gpus(l, s), &err),
         &err);
    assert_int_equal(r.reasons.count, 0);
    assert_true(r.hetero && r.has_layout && r.meshes.count == l->count);
    assert_true(mesh_list_uniform(&r.meshes) == !meshes_differ(l, s));
    for (int i = 0; i < l->count; i++) {
        struct strategy one, two, a = *mesh_strategy(&l->mesh[i], s, &one);
        a.split = SPLIT_LAYOUT;
        assert_int_equal(strategy_compare(&a, mesh_strategy(&r.meshes.mesh[i], &r.strategy, &two)),
                         0);
        assert_int_equal(r.meshes.mesh[i].stages, l->mesh[i].stages);
    }
}

static void exports(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(EXPORTS); i++) {
        struct strategy s;
        struct layout layout;
        int count;
        load(EXPORTS[i].model, EXPORTS[i].pool);
        strategy_init(&s);
        s.pp = 4, s.split = SPLIT_LAYOUT, s.seq_len = 4096, s.global_batch = 4;
        set_pairs(&s, EXPORTS[i].all);
        set_layout(&layout, model.layers);
        struct mesh_list l = {2, {mesh_of(0, 2, &s, ""), mesh_of(1, 2, &s, EXPORTS[i].own)}};
        const char *flags = exported(&s, &layout, &l);
        if (!strstr(flags, EXPORTS[i].flags))
            fail_msg("%s is not in %s", EXPORTS[i].flags, flags);
        const char *const *without = split_words(EXPORTS[i].without, &count);
        for (int k = 0; k < count; k++)
            if (strstr(flags, without[k]))
                fail_msg("%s is in %s", without[k], flags);
        must_lead_back(flags, &s, &l);
    }
    arena_release(&mem);
}

/* The layers of FlagScale's stages are a list: nothing else can be said. */
static void impossible_exports(void **state)
{
    struct strategy s;
    struct layout layout;
    const char **flags;
    size_t count;
    struct error err = {0};
    (void)state;
    load("deepseek-v3", "2x8:A100,2x8:H100");
    strategy_init(&s);
    s.pp = 4;
    set_layout(&layout, model.layers);
    struct mesh_list l = {2, {mesh_of(0, 2, &s, ""), mesh_of(1, 2, &s, "")}};
    layout.mtp_stage = 2;
    assert_false(export_flagscale_flags(&model, &s, &layout, &l, NULL, &mem, &flags, &count, &err));
    assert_string_equal(err.text,
                        "FlagScale: output layer and MTP layers must be on the last stage, 3");
    layout.stages = 8;
    assert_false(export_flagscale_flags(&model, &s, &layout, &l, NULL, &mem, &flags, &count, &err));
    assert_string_equal(err.text, "the layers are split over 8 stages, the pipeline has 4");
    arena_release(&mem);
}

#define PARALLEL "--bf16 --pipeline-model-parallel-size 2 --enable-hetero --sequence-parallel "
#define ON_TWO PARALLEL "--hetero-device-types A100 H100 --hetero-process-meshes "

/* Flags on 1x8:A100,1x8:H100, reasons, and the engine of the plan. */
static const struct {
    const char *model, *flags, *reason, *engine;
} ESTIMATES[] = {
    {"llama3-8b", ON_TWO "2 1 1 4 1 4 1 1 2 1", NULL, "flagscale"},
    {"llama3-8b", ON_TWO "1 1 1 8 1 4 1 1 2 1", NULL, "flagscale"},
    {"llama3-8b", ON_TWO "2 1 1 4 1 2 1 1 4 1", NULL, "megatron"},
    {"llama3-8b", ON_TWO "2 2 1 2 1 2 2 1 2 1",
     "FlagScale: cp is 2, meshes run without context parallelism", "megatron"},
    {"llama3.2-1b", ON_TWO "2 1 1 4 1 2 1 1 4 1 --use-distributed-optimizer", NULL, "megatron"},
    {"llama3-8b", ON_TWO "2 1 1 4 1 4 1 1 2 1 --num-virtual-stages-per-pipeline-rank 2",
     "FlagScale: meshes run without virtual stages", "flagscale"},
    {"llama3-8b",
     ON_TWO "2 1 1 4 1 4 1 1 2 1 --recompute-granularity-per-stage-micro-batch [2,1,1]",
     "FlagScale: --recompute-granularity-per-stage-micro-batch needs --recompute-granularity full "
     "and a --recompute-method",
     "flagscale"},
    {"llama3-8b",
     ON_TWO "2 1 1 4 1 4 1 1 2 1 --recompute-granularity full --recompute-method uniform "
            "--recompute-num-layers 1 --recompute-granularity-per-stage-micro-batch [2,5,1]",
     "FlagScale: rows of --recompute-granularity-per-stage-micro-batch must be for 1 micro-batches",
     "flagscale"},
};

static void estimates(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ESTIMATES); i++) {
        struct asked q;
        struct estimate_query e;
        struct error err = {0};
        struct plan p;
        int count;
        asked_init(&q);
        const char *const *words = split_words(ESTIMATES[i].flags, &count);
        must(asked_set(&q, "cluster", "1x8:A100,1x8:H100", &err) &&
                 asked_set(&q, "model", ESTIMATES[i].model, &err) &&
                 asked_flags(&q, (size_t)count, words, &err) && asked_estimate(&q, &e, &err),
             &err);
        plan_evaluate(&e.scene, &e.strategy, e.layout, &mem, &p);
        assert_true(p.computed && p.gpus == 16);
        assert_string_equal(plan_engine(&p), ESTIMATES[i].engine);
        assert_int_equal(e.reasons.count, ESTIMATES[i].reason != NULL);
        if (e.reasons.count)
            assert_string_equal(e.reasons.text[0], ESTIMATES[i].reason);
        asked_release(&q);
    }
    arena_release(&mem);
}

/* Rules see each mesh as it runs. */
static void rules_of_each_mesh(void **state)
{
    struct asked q;
    struct estimate_query e;
    struct error err = {0};
    double values[SLOTS];
    int count;
    (void)state;
    asked_init(&q);
    const char *const *words =
        split_words(ON_TWO "1 1 2 8 1 4 1 4 2 1 --micro-batch-size 2", &count);
    must(asked_set(&q, "cluster", "1x8:A100,1x8:H100", &err) &&
             asked_set(&q, "model", "mixtral-8x7b", &err) &&
             asked_flags(&q, (size_t)count, words, &err) && asked_estimate(&q, &e, &err),
         &err);
    estimate_slots(&e, 0, values);
    assert_true(values[PARAM_tp] == 1 && values[PARAM_ep] == 2 && values[PARAM_micro_batch] == 2);
    assert_true(values[PARAM_seq_parallel] == 0);
    estimate_slots(&e, 1, values);
    assert_true(values[PARAM_tp] == 4 && values[PARAM_ep] == 4 && values[PARAM_micro_batch] == 8);
    assert_true(values[PARAM_seq_parallel] == 1 && values[SLOT_micro_batches] == 1);
    asked_release(&q);
    arena_release(&mem);
}

/* Own values that are those of all need no FlagScale. */
static void engine_of_a_plan(void **state)
{
    static const struct {
        const char *own, *engine, *flag;
    } cases[] = {{"", "megatron", "--pipeline-model-parallel-layout"},
                 {"recompute_modules=mlp", "megatron", "--pipeline-model-parallel-layout"},
                 {"tp=1 dp=8 micro_batch=1", "flagscale", "--hetero-pipeline-layer-split"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct strategy s;
        struct plan p;
        struct layout layout;
        const char **words;
        size_t count, found = 0;
        load("llama3-8b", "2x8:A100,2x8:H100");
        strategy_init(&s);
        s.pp = 4, s.split = SPLIT_LAYOUT, s.seq_len = 4096, s.global_batch = 64;
        set_pairs(&s, "tp=2 dp=4 micro_batch=2 seq_parallel=on");
        set_layout(&layout, model.layers);
        struct mesh_list l = {2, {mesh_of(0, 2, &s, ""), mesh_of(1, 2, &s, cases[i].own)}};
        struct scene sc = scene();
        sc.meshes = &l;
        plan_evaluate(&sc, &s, &layout, &mem, &p);
        assert_string_equal(plan_engine(&p), cases[i].engine);
        assert_true(plan_flags(&p, &mem, &words, &count));
        for (size_t k = 0; k < count; k++)
            found += strcmp(words[k], cases[i].flag) == 0;
        assert_int_equal(found, 1);
    }
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),         cmocka_unit_test(order_of_types),
        cmocka_unit_test(exports),          cmocka_unit_test(impossible_exports),
        cmocka_unit_test(estimates),        cmocka_unit_test(rules_of_each_mesh),
        cmocka_unit_test(engine_of_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
