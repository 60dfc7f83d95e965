/* Megatron's flags in both directions: the tables behind them, what an import understands and how
 * it refuses, what an export writes, and that the two undo each other. */
#include "base/arena.h"
#include "base/str.h"
#include "export/export.h"
#include "import/megatron/flags.h"
#include "import/megatron/words.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define LLAMA                                                                                      \
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "         \
    "--group-query-attention --num-query-groups 8 --vocab-size 128256 --swiglu "                   \
    "--normalization RMSNorm --untie-embeddings-and-output-weights --disable-bias-linear "         \
    "--position-embedding-type rope --max-position-embeddings 131072 --seq-length 8192 --bf16 "

/* Blank-separated words. */
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

static bool import(const char *text, struct flags_result *r, struct error *err)
{
    int argc;
    const char *const *argv = split_words(text, &argc);
    return flags_import(argc, argv, r, &mem, err);
}

static struct flags_result imported(const char *text, const struct model *given, int64_t world)
{
    struct flags_result r;
    struct error err = {0};
    if (!import(text, &r, &err) || !flags_model(&r, given, &err) || !flags_finish(&r, world, &err))
        fail_msg("%s: %s", text, err.text);
    return r;
}

static struct model preset(const char *name)
{
    struct model m;
    struct error err = {0};
    if (!model_load(&m, name, &mem, &err))
        fail_msg("%s: %s", name, err.text);
    return m;
}

static const char *const FLAG_NAMES[] = {
#define FLAG(name, arity, type, choices) name,
#include "import/megatron/megatron_flags.def"
#undef FLAG
};

static bool is_known(const char *flag)
{
    for (size_t i = 0; i < COUNT(FLAG_NAMES); i++)
        if (strcmp(flag, FLAG_NAMES[i]) == 0)
            return true;
    return false;
}

static void flag_table_is_sorted(void **state)
{
    (void)state;
    assert_true(COUNT(FLAG_NAMES) > 839);
    for (size_t i = 1; i < COUNT(FLAG_NAMES); i++)
        assert_true(strcmp(FLAG_NAMES[i - 1], FLAG_NAMES[i]) < 0);
}

/* The table is a dump of Megatron's parser, and no test knows better what belongs there. It changes
 * with a new dump alone: compare it, then put the new number here. */
static void flag_table_is_the_dump(void **state)
{
    static const char *const rows[] = {
#define FLAG(name, arity, type, choices) name " " #arity " " #type " " choices,
#include "import/megatron/megatron_flags.def"
#undef FLAG
    };
    uint32_t sum = 2166136261u; /* FNV-1a */
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (const char *c = rows[i]; c == rows[i] || c[-1]; c++)
            sum = (sum ^ (unsigned char)*c) * 16777619u;
    if (sum != 0xc9f28308u)
        fail_msg("the rows of megatron_flags.def add up to 0x%08x", sum);
}

enum kind { SIZE, VALUE, SWITCH, UNLESS, WORD, WORDS, OWN, NONE };

static const struct {
    int id, kind;
    const char *flag;
    int since;
} PARAM_LINES[] =
    {
#define MEGATRON(param, kind, flag, since) {PARAM_##param, kind, flag, since},
#include "import/megatron/megatron.def"
},
  FIELD_LINES[] =
      {
#define MEGATRON_MODEL(field, kind, flag, since) {MODEL_##field, kind, flag, since},
#include "import/megatron/megatron.def"
},
  MEANING_LINES[] = {
#define MEGATRON_MEANING(field, kind, flag, since) {MEANING_##field, kind, flag, since},
#include "import/megatron/megatron.def"
};

/* One line each; NONE has a reason instead of a flag. */
static void every_parameter_has_a_line(void **state)
{
    int params[PARAMS] = {0}, fields[MODEL_FIELDS] = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(PARAM_LINES); i++) {
        params[PARAM_LINES[i].id]++;
        assert_int_equal(is_known(PARAM_LINES[i].flag), PARAM_LINES[i].kind != NONE);
        assert_int_equal(PARAM_LINES[i].since > 0, PARAM_LINES[i].kind != NONE);
        assert_true(strlen(PARAM_LINES[i].flag) > 4);
    }
    for (size_t i = 0; i < COUNT(FIELD_LINES); i++) {
        fields[FIELD_LINES[i].id]++;
        assert_int_equal(is_known(FIELD_LINES[i].flag), FIELD_LINES[i].kind != NONE);
        assert_int_equal(FIELD_LINES[i].since > 0, FIELD_LINES[i].kind != NONE);
        bool of_adapters = FIELD_LINES[i].id > MODEL_lora && FIELD_LINES[i].id <= MODEL_lora_each;
        assert_int_equal(strlen(FIELD_LINES[i].flag) > 4,
                         !of_adapters); /* those have lora's reason */
    }
    for (size_t i = 0; i < COUNT(MEANING_LINES); i++) {
        assert_int_equal(MEANING_LINES[i].id, i);
        assert_int_equal(is_known(MEANING_LINES[i].flag), MEANING_LINES[i].kind != NONE);
        assert_int_equal(MEANING_LINES[i].since > 0, MEANING_LINES[i].kind != NONE);
    }
    assert_int_equal(COUNT(MEANING_LINES), MODEL_MEANINGS);
    for (int i = 0; i < PARAMS; i++)
        assert_int_equal(params[i], 1);
    for (int i = 0; i < MODEL_FIELDS; i++)
        assert_int_equal(fields[i], 1);
}

enum { NOTE, REFUSE, RENAMED, IGNORED, REFUSED };

static void other_tables_name_known_flags(void **state)
{
    static const char *const effects[] = {
#define EFFECT(flag, treatment, harmless, text) flag,
#include "import/megatron/flag_effects.def"
#undef EFFECT
    };
    static const struct {
        int treatment;
        const char *text, *name;
    } old[] = {
#define OLD(name, arity, treatment, text) {treatment, text, name},
#include "import/megatron/old_flags.def"
#undef OLD
    };
    (void)state;
    for (size_t i = 0; i < COUNT(effects); i++)
        assert_true(is_known(effects[i]));
    for (size_t i = 0; i < COUNT(old); i++)
        assert_int_equal(is_known(old[i].text), old[i].treatment == RENAMED);
    for (size_t i = 1; i < COUNT(old); i++)
        assert_true(strcmp(old[i - 1].name, old[i].name) < 0);
}

/* Rules know Megatron's flags by their names; a few names are of its code or of the paper. */
static void aliases_are_flags(void **state)
{
    static const char *const aliases[] = {
#define ALIAS(name, alias) alias,
#include "strategy/aliases.def"
#undef ALIAS
    };
    (void)state;
    for (size_t i = 0; i < COUNT(aliases); i++) {
        char flag[80];
        snprintf(flag, sizeof flag, "--%s", aliases[i]);
        for (char *p = flag; *p; p++)
            *p = *p == '_' ? '-' : *p;
        bool other =
            is_one_of(aliases[i], "virtual_pipeline_model_parallel_size world_size num_gpus "
                                  "data_parallel_size overlap_p2p_communication "
                                  "num_microbatches");
        if (is_known(flag) == other)
            fail_msg("%s is %s flag of Megatron", flag, other ? "a" : "no");
    }
}

