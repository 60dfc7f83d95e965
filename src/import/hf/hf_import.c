/* Settings of a training as a strategy: which engine they mean, what it shards and offloads, and with what
 * batch. What cannot be planned is refused, what is planned otherwise is a note. */
#include "import/hf/hf_flags_in.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/hf/hf_job.h"
#include "import/megatron/words.h"
#include "model/trained.h"

#include <stdio.h>
#include <string.h>

static void note(struct flags_result *r, const char *text)
{
    if (r->notes.count < FLAGS_MAX_TEXTS)
        r->notes.text[r->notes.count++] = text;
}

static void refuse(struct flags_result *r, const char *text)
{
    if (r->reasons.count < FLAGS_MAX_TEXTS)
        r->reasons.text[r->reasons.count++] = text;
}

static bool is_text(const struct hf_job *j, enum hf_field f, const char *text)
{
    return j->text[f] && strcmp(j->text[f], text) == 0;
}

static bool holds(const struct hf_job *j, enum hf_field f, const char *part)
{
    return j->text[f] && strstr(j->text[f], part);
}

static bool on_cpu(const struct hf_job *j, enum hf_field f, struct error *err, bool *ok)
{
    *ok = !is_text(j, f, "nvme") ||
          fail(err, ERROR_INPUT, "offload to NVMe is not planned: plan device cpu");
    return is_text(j, f, "cpu");
}

/* What programs set where nothing is said: SFTConfig of TRL, LLaMA-Factory (hparams/model_args.py,
 * data_args.py), which recomputes unless it is told not to. */
static void take_defaults(struct hf_job *j)
{
    bool trl = holds(j, HF_module, "trl");
    bool factory = is_text(j, HF_adapter, "full") || is_text(j, HF_adapter, "freeze") ||
                   (is_text(j, HF_adapter, "lora") && !j->number[HF_peft] && j->factory);
    if ((trl || factory) && !j->text[HF_checkpointing])
        j->number[HF_checkpointing] = !j->number[HF_keeps_all];
    if (trl && !j->text[HF_bf16] && !j->number[HF_fp16])
        j->number[HF_bf16] = 1;
    if ((trl || factory) && !j->number[HF_seq_len])
        j->number[HF_seq_len] = trl ? 1024 : 2048;
}

static bool find_engine(const struct hf_job *j, struct strategy *s, struct error *err)
{
    bool zero = j->text[HF_stage] || j->text[HF_deepspeed] || j->number[HF_use_deepspeed] ||
                is_text(j, HF_distributed, "DEEPSPEED");
    bool fsdp = j->number[HF_use_fsdp] || is_text(j, HF_distributed, "FSDP") ||
                (j->text[HF_fsdp] && !is_text(j, HF_fsdp, "false"));
    if (zero && fsdp)
        return fail(err, ERROR_INPUT, "both FSDP and DeepSpeed are asked for: a training has one");
    if (zero && j->number[HF_stage] != 2 && j->number[HF_stage] != 3)
        return fail(err, ERROR_INPUT,
                    "ZeRO stage %s is not planned: stages 2 and 3 are (zero_optimization.stage)",
                    j->text[HF_stage] ? j->text[HF_stage] : "(not said)");
    if (!zero && !fsdp)
        return fail(err, ERROR_INPUT,
                    "neither FSDP nor DeepSpeed is asked for, and plain data parallelism is not "
                    "planned: add --use_fsdp, or --deepspeed with its file");
    s->engine = fsdp ? ENGINE_FSDP2 : j->number[HF_stage] == 2 ? ENGINE_ZERO2 : ENGINE_ZERO3;
    return true;
}

/* FSDP 1 has words, FSDP2 a truth value. */
static bool reshards(const struct hf_job *j)
{
    static const char *const KEEPS[] = {"SHARD_GRAD_OP", "_HYBRID_SHARD_ZERO2", "shard_grad_op"};
    for (size_t i = 0; i < sizeof KEEPS / sizeof *KEEPS; i++)
        if (holds(j, HF_reshard, KEEPS[i]) || holds(j, HF_strategy, KEEPS[i]) ||
            holds(j, HF_fsdp, KEEPS[i]))
            return false;
    return !is_text(j, HF_reshard, "false") && !is_text(j, HF_reshard, "False");
}

