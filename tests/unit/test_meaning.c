/* Fields of a model that cost nothing and mean something: the tables behind them, what files,
 * pairs and flags say of them, and that every export says all of it again. */
#include "base/arena.h"
#include "base/str.h"
#include "model/hf_config.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct arena mem;

static int open_memory(void **state)
{
    (void)state;
    arena_init(&mem);
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}

static struct model loaded(const char *text)
{
    struct model m;
    struct error err = {0};
    if (!model_load(&m, text, &mem, &err))
        fail_msg("%s: %s", text, err.text);
    return m;
}

static struct model from_json(const char *json)
{
    struct model m;
    struct error err = {0};
    if (!model_from_hf(&m, json, strlen(json), "test.json", &err))
        fail_msg("%s: %s", json, err.text);
    return m;
}

/* "rope_theta=500000 norm_eps=1e-05": that, and Megatron's default in every other field named. */
static void assert_means(const struct model *m, const char *name, const char *expected)
{
    char pair[64], value[40];
    while (next_word(&expected, pair, sizeof pair)) {
        char *equals = strchr(pair, '=');
        *equals = 0;
        int f = model_meaning_find(pair);
        assert_true(f >= 0);
        model_meaning_print((enum model_meaning)f, model_meaning_get(m, (enum model_meaning)f),
                            value, sizeof value);
        if (strcmp(value, equals + 1) != 0)
            fail_msg("%s: %s is %s, expected %s", name, pair, value, equals + 1);
    }
}

static void table_is_sound(void **state)
{
    (void)state;
    for (int i = 0; i < MODEL_MEANINGS; i++) {
        const struct model_meaning_info *f = model_meaning_info((enum model_meaning)i);
        const char *words = f->words;
        char word[32], text[40];
        int count = 0;
        double again = -1;
        while (next_word(&words, word, sizeof word))
            count++;
        assert_int_equal(count, f->kind == MEANING_WORD ? f->hi + 1 : 0);
        assert_true(f->lo <= f->init && f->init <= f->hi);
        assert_true(f->kind != MEANING_FLAG || (f->lo == 0 && f->hi == 1));
        assert_int_equal(model_field_find(f->name), -1);
        assert_int_equal(model_meaning_find(f->name), i);
        model_meaning_print((enum model_meaning)i, f->init, text, sizeof text);
        assert_true(model_meaning_parse((enum model_meaning)i, text, &again));
        assert_true(again == f->init);
    }
}

static const char *const FAMILIES[] = {
#define ON(field)
#define SET(field, value)
#define FAMILY(type, ...) type,
#include "model/families.def"
#undef FAMILY
#undef SET
#undef ON
};

static void every_family_has_a_line_of_every_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(FAMILIES); i++)
        for (int f = 0; f < MODEL_MEANINGS; f++)
            if (hf_meaning_line(FAMILIES[i], (enum model_meaning)f) < 0)
                fail_msg("hf_meaning.def: %s needs exactly one line of %s", FAMILIES[i],
                         model_meaning_info((enum model_meaning)f)->name);
}