/* Flags beside llama3-8b on 64 GPUs, and what they make of a strategy ("parameter=value ..."). */
static const struct {
    const char *flags, *strategy;
} MEANINGS[] = {
    {"--bf16",
     "tp=1 cp=1 pp=1 dp=64 ep=1 etp=1 micro_batch=1 global_batch=64 vpp=1 split=even "
     "seq_parallel=off p2p_overlap=off dist_opt=off recompute=none recompute_modules=none "
     "precision=bf16 fsdp=none grad_bf16=off moments_bytes=4 dispatcher=allgather "
     "attention=auto optimizer_offload=0 overlap_grad_reduce=off"},
    {"pretrain_gpt.py --bf16 --tensor-model-parallel-size 4", "tp=4 etp=1 dp=16"},
    {"--bf16 --tensor-model-parallel-size=4 --context-parallel-size=2", "tp=4 cp=2 dp=8"},
    {"--tensor-model-parallel-size 2 --tensor-model-parallel-size 8 --bf16", "tp=8 dp=8"},
    {"--bf16 --expert-tensor-parallel-size 2 --expert-model-parallel-size 8", "ep=8 etp=2"},
    {"--bf16 --micro-batch-size 2 --global-batch-size 512 --seq-length 4096",
     "micro_batch=2 global_batch=512 seq_len=4096"},
    {"--bf16 --micro-batch-size 2 --tensor-model-parallel-size 8", "global_batch=16"},
    {"--bf16 --micro-batch-size 2 --step-batch-size-schedule 0:64", "global_batch=64"},
    {"--bf16 --step-batch-size-schedule 0:64,2K:128,1M:256,1T:512", "global_batch=512"},
    {"--bf16 --seq-length 8192 --train-samples 100000 --step-batch-size-schedule "
     "0:64,2K:128,1M:256,1T:512",
     "global_batch=256"},
    {"--bf16 --encoder-seq-length 2048", "seq_len=2048"},
    {"--bf16 --sequence-parallel", "seq_parallel=off"},
    {"--bf16 --sequence-parallel --tensor-model-parallel-size 2", "seq_parallel=on"},
    {"--fp16", "precision=fp16 grad_bf16=on"},
    {"--fp16 --accumulate-allreduce-grads-in-fp32", "precision=fp16 grad_bf16=off"},
    {"--bf16 --accumulate-allreduce-grads-in-fp32", "precision=bf16 grad_bf16=off"},
    {"--bf16 --grad-reduce-in-bf16", "grad_bf16=on"},
    {"--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16",
     "precision_aware=on main_grads_bf16=on grad_bf16=on"},
    {"--bf16 --fp8-format hybrid", "precision=fp8"},
    {"--bf16 --exp-avg-dtype fp8 --exp-avg-sq-dtype fp8", "moments_bytes=1"},
    {"--bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype fp16", "moments_bytes=2"},
    {"--bf16 --use-precision-aware-optimizer --exp-avg-dtype bf16", "moments_bytes=4"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2",
     "pp=4 vpp=4 p2p_overlap=on"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 8",
     "pp=4 vpp=1 p2p_overlap=off"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
     "--no-overlap-p2p-communication",
     "vpp=2 p2p_overlap=off"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
     "--microbatch-group-size-per-virtual-pipeline-stage 8",
     "vpp=2 p2p_overlap=on micro_batch_group=8"},
    {"--bf16 --pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
     "--account-for-loss-in-pipeline-split",
     "split=both"},
    {"--bf16 --account-for-embedding-in-pipeline-split", "split=embedding"},
    {"--bf16 --account-for-loss-in-pipeline-split", "split=loss"},
    {"--bf16 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 6 "
     "--decoder-last-pipeline-num-layers 6",
     "split=ends first_layers=6 last_layers=6"},
    {"--bf16 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*20|t*12L",
     "split=layout vpp=1 p2p_overlap=off"},
    {"--bf16 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*8|(t*8|)*2t*8L",
     "split=layout vpp=2 p2p_overlap=on"},
    {"--bf16 --recompute-activations", "recompute=selective recompute_modules=core_attn"},
    {"--bf16 --recompute-granularity selective", "recompute=selective recompute_modules=core_attn"},
    {"--bf16 --recompute-granularity selective --recompute-modules mlp layernorm",
     "recompute=selective recompute_modules=mlp+layernorm"},
    {"--bf16 --recompute-modules mlp", "recompute=none recompute_modules=none"},
    {"--bf16 --recompute-granularity full --recompute-method block --recompute-num-layers 3",
     "recompute=full recompute_method=block recompute_layers=3 recompute_modules=none"},
    {"--bf16 --recompute-method block --recompute-num-layers 3",
     "recompute=none recompute_method=none recompute_layers=0"},
    {"--bf16 --recompute-granularity selective --recompute-modules mhc", "recompute=none"},
    {"--bf16 --moe-layer-recompute", "recompute=selective recompute_modules=core_attn+moe"},
    {"--bf16 --use-megatron-fsdp --ckpt-format fsdp_dtensor",
     "fsdp=optim_grads_params dist_opt=on"},
    {"--bf16 --use-custom-fsdp --data-parallel-sharding-strategy optim --ckpt-format fsdp_dtensor",
     "fsdp=optim dist_opt=on"},
    {"--bf16 --data-parallel-sharding-strategy optim", "fsdp=none dist_opt=off"},
    {"--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion", "fsdp=optim_grads_params"},
    {"--bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
     "--num-distributed-optimizer-instances 2",
     "dist_opt=on overlap_grad_reduce=on overlap_param_gather=on optimizer_instances=2"},
    {"--bf16 --optimizer-cpu-offload", "optimizer_offload=100"},
    {"--bf16 --optimizer-cpu-offload --optimizer-offload-fraction 0.295", "optimizer_offload=30"},
    {"--bf16 --optimizer-offload-fraction 0.5", "optimizer_offload=0"},
    {"--bf16 --cp-comm-type a2a", "cp_comm=a2a"},
    {"--bf16 --context-parallel-size 8 --cp-comm-type a2a+p2p "
     "--hierarchical-context-parallel-sizes 2 4",
     "cp_comm=p2p"},
    {"--bf16 --moe-token-dispatcher-type flex --moe-enable-deepep", "dispatcher=flex"},
    {"--bf16 --attention-backend flash --cross-entropy-loss-fusion --tp-comm-overlap",
     "attention=flash loss_fusion=on tp_overlap=on"},
    {"--bf16 --data-path 0.5 /data/a 0.5 /data/b --lr 3e-4 --rampup-batch-size 16 16 5000 --seed "
     "-1",
     "tp=1 dp=64"},
};

/* "tp=8" */
static enum param read_pair(const char *pair, int *value)
{
    size_t length = strcspn(pair, "=");
    int p = param_find(arena_copy(&mem, pair, length));
    struct error err = {0};
    *value = 0;
    if (p < 0 || !param_parse((enum param)p, pair + length + 1, value, &err))
        fail_msg("%s: %s", pair, err.text);
    return (enum param)p;
}

static void check_strategy(const char *flags, const struct strategy *s, const char *expected)
{
    int count;
    const char *const *pairs = split_words(expected, &count);
    for (int i = 0; i < count; i++) {
        int value;
        enum param p = read_pair(pairs[i], &value);
        if (strategy_get(s, p) != value)
            fail_msg("%s: expected %s, got %d", flags, pairs[i], strategy_get(s, p));
    }
}

static void meanings(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(MEANINGS); i++) {
        struct flags_result r = imported(MEANINGS[i].flags, &llama, 64);
        assert_int_equal(r.reasons.count, 0);
        check_strategy(MEANINGS[i].flags, &r.strategy, MEANINGS[i].strategy);
    }
}

static void given_marks_what_stands_there(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    struct flags_result r = imported("--bf16 --tensor-model-parallel-size 1 --train-iters 500 "
                                     "--transformer-impl local --hidden-dropout 0",
                                     &llama, 8);
    assert_true(r.given[PARAM_tp]);
    assert_true(r.given[PARAM_precision]);
    assert_false(r.given[PARAM_pp]);
    assert_false(r.given[PARAM_seq_len]);
    assert_false(r.given[PARAM_global_batch]);
    assert_true(r.stack == STACK_LOCAL);
    assert_int_equal(r.train_iters, 500);
    assert_true(r.hidden_dropout == 0 && r.attention_dropout == 0.1);
}

/* An expert model keeps Megatron's ETP = TP; a dense one has no experts to split. */
static void expert_parallel_default(void **state)
{
    (void)state;
    struct model mixtral = preset("mixtral-8x7b");
    struct flags_result r = imported("--bf16 --tensor-model-parallel-size 4", &mixtral, 8);
    assert_int_equal(r.strategy.etp, 4);
}

/* What people launch, and the model it is. */
static const struct {
    const char *flags, *model;
} MODELS[] = {
    {LLAMA, "llama3-8b"},
    {"--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
     "--max-position-embeddings 2048 --vocab-size 50257 --bf16",
     "layers=24,hidden=2048,ffn=8192,heads=16,vocab=50257,max_seq=2048,gated=0,norm=layer,tied=1,"
     "learned_pos=1,qkv_bias=1,linear_bias=1"},
    {"--num-layers 2 --hidden-size 4096 --num-attention-heads 32 --vocab-size 1000 --swiglu --bf16 "
     "--normalization RMSNorm --disable-bias-linear --add-qkv-bias --qk-layernorm --kv-channels 64 "
     "--use-rotary-position-embeddings --untie-embeddings-and-output-weights",
     "layers=2,hidden=4096,ffn=10880,heads=32,head_dim=64,vocab=1000,qkv_bias=1,qk_norm=1"},
    {"--encoder-num-layers 4 --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 1024 "
     "--bf16 "
     "--group-query-attention --position-embedding-type none",
     "layers=4,hidden=64,ffn=256,heads=4,kv=1,vocab=1024,gated=0,learned_pos=0"},
    {"--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --vocab-size "
     "99 "
     "--bf16 --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope "
     "--num-experts 8 --moe-layer-freq 2 --moe-shared-expert-intermediate-size 32",
     "layers=4,hidden=64,ffn=128,heads=4,vocab=99,tied=1,experts=8,topk=2,expert_ffn=128,shared_"
     "ffn=32,"
     "moe_every=2"},
    {"--num-layers 6 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --vocab-size "
     "99 "
     "--bf16 --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope "
     "--num-experts 8 --moe-layer-freq [0]*2+([1]+[0])*2 --moe-router-topk 1 --moe-ffn-hidden-size "
     "16 "
     "--window-size 127,0 --window-attn-skip-freq 3",
     "layers=6,hidden=64,ffn=128,heads=4,vocab=99,tied=1,experts=8,topk=1,expert_ffn=16,dense_"
     "first=2,"
     "moe_every=2,window=128,window_every=3"},
    {"--num-layers 2 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --vocab-size "
     "99 "
     "--bf16 --multi-latent-attention --q-lora-rank 24",
     "layers=2,hidden=64,ffn=128,heads=4,vocab=99,gated=0,qkv_bias=1,linear_bias=1,tied=1,mla=1,"
     "q_lora=24,kv_lora=32,qk_nope=128,qk_rope=64,v_dim=128"},
    {"--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 99 --bf16 "
     "--window-size (-1,0) --num-experts 0 --moe-router-topk 4",
     "layers=2,hidden=64,ffn=256,heads=4,vocab=99,gated=0"},
    {"--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 99 --bf16 --window-size "
     "(7,0) "
     "--window-attn-skip-freq [1,0]",
     "layers=2,hidden=64,ffn=256,heads=4,vocab=99,gated=0,window=8,window_every=2"},
};

static void models(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(MODELS); i++) {
        struct flags_result r = imported(MODELS[i].flags, NULL, 8);
        struct model m = preset(MODELS[i].model);
        char difference[160] = "";
        assert_true(r.has_model);
        if (!model_same(&r.model, &m, difference, sizeof difference))
            fail_msg("%s: %s", MODELS[i].flags, difference);
    }
}

/* A pattern without a short form: the layers are right all the same. */
static void odd_pattern(void **state)
{
    (void)state;
    struct flags_result r =
        imported(LLAMA "--num-experts 4 --moe-layer-freq [1]*3+[0]+[1]*28", NULL, 8);
    for (int i = 0; i < 32; i++)
        assert_int_equal(r.model.kind[r.model.layer[i]].feed == FEED_MOE, i != 3);
}