static bool set_shards(const struct hf_job *j, struct flags_result *r, struct error *err)
{
    struct strategy *s = &r->strategy;
    bool ok, ok_params, host = on_cpu(j, HF_offload_optimizer, err, &ok);
    bool params = on_cpu(j, HF_offload_param, err, &ok_params);
    if (!ok || !ok_params)
        return false;
    if (s->engine == ENGINE_FSDP2) {
        host = params = j->number[HF_fsdp_offload] || holds(j, HF_fsdp, "offload");
        s->reshard = reshards(j);
        s->optimizer_instances = j->number[HF_replicas] ? (int)j->number[HF_replicas] : 1;
        s->sync_each = (int)j->number[HF_sync_each];
        if (j->number[HF_fsdp_version] == 1)
            note(r, "fsdp_version 1: planned as version 2, which shards the same");
    }
    s->optimizer_offload = host ? 100 : 0;
    s->param_offload = params;
    return true;
}

static bool set_precision(const struct hf_job *j, struct flags_result *r, struct error *err)
{
    struct strategy *s = &r->strategy;
    bool half = is_text(j, HF_dtype, "bfloat16") || is_text(j, HF_dtype, "bf16");
    bool bf16 = j->number[HF_bf16] || is_text(j, HF_mixed, "bf16") || is_text(j, HF_bf16, "auto");
    bool fp16 = j->number[HF_fp16] || is_text(j, HF_mixed, "fp16");
    if (is_text(j, HF_mixed, "fp8"))
        return fail(err, ERROR_INPUT, "mixed_precision fp8 is not planned here: bf16 and fp16 are");
    if (!bf16 && !fp16 && !half)
        return fail(err, ERROR_INPUT,
                    "training in fp32 is not planned: add --bf16, or mixed_precision: bf16");
    s->precision = fp16 ? PRECISION_FP16 : PRECISION_BF16;
    s->pure_bf16 = half && !bf16 && !fp16;
    return true;
}

static void set_layers(const struct hf_job *j, struct flags_result *r)
{
    struct strategy *s = &r->strategy;
    bool again = j->number[HF_checkpointing];
    s->recompute = again ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    s->recompute_method = again ? METHOD_UNIFORM : METHOD_NONE;
    s->recompute_layers = again;
    s->liger = (int)j->number[HF_liger];
    s->attention = holds(j, HF_attention, "flash") || is_text(j, HF_attention, "fa2")
                       ? ATTENTION_FLASH
                       : ATTENTION_AUTO;
    if (is_text(j, HF_loss, "chunked_nll"))
        note(r, "loss_type chunked_nll: planned with whole logits, which need more memory");
    double n;
    r->filling = j->number[HF_packing] ? FILLING_PACKED : FILLING_PADDED;
    if (j->text[HF_epochs] && parse_real(j->text[HF_epochs], &n) && n > 0 && n <= 1e6)
        r->epochs = n;
}

static bool set_batch(const struct hf_job *j, struct flags_result *r, struct error *err)
{
    enum { TRAINER_BATCH = 8 }; /* per_device_train_batch_size of TrainingArguments */
    r->strategy.micro_batch =
        j->number[HF_micro_batch] ? (int)j->number[HF_micro_batch] : TRAINER_BATCH;
    r->given[PARAM_micro_batch] = j->number[HF_micro_batch] > 0;
    r->accumulation = j->number[HF_accumulation] ? j->number[HF_accumulation] : 1;
    r->strategy.global_batch = j->number[HF_global_batch] ? (int)j->number[HF_global_batch] : 1;
    r->given[PARAM_global_batch] = j->number[HF_global_batch] > 0;
    r->given[PARAM_seq_len] = j->number[HF_seq_len] > 0;
    r->strategy.seq_len = r->given[PARAM_seq_len] ? (int)j->number[HF_seq_len] : 1;
    if (j->number[HF_tp] > 1 || j->number[HF_cp] > 1)
        return fail(err, ERROR_INPUT,
                    "tensor and context parallelism of transformers are not planned: the engines "
                    "split the data alone");
    return true;
}

