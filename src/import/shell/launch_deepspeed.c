/* What DeepSpeed's own settings, the JSON of --deepspeed_config, say: ZeRO stage and offloading count more than flags,
 * since the engine reads them there; batch and precision are taken where no flag says them, and compared where one
 * does. */
#include "import/shell/launch_translation.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#include <string.h>

struct settings {
    struct launch *launch;
    const struct json *root;
    struct arena *mem;
    int count;
    struct launch_word *word; /* those of the launch, with what is added */
};

/* How long a value that is not known is: a part of the script, or a word that stands there to be filled in. */
static size_t unknown_length(const char *p)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n = strspn(p, letters);
    return *p == LAUNCH_MARK ? strcspn(p, "\002") + (p[strcspn(p, "\002")] != 0)
           : n > 1           ? n + strspn(p + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
                             : 0;
}

/* Unknown values are null: nothing is said of them. */
static const char *without_marks(const char *text, struct arena *mem)
{
    struct str s = {0};
    bool quoted = false;
    for (const char *p = text; *p;) {
        size_t n = quoted && *p != LAUNCH_MARK ? 0 : unknown_length(p);
        quoted ^= *p == '"' && (p == text || p[-1] != '\\');
        str_add_bytes(&s, n ? "null" : p, n ? 4 : 1);
        p += n ? n : 1;
    }
    return str_keep(&s, mem);
}

static void add(struct settings *s, const char *flag, const char *value)
{
    s->word[s->count++] = (struct launch_word){flag, s->launch->line};
    if (value)
        s->word[s->count++] = (struct launch_word){value, s->launch->line};
}

static void drop(struct settings *s, const char *flag)
{
    s->count = launch_drop(s->word, NULL, s->count, flag);
}

static const struct json *zero_of(const struct settings *s, const char *key)
{
    const struct json *zero = json_get(s->root, "zero_optimization");
    return json_is_object(zero) ? json_get(zero, key) : NULL;
}

static void take_stage(struct settings *s)
{
    const struct json *stage = zero_of(s, "stage");
    const char *flag = launch_value(s->launch, "--zero-stage");
    int64_t n = json_integer_of(stage);
    if (!json_is_integer(stage) || n < 0 || n > 3)
        return;
    const char *value = arena_format(s->mem, "%lld", (long long)n);
    if (flag && strcmp(flag, value) != 0)
        launch_note(s->launch,
                    arena_format(s->mem,
                                 "--zero-stage is %s, DeepSpeed's settings say %s: these count",
                                 flag, value));
    drop(s, "--zero-stage");
    add(s, "--zero-stage", value);
}

static bool is_offloaded(const struct json *settings)
{
    const char *device = json_is_object(settings) ? json_text(json_get(settings, "device")) : "";
    return is_one_of(device, "cpu nvme");
}

static void take_offload(struct settings *s)
{
    const struct json *old = zero_of(s, "cpu_offload");
    bool optimizer =
        is_offloaded(zero_of(s, "offload_optimizer")) || (json_is_bool(old) && json_bool_of(old));
    if (optimizer && !launch_mentions(s->launch, "--cpu-optimizer"))
        add(s, "--cpu-optimizer", NULL);
    if (is_offloaded(zero_of(s, "offload_param")))
        launch_note(s->launch,
                    "offload_param of DeepSpeed's settings: weights are planned on the GPU");
}

/* A number that a flag says too. */
static void take_number(struct settings *s, const char *key, const char *flag)
{
    const struct json *value = json_get(s->root, key);
    const char *said = launch_value(s->launch, flag);
    if (!json_is_integer(value) || json_integer_of(value) < 1)
        return;
    const char *text = arena_format(s->mem, "%lld", (long long)json_integer_of(value));
    if (!launch_mentions(s->launch, flag))
        add(s, flag, text);
    else if (said && strcmp(said, text) != 0)
        launch_note(s->launch,
                    arena_format(s->mem, "%s is %s, DeepSpeed's %s is %s: the flag counts", flag,
                                 said, key, text));
}

static bool is_enabled(const struct settings *s, const char *key)
{
    const struct json *part = json_get(s->root, key);
    return json_is_object(part) && json_bool_of(json_get(part, "enabled"));
}

static void take_precision(struct settings *s)
{
    bool said = launch_mentions(s->launch, "--fp16") || launch_mentions(s->launch, "--bf16");
    const char *on = is_enabled(s, "bf16") || is_enabled(s, "bfloat16") ? "--bf16"
                     : is_enabled(s, "fp16")                            ? "--fp16"
                                                                        : NULL;
    if (on && !said)
        add(s, on, NULL);
    else if (on && !launch_mentions(s->launch, on))
        launch_note(s->launch, arena_format(s->mem,
                                            "DeepSpeed's settings enable %s, the flags another "
                                            "precision: the flags count",
                                            on + 2));
}

/* The type that gradients are summed in, where it is not the model's. */
static void take_gradients(struct settings *s)
{
    const struct json *types = json_get(s->root, "data_types");
    const struct json *type = json_is_object(types) ? json_get(types, "grad_accum_dtype") : NULL;
    if (type && strcmp(json_text(type), "fp32") == 0)
        add(s, "--accumulate-allreduce-grads-in-fp32", NULL);
}