/* Everything wrong in one message that names the flag. The model beside the flags is llama3-8b. */
static const struct {
    const char *flags, *message;
} ERRORS[] = {
    {"--bf16 --tensor-model-paralel-size 8",
     "unknown flag --tensor-model-paralel-size (did you mean --tensor-model-parallel-size?)"},
    {"--bf16 -tp 8", "unknown flag -tp"},
    {"torchrun --bf16", "'torchrun' is no flag: Megatron's flags start with --"},
    {"--bf16 yes", "'yes' belongs to no flag: --bf16 takes no further value"},
    {"--bf16=yes", "--bf16 is a switch and takes no value, got 'yes'"},
    {"--bf16 --seed 1 2", "'2' belongs to no flag: --seed takes no further value"},
    {"--bf16 --tensor-model-parallel-size", "--tensor-model-parallel-size needs a value"},
    {"--tensor-model-parallel-size --bf16", "--tensor-model-parallel-size needs a value"},
    {"--bf16 --rampup-batch-size 16 16", "--rampup-batch-size needs 3 values, got 2"},
    {"--bf16 --cp-comm-type", "--cp-comm-type needs a value"},
    {"--bf16 --tensor-model-parallel-size eight",
     "--tensor-model-parallel-size is 'eight', expected a whole number"},
    {"--bf16 --tensor-model-parallel-size 8x",
     "--tensor-model-parallel-size is '8x', expected a whole number"},
    {"--bf16 --tensor-model-parallel-size=",
     "--tensor-model-parallel-size is '', expected a whole number"},
    {"--bf16 --tensor-model-parallel-size 0",
     "--tensor-model-parallel-size is '0', expected a whole number from 1 to 4096"},
    {"--bf16 --micro-batch-size -1",
     "--micro-batch-size is '-1', expected a whole number from 1 to 1048576"},
    {"--bf16 --global-batch-size 99999999999999999999",
     "--global-batch-size is '99999999999999999999', expected a whole number"},
    {"--bf16 --lr fast", "--lr is 'fast', expected a number"},
    {"--bf16 --recompute-granularity none",
     "--recompute-granularity is 'none', expected one of: full selective"},
    {"--bf16 --attention-backend sdpa",
     "--attention-backend is 'sdpa', expected one of: flash fused unfused local auto"},
    {"--bf16 --recompute-granularity selective --recompute-modules attn",
     "--recompute-modules has 'attn', expected words of: core_attn layernorm mlp moe moe_act "
     "mla_up_proj "
     "shared_experts"},
    {"--bf16 --recompute-modules mlp,moe",
     "--recompute-modules has 'mlp,moe', expected words of: core_attn layernorm mlp moe moe_act "
     "mla_up_proj shared_experts"},
    {"--bf16 --cp-comm-type ring",
     "--cp-comm-type is 'ring', expected one of: p2p a2a allgather a2a+p2p"},
    {"--bf16 --fp16", "--bf16 and --fp16 exclude each other"},
    {"--tensor-model-parallel-size 8",
     "neither --bf16 nor --fp16 is there: training in fp32 is not planned, add --bf16"},
    {"--bf16 --model-parallel-size 8",
     "--model-parallel-size is no longer a flag of Megatron: use --tensor-model-parallel-size"},
    {"--bf16 --checkpoint-activations",
     "--checkpoint-activations is no longer a flag of Megatron: use --recompute-activations, or "
     "--recompute-granularity and --recompute-method"},
    {"--bf16 --moe-extended-tp",
     "--moe-extended-tp is no longer a flag of Megatron: use --expert-tensor-parallel-size"},
    {"--bf16 --hybrid-layer-pattern M-X*", "--hybrid-layer-pattern: pattern 'M-X*': 'X' is no "
                                           "layer that is known; they are *MDGKLH-E and + "
                                           "(multi-latent attention), MTP layers stand behind '/'"},
    {"--bf16 --hybrid-override-pattern M+-*", "--hybrid-override-pattern: pattern 'M+-*' has "
                                              "attention (*) and multi-latent attention (+, D); "
                                              "Megatron knows one of them in a model"},
    {"--bf16 --hybrid-layer-pattern M-M*/M/-",
     "--hybrid-layer-pattern: pattern 'M-M*/M/-': MTP layers are 'M' and '-', expected all alike"},
    {"--bf16 --is-hybrid-model",
     "--is-hybrid-model without --hybrid-layer-pattern: which layers are meant is not said"},
    {"--bf16 --hybrid-layer-pattern M --spec a gated_delta_product_stack_spec",
     "--spec: gated delta products are not planned"},
    {"--bf16 --decoder-first-pipeline-num-layers 0",
     "--decoder-first-pipeline-num-layers is '0', expected a whole number from 1 to 1024"},
    {"--bf16 --optimizer-cpu-offload --optimizer-offload-fraction 1.5",
     "--optimizer-offload-fraction is '1.5', expected a number from 0 to 1"},
    {"--bf16 --hidden-dropout -0.5", "--hidden-dropout is '-0.5', expected a number from 0 to 1"},
    {"--bf16 --train-iters -5", "--train-iters is '-5', expected a number not below 0"},
    {"--bf16 --window-size 4096",
     "--window-size is '4096', expected BEFORE,BEHIND such as 4095,0; -1 is no limit"},
    {"--bf16 --window-size (1,2)3",
     "--window-size is '(1,2)3', expected BEFORE,BEHIND such as 4095,0; -1 is no limit"},
    {"--bf16 --pipeline-model-parallel-layout Et*32x",
     "--pipeline-model-parallel-layout: layout 'Et*32x': 'x' is no symbol; it is made of E, t, m, "
     "L, |, "
     "x*N and (...)*N"},
    {"--bf16 --num-layers 33",
     "--num-layers and --model llama3-8b disagree: layers is 33 here and 32 there"},
    {"--bf16 --disable-bias-linear --qk-layernorm",
     "--qk-layernorm and --model llama3-8b disagree: qk_norm is 1 here and 0 there"},
    {LLAMA "--hidden-size 5120",
     "the flags (here) and --model llama3-8b (there) disagree: hidden is 5120 here and 4096 there"},
    {LLAMA "--num-attention-heads 0",
     "--num-attention-heads is '0', expected a whole number from 1 to 4096"},
    {LLAMA "--num-attention-heads 7 --num-query-groups 7",
     "the flags describe no model: head_dim is missing, and hidden (4096) is no multiple of heads "
     "(7) to "
     "derive it"},
    {LLAMA "--num-experts 8 --moe-layer-freq [0]*3+[1]*28",
     "--moe-layer-freq is '[0]*3+[1]*28', 31 entries; the model has 32 layers"},
    {LLAMA "--num-experts 8 --moe-layer-freq [0]*3+[1*29",
     "--moe-layer-freq is '[0]*3+[1*29', expected a number or a list of 0 and 1 such as "
     "[0]*3+[1]*58"},
    {LLAMA "--num-experts 8 --moe-layer-freq ([2])*32",
     "--moe-layer-freq is '([2])*32', expected a number or a list of 0 and 1 such as [0]*3+[1]*58"},
    {LLAMA "--num-experts 8 --moe-layer-freq [1]*999999999999",
     "--moe-layer-freq is '[1]*999999999999', expected a number or a list of 0 and 1 such as "
     "[0]*3+[1]*58"},
    {LLAMA "--num-experts 8 --moe-layer-freq 0",
     "--moe-layer-freq is '0', expected a whole number from 1 to 1073741824"},
};