/* Modules of transformers and the matrices that they are part of. */
static const struct {
    const char *module, *target;
} MODULES[] = {
    {"q_proj", "qkv"},    {"k_proj", "qkv"},           {"v_proj", "qkv"},
    {"o_proj", "proj"},   {"gate_proj", "fc1"},        {"up_proj", "fc1"},
    {"down_proj", "fc2"}, {"all", "qkv,proj,fc1,fc2"}, {"all-linear", "qkv,proj,fc1,fc2"}};

static bool add_targets(const char *list, struct str *out, struct error *err)
{
    bool first = true;
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ","), i = 0;
        while (i < sizeof MODULES / sizeof *MODULES &&
               !(strlen(MODULES[i].module) == n && memcmp(MODULES[i].module, at, n) == 0))
            i++;
        if (i == sizeof MODULES / sizeof *MODULES)
            return fail(err, ERROR_INPUT,
                        "adapters on '%.*s': known are q_proj, k_proj, v_proj, o_proj, gate_proj, "
                        "up_proj, down_proj and all-linear",
                        (int)n, at);
        if (!strstr(str_text(out), MODULES[i].target))
            str_addf(out, "%s%s", first ? "" : ",", MODULES[i].target);
        first = false;
        at += n + (at[n] == ',');
    }
    return true;
}

/* PEFT's own default is the queries and values of most models. */
static bool part_of_qkv(const char *list)
{
    if (!list)
        return true;
    bool any = strstr(list, "q_proj") || strstr(list, "k_proj") || strstr(list, "v_proj");
    return any && !(strstr(list, "q_proj") && strstr(list, "k_proj") && strstr(list, "v_proj"));
}

static bool train_adapters(struct flags_result *r, struct error *err)
{
    const struct hf_job *j = r->job;
    struct model *m = &r->model;
    bool lora = j->number[HF_peft] || holds(j, HF_adapter, "lora");
    bool bits4 = j->number[HF_bits4] || j->number[HF_bits] == 4;
    struct str s = {0};
    if (!lora)
        return true;
    if (part_of_qkv(j->text[HF_targets]))
        note(r, "adapters on some of q_proj, k_proj and v_proj are planned on all three");
    str_addf(&s, "lora:r=%lld,targets=", (long long)(j->number[HF_rank] ? j->number[HF_rank] : 16));
    bool ok = add_targets(j->text[HF_targets] ? j->text[HF_targets] : "q_proj,v_proj", &s, err);
    str_add(&s, bits4 ? ",bits=4" : "");
    ok = ok && model_set_trained(m, str_text(&s), err);
    str_release(&s);
    return ok;
}

static void note_unread(const struct hf_job *j, struct flags_result *r)
{
    static const char HARMLESS[] =
        " stage output_dir dataset_name dataset learning_rate lr_scheduler_type warmup_ratio "
        "warmup_steps max_steps logging_steps save_steps save_strategy seed "
        "dynamo_backend fsdp_auto_wrap_policy fsdp_state_dict_type "
        "fsdp_transformer_layer_cls_to_wrap "
        "fsdp_cpu_ram_efficient_loading fsdp_use_orig_params packing_strategy optim report_to "
        "machine_rank main_process_ip main_process_port master_port master_addr "
        "use_parallelism_config "
        "parallelism_config_dp_shard_size zero3_init_flag zero_optimization.overlap_comm "
        "zero_optimization.contiguous_gradients zero_optimization.reduce_bucket_size "
        "zero_optimization.stage3_prefetch_bucket_size "
        "zero_optimization.stage3_max_live_parameters "
        "zero_optimization.stage3_max_reuse_distance "
        "zero_optimization.stage3_param_persistence_threshold "
        "zero_optimization.offload_optimizer.pin_memory zero_optimization.offload_param.pin_memory "
        "gradient_clipping compute_environment weight_decay lora_alpha lora_dropout "
        "bnb_4bit_quant_storage zero3_save_16bit_model main_training_function same_network "
        "rdzv_backend debug use_cpu ";
    struct str s = {0};
    for (int i = 0; i < j->unread; i++) {
        char name[128];
        snprintf(name, sizeof name, " %.120s ", j->unread_name[i]);
        if (!strstr(HARMLESS, name))
            str_addf(&s, "%s%.60s", s.length ? ", " : "", j->unread_name[i]);
    }
    if (s.length)
        note(r, arena_format(r->mem, "not read, taken to change neither time nor memory: %s",
                             str_text(&s)));
    str_release(&s);
}

