/* Plans of transformers' layers as the words that start them: accelerate's launcher, and TRL's script for
 * fine-tuning with Trainer's own arguments. What is predicted is said: sequences are full, packed or
 * padded, the loss takes whole logits, gradients of every micro-batch are reduced. */
#include "export/hf_flags.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "dataset/dataset.h"
#include "export/writer.h"
#include "model/trained.h"
#include "simulate/plan.h"

#include <stdio.h>
#include <string.h>

static const char *truth(bool on)
{
    return on ? "true" : "false";
}

static void add_number(struct writer *w, const char *flag, int64_t value)
{
    writer_pair(w, flag, arena_format(w->mem, "%lld", (long long)value));
}

static void add_launcher(struct writer *w, int64_t nodes)
{
    const struct strategy *s = w->strategy;
    bool fp16 = s->precision == PRECISION_FP16;
    writer_word(w, "accelerate");
    writer_word(w, "launch");
    add_number(w, "--num_processes", s->dp);
    add_number(w, "--num_machines", nodes);
    writer_pair(w, "--mixed_precision", s->pure_bf16 ? "no" : fp16 ? "fp16" : "bf16");
    writer_pair(w, "--dynamo_backend", "no");
}

static void add_fsdp(struct writer *w)
{
    const struct strategy *s = w->strategy;
    writer_word(w, "--use_fsdp");
    writer_pair(w, "--fsdp_version", "2");
    writer_pair(w, "--fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    writer_pair(w, "--fsdp_reshard_after_forward", truth(s->reshard));
    writer_pair(w, "--fsdp_offload_params", truth(s->param_offload));
    writer_pair(w, "--fsdp_activation_checkpointing", truth(s->recompute == RECOMPUTE_FULL));
    writer_pair(w, "--fsdp_state_dict_type", "SHARDED_STATE_DICT");
    if (s->optimizer_instances == 1)
        return;
    writer_word(w, "--use_parallelism_config");
    add_number(w, "--parallelism_config_dp_replicate_size", s->optimizer_instances);
    add_number(w, "--parallelism_config_dp_shard_size", s->dp / s->optimizer_instances);
}

static struct json *device(void)
{
    struct json *o = json_new_object();
    json_set(o, "device", json_new_string("cpu"));
    json_set(o, "pin_memory", json_new_bool(true));
    return o;
}

static struct json *enabled(void)
{
    struct json *o = json_new_object();
    json_set(o, "enabled", json_new_bool(true));
    return o;
}

/* DeepSpeed's configuration, to be released. */
static struct json *deepspeed_of(const struct strategy *s)
{
    static const char *const AUTO[] = {"train_batch_size", "gradient_clipping"};
    struct json *o = json_new_object(), *zero = json_new_object();
    json_set(zero, "stage", json_new_integer(s->engine == ENGINE_ZERO2 ? 2 : 3));
    json_set(zero, "overlap_comm", json_new_bool(true));
    json_set(zero, "contiguous_gradients", json_new_bool(true));
    json_set(zero, "reduce_bucket_size", json_new_string("auto"));
    if (s->engine == ENGINE_ZERO3) {
        json_set(zero, "stage3_prefetch_bucket_size", json_new_string("auto"));
        json_set(zero, "stage3_param_persistence_threshold", json_new_string("auto"));
        json_set(zero, "stage3_max_live_parameters", json_new_integer(1000000000));
        json_set(zero, "stage3_max_reuse_distance", json_new_integer(1000000000));
    }
    if (s->optimizer_offload > 0)
        json_set(zero, "offload_optimizer", device());
    if (s->param_offload)
        json_set(zero, "offload_param", device());
    json_set(o, s->precision == PRECISION_FP16 ? "fp16" : "bf16", enabled());
    json_set(o, "zero_optimization", zero);
    json_set(o, "train_micro_batch_size_per_gpu", json_new_integer(s->micro_batch));
    json_set(o, "gradient_accumulation_steps", json_new_integer(strategy_micro_batches(s)));
    for (size_t i = 0; i < sizeof AUTO / sizeof *AUTO; i++)
        json_set(o, AUTO[i], json_new_string("auto"));
    return o;
}

static void add_deepspeed(struct writer *w)
{
    struct json *o = deepspeed_of(w->strategy);
    struct str text = {0};
    json_dump_line(o, &text);
    json_release(o);
    writer_text(w, "--deepspeed", &text);
}

/* What a model is called on the Hugging Face hub; a name of ours is its user's to replace. */
static const char *model_word(const struct model *m, struct arena *mem)
{
    const char *id = model_hub_id(m, mem);
    return id ? id : arena_string(mem, m->name);
}

/* Modules of gated MLPs and attention as most models of transformers call them. */
static void add_adapters(struct writer *w)
{
    static const struct {
        enum lora_target target;
        const char *names;
    } MODULES[] = {{TARGET_qkv, "q_proj k_proj v_proj"},
                   {TARGET_proj, "o_proj"},
                   {TARGET_fc1, "gate_proj up_proj"},
                   {TARGET_fc2, "down_proj"}};
    const struct model *m = w->model;
    if (m->lora == 0)
        return;
    writer_word(w, "--use_peft");
    add_number(w, "--lora_r", m->lora);
    writer_word(w, "--lora_target_modules");
    for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++)
        for (const char *at = MODULES[i].names; model_adapts(m, MODULES[i].target) && *at;) {
            size_t n = strcspn(at, " ");
            writer_word(w, arena_copy(w->mem, at, n));
            at += n + (at[n] == ' ');
        }
    if (model_frozen_bytes(m) < 1) {
        writer_word(w, "--load_in_4bit");
        writer_pair(w, "--bnb_4bit_quant_storage", "bfloat16"); /* so that FSDP shards it */
    }
}