static void errors(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(ERRORS); i++) {
        struct flags_result r;
        struct error err = {0};
        bool ok = import(ERRORS[i].flags, &r, &err) && flags_model(&r, &llama, &err) &&
                  flags_finish(&r, 64, &err);
        if (ok)
            fail_msg("taken: %s", ERRORS[i].flags);
        assert_string_equal(err.text, ERRORS[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

static const struct {
    const char *flags, *message;
} NO_MODEL[] = {
    {"--bf16", "no model: --num-layers is missing among the flags (or name one with --model)"},
    {"--bf16 --num-layers 2",
     "no model: --hidden-size is missing among the flags (or name one with --model)"},
    {"--bf16 --num-layers 2 --hidden-size 64",
     "no model: --num-attention-heads is missing among the flags (or name one with --model)"},
    {"--bf16 --num-layers 2 --hidden-size 64 --num-attention-heads 4",
     "--vocab-size is missing (or name a model with --model)"},
};

static void missing_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(NO_MODEL); i++) {
        struct flags_result r;
        struct error err = {0};
        assert_true(import(NO_MODEL[i].flags, &r, &err));
        assert_false(flags_model(&r, NULL, &err));
        assert_string_equal(err.text, NO_MODEL[i].message);
    }
}

static void vocabulary_from_the_model(void **state)
{
    (void)state;
    struct model m = preset("layers=2,hidden=64,ffn=256,heads=4,vocab=999,gated=0,max_seq=77");
    struct flags_result r =
        imported("--bf16 --num-layers 2 --hidden-size 64 --num-attention-heads 4", &m, 8);
    assert_int_equal(r.model.vocab, 999);
    assert_int_equal(r.model.max_seq, 77);
}

static void muon(void **state)
{
    (void)state;
    struct model m = preset("llama3-8b");
    struct flags_result r = imported("--bf16 --optimizer muon", &m, 8);
    assert_int_equal(r.switches.newton_steps, 5);
    assert_int_equal(r.strategy.dist_opt, 0);
    r = imported("--bf16 --optimizer dist_muon --muon-num-ns-steps 7", &m, 8);
    assert_int_equal(r.switches.newton_steps, 7);
    assert_int_equal(r.strategy.dist_opt, 1);
    r = imported("--bf16 --optimizer adam --muon-num-ns-steps 7", &m, 8);
    assert_int_equal(r.switches.newton_steps, 0);
}

/* One layer at each end unless the flags say how many; without the switch none. */
static void ends_in_16_bits(void **state)
{
    (void)state;
    struct model m = preset("llama3-8b");
    const struct {
        const char *flags;
        int first, last, kinds;
    } CASES[] = {{"--bf16 --fp4-format e2m1", 0, 0, 1},
                 {"--bf16 --fp4-format e2m1 --num-layers-at-end-in-bf16 4", 0, 0, 1},
                 {"--bf16 --fp4-format e2m1 --first-last-layers-bf16", 1, 1, 2},
                 {"--bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --first-last-layers-bf16 "
                  "--num-layers-at-start-in-bf16 0 --num-layers-at-end-in-bf16 4",
                  0, 4, 2}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct flags_result r = imported(CASES[i].flags, &m, 8);
        assert_int_equal(r.model.wide_first, CASES[i].first);
        assert_int_equal(r.model.wide_last, CASES[i].last);
        assert_int_equal(r.model.kinds, CASES[i].kinds);
        assert_string_equal(r.model.name, "llama3-8b");
    }
}

/* Plans that Megatron refuses still have a strategy. llama3-8b (32 layers). */
static const struct {
    const char *flags;
    int world;
    const char *reason, *strategy;
} REASONS[] = {
    {"--bf16 --tensor-model-parallel-size 3", 8,
     "8 GPUs are no multiple of tp x cp x pp = 3 x 1 x 1", "tp=3 dp=2 global_batch=2"},
    {"--bf16 --tensor-model-parallel-size 16 --context-parallel-size 2", 8,
     "8 GPUs are no multiple of tp x cp x pp = 16 x 2 x 1", "dp=1"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3", 8,
     "3 layers per virtual stage do not divide the 32 layers of 4 ranks", "vpp=2"},
    {"--bf16 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 100", 8,
     "100 layers per virtual stage do not divide the 32 layers of 4 ranks", "vpp=1"},
    {"--bf16 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*20|t*11L", 8,
     "layout 'Et*20|t*11L' has 31 decoder layers (t), the model has 32", "split=uneven vpp=1"},
    {"--bf16 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*20|t*12L "
     "--num-virtual-stages-per-pipeline-rank 2",
     8,
     "at most one of --num-layers-per-virtual-pipeline-stage, "
     "--num-virtual-stages-per-pipeline-rank and "
     "--pipeline-model-parallel-layout may be there",
     "split=layout vpp=1"},
    {"--bf16 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*20|t*12L "
     "--decoder-first-pipeline-num-layers 4",
     8,
     "--pipeline-model-parallel-layout, --decoder-first/last-pipeline-num-layers and "
     "--account-for-embedding/loss-in-pipeline-split exclude each other",
     "split=layout first_layers=0"},
    {"--bf16 --pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 4 "
     "--num-layers-per-virtual-pipeline-stage 2",
     8,
     "--num-layers-per-virtual-pipeline-stage needs ranks with the same number of layers: use "
     "--num-virtual-stages-per-pipeline-rank",
     "split=ends vpp=8"},
    {"--bf16 --moe-layer-recompute --recompute-granularity full", 8,
     "--moe-layer-recompute and --recompute-granularity full exclude each other", "recompute=full"},
    {"--bf16 --moe-enable-deepep", 8, "--moe-enable-deepep needs --moe-token-dispatcher-type flex",
     "dispatcher=allgather"},
    {"--bf16 --fp8-format hybrid --fp4-format e2m1", 8,
     "--fp8-format and --fp4-format exclude each other", "precision=nvfp4"},
    {"--bf16 --fp8-format hybrid --recompute-granularity selective --recompute-modules layernorm",
     8,
     "recompute of layernorm or moe_act in fp8 needs another --fp8-recipe than delayed (the "
     "default)",
     "recompute_modules=layernorm"},
    {"--bf16 --fp8-format hybrid --first-last-layers-bf16", 8,
     "--first-last-layers-bf16 needs another --fp8-recipe than delayed (the default)",
     "precision=fp8"},
    {"--bf16 --fp8-format hybrid --fp8-param-gather --use-distributed-optimizer "
     "--use-precision-aware-optimizer --optimizer-cpu-offload --fp8-recipe tensorwise",
     8, "--fp8-param-gather with --optimizer-cpu-offload needs --fp8-recipe delayed",
     "optimizer_offload=100"},
    {"--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 "
     "--accumulate-allreduce-grads-in-fp32",
     8, "--main-grads-dtype bf16 and --accumulate-allreduce-grads-in-fp32 exclude each other",
     "main_grads_bf16=on"},
    {"--bf16 --main-params-dtype fp16", 8,
     "--main-params-dtype fp16 needs --use-precision-aware-optimizer", "precision_aware=off"},
    {"--bf16 --exp-avg-dtype bf16", 8,
     "--exp-avg-dtype and --exp-avg-sq-dtype need --use-precision-aware-optimizer",
     "moments_bytes=4"},
    {"--bf16 --use-precision-aware-optimizer --optimizer sgd", 8,
     "--use-precision-aware-optimizer needs --optimizer adam", "precision_aware=on"},
    {"--bf16 --optimizer-cpu-offload --optimizer-offload-fraction 0", 8,
     "--optimizer-cpu-offload needs --use-precision-aware-optimizer", "optimizer_offload=0"},
    {"--bf16 --overlap-param-gather-with-optimizer-step --use-distributed-optimizer "
     "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 "
     "--ckpt-format torch",
     8,
     "--overlap-param-gather-with-optimizer-step needs --use-distributed-optimizer and "
     "--overlap-param-gather",
     "vpp=2"},
    {"--bf16 --overlap-param-gather-with-optimizer-step --use-distributed-optimizer "
     "--overlap-grad-reduce --overlap-param-gather --ckpt-format torch",
     8, "--overlap-param-gather-with-optimizer-step needs virtual pipeline stages", "vpp=1"},
    {"--bf16 --overlap-param-gather-with-optimizer-step --use-distributed-optimizer "
     "--overlap-grad-reduce --overlap-param-gather --pipeline-model-parallel-size 4 "
     "--num-layers-per-virtual-pipeline-stage 4",
     8, "--overlap-param-gather-with-optimizer-step needs --ckpt-format torch", "vpp=2"},
    {"--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --pipeline-model-parallel-size 2",
     8, "--use-torch-fsdp2 needs pp 1 and ep 1", "fsdp=optim_grads_params"},
    {"--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --overlap-grad-reduce "
     "--overlap-param-gather",
     8, "--use-torch-fsdp2 excludes --use-distributed-optimizer and --overlap-param-gather",
     "fsdp=optim_grads_params"},
    {"--bf16 --use-torch-fsdp2", 8, "--use-torch-fsdp2 needs --no-gradient-accumulation-fusion",
     "fsdp=optim_grads_params"},
    {"--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch", 8,
     "--use-torch-fsdp2 needs --ckpt-format torch_dist or torch_dcp", "fsdp=optim_grads_params"},
    {"--fp16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch_dcp", 8,
     "--use-torch-fsdp2 excludes --fp16", "precision=fp16"},
    {"--bf16 --use-megatron-fsdp", 8, "--use-megatron-fsdp needs --ckpt-format fsdp_dtensor",
     "fsdp=optim_grads_params"},
    {"--bf16 --ckpt-format fsdp_dtensor", 8, "--ckpt-format fsdp_dtensor needs --use-megatron-fsdp",
     "fsdp=none"},
    {"--bf16 --use-megatron-fsdp --ckpt-format fsdp_dtensor --megatron-fsdp-version 2 "
     "--use-distributed-optimizer",
     8, "--megatron-fsdp-version 2 excludes --use-distributed-optimizer", "dist_opt=on"},
    {"--bf16 --use-megatron-fsdp --ckpt-format fsdp_dtensor --optimizer muon", 8,
     "--use-megatron-fsdp needs --optimizer adam or sgd", "dist_opt=on"},
    {"--bf16 --context-parallel-size 4 --hierarchical-context-parallel-sizes 2 4", 8,
     "--hierarchical-context-parallel-sizes must multiply to --context-parallel-size", "cp=4"},
    {"--bf16 --context-parallel-size 4 --hierarchical-context-parallel-sizes -2 -2", 8,
     "--hierarchical-context-parallel-sizes must multiply to --context-parallel-size", "cp=4"},
    {"--bf16 --context-parallel-size 4 --cp-comm-type a2a+p2p", 8,
     "--cp-comm-type a2a+p2p needs --hierarchical-context-parallel-sizes", "cp_comm=p2p"},
    {"--bf16 --use-tp-pp-dp-mapping --pipeline-model-parallel-size 2 --context-parallel-size 2", 8,
     "--use-tp-pp-dp-mapping with pp > 1 needs etp x ep = tp x cp", "pp=2 etp=1"},
    {"--bf16 --defer-embedding-wgrad-compute", 8, "--defer-embedding-wgrad-compute needs pp > 1",
     "pp=1"},
    {"--bf16 --defer-embedding-wgrad-compute --pipeline-model-parallel-size 2 "
     "--no-gradient-accumulation-fusion",
     8, "--defer-embedding-wgrad-compute excludes --no-gradient-accumulation-fusion", "pp=2"},
    {"--bf16 --step-batch-size-schedule 0:8 --global-batch-size 8", 8,
     "--step-batch-size-schedule and --global-batch-size exclude each other", "global_batch=8"},
    {"--bf16 --recompute-activations --recompute-num-layers 0", 8,
     "selective recompute takes no --recompute-num-layers", "recompute=selective"},
    {"--bf16 --distribute-saved-activations --tensor-model-parallel-size 2", 8,
     "--distribute-saved-activations needs tp > 1, full recompute and no sequence parallelism",
     "recompute=none"},
    {"--bf16 --cpu-offloading-num-layers 1 --recompute-activations", 8,
     "--cpu-offloading-num-layers needs pp 1 and no recompute", "recompute=selective"},
    {"--bf16 --cpu-offloading-num-layers 32", 8,
     "--cpu-offloading-num-layers must be less than the model has", "pp=1"},
    {"--bf16 --transformer-impl local --attention-backend local", 8,
     "--attention-backend local needs --spec local", "attention=local"},
    {"--bf16 --overlap-moe-expert-parallel-comm --recompute-method uniform", 8,
     "--overlap-moe-expert-parallel-comm excludes --recompute-method and --recompute-num-layers",
     "recompute_method=none"},
    {"--bf16 --overlap-moe-expert-parallel-comm --recompute-modules moe", 8,
     "--overlap-moe-expert-parallel-comm excludes --recompute-modules moe",
     "recompute_modules=none"},
};

/* Neighbours of the above that Megatron takes. */
static const char *const NO_REASONS[] = {
    "--bf16 --fp8-format hybrid --fp8-recipe tensorwise --recompute-granularity selective "
    "--recompute-modules layernorm",
    "--bf16 --fp8-format hybrid --fp8-param-gather --use-distributed-optimizer "
    "--use-precision-aware-optimizer --optimizer-cpu-offload",
    "--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 --main-params-dtype fp16 "
    "--exp-avg-dtype bf16",
    "--fp16 --accumulate-allreduce-grads-in-fp32 --use-precision-aware-optimizer "
    "--main-grads-dtype bf16",
    "--bf16 --overlap-param-gather-with-optimizer-step --use-distributed-optimizer "
    "--overlap-grad-reduce --overlap-param-gather --ckpt-format torch "
    "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2",
    "--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion --ckpt-format torch_dcp",
    "--bf16 --use-megatron-fsdp --ckpt-format fsdp_dtensor --optimizer sgd "
    "--use-distributed-optimizer",
    "--bf16 --context-parallel-size 4 --cp-comm-type a2a+p2p "
    "--hierarchical-context-parallel-sizes 2 2",
    "--bf16 --use-tp-pp-dp-mapping --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2",
    "--bf16 --use-tp-pp-dp-mapping --context-parallel-size 2",
    "--bf16 --defer-embedding-wgrad-compute --pipeline-model-parallel-size 2",
    "--bf16 --recompute-num-layers 0",
    "--bf16 --moe-layer-recompute --recompute-method uniform --recompute-num-layers 0",
    "--bf16 --distribute-saved-activations --tensor-model-parallel-size 2 "
    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    "--bf16 --transformer-impl local --attention-backend local --spec local",
    "--bf16 --overlap-moe-expert-parallel-comm --recompute-activations",
    "--bf16 --cpu-offloading-num-layers 31",
    "--bf16 --cpu-offloading-num-layers 0 --pipeline-model-parallel-size 2",
};

static void no_reasons(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(NO_REASONS); i++) {
        struct flags_result r = imported(NO_REASONS[i], &llama, 8);
        if (r.reasons.count)
            fail_msg("%s: %s", NO_REASONS[i], r.reasons.text[0]);
    }
}

