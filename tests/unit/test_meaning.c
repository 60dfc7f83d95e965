/* Fields of a model that cost nothing and mean something: the tables behind them, what files,
 * pairs and flags say of them, and that every export says all of it again. */
#include "base/arena.h"
#include "base/str.h"
#include "export/export.h"
#include "export/job.h"
#include "import/megatron/flags.h"
#include "import/megatron/overrides.h"
#include "import/megatron/param_flags.h"
#include "import/shell/launch.h"
#include "model/hf_config.h"
#include "model/model.h"
#include "strategy/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

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

static void assert_families(const char *key, const char *families)
{
    char family[64];
    for (const char *at = families; next_word(&at, family, sizeof family);) {
        bool known = false;
        for (size_t i = 0; i < COUNT(FAMILIES); i++)
            known = known || strcmp(FAMILIES[i], family) == 0;
        if (!known)
            fail_msg("hf_keys.def: %s is of %s, which is no family", key, family);
    }
}

static void keys_are_of_known_families_and_sorted(void **state)
{
    static const struct {
        const char *key, *families;
    } keys[] = {
#define OF_FAMILIES(key, families) {key, families},
#define OF_CODE(families, keys)
#define OF_ALL(keys)
#include "model/hf_keys.def"
    };
    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_families(keys[i].key, keys[i].families);
        assert_true(i == 0 || strcmp(keys[i - 1].key, keys[i].key) < 0);
    }
}

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
    "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":100"

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
        {"{\"model_type\":\"gpt2\",\"resid_pdrop\":0.2," SHAPE "}",
         "attention_dropout=0.1 hidden_dropout=0.2 rope_theta=10000"},
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

static void exported(const struct model *m, const char *version, const char ***flags, size_t *count)
{
    const struct export_run run = {.attention_dropout = m->attention_dropout,
                                   .hidden_dropout = m->hidden_dropout};
    struct strategy s;
    struct error err = {0};
    strategy_init(&s);
    s.seq_len = 1;
    if (!export_megatron_flags(m, &s, NULL, version, &run, &mem, flags, count, &err))
        fail_msg("%s: %s", m->name, err.text);
}

static struct flags_result imported(const char *name, size_t count, const char *const *flags)
{
    struct flags_result r;
    struct error err = {0};
    if (!flags_import((int)count, flags, &r, &mem, &err))
        fail_msg("%s: %s", name, err.text);
    assert_true(r.has_model);
    return r;
}

static struct flags_result read_back(const struct model *m, const char *version)
{
    const char **flags;
    size_t count;
    exported(m, version, &flags, &count);
    return imported(m->name, count, (const char *const *)flags);
}

/* Every field comes back, or the answer names it. */
static void assert_same(const struct model *m, const struct model *back, int release)
{
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind != NONE && i != MODEL_max_seq &&
            model_field_get(m, (enum model_field)i) != model_field_get(back, (enum model_field)i))
            fail_msg("%s: %s is %d, came back as %d", m->name, FIELD_FLAGS[i].flag,
                     model_field_get(m, (enum model_field)i),
                     model_field_get(back, (enum model_field)i));
    for (int i = 0; i < MODEL_MEANINGS; i++) {
        enum model_meaning f = (enum model_meaning)i;
        if (model_meaning_counts(m, f) && !meaning_untold(m, f, release) &&
            model_meaning_get(m, f) != model_meaning_get(back, f))
            fail_msg("%s: %s is %.17g, came back as %.17g", m->name, model_meaning_info(f)->name,
                     model_meaning_get(m, f), model_meaning_get(back, f));
    }
}

static void assert_told(const struct model *m, const char *version)
{
    struct flags_result r = read_back(m, version);
    int release;
    assert_true(export_release(version, &release, NULL, NULL));
    assert_int_equal(r.model.max_seq, m->max_seq);
    assert_same(m, &r.model, release);
}

static void presets_come_back(void **state)
{
    (void)state;
    for (const struct model_preset *p = model_presets(); p->name; p++) {
        struct model m = loaded(p->name);
        if (model_lacks(&m)) /* there are no flags for it */
            continue;
        assert_told(&m, NULL);
        assert_told(&m, "0.19");
    }
}