/* Full sequences, packs of whole samples (only flash attention keeps them apart), or samples that are padded. */
static void add_samples(struct writer *w, const struct dataset *d)
{
    bool packed = d && d->packing;
    writer_pair(w, "--packing", truth(!d || packed));
    if (!d || packed)
        writer_pair(w, "--packing_strategy", packed ? "bfd" : "wrapped");
    else if (d->padding == PADDING_SEQ_LEN)
        add_number(w, "--pad_to_multiple_of", w->strategy->seq_len);
}

static void add_training(struct writer *w, const struct dataset *d)
{
    const struct strategy *s = w->strategy;
    bool flash = s->attention == ATTENTION_FLASH || (d && d->packing);
    bool fsdp = s->engine == ENGINE_FSDP2, accumulates = strategy_micro_batches(s) > 1;
    writer_pair(w, "--model_name_or_path", model_word(w->model, w->mem));
    writer_pair(w, "--dtype", s->pure_bf16 ? "bfloat16" : "float32");
    add_number(w, "--max_length", s->seq_len);
    add_samples(w, d);
    writer_pair(w, "--loss_type", "nll");
    writer_pair(w, "--attn_implementation", flash ? "flash_attention_2" : "sdpa");
    add_number(w, "--per_device_train_batch_size", s->micro_batch);
    add_number(w, "--gradient_accumulation_steps", strategy_micro_batches(s));
    writer_pair(w, s->precision == PRECISION_FP16 ? "--fp16" : "--bf16", truth(!s->pure_bf16));
    writer_pair(w, "--gradient_checkpointing", truth(!fsdp && s->recompute == RECOMPUTE_FULL));
    writer_pair(w, "--optim", "adamw_torch_fused");
    writer_pair(w, "--use_liger_kernel", truth(s->liger));
    add_adapters(w);
    if (fsdp && accumulates)
        writer_pair(w, "--accelerator_config",
                    s->sync_each
                        ? "{\"gradient_accumulation_kwargs\": {\"sync_each_batch\": true}}"
                        : "{\"gradient_accumulation_kwargs\": {\"sync_each_batch\": false}}");
}

void export_hf_flags(const struct model *m, const struct strategy *s, const struct dataset *d,
                     int64_t nodes, struct arena *mem, const char ***words, size_t *count)
{
    struct writer w = {.model = m, .strategy = s, .mem = mem};
    w.word = arena_array(mem, WRITER_MAX_WORDS, sizeof *w.word);
    add_launcher(&w, nodes);
    if (s->engine == ENGINE_FSDP2)
        add_fsdp(&w);
    writer_pair(&w, "--module", "trl.scripts.sft");
    add_training(&w, d);
    if (s->engine != ENGINE_FSDP2)
        add_deepspeed(&w);
    *words = w.word;
    *count = w.count;
}

void export_hf_env(struct arena *mem, const char ***env, size_t *count)
{
    const char **list = arena_array(mem, 1, sizeof *list);
    list[0] = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    *env = list;
    *count = 1;
}