/* The old flag makes recompute selective behind Megatron's checks; method and number of layers
 * have no effect then. */
static void late_selective(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    const char *flags = "--bf16 --moe-layer-recompute --recompute-method uniform "
                        "--recompute-num-layers 2";
    struct flags_result r = imported(flags, &llama, 8);
    check_strategy(flags, &r.strategy,
                   "recompute=selective recompute_method=none recompute_layers=0 "
                   "recompute_modules=core_attn,moe");
}

/* GPT-3 ties its embeddings. */
static void tied_embeddings(void **state)
{
    (void)state;
    struct model gpt = preset("gpt3-1.3b");
    struct flags_result r =
        imported("--bf16 --use-torch-fsdp2 --no-gradient-accumulation-fusion", &gpt, 8);
    assert_int_equal(r.reasons.count, 1);
    assert_string_equal(r.reasons.text[0],
                        "--use-torch-fsdp2 needs --untie-embeddings-and-output-weights");
}

static void reasons(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(REASONS); i++) {
        struct flags_result r = imported(REASONS[i].flags, &llama, REASONS[i].world);
        assert_int_equal(r.reasons.count, 1);
        assert_string_equal(r.reasons.text[0], REASONS[i].reason);
        check_strategy(REASONS[i].flags, &r.strategy, REASONS[i].strategy);
    }
}

static const struct {
    const char *flags, *note; /* NULL: none */
} NOTES[] = {
    {"--bf16 --optimizer adam --cuda-graph-impl none --make-vocab-size-divisible-by 64", NULL},
    {"--bf16 --optimizer soap",
     "--optimizer: the optimizer is planned as Adam, with two moments of each weight (SGD and "
     "Lion keep one or none, SOAP more)"},
    {"--bf16 --rampup-batch-size 1 2 3", "--rampup-batch-size: the full global batch is planned"},
    {"--bf16 --use-legacy-models --use-legacy-models",
     "--use-legacy-models: the layers of today are planned"},
    {"--bf16 --cp-comm-type p2p a2a", "--cp-comm-type: every layer is planned like the first"},
    {"--bf16 --cp-comm-type a2a+p2p", "--cp-comm-type: a2a+p2p is planned as p2p"},
    {"--bf16 --exp-avg-dtype fp8",
     "--exp-avg-dtype, --exp-avg-sq-dtype: both moments are planned like the wider one"},
    {"--bf16 --deterministic-mode",
     "--deterministic-mode: kernels are planned that need not be deterministic: a step may be "
     "longer"},
    {"--bf16 --empty-unused-memory-level 0 --output-logit-dtype fp32", NULL},
    {"--bf16 --empty-unused-memory-level 2",
     "--empty-unused-memory-level: emptying the cache takes time in every step, which is not "
     "planned"},
    {"--bf16 --swiglu --no-bias-gelu-fusion", NULL},
    {"--bf16 --no-bias-gelu-fusion --disable-bias-linear", NULL},
    {"--bf16 --moe-flex-dispatcher-backend deepep", NULL},
    {"--bf16 --moe-flex-dispatcher-backend hybridep",
     "--moe-flex-dispatcher-backend: the flexible dispatcher is planned as DeepEP's: through "
     "another "
     "one a step may be shorter or longer"},
    {"--bf16 --use-nccl-ub",
     "--use-nccl-ub: data parallelism is planned through NCCL's own buffers: registered ones need "
     "fewer SMs, and a step may be shorter"},
    {"--bf16 --megatron-fsdp-main-grads-dtype bf16",
     "--megatron-fsdp-main-grads-dtype: gradients of FSDP are planned kept in fp32: in 16 bits "
     "memory is too high by 2 bytes a parameter of a rank's share"},
    {"--bf16 --no-rope-fusion",
     "--no-rope-fusion: rotary positions are planned fused: a step may be longer"},
    {"--bf16 --quick-geglu --no-bias-gelu-fusion",
     "--no-bias-gelu-fusion: the activation is planned fused: time and memory may be too low"},
    {"--bf16 --reset-attention-mask",
     "--reset-attention-mask: attention is planned over the whole sequence, not within documents: "
     "where kernels skip what lies between them a step may be shorter"},
    {"--bf16 --perform-rl-step --grpo-group-size 8 --rl-training-cuda-graphs --cuda-graph-impl "
     "local",
     "--perform-rl-step: reinforcement learning: only the training step is planned, every sequence "
     "at its longest; generation, log-probabilities and the reference model are left out, and so "
     "is the memory that they keep (40 GB for keys and values on each GPU, by default)"},
    {"--bf16 --swiglu --no-bias-swiglu-fusion",
     "--no-bias-swiglu-fusion: the activation is planned fused: time and memory may be too low"},
};

/* Rows of the embedding, as flags say how they are padded. */
static void padding(void **state)
{
    static const struct {
        const char *flags;
        int rows;
    } ROWS[] = {
        {"--vocab-size 50257", 50304},
        {"--vocab-size 50257 --tensor-model-parallel-size 2", 50432},
        {"--vocab-size 50257 --make-vocab-size-divisible-by 64 --tensor-model-parallel-size 2",
         50304},
        {"--vocab-size 50257 --padded-vocab-size 50688", 50688},
        {"--padded-vocab-size 151936 --tensor-model-parallel-size 8", 151936},
        {"--vocab-size 50257 --no-pad-vocab-size", 50257},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        struct flags_result r =
            imported(arena_format(&mem,
                                  "--num-layers 2 --hidden-size 512 --num-attention-heads 8 "
                                  "--seq-length 512 --max-position-embeddings 512 --bf16 %s",
                                  ROWS[i].flags),
                     NULL, 8);
        assert_int_equal(model_padded_vocab(&r.model, r.strategy.tp), ROWS[i].rows);
        assert_int_equal(r.notes.count, 0);
    }
}

static void notes(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(NOTES); i++) {
        struct flags_result r = imported(NOTES[i].flags, &llama, 8);
        assert_int_equal(r.notes.count, NOTES[i].note != NULL);
        if (NOTES[i].note)
            assert_string_equal(r.notes.text[0], NOTES[i].note);
    }
}

/* A model that a file names, with what its flags say otherwise. */
static void named_model(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b"), deepseek = preset("deepseek-v3");
    struct flags_result r;
    struct error err = {0};
    assert_true(import("--bf16 --norm-epsilon 1e-6 --max-position-embeddings 4096", &r, &err));
    assert_false(flags_model(&r, &llama, &err));
    r.model_named = true;
    assert_true(flags_model(&r, &llama, &err));
    assert_string_equal(r.model.name, "llama3-8b");
    assert_int_equal(r.model.max_seq, 4096);
    assert_true(import("--bf16 --num-layers 4 --moe-layer-freq [0]*1+[1]*3", &r, &err));
    r.model_named = true;
    assert_true(flags_model(&r, &deepseek, &err));
    assert_string_equal(r.model.name, "flags");
    assert_int_equal(r.model.layers, 4);
    assert_int_equal(r.model.dense_first, 1);
    assert_string_equal(r.notes.text[0],
                        "--num-layers: planned as given: layers of deepseek-v3 would be 61");
    /* Also where the flags would be enough: what they leave out is the preset's. */
    assert_true(
        import("--bf16 --num-layers 2 --hidden-size 4096 --num-attention-heads 32", &r, &err));
    r.model_named = true;
    assert_true(flags_model(&r, &llama, &err));
    assert_int_equal(r.model.kv, 8);
    assert_int_equal(r.model.ffn, 14336);
}

static void batch_out_of_range(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    struct flags_result r;
    struct error err = {0};
    assert_true(import("--bf16 --micro-batch-size 1048576", &r, &err));
    assert_true(flags_model(&r, &llama, &err));
    assert_false(flags_finish(&r, 1 << 24, &err));
    assert_string_equal(
        err.text,
        "micro-batch x dp = 1048576 x 16777216 is above the largest global batch, 1073741824");
    assert_false(flags_finish(&r, INT64_C(1) << 40, &err));
    assert_string_equal(err.text, "dp is 1099511627776, the largest is 16777216");
}

static const char *joined(const char **words, size_t count)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < count; i++)
        str_addf(&text, "%s%s", i ? " " : "", words[i]);
    const char *copy = arena_string(&mem, str_text(&text));
    str_release(&text);
    return copy;
}

static const char *exported(const struct model *m, const struct strategy *s, const struct layout *l,
                            const char *version, bool torch)
{
    const char **flags;
    size_t count;
    struct error err = {0};
    const struct export_run run = {.stack = torch ? STACK_TORCH : STACK_TE};
    if (!export_megatron_flags(m, s, l, version, &run, &mem, &flags, &count, &err))
        fail_msg("%s", err.text);
    return joined(flags, count);
}