/* One file for each family, with keys that say something else than the family's defaults. */
static void families_come_back(void **state)
{
    static const char *const more[][2] = {
        {"llama", "\"rope_theta\":5e5,\"rope_scaling\":{\"type\":\"linear\",\"factor\":4}"},
        {"mistral", "\"rope_theta\":1e9,\"rms_norm_eps\":1e-7,\"sliding_window\":16"},
        {"qwen2", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"beta_fast\":16}"},
        {"qwen3", "\"initializer_range\":0.006,\"head_dim\":32"},
        {"qwen2_moe", "\"router_aux_loss_coef\":0.01"},
        {"qwen3_moe", "\"norm_topk_prob\":true,\"partial_rotary_factor\":0.75"},
        {"mixtral", "\"router_aux_loss_coef\":0"},
        {"deepseek_v2", "\"aux_loss_alpha\":0.003,\"seq_aux\":false,\"routed_scaling_factor\":16"},
        {"deepseek_v3", "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":40,\"mscale\":0.7},"
                        "\"num_nextn_predict_layers\":1"},
        {"kimi_k2", "\"routed_scaling_factor\":2.827,\"rope_theta\":50000"},
        {"gpt_oss", "\"swiglu_limit\":5.5,\"sliding_window\":16"},
        {"gemma3", "\"text_config\":{},\"sliding_window\":16"},
        {"helium", "\"head_dim\":16"},
        {"exaone4_5", "\"text_config\":{},\"sliding_window\":16"},
        {"gpt2", "\"layer_norm_epsilon\":1e-6"},
        {"gpt_neox", "\"rotary_pct\":0.5,\"use_parallel_residual\":false"},
        {"bailing_moe_linear", "\"layer_group_size\":2"},
        {"kimi_linear", "\"linear_attn_config\":{\"full_attn_layers\":[2],\"num_heads\":2,"
                        "\"head_dim\":16},\"num_experts_per_token\":2"},
        {"nemotron_h", "\"hybrid_override_pattern\":\"M*E-\",\"layer_norm_epsilon\":1e-6"},
        {"nemotron", "\"norm_eps\":1e-6,\"partial_rotary_factor\":1.0"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(FAMILIES); i++) {
        const char *keys = "\"sliding_window\":16";
        char json[1024];
        for (size_t k = 0; k < COUNT(more); k++)
            if (strcmp(more[k][0], FAMILIES[i]) == 0)
                keys = more[k][1];
        snprintf(json, sizeof json,
                 "{\"model_type\":\"%s\",%s,\"num_experts\":4,\"num_local_experts\":4,"
                 "\"n_routed_experts\":4,\"num_experts_per_tok\":2,"
                 "\"moe_intermediate_size\":128,\"kv_lora_rank\":8,\"qk_nope_head_dim\":8,"
                 "\"qk_rope_head_dim\":8,\"v_head_dim\":8," SHAPE "}",
                 FAMILIES[i], keys);
        struct model m = from_json(json);
        if (model_lacks(&m))
            continue;
        assert_told(&m, NULL);
        if (!m.pattern[0] && !m.index_heads) /* newer */
            assert_told(&m, "0.16");
    }
}

/* Every field by itself at a value that is nobody's default. */
static void every_field_comes_back(void **state)
{
    static const char *const models[] = {
        PAIRS,
        PAIRS ",learned_pos=1,gated=0",
        PAIRS ",experts=8,topk=2,mtp=1,window=16",
        PAIRS ",experts=8,topk=2,sigmoid_router=1,expert_bias=1,clamped=1",
        PAIRS ",mla=1,kv_lora=8,qk_nope=8,qk_rope=8,v_dim=8,rope_scaling=yarn,rope_factor=2",
        PAIRS ",mla=1,kv_lora=8,qk_nope=8,qk_rope=8,v_dim=8,index_heads=4,index_dim=8,index_topk=4,"
              "index_loss=1",
        PAIRS ",rope_scaling=yarn,rope_factor=2.5",
        PAIRS ",rope_scaling=linear,rope_factor=4",
        PAIRS ",rope_scaling=llama3",
    };
    bool told[MODEL_MEANINGS] = {false};
    (void)state;
    for (size_t k = 0; k < COUNT(models); k++)
        for (int i = 0; i < MODEL_MEANINGS; i++) {
            enum model_meaning f = (enum model_meaning)i;
            struct model m = loaded(models[k]);
            const struct model_meaning_info *info = model_meaning_info(f);
            struct error err = {0};
            double other = info->kind == MEANING_REAL    ? info->hi > 1 ? 3.25 : 0.375
                           : info->kind == MEANING_COUNT ? 3
                                                         : 1;
            if (!model_meaning_counts(&m, f) || f == MEANING_rope_scaling)
                continue;
            model_meaning_set(&m, f, f == MEANING_activation ? ACTIVATION_RELU2 : other);
            assert_true(model_finish_meaning(&m, &err));
            assert_told(&m, NULL);
            told[f] |= !meaning_untold(&m, f, INT_MAX);
        }
    for (int i = 0; i < MODEL_MEANINGS; i++)
        if (!told[i] && MEANING_FLAGS[i].kind != NONE && i != MEANING_rope_scaling &&
            i != MEANING_rope_theta)
            fail_msg("%s was never told", MEANING_FLAGS[i].flag);
}

static void what_is_untold_is_named(void **state)
{
    static const struct {
        const char *model;
        int release;
        const char *text;
    } cases[] = {
        {"llama3-8b", INT_MAX, NULL},
        {"llama3-8b", 7, "rope_theta is 500000: the flag is newer than the release"},
        {"llama3-405b", INT_MAX, NULL},
        {"llama3.2-1b", INT_MAX,
         "rope_factor is 32: Megatron's trainer stretches by 8, whatever --rope-scaling-factor "
         "says"},
        {"gpt-oss-20b", INT_MAX, NULL},
        {"gpt-oss-20b", 18,
         "rope_scaling is yarn: --position-embedding-type yarn works since 0.19"},
        {"deepseek-v3", 12, NULL},
        {"glm-130b", INT_MAX,
         "deepnorm is 1: Megatron's norms stand before attention and MLP; activation is gelu: "
         "Megatron's gated MLPs have silu or quick_gelu"},
        {PAIRS ",rope_scaling=linear,rope_factor=2.5", INT_MAX,
         "rope_scaling is linear: --rotary-seq-len-interpolation-factor takes whole numbers"},
        {PAIRS ",rope_theta=10000.5", INT_MAX,
         "rope_theta is 10000.5: --rotary-base takes whole numbers"},
        {PAIRS ",attn_softcap=50", INT_MAX, "attn_softcap is 50: Megatron has no cap on scores"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct model m = loaded(cases[i].model);
        const char *text = export_untold_text(&m, cases[i].release, &mem);
        if (!text || !cases[i].text)
            assert_ptr_equal(text, cases[i].text);
        else
            assert_string_equal(text, cases[i].text);
    }
}

static const struct {
    const char *section, *class, *names;
} BRIDGE_NAMES[] = {
#define BRIDGE_NAMES(section, class, names) {#section, class, names},
#define BRIDGE_VALUES(setting, values)
#include "bridge_names.def"
};

static const struct {
    const char *setting, *values;
} BRIDGE_VALUES[] = {
#define BRIDGE_NAMES(section, class, names)
#define BRIDGE_VALUES(setting, values) {#setting, values},
#include "bridge_names.def"
};

static bool bridge_knows(const char *section, const char *name)
{
    for (size_t i = 0; i < COUNT(BRIDGE_NAMES); i++)
        if (strcmp(BRIDGE_NAMES[i].section, section) == 0 && is_one_of(name, BRIDGE_NAMES[i].names))
            return true;
    return is_one_of(section, "mixed_precision comm_overlap"); /* have no dot */
}

/* "model.num_layers=32": what stands before the '=', and behind it where few values are right. */
static void assert_bridge_takes(const char *path)
{
    char section[32], name[96] = "", setting[128] = "", value[64] = "";
    sscanf(path, "%31[^.= ].%95[^= ]", section, name);
    if (!bridge_knows(section, name))
        fail_msg("Megatron-Bridge has no %s.%s", section, name);
    sscanf(path, "%127[^= ]=%63[^ '\n]", setting, value);
    for (size_t i = 0; i < COUNT(BRIDGE_VALUES) && *value; i++)
        if (strcmp(BRIDGE_VALUES[i].setting, setting) == 0 &&
            !is_one_of(value, BRIDGE_VALUES[i].values))
            fail_msg("Megatron-Bridge takes no %s for %s", value, setting);
}

/* Every line of the table, whether a plan here has it or not. */
static void bridge_has_every_name(void **state)
{
    static const struct {
        const char *kind, *path;
    } rows[] = {
#define BRIDGE(flag, kind, path) {#kind, path},
#include "export/bridge.def"
#undef BRIDGE
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char word[96];
        const char *at = rows[i].path;
        if (strchr(at, '.') || strcmp(rows[i].kind, "OWN") != 0)
            while (next_word(&at, word, sizeof word))
                assert_bridge_takes(word);
    }
    assert_false(bridge_knows("model", "max_position_embeddings"));
}

static struct str bridge_script(const struct model *m)
{
    const char **flags;
    static const struct model whole = {0};
    struct export_job j = {
        .model = &whole, .title = "t", .name = "n", .release = "r", .branch = "", .parts = 1};
    struct str out;
    exported(m, NULL, &flags, &j.flags);
    j.flag = (const char *const *)flags;
    str_init(&out);
    assert_true(export_bridge(&j, &out, NULL));
    return out;
}

/* Lines between OVERRIDES=( and ): known to Bridge, and the same model when read. */
static void bridge_comes_back(void **state)
{
    (void)state;
    for (const struct model_preset *p = model_presets(); p->name; p++) {
        struct model m = loaded(p->name);
        if (model_lacks(&m))
            continue;
        struct str out = bridge_script(&m);
        struct launch launch;
        struct launch_flags flags;
        struct error err = {0};
        char *text = strstr(str_text(&out), "OVERRIDES=(") + strlen("OVERRIDES=(\n");
        *strstr(text, "\n)") = 0;
        for (const char *at = text; at; at = strchr(at + 1, '\n'))
            assert_bridge_takes(at + strspn(at, "\n '"));
        if (!overrides_read(p->name, text, strlen(text), &launch, &mem, &err))
            fail_msg("%s: %s", p->name, err.text);
        launch_split(&launch, &flags, &mem);
        assert_int_equal(flags.opens, 0);
        struct flags_result r =
            imported(p->name, (size_t)flags.count, (const char *const *)flags.word);
        assert_same(&m, &r.model, INT_MAX);
        str_release(&out);
    }
}

/* A flag that says something else is an error, a missing one whose default is another a note. */
static void flags_and_model_disagree(void **state)
{
    struct model m = loaded("llama3-8b"), other = m;
    struct error err = {0};
    (void)state;
    other.rope_theta = 1e6;
    other.norm_eps = 1e-6;
    struct flags_result r = read_back(&m, NULL);
    assert_true(flags_model(&r, &m, &err));
    assert_int_equal(r.notes.count, 0);
    assert_false(flags_model(&r, &other, &err));
    assert_string_equal(err.text, "--rotary-base and --model llama3-8b disagree: rope_theta is "
                                  "500000 here and 1000000 there");
    m.rope_theta = 10000; /* Megatron's default; 0.6 has no flag of it */
    r = read_back(&m, "0.6");
    m.rope_theta = 500000;
    assert_true(flags_model(&r, &m, &err));
    assert_int_equal(r.notes.count, 1);
    assert_string_equal(r.notes.text[0],
                        "--rotary-base: not there, and the model's is planned: rope_theta is 10000 "
                        "here and 500000 there");
}

/* What is a run's own to set, not the weights', is what the flags say. */
static void settings_of_a_run_are_the_flags(void **state)
{
    struct model m = loaded("qwen3-30b-a3b"), run = m;
    struct error err = {0};
    (void)state;
    run.aux_loss = 0.01;
    run.init_std = 0.006;
    struct flags_result r = read_back(&run, NULL);
    assert_true(flags_model(&r, &m, &err));
    assert_true(r.model.aux_loss == 0.01 && r.model.init_std == 0.006);
    assert_true(r.model.rope_theta == m.rope_theta);
    assert_int_equal(r.notes.count, 2);
    assert_string_equal(
        r.notes.text[0],
        "--init-method-std: planned as given: init_std is 0.006 here and 0.02 there");
    assert_string_equal(
        r.notes.text[1],
        "--moe-aux-loss-coeff: planned as given: aux_loss is 0.01 here and 0.001 there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(keys_are_of_known_families_and_sorted),
        cmocka_unit_test(every_family_has_a_line_of_every_field),
        cmocka_unit_test(presets_mean_what_is_published),
        cmocka_unit_test(files_mean_what_their_family_does),
        cmocka_unit_test(wrong_values_name_the_place),
        cmocka_unit_test(pairs_take_meanings),
        cmocka_unit_test(differences_are_said),
        cmocka_unit_test(presets_come_back),
        cmocka_unit_test(families_come_back),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(what_is_untold_is_named),
        cmocka_unit_test(bridge_has_every_name),
        cmocka_unit_test(bridge_comes_back),
        cmocka_unit_test(flags_and_model_disagree),
        cmocka_unit_test(settings_of_a_run_are_the_flags),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