/* As the makers publish them. */
static void presets_mean_what_is_published(void **state)
{
    static const struct {
        const char *model, *means;
    } cases[] = {
        {"llama2-7b", "rope_theta=10000 norm_eps=1e-05 rope_scaling=none activation=silu"},
        {"llama3-8b", "rope_theta=500000 norm_eps=1e-05 rope_scaling=none init_std=0.02"},
        {"llama3-405b", "rope_theta=500000 rope_scaling=llama3 rope_factor=8 rope_original=8192"},
        {"llama3.2-1b", "rope_scaling=llama3 rope_factor=32 rope_low=1 rope_high=4"},
        {"qwen2.5-7b", "rope_theta=1000000 norm_eps=1e-06"},
        {"qwen2.5-72b", "rope_theta=1000000 norm_eps=1e-05"},
        {"qwen3-30b-a3b", "rope_theta=1000000 norm_eps=1e-06 aux_loss=0.001 pre_softmax=0"},
        {"mixtral-8x7b", "rope_theta=1000000 norm_eps=1e-05 aux_loss=0.02 balance=aux_loss"},
        {"deepseek-v2",
         "rope_scaling=yarn rope_factor=40 mscale=0.707 mscale_all=0.707 rope_original=4096 "
         "routed_scale=16 pre_softmax=1 aux_loss=0.001 balance=seq_aux_loss norm_eps=1e-06"},
        {"deepseek-v3", "rope_factor=40 mscale=1 mscale_all=1 routed_scale=2.5 pre_softmax=0 "
                        "topk_raw=0 bias_rate=0.001 mtp_loss=0.1"},
        {"gpt-oss-20b", "rope_theta=150000 rope_scaling=yarn rope_factor=32 yarn_exact=1 clamp=7 "
                        "activation=quick_gelu glu_offset=1 aux_loss=0.9"},
        {"nemotron4-15b", "rope_percent=0.5 norm_1p=1 activation=relu2 init_std=0.0134"},
        {"bloom-176b", "alibi=1 activation=gelu"},
        {"glm-130b", "deepnorm=1 activation=gelu"},
        {"gpt3-175b", "activation=gelu norm_eps=1e-05"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model m = loaded(cases[i].model);
        assert_means(&m, cases[i].model, cases[i].means);
    }
}

#define SHAPE                                                                                      \
    "\"num_hidden_layers\":4,\"hidden_size\":64,\"intermediate_size\":128,"                        \
    "\"num_attention_heads\":4,\"vocab_size\":100"

/* What a silent file means, and files by the names of transformers 4 and 5. */
static void files_mean_what_their_family_does(void **state)
{
    static const struct {
        const char *json, *means;
    } cases[] = {
        {"{\"model_type\":\"llama\"," SHAPE "}", "rope_theta=10000 norm_eps=1e-06 init_std=0.02"},
        {"{\"model_type\":\"mixtral\",\"num_local_experts\":4,\"num_experts_per_tok\":1," SHAPE "}",
         "rope_theta=1000000 norm_eps=1e-05 aux_loss=0.001 pre_softmax=1"},
        {"{\"model_type\":\"nemotron\"," SHAPE "}", "rope_percent=0.5 norm_1p=1 activation=relu2"},
        {"{\"model_type\":\"gemma2\",\"sliding_window\":16," SHAPE "}",
         "attn_softcap=50 final_softcap=30 query_scale=0 embed_scale=8 activation=gelu norm_1p=1"},
        {"{\"model_type\":\"gemma3_text\",\"sliding_window\":16,\"query_pre_attn_scalar\":"
         "168," SHAPE "}",
         "rope_theta=1000000 rope_local=10000 query_scale=168 attn_softcap=0"},
        {"{\"model_type\":\"llama\",\"rope_parameters\":{\"rope_theta\":5e5,\"rope_type\":"
         "\"llama3\",\"factor\":8.0,\"low_freq_factor\":1,\"high_freq_factor\":4,"
         "\"original_max_position_embeddings\":8192}," SHAPE "}",
         "rope_theta=500000 rope_scaling=llama3 rope_factor=8 rope_original=8192"},
        {"{\"model_type\":\"qwen2\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0},"
         "\"max_position_embeddings\":32768," SHAPE "}",
         "rope_scaling=yarn rope_factor=4 rope_original=32768 beta_fast=32"},
        {"{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"linear\",\"factor\":1}," SHAPE "}",
         "rope_scaling=none rope_factor=0"},
        {"{\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"fancy\"},"
         "\"hidden_act\":\"mish\"," SHAPE "}",
         "rope_scaling=other activation=other"},
        {"{\"model_type\":\"gpt_neox\"," SHAPE "}", "rope_percent=0.25 rope_theta=10000"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model m = from_json(cases[i].json);
        assert_means(&m, cases[i].json, cases[i].means);
    }
}

static void wrong_values_name_the_place(void **state)
{
    static const struct {
        const char *keys, *message;
    } cases[] = {
        {"\"rope_theta\":\"big\"", "test.json: rope_theta is no number, expected 1 to 1e+12 (base "
                                   "of the rotary frequencies)"},
        {"\"rms_norm_eps\":2",
         "test.json: rms_norm_eps is 2, expected 1e-20 to 1 (epsilon of norms)"},
        {"\"rope_scaling\":{\"type\":\"yarn\"}",
         "test.json: rope_factor is missing: how far rope_scaling stretches"},
        {"\"hidden_act\":3", "test.json: hidden_act is no text, expected one of: auto silu gelu "
                             "relu2 quick_gelu relu other (of the MLP, auto = silu with a gate, "
                             "gelu without)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model m;
        struct error err = {0};
        char json[512];
        snprintf(json, sizeof json, "{\"model_type\":\"llama\",%s," SHAPE "}", cases[i].keys);
        assert_false(model_from_hf(&m, json, strlen(json), "test.json", &err));
        assert_string_equal(err.text, cases[i].message);
    }
}

#define PAIRS "layers=4,hidden=64,ffn=128,heads=4,vocab=100"

static void pairs_take_meanings(void **state)
{
    static const struct {
        const char *pairs, *message;
    } wrong[] = {
        {PAIRS ",aux_loss=0.01", "model: aux_loss is 0.01, which means nothing without experts"},
        {PAIRS ",rope_theta=0",
         "model: rope_theta is '0', expected a number from 1 to 1000000000000 (base of the rotary "
         "frequencies)"},
        {PAIRS ",rope_scaling=fast", "model: rope_scaling is 'fast', expected one of: none linear "
                                     "llama3 yarn dynamic longrope other (how rotary frequencies "
                                     "are stretched)"},
        {PAIRS ",norm_eps=1e-6,norm_eps=1e-6", "model: norm_eps is given twice"},
        {PAIRS ",rope_teta=1", "model: unknown key 'rope_teta' (did you mean rope_theta?)"},
        {PAIRS ",gated=0,rope_theta=5e5",
         "model: rope_theta is 500000, which means nothing without rotary positions"},
    };
    (void)state;
    struct model m = loaded(PAIRS ",rope_theta=500000,norm_eps=1e-6,rope_scaling=llama3");
    assert_means(&m, "pairs", "rope_theta=500000 norm_eps=1e-06 rope_factor=8 rope_original=8192");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct error err = {0};
        assert_false(model_from_pairs(&m, wrong[i].pairs, &err));
        if (strncmp(err.text, wrong[i].message, strlen(wrong[i].message)) != 0)
            assert_string_equal(err.text, wrong[i].message);
    }
}

static void differences_are_said(void **state)
{
    struct model a = loaded("llama3-8b"), b = loaded("llama3-8b");
    enum model_meaning from = (enum model_meaning)0;
    char difference[160] = "";
    (void)state;
    assert_true(model_means_same(&a, &b, &from, difference, sizeof difference));
    b.norm_eps = 1e-6;
    assert_true(model_same(&a, &b, difference, sizeof difference));
    assert_false(model_means_same(&a, &b, &from, difference, sizeof difference));
    assert_string_equal(difference, "norm_eps is 1e-05 here and 1e-06 there");
    assert_int_equal(from, MEANING_norm_eps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(every_family_has_a_line_of_every_field),
        cmocka_unit_test(presets_mean_what_is_published),
        cmocka_unit_test(files_mean_what_their_family_does),
        cmocka_unit_test(wrong_values_name_the_place),
        cmocka_unit_test(pairs_take_meanings),
        cmocka_unit_test(differences_are_said),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