static void whole_export(void **state)
{
    (void)state;
    struct model deepseek = preset("deepseek-v3");
    struct strategy s;
    struct layout l;
    struct error err = {0};
    strategy_init(&s);
    s.seq_len = 4096, s.global_batch = 8192, s.tp = 2, s.pp = 16, s.dp = 8, s.ep = 64, s.etp = 1;
    s.seq_parallel = 1, s.dispatcher = DISPATCH_ALLTOALL, s.grouped_gemm = 1, s.dist_opt = 1;
    s.recompute = RECOMPUTE_SELECTIVE, s.recompute_modules = MODULE_MLA_UP | MODULE_LAYERNORM;
    assert_true(layout_parse(&l, "Et*3|(tt|)*29,m|L", &deepseek, &s, &err));
    s.p2p_overlap = 1;
    assert_string_equal(
        exported(&deepseek, &s, &l, NULL, false),
        "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 "
        "--kv-channels 128 --vocab-size 129280 --max-position-embeddings 163840 --swiglu "
        "--normalization RMSNorm --untie-embeddings-and-output-weights --position-embedding-type "
        "rope "
        "--disable-bias-linear --qk-layernorm --num-experts 256 --moe-router-topk 8 "
        "--moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 "
        "--moe-router-enable-expert-bias --moe-layer-freq [0]*3+[1]*58 --moe-router-num-groups 8 "
        "--moe-router-group-topk 4 --moe-router-score-function sigmoid --multi-latent-attention "
        "--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 "
        "--v-head-dim 128 --mtp-num-layers 1 --rotary-base 10000 --rotary-scaling-factor 40 "
        "--mscale-all-dim 1 --norm-epsilon 1e-06 --init-method-std 0.02 --moe-aux-loss-coeff 0.001 "
        "--moe-router-load-balancing-type seq_aux_loss --moe-router-topk-scaling-factor 2.5 "
        "--global-batch-size 8192 --seq-length 4096 --bf16 --tensor-model-parallel-size 2 "
        "--pipeline-model-parallel-size 16 "
        "--expert-model-parallel-size 64 --expert-tensor-parallel-size 1 --micro-batch-size 1 "
        "--pipeline-model-parallel-layout Ettt|(tt|)*29m|L --sequence-parallel "
        "--moe-token-dispatcher-type alltoall --moe-grouped-gemm --recompute-granularity selective "
        "--recompute-modules layernorm mla_up_proj --use-distributed-optimizer "
        "--attention-dropout 0.0 --hidden-dropout 0.0 --no-create-attention-mask-in-dataloader");
}

/* Pieces of an export of llama3-8b, "parameter=value ..." in, flags in or not in. */
static const struct {
    const char *strategy, *there, *absent;
} PIECES[] = {
    {"pp=4 vpp=2", "--num-layers-per-virtual-pipeline-stage 4", "--num-virtual-stages"},
    {"pp=4 vpp=2", "--no-overlap-p2p-communication", "--cp-comm-type"},
    {"pp=4 vpp=2 p2p_overlap=on", "--pipeline-model-parallel-size 4", "--no-overlap-p2p"},
    {"pp=4 vpp=2 split=ends first_layers=4 last_layers=4",
     "--num-virtual-stages-per-pipeline-rank 2 --decoder-first-pipeline-num-layers 4 "
     "--decoder-last-pipeline-num-layers 4",
     "--num-layers-per-virtual"},
    {"pp=2 split=both",
     "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
     "--pipeline-model-parallel-layout"},
    {"pp=5 split=uneven", "--pipeline-model-parallel-layout Et*6|t*6|t*7|t*7|t*6L",
     "--account-for"},
    {"precision=fp16", "--fp16 --tensor", "--bf16"},
    {"precision=fp16", "--accumulate-allreduce-grads-in-fp32", "--grad-reduce"},
    {"precision=fp16 grad_bf16=on", "--fp16", "--accumulate-allreduce"},
    {"precision=fp8", "--bf16 --fp8-format hybrid", "--fp8-recipe"},
    {"precision=fp8 recompute=selective recompute_modules=layernorm", "--fp8-recipe tensorwise",
     "--fp16"},
    {"fsdp=optim_grads dist_opt=on",
     "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads --ckpt-format fsdp_dtensor",
     "--use-torch"},
    {"precision_aware=on moments_bytes=1 main_grads_bf16=on grad_bf16=on",
     "--grad-reduce-in-bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 "
     "--exp-avg-dtype fp8 "
     "--exp-avg-sq-dtype fp8",
     "--optimizer-cpu-offload"},
    {"optimizer_offload=7", "--optimizer-cpu-offload --optimizer-offload-fraction 0.07",
     "--exp-avg"},
    {"optimizer_offload=100", "--optimizer-offload-fraction 1.00", "--exp-avg"},
    {"attention=local", "--spec local", "--transformer-impl"},
    {"seq_len=200000", "--max-position-embeddings 200000", "--max-position-embeddings 8192"},
    {"tp=2", "--tensor-model-parallel-size 2", "--expert-tensor"},
};

static struct strategy strategy_from(const char *text)
{
    struct strategy s;
    int count;
    const char *const *pairs = split_words(text, &count);
    strategy_init(&s);
    for (int i = 0; i < count; i++) {
        int value;
        enum param p = read_pair(pairs[i], &value);
        strategy_set(&s, p, value);
    }
    return s;
}

static void pieces(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(PIECES); i++) {
        struct strategy s = strategy_from(PIECES[i].strategy);
        struct layout l = {0};
        assert_true(layout_of(&l, &llama, &s, NULL));
        const char *flags = exported(&llama, &s, &l, "HEAD", false);
        if (!strstr(flags, PIECES[i].there) || strstr(flags, PIECES[i].absent))
            fail_msg("%s: %s", PIECES[i].strategy, flags);
    }
}

static void torch_stack(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    struct strategy s = strategy_from("tp=1");
    const char *flags = exported(&llama, &s, NULL, NULL, true);
    assert_non_null(strstr(flags, "--transformer-impl local --spec astra_sdpa layer_spec "
                                  "--no-create-attention-mask-in-dataloader "
                                  "--no-persist-layer-norm --no-gradient-accumulation-fusion "
                                  "--no-masked-softmax-fusion --no-rope-fusion"));
    struct flags_result r = imported(flags, NULL, 1);
    assert_true(r.stack == STACK_TORCH && r.notes.count == 0);
}

/* Whose layers flags mean, how many notes that takes, and what becomes of --attention-backend. */
static const struct {
    const char *flags;
    enum stack stack;
    int notes, attention;
} STACKS[] = {
    {"--attention-backend flash", STACK_TE, 0, ATTENTION_FLASH},
    {"--transformer-impl transformer_engine --spec a b", STACK_TE, 0, ATTENTION_AUTO},
    {"--transformer-impl local", STACK_LOCAL, 0, ATTENTION_AUTO},
    {"--transformer-impl local --spec my_layers spec", STACK_LOCAL, 1, ATTENTION_AUTO},
    {"--transformer-impl local --attention-softmax-in-fp32", STACK_LOCAL, 0, ATTENTION_AUTO},
    {"--transformer-impl local --attention-backend unfused", STACK_LOCAL, 0, ATTENTION_UNFUSED},
    {"--transformer-impl local --attention-backend flash", STACK_LOCAL, 1, ATTENTION_AUTO},
    {"--transformer-impl local --spec astra_sdpa layer_spec", STACK_TORCH, 0, ATTENTION_AUTO},
    {"--transformer-impl local --spec astra_sdpa layer_spec --attention-backend unfused",
     STACK_TORCH, 1, ATTENTION_AUTO},
};

static void stacks_of_flags(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(STACKS); i++) {
        const char *flags = arena_format(&mem, "--bf16 %s", STACKS[i].flags);
        struct flags_result r = imported(flags, &llama, 1);
        if (r.stack != STACKS[i].stack || r.strategy.attention != STACKS[i].attention ||
            r.notes.count != STACKS[i].notes)
            fail_msg("%s: stack %s, attention %d, %d notes", STACKS[i].flags, stack_name(r.stack),
                     r.strategy.attention, r.notes.count);
    }
}

static void local_stack(void **state)
{
    (void)state;
    const struct export_run run = {.stack = STACK_LOCAL};
    struct model llama = preset("llama3-8b");
    struct strategy s = strategy_from("tp=1 attention=unfused");
    struct error err = {0};
    const char **flags;
    size_t count;
    assert_true(export_megatron_flags(&llama, &s, NULL, "0.14", &run, &mem, &flags, &count, &err));
    struct flags_result r = imported(joined(flags, count), NULL, 1);
    assert_true(r.stack == STACK_LOCAL && r.strategy.attention == ATTENTION_UNFUSED);
    assert_null(strstr(joined(flags, count), "--spec"));
}

static bool same_switches(const struct flags_result *a, const struct flags_result *b)
{
    bool wgrads = a->switches.separate_wgrads == b->switches.separate_wgrads;
    return a->stack == b->stack && a->switches.softmax_fp32 == b->switches.softmax_fp32 &&
           a->switches.softmax_fused == b->switches.softmax_fused &&
           a->switches.batch_mask == b->switches.batch_mask && (wgrads || a->stack != STACK_TE);
}

static void waiting_tensors(void **state)
{
    static const struct {
        const char *flags;
        int waiting;
    } CASES[] = {
        {"", 0},
        {"--defer-embedding-wgrad-compute", INT_MAX},
        {"--defer-embedding-wgrad-compute --wgrad-deferral-limit 2", 2},
        {"--wgrad-deferral-limit 2", 0},
        {"--offload-modules core_attn", 0},
    };
    struct model llama = preset("llama3-8b");
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct flags_result r =
            imported(arena_format(&mem, "--bf16 %s", CASES[i].flags), &llama, 1);
        assert_int_equal(r.switches.deferred_wgrads, CASES[i].waiting);
        assert_int_equal(r.switches.offload, 0);
    }
    struct flags_result r = imported("--bf16 --fine-grained-activation-offloading "
                                     "--offload-modules core_attn moe_act attn_norm",
                                     &llama, 1);
    assert_int_equal(r.switches.offload, OFFLOAD_CORE_ATTN | OFFLOAD_MOE_ACT | OFFLOAD_ATTN_NORM);
}