/* Under bf16 without ZeRO DeepSpeed's BF16_Optimizer shards fp32 weights and moments, as stage 1 would. */
static void take_bf16_optimizer(struct settings *s)
{
    const struct launch l = {.count = s->count, .word = s->word};
    const char *stage = launch_value(&l, "--zero-stage");
    if (!launch_mentions(&l, "--bf16") || (stage && strcmp(stage, "0") != 0))
        return;
    drop(s, "--zero-stage");
    add(s, "--zero-stage", "1");
    s->launch->zero_of_bf16 = true;
    launch_note(s->launch, "bf16 with ZeRO stage 0: DeepSpeed's optimizer for bf16 is sharded all "
                           "the same, which is planned as stage 1");
}

/* What else changes time or memory and is not planned, by the path of the value that turns it on. */
static const struct {
    const char *path, *text;
} NOTED[] = {
    {"curriculum_learning.enabled",
     "every sequence is planned at full length: steps of the curriculum are shorter"},
    {"data_efficiency.data_sampling.curriculum_learning.enabled",
     "every sequence is planned at full length: steps of the curriculum may be shorter"},
    {"data_efficiency.data_routing.random_ltd.enabled",
     "every layer is planned with all tokens: steps that drop some are shorter"},
    {"activation_checkpointing.cpu_checkpointing",
     "saved activations are planned on the GPU: memory is too high"},
    {"activation_checkpointing.partition_activations",
     "saved activations are planned undistributed: memory is too high"},
    {"compression_training.layer_reduction.enabled",
     "all layers of the flags are planned: the model that is trained has fewer"},
    {"compression_training.weight_quantization.shared_parameters.enabled",
     "weights are planned without quantization: a step is longer"},
    {"compression_training.activation_quantization.shared_parameters.enabled",
     "activations are planned without quantization: a step is longer"},
    {"progressive_layer_drop.enabled",
     "every layer is planned in every step: steps that drop some are shorter"},
    {"eigenvalue.enabled", "the eigenvalues' own passes are not planned: a step is longer"},
    {"zero_optimization.zero_quantized_weights",
     "weights are planned to travel in 16 bits: a step may be shorter"},
    {"zero_optimization.zero_quantized_gradients",
     "gradients are planned to travel in 16 bits: a step may be shorter"},
};

/* What stands at a.b.c; NULL = nothing. */
static const struct json *at_path(const struct json *from, const char *path, struct arena *mem)
{
    for (; from && *path; path += strspn(path, ".")) {
        size_t n = strcspn(path, ".");
        from = json_is_object(from) ? json_get(from, arena_copy(mem, path, n)) : NULL;
        path += n;
    }
    return from;
}

static void note_others(struct settings *s)
{
    for (size_t i = 0; i < sizeof NOTED / sizeof *NOTED; i++)
        if (json_bool_of(at_path(s->root, NOTED[i].path, s->mem)))
            launch_note(s->launch, arena_format(s->mem, "%s of DeepSpeed's settings: %s",
                                                NOTED[i].path, NOTED[i].text));
    const struct json *sparse = json_get(s->root, "sparse_attention");
    if (json_is_object(sparse))
        launch_note(s->launch, "sparse_attention of DeepSpeed's settings: attention is planned "
                               "over all tokens: a step may be shorter");
}

static void read_settings(struct settings *s)
{
    take_stage(s);
    take_offload(s);
    take_number(s, "train_micro_batch_size_per_gpu", "--micro-batch-size");
    take_number(s, "train_batch_size", "--global-batch-size");
    take_precision(s);
    take_gradients(s);
    take_bf16_optimizer(s);
    note_others(s);
}

/* Without the settings nobody knows what is sharded, unless a flag says it. */
static void note_missing(struct launch *l, const char *why, struct arena *mem)
{
    bool staged = launch_mentions(l, "--zero-stage");
    launch_note(l, arena_format(mem, "DeepSpeed's settings are %s: %s", why,
                                staged ? "the flags alone count, offloading or a curriculum that "
                                         "is on there is not planned"
                                       : "ZeRO is planned as stage 0 (-- "
                                         "--use-distributed-optimizer plans stage 1)"));
}

void launch_deepspeed(struct launch *l, struct arena *mem)
{
    enum { ADDED = 16 };
    struct error ignored;
    if (!launch_mentions(l, "--deepspeed"))
        return;
    if (!l->deepspeed) {
        note_missing(l, "not read", mem);
        return;
    }
    const char *text = without_marks(l->deepspeed, mem);
    struct json *root = json_parse(text, strlen(text), "settings", &ignored);
    if (!json_is_object(root)) {
        note_missing(l, "no JSON", mem);
        json_release(root);
        return;
    }
    struct settings s = {.launch = l, .root = root, .mem = mem, .count = l->count};
    s.word = arena_array(mem, (size_t)l->count + ADDED, sizeof *s.word);
    memcpy(s.word, l->word, (size_t)l->count * sizeof *s.word);
    read_settings(&s);
    json_release(root);
    l->word = s.word;
    l->count = s.count;
}