static bool settle(struct hf_job *j, struct flags_result *r, struct error *err)
{
    struct strategy *s = &r->strategy;
    strategy_init(s);
    take_defaults(j);
    if (!find_engine(j, s, err))
        return false;
    for (int p = PARAM_FIRST_CELL; p < PARAMS; p++)
        strategy_set(s, (enum param)p, engine_value(s->engine, (enum param)p));
    if (!set_shards(j, r, err) || !set_precision(j, r, err) || !set_batch(j, r, err))
        return false;
    set_layers(j, r);
    if (s->engine != ENGINE_FSDP2 || r->accumulation == 1)
        s->sync_each = 1;
    r->stack = STACK_TORCH;
    r->job = j;
    r->words = words_read(0, NULL, r->mem, err); /* of Megatron's there are none */
    if (j->text[HF_model] && !model_load(&r->model, j->text[HF_model], r->mem, err))
        return false;
    r->has_model = j->text[HF_model] != NULL;
    note_unread(j, r);
    return true;
}

static struct hf_job *new_job(struct flags_result *r, struct arena *mem)
{
    struct hf_job *j = arena_alloc(mem, sizeof *j);
    *j = (struct hf_job){.mem = mem};
    *r = (struct flags_result){.mem = mem};
    return j;
}

bool hf_import(int count, const char *const *words, struct flags_result *r, struct arena *mem,
               struct error *err)
{
    struct hf_job *j = new_job(r, mem);
    return hf_read_words(j, count, words, err) && settle(j, r, err);
}

bool hf_import_text(const char *text, const char *name, struct flags_result *r, struct arena *mem,
                    struct error *err)
{
    struct hf_job *j = new_job(r, mem);
    return hf_read_text(j, text, name, err) && settle(j, r, err);
}

/* The launcher's processes must be the GPUs there are. */
static void check_world(struct flags_result *r, int64_t world)
{
    const struct hf_job *j = r->job;
    int64_t nodes = j->number[HF_nodes] ? j->number[HF_nodes] : 1;
    int64_t ranks =
        j->number[HF_processes] ? j->number[HF_processes] : j->number[HF_per_node] * nodes;
    if (ranks > 0 && ranks != world)
        refuse(r, arena_format(r->mem, "the launcher starts %lld processes, there are %lld GPUs",
                               (long long)ranks, (long long)world));
}

bool hf_finish(struct flags_result *r, const struct model *given, int64_t world, struct error *err)
{
    struct strategy *s = &r->strategy;
    struct error none;
    if (given && r->has_model && !model_same(given, &r->model, none.text, sizeof none.text))
        return fail(err, ERROR_INPUT, "--model %s and model_name_or_path %s are two models",
                    given->name, r->job->text[HF_model]);
    if (!given && !r->has_model)
        return fail(err, ERROR_INPUT,
                    "no model is given: add --model, or --model_name_or_path to the arguments");
    if (given)
        r->model = *given;
    if (!train_adapters(r, err))
        return false;
    check_world(r, world);
    s->dp = (int)world;
    int64_t batch = s->micro_batch * world * r->accumulation;
    if (batch > 1 << 30)
        return fail(err, ERROR_INPUT, "a global batch of %lld is too large", (long long)batch);
    if (r->given[PARAM_global_batch] && s->global_batch != batch)
        refuse(r, arena_format(r->mem,
                               "train_batch_size is %d, micro-batch x GPUs x accumulation %lld",
                               s->global_batch, (long long)batch));
    else
        s->global_batch = (int)batch;
    if (!r->given[PARAM_seq_len])
        note(r, "no length of sequences is said (max_length, cutoff_len): the model's default");
    return true;
}