/* Switches of a run are written as they were read. */
static void run_switches(void **state)
{
    static const char *const CASES[] = {
        "--transformer-impl local",
        "--transformer-impl local --no-masked-softmax-fusion",
        "--transformer-impl local --attention-softmax-in-fp32 --no-masked-softmax-fusion",
        "--no-gradient-accumulation-fusion",
        "--no-create-attention-mask-in-dataloader",
        ""};
    struct model llama = preset("llama3-8b");
    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        const char *given = arena_format(&mem, "--bf16 %s", CASES[i]), **flags;
        struct flags_result r = imported(given, &llama, 1);
        struct export_run run = {.stack = r.stack, .switches = r.switches};
        struct error err = {0};
        size_t count;
        assert_true(export_megatron_flags(&llama, &r.strategy, NULL, NULL, &run, &mem, &flags,
                                          &count, &err));
        struct flags_result again = imported(joined(flags, count), NULL, 1);
        if (!same_switches(&r, &again))
            fail_msg("%s: %s", CASES[i], joined(flags, count));
    }
}

#define RELEASES "expected HEAD or a release up to 0.19, such as 0.12 or 0.17.1"

static const struct {
    const char *version, *strategy, *message; /* NULL: taken */
} VERSIONS[] = {
    {"0.6", "tp=8 pp=4 vpp=2 p2p_overlap=on dist_opt=on", NULL},
    {"core_v0.13.0", "pp=5 split=uneven", NULL},
    {"core_r0.12.0", "pp=5 split=uneven",
     "the plan needs --pipeline-model-parallel-layout, which Megatron core has since 0.13, not in "
     "0.12"},
    {"v0.12.1", "fsdp=optim dist_opt=on",
     "the plan needs --use-megatron-fsdp, which Megatron core has since 0.14, not in 0.12"},
    {"0.10", "recompute=selective recompute_modules=mlp",
     "the plan needs --recompute-modules, which Megatron core has since 0.12, not in 0.10"},
    {"0.17", "moe_overlap=on", NULL},
    {"1.0", "tp=1", "Megatron version is '1.0', " RELEASES},
    {"0.", "tp=1", "Megatron version is '0.', " RELEASES},
    {"0.12x", "tp=1", "Megatron version is '0.12x', " RELEASES},
    {"", "tp=1", "Megatron version is '', " RELEASES},
    {"0.20", "tp=1", "Megatron version is '0.20', " RELEASES},
    {"0.015", "tp=1", "Megatron version is '0.015', " RELEASES},
    {"0.17.", "tp=1", "Megatron version is '0.17.', " RELEASES},
    {"0.17.1.2", "tp=1", "Megatron version is '0.17.1.2', " RELEASES},
    {"0.99999999999", "tp=1", "Megatron version is '0.99999999999', " RELEASES},
};

static void versions(void **state)
{
    (void)state;
    struct model llama = preset("llama3-8b");
    for (size_t i = 0; i < COUNT(VERSIONS); i++) {
        struct strategy s = strategy_from(VERSIONS[i].strategy);
        struct layout l = {0};
        const char **flags;
        size_t count;
        struct error err = {0};
        assert_true(layout_of(&l, &llama, &s, NULL));
        bool ok = export_megatron_flags(&llama, &s, &l, VERSIONS[i].version, NULL, &mem, &flags,
                                        &count, &err);
        assert_int_equal(ok, VERSIONS[i].message == NULL);
        assert_string_equal(err.text, VERSIONS[i].message ? VERSIONS[i].message : "");
    }
}

static const struct {
    const char *strategy, *env;
} ENVIRONMENTS[] = {
    {"tp=1", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"tp=2", "CUDA_DEVICE_MAX_CONNECTIONS=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"cp=2", "CUDA_DEVICE_MAX_CONNECTIONS=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"tp=2 fsdp=optim", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"tp=2 moe_overlap=on",
     "CUDA_DEVICE_MAX_CONNECTIONS=32 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
};

static void environments(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ENVIRONMENTS); i++) {
        struct strategy s = strategy_from(ENVIRONMENTS[i].strategy);
        const char **env;
        size_t count;
        export_megatron_env(&s, &mem, &env, &count);
        assert_string_equal(joined(env, count), ENVIRONMENTS[i].env);
    }
}

static void gaps(void **state)
{
    (void)state;
    struct model bloom = preset("bloom-176b"), llama = preset("llama3-8b");
    assert_null(export_untold_text(&llama, INT_MAX, &mem));
    assert_string_equal(export_untold_text(&bloom, INT_MAX, &mem),
                        "Megatron has no norm behind the embedding; alibi is 1: Megatron has no "
                        "attention biased by distance");
    llama.linear_bias = 1;
    assert_non_null(export_untold_text(&llama, INT_MAX, &mem));
}

/* Round trip. Random strategies are brought to the form in which Megatron would hold them. */
static int pick(int lo, int hi)
{
    return lo + rand() % (hi - lo + 1);
}

static void random_split(struct strategy *s, const struct model *m, struct layout *l)
{
    int counts[256] = {0}, stages;
    s->split = pick(SPLIT_EVEN, SPLIT_LAYOUT);
    s->first_layers = s->split == SPLIT_ENDS ? pick(1, 9) : 0;
    s->last_layers = s->split == SPLIT_ENDS ? pick(0, 9) : 0;
    bool counted = s->split == SPLIT_UNEVEN || s->split == SPLIT_REST;
    if (counted && !layout_of(l, m, s, NULL))
        s->pp = s->vpp = 1;
    *l = (struct layout){0};
    if (counted && !layout_of(l, m, s, NULL))
        fail_msg("%d layers over %d x %d", m->layers, s->pp, s->vpp);
    if (s->split != SPLIT_LAYOUT)
        return;
    stages = l->stages = s->pp * s->vpp;
    for (int i = 0; i < m->layers; i++)
        counts[rand() % stages]++;
    for (int i = 0; i < stages; i++) {
        l->layers[i] = (uint16_t)counts[i];
        l->first[i] = (uint16_t)(i ? l->first[i - 1] + counts[i - 1] : 0);
    }
    l->mtp_stage = l->loss_stage = stages - 1;
}

static void normalise(struct strategy *s, const struct model *m)
{
    s->engine = ENGINE_MEGATRON; /* of the others' switches Megatron has no flags */
    s->liger = s->param_offload = s->pure_bf16 = 0;
    s->reshard = s->sync_each = 1;
    if (s->tp == 1)
        s->seq_parallel = 0;
    if (s->vpp == 1)
        s->p2p_overlap = 0;
    if (!m->experts)
        s->etp = 1;
    if (s->recompute == RECOMPUTE_NONE)
        s->recompute_method = METHOD_NONE, s->recompute_layers = 0;
    if (s->recompute == RECOMPUTE_SELECTIVE && !s->recompute_modules)
        s->recompute_modules = MODULE_CORE_ATTN;
    if (s->recompute != RECOMPUTE_SELECTIVE)
        s->recompute_modules = 0;
    if (s->fsdp != FSDP_NONE)
        s->dist_opt = 1;
    if (s->precision != PRECISION_FP16 && s->main_grads_bf16)
        s->grad_bf16 = 1;
    if (s->moments_bytes == 3)
        s->moments_bytes = 4;
    if (s->precision == PRECISION_FP8 && s->expert_fusion && m->experts)
        s->precision = PRECISION_MXFP8; /* what fused experts take, and come back as */
    if (!precision_is_narrow(s->precision) || s->optimizer_offload > 0)
        s->fp8_params = 0;
    s->p2p_scatter = s->tp_sync = 0; /* have no flag */
}

static struct strategy random_strategy(const struct model *m, struct layout *l)
{
    struct strategy s;
    for (int i = 0; i < PARAMS; i++) {
        const struct param_info *info = param_info((enum param)i);
        int hi = info->kind == PARAM_INT && info->hi > 16 ? 16 : info->hi;
        strategy_set(&s, (enum param)i, pick(info->lo, hi));
    }
    s.global_batch = pick(1, 1 << 20);
    s.seq_len = pick(1, 2048);
    s.optimizer_offload = pick(0, 1) * pick(0, 100);
    random_split(&s, m, l);
    normalise(&s, m);
    return s;
}

static void assert_same_strategy(const struct strategy *a, const struct strategy *b,
                                 const char *flags)
{
    for (int i = 0; i < PARAMS; i++)
        if (strategy_get(a, (enum param)i) != strategy_get(b, (enum param)i))
            fail_msg("%s is %d, came back as %d: %s", param_info((enum param)i)->name,
                     strategy_get(a, (enum param)i), strategy_get(b, (enum param)i), flags);
}

/* The first release 0.N of Megatron core whose arguments have the flag, of those that came after 0.6:
 * read from the tags core_v0.6.0 to core_v0.19.0, apart from megatron.def. */
static const struct {
    const char *flag;
    int since;
} FIRST_IN[] = {
    {"--account-for-embedding-in-pipeline-split", 11},
    {"--account-for-loss-in-pipeline-split", 11},
    {"--activation-func-clamp-value", 15},
    {"--attention-backend", 11},
    {"--attention-output-gate", 16},
    {"--ckpt-format", 9},
    {"--cp-comm-type", 10},
    {"--cross-entropy-fusion-impl", 12},
    {"--cross-entropy-loss-fusion", 8},
    {"--cuda-graph-impl", 15},
    {"--data-parallel-sharding-strategy", 12},
    {"--decoder-first-pipeline-num-layers", 9},
    {"--decoder-last-pipeline-num-layers", 9},
    {"--delay-wgrad-compute", 13},
    {"--dsa-indexer-head-dim", 16},
    {"--dsa-indexer-n-heads", 16},
    {"--dsa-indexer-skip-topk-offset", 19},
    {"--dsa-indexer-topk", 16},
    {"--dsa-indexer-topk-freq", 19},
    {"--dsa-indexer-use-sparse-loss", 16},
    {"--exp-avg-dtype", 11},
    {"--exp-avg-sq-dtype", 11},
    {"--experimental-attention-variant", 16},
    {"--expert-tensor-parallel-size", 10},
    {"--fp8-param-gather", 9},
    {"--fp8-recipe", 12},
    {"--grad-reduce-in-bf16", 12},
    {"--init-model-with-meta-device", 12},
    {"--kv-lora-rank", 10},
    {"--linear-attention-freq", 16},
    {"--linear-key-head-dim", 16},
    {"--linear-num-key-heads", 16},
    {"--linear-num-value-heads", 16},
    {"--linear-value-head-dim", 16},
    {"--main-grads-dtype", 11},
    {"--mamba-head-dim", 12},
    {"--mamba-num-groups", 12},
    {"--mamba-num-heads", 13},
    {"--mamba-state-dim", 12},
    {"--microbatch-group-size-per-virtual-pipeline-stage", 10},
    {"--moe-ffn-hidden-size", 10},
    {"--moe-latent-size", 16},
    {"--moe-layer-freq", 10},
    {"--moe-router-enable-expert-bias", 11},
    {"--moe-router-group-topk", 11},
    {"--moe-router-num-groups", 11},
    {"--moe-router-pre-softmax", 8},
    {"--moe-router-score-function", 11},
    {"--moe-shared-expert-gate", 16},
    {"--moe-shared-expert-intermediate-size", 10},
    {"--moe-shared-expert-overlap", 10},
    {"--mtp-num-layers", 12},
    {"--multi-latent-attention", 10},
    {"--num-distributed-optimizer-instances", 10},
    {"--num-layers-at-end-in-bf16", 12},
    {"--num-layers-at-start-in-bf16", 12},
    {"--num-virtual-stages-per-pipeline-rank", 11},
    {"--optimizer-cpu-offload", 12},
    {"--optimizer-offload-fraction", 12},
    {"--overlap-moe-expert-parallel-comm", 14},
    {"--pipeline-model-parallel-layout", 13},
    {"--q-lora-rank", 10},
    {"--qk-head-dim", 10},
    {"--qk-pos-emb-head-dim", 10},
    {"--recompute-modules", 12},
    {"--softmax-type", 15},
    {"--use-megatron-fsdp", 14},
    {"--use-precision-aware-optimizer", 11},
    {"--use-transformer-engine-op-fuser", 18},
    {"--v-head-dim", 10},
    {"--window-attn-skip-freq", 15},
    {"--window-size", 15},
};

static int first_in(const char *flag)
{
    for (size_t i = 0; i < COUNT(FIRST_IN); i++)
        if (strcmp(FIRST_IN[i].flag, flag) == 0)
            return FIRST_IN[i].since;
    return 6;
}

static void flags_are_as_old_as_in_megatron(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(PARAM_LINES); i++)
        if (PARAM_LINES[i].kind != NONE)
            assert_int_equal(PARAM_LINES[i].since, first_in(PARAM_LINES[i].flag));
    for (size_t i = 0; i < COUNT(FIELD_LINES); i++)
        if (FIELD_LINES[i].kind != NONE)
            assert_int_equal(FIELD_LINES[i].since, first_in(FIELD_LINES[i].flag));
}

/* A release has all the flags of a plan, spelled as in HEAD, or the plan is refused for it. What the
 * model means may be left out: the answer names it. --rotary-base is newer than 0.6, its default is
 * not. */
static void same_in_releases(const struct model *m, const struct strategy *s,
                             const struct layout *l, bool torch, const char *head)
{
    const struct export_run run = {.stack = torch ? STACK_TORCH : STACK_TE};
    bool taken = false;
    for (int release = 6; release <= 19; release++) {
        const char **flags;
        size_t count;
        struct error err = {0};
        char version[8], last[16];
        snprintf(version, sizeof version, "0.%d", release);
        snprintf(last, sizeof last, "not in 0.%d", release);
        if (export_megatron_flags(m, s, l, version, &run, &mem, &flags, &count, &err)) {
            if (release > 6 && !export_untold_text(m, release, &mem))
                assert_string_equal(joined(flags, count), head);
            for (size_t i = 0; i < count; i++)
                assert_true(first_in(flags[i]) <= release);
            taken = true;
        } else {
            assert_false(taken); /* no flag is gone again */
            assert_non_null(strstr(err.text, "which Megatron core has since 0."));
            assert_non_null(strstr(err.text, last));
        }
    }
    assert_true(taken);
}

/* A pattern of layers has the stages, whatever split they come from. */
static void hybrid_trip(const struct model *m)
{
    struct layout l, back;
    struct error err = {0};
    struct strategy s = random_strategy(m, &l);
    if (!layout_is_string(s.split) && !layout_of(&l, m, &s, &err))
        return;
    if (l.mtp_stage != l.loss_stage)
        return;
    const char *flags = exported(m, &s, &l, NULL, false);
    struct flags_result r = imported(flags, NULL, strategy_gpus(&s));
    char difference[160] = "";
    if (r.reasons.count > 0)
        fail_msg("%s: %s", flags, r.reasons.text[0]);
    if (!model_same(m, &r.model, difference, sizeof difference))
        fail_msg("%s: %s: %s", m->name, difference, flags);
    assert_int_equal(r.strategy.vpp, s.vpp);
    assert_true(r.has_layout || layout_of(&back, &r.model, &r.strategy, &err));
    assert_memory_equal(r.has_layout ? r.layout.layers : back.layers, l.layers,
                        (size_t)l.stages * sizeof *l.layers);
    assert_string_equal(exported(&r.model, &r.strategy, &r.layout, NULL, false), flags);
}

static void trip(const struct model *m)
{
    struct layout l;
    if (m->pattern[0]) {
        hybrid_trip(m);
        return;
    }
    struct strategy s = random_strategy(m, &l);
    bool torch = rand() % 2;
    if (torch)
        s.attention = ATTENTION_AUTO;
    if (!layout_keeps_choices(&l, m, NULL))
        return;
    const char *flags = exported(m, &s, &l, NULL, torch);
    same_in_releases(m, &s, &l, torch, flags);
    struct flags_result r = imported(flags, NULL, strategy_gpus(&s));
    char difference[160] = "";
    if (r.reasons.count > 0)
        fail_msg("%s: %s", flags, r.reasons.text[0]);
    if (!model_same(m, &r.model, difference, sizeof difference))
        fail_msg("%s: %s: %s", m->name, difference, flags);
    assert_int_equal(r.has_layout, layout_is_string(s.split));
    if (r.has_layout)
        assert_memory_equal(&r.layout, &l, sizeof l);
    if (layout_is_string(s.split))
        s.split = SPLIT_LAYOUT;
    assert_same_strategy(&s, &r.strategy, flags);
    assert_string_equal(exported(&r.model, &r.strategy, &r.layout, NULL, torch), flags);
}

/* An export is refused nothing, so a plan need not be valid to come back. */
static void round_trip(void **state)
{
    static const char *const more[] = {
        "layers=7,hidden=64,ffn=96,heads=4,head_dim=24,vocab=100,experts=4,topk=1,expert_ffn=16,"
        "moe_every=3,"
        "dense_first=1,window=16,window_every=4",
        "layers=12,hidden=64,ffn=96,heads=8,kv=2,vocab=100,gated=0,window=8",
        "layers=12,mla=1,q_lora=32,kv_lora=16,qk_nope=16,qk_rope=8,v_dim=16,index_heads=4,index_"
        "dim=8,"
        "index_topk=16,index_loss=1,hidden=64,ffn=96,heads=8,vocab=100",
        "pattern=D-DED-DE,mla=1,kv_lora=16,qk_nope=16,qk_rope=8,v_dim=16,index_heads=4,index_dim=8,"
        "index_topk=16,hidden=64,ffn=96,heads=8,vocab=100,experts=8,topk=2,expert_ffn=16",
        "layers=12,full_every=4,gdn_heads=8,gdn_dim=8,gdn_key_heads=4,gdn_key_dim=16,attn_gate=1,"
        "hidden=64,ffn=96,heads=8,kv=2,vocab=100",
        "pattern=G-*EG-*EM-*E,gdn_heads=8,gdn_dim=8,gdn_key_heads=4,gdn_key_dim=16,hidden=64,ffn="
        "96,"
        "heads=8,kv=2,vocab=100,experts=8,topk=2,expert_ffn=16,mamba_heads=16,mamba_head_dim=8,"
        "mamba_groups=8,mamba_state=16",
        "pattern=M-*EM-*EM-*E/*E/*E,hidden=64,ffn=96,heads=8,kv=2,vocab=100,gated=0,tied=0,"
        "layer_norm=0,learned_pos=0,nope_every=1,experts=8,topk=2,expert_ffn=16,moe_latent=32,"
        "mamba_heads=16,mamba_head_dim=8,mamba_groups=8,mamba_state=16",
    };
    int trips = 0;
    (void)state;
    srand(7);
    for (const struct model_preset *p = model_presets(); p->name; p++) {
        struct model m = preset(p->name);
        if (model_lacks(&m))
            continue;
        /* what no flag says does not come back */
        m.post_norms = m.qk_norm_wide = m.bare_norm = m.parallel = m.shared_norm = 0;
        for (int i = 0; i < 50 && !m.embed_norm && m.alibi == 0; i++, trips++)
            trip(&m);
    }
    for (size_t k = 0; k < COUNT(more); k++) {
        struct model m = preset(more[k]);
        for (int i = 0; i < 120; i++, trips++)
            trip(&m);
    }
    assert_true(trips >= 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flag_table_is_sorted),
        cmocka_unit_test(flag_table_is_the_dump),
        cmocka_unit_test(every_parameter_has_a_line),
        cmocka_unit_test(flags_are_as_old_as_in_megatron),
        cmocka_unit_test(other_tables_name_known_flags),
        cmocka_unit_test(aliases_are_flags),
        cmocka_unit_test_setup_teardown(meanings, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(given_marks_what_stands_there, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(expert_parallel_default, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(models, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(odd_pattern, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(errors, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(missing_model, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(vocabulary_from_the_model, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(ends_in_16_bits, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(muon, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(reasons, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(no_reasons, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(late_selective, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(tied_embeddings, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(padding, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(notes, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(named_model, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(batch_out_of_range, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(whole_export, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(pieces, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(torch_stack, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(stacks_of_flags, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(local_stack, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(run_switches, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(waiting_tensors, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(versions, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(environments, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(gaps, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(round_trip, open_memory, close_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
