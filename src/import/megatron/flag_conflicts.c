/* What Megatron refuses and a strategy cannot show, because two flags become one parameter (both
 * kinds of FSDP), a parameter has its default although the flag is there, or a flag is none of the
 * strategy. One line per refusal: whether it holds, and its text. Line numbers are those of
 * megatron/training/arguments.py (args), megatron/core/transformer/transformer_config.py (tc) and
 * other files of Megatron-LM d98e8a64. */
#include "import/megatron/flags_parts.h"

#include "base/str.h"
#include "import/megatron/words.h"

#include <stdint.h>
#include <string.h>

struct conflict {
    bool holds;
    const char *text;
};

static void add(struct flags_result *r, const struct conflict *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].holds)
            flags_refuse(r, "%s", list[i].text);
}

#define ADD(r, list) add(r, list, sizeof(list) / sizeof *(list))

/* The flag's number, 0 where it is not there. */
static int64_t whole(const struct words *w, const char *flag)
{
    int64_t number = 0;
    const char *text = words_value(w, flag);
    return text && parse_int(text, &number) ? number : 0;
}

/* What --moe-layer-recompute makes selective is selective only behind the checks (tc:2014). */
static bool is_selective(const struct words *w)
{
    return flags_is(w, "--recompute-granularity", "selective", "") ||
           words_has(w, "--recompute-activations");
}

static void add_precision(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    bool fp8 = words_has(w, "--fp8-format"), gather = words_has(w, "--fp8-param-gather");
    bool delayed = fp8 && flags_is(w, "--fp8-recipe", "delayed", "delayed");
    const struct conflict list[] = {
        /* args:1101 */
        {fp8 && words_has(w, "--fp4-format"), "--fp8-format and --fp4-format exclude each other"},
        /* tc:2004 */
        {delayed && is_selective(w) && s->recompute_modules & (MODULE_LAYERNORM | MODULE_MOE_ACT),
         "recompute of layernorm or moe_act in fp8 needs another --fp8-recipe than delayed (the "
         "default)"},
        /* tc:1529 */
        {delayed && words_has(w, "--first-last-layers-bf16"),
         "--first-last-layers-bf16 needs another --fp8-recipe than delayed (the default)"},
        /* args:1889 */
        {gather && words_has(w, "--optimizer-cpu-offload") && !delayed,
         "--fp8-param-gather with --optimizer-cpu-offload needs --fp8-recipe delayed"},
    };
    ADD(r, list);
}

static void add_optimizer(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    bool wide = flags_is(w, "--exp-avg-dtype", "fp32", "fp32");
    bool wide_square = flags_is(w, "--exp-avg-sq-dtype", "fp32", "fp32");
    bool adam = flags_is(w, "--optimizer", "adam", "adam");
    const struct conflict list[] = {
        /* args:1211 */
        {words_has(w, "--bf16") && words_has(w, "--accumulate-allreduce-grads-in-fp32") &&
             s->main_grads_bf16,
         "--main-grads-dtype bf16 and --accumulate-allreduce-grads-in-fp32 exclude each other"},
        /* core/optimizer/optimizer_config.py:473 to 480 */
        {!flags_is(w, "--main-params-dtype", "fp32", "fp32") && !s->precision_aware,
         "--main-params-dtype fp16 needs --use-precision-aware-optimizer"},
        {wide != wide_square && !s->precision_aware,
         "--exp-avg-dtype and --exp-avg-sq-dtype need --use-precision-aware-optimizer"},
        /* core/optimizer/optimizer_config.py:436 */
        {s->precision_aware && !adam, "--use-precision-aware-optimizer needs --optimizer adam"},
        /* args:1885; a share of 0 leaves no trace in the strategy */
        {words_has(w, "--optimizer-cpu-offload") && s->optimizer_offload == 0 &&
             !s->precision_aware,
         "--optimizer-cpu-offload needs --use-precision-aware-optimizer"},
    };
    ADD(r, list);
}

/* args:1066 to args:1074 */
static void add_step_overlap(struct flags_result *r, const struct words *w)
{
    if (!words_has(w, "--overlap-param-gather-with-optimizer-step"))
        return;
    const struct conflict list[] = {
        {!words_has(w, "--use-distributed-optimizer") || !r->strategy.overlap_param_gather,
         "--overlap-param-gather-with-optimizer-step needs --use-distributed-optimizer and "
         "--overlap-param-gather"},
        {r->strategy.vpp == 1,
         "--overlap-param-gather-with-optimizer-step needs virtual pipeline stages"},
        {!flags_is(w, "--ckpt-format", "torch", "torch_dist"),
         "--overlap-param-gather-with-optimizer-step needs --ckpt-format torch"},
    };
    ADD(r, list);
}

/* args:1031 to args:1049; FSDP2 is no distributed optimizer to args:1027 */
static void add_torch_fsdp(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    if (!words_has(w, "--use-torch-fsdp2"))
        return;
    const struct conflict list[] = {
        {s->pp > 1 || s->ep > 1, "--use-torch-fsdp2 needs pp 1 and ep 1"},
        {words_has(w, "--use-distributed-optimizer") || s->overlap_param_gather,
         "--use-torch-fsdp2 excludes --use-distributed-optimizer and --overlap-param-gather"},
        {!words_has(w, "--no-gradient-accumulation-fusion"),
         "--use-torch-fsdp2 needs --no-gradient-accumulation-fusion"},
        {!flags_is(w, "--ckpt-format", "torch_dist", "torch_dist") &&
             !flags_is(w, "--ckpt-format", "torch_dcp", "torch_dist"),
         "--use-torch-fsdp2 needs --ckpt-format torch_dist or torch_dcp"},
        {r->model.tied, "--use-torch-fsdp2 needs --untie-embeddings-and-output-weights"},
        {s->precision == PRECISION_FP16, "--use-torch-fsdp2 excludes --fp16"},
    };
    ADD(r, list);
}

static void add_megatron_fsdp(struct flags_result *r, const struct words *w)
{
    bool fsdp = words_has(w, "--use-megatron-fsdp");
    bool format = flags_is(w, "--ckpt-format", "fsdp_dtensor", "torch_dist");
    const struct conflict list[] = {
        /* args:1169, args:1676 */
        {fsdp && !format, "--use-megatron-fsdp needs --ckpt-format fsdp_dtensor"},
        {format && !fsdp, "--ckpt-format fsdp_dtensor needs --use-megatron-fsdp"},
        /* args:1124 */
        {fsdp && flags_is(w, "--megatron-fsdp-version", "2", "1") &&
             words_has(w, "--use-distributed-optimizer"),
         "--megatron-fsdp-version 2 excludes --use-distributed-optimizer"},
        /* args:1150 */
        {fsdp && !flags_is(w, "--optimizer", "adam", "adam") &&
             !flags_is(w, "--optimizer", "sgd", "adam"),
         "--use-megatron-fsdp needs --optimizer adam or sgd"},
    };
    ADD(r, list);
}

/* Whether the sizes of a hierarchy multiply to cp. */
static bool hierarchy_holds(const struct words *w, int cp)
{
    const char *flag = "--hierarchical-context-parallel-sizes";
    int64_t product = 1;
    for (int i = 0; i < words_count(w, flag); i++) {
        int64_t size;
        if (!parse_int(words_at(w, flag, i), &size) || size < 1 || size > cp)
            return false;
        product *= size;
        if (product > cp)
            return false;
    }
    return product == cp;
}

static bool has_word(const struct words *w, const char *flag, const char *word)
{
    for (int i = 0; i < words_count(w, flag); i++)
        if (strcmp(words_at(w, flag, i), word) == 0)
            return true;
    return false;
}

static void add_parallel(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    bool hierarchy = words_has(w, "--hierarchical-context-parallel-sizes");
    bool defer = words_has(w, "--defer-embedding-wgrad-compute");
    const struct conflict list[] = {
        /* args:580 */
        {hierarchy && !hierarchy_holds(w, s->cp),
         "--hierarchical-context-parallel-sizes must multiply to --context-parallel-size"},
        {!hierarchy && has_word(w, "--cp-comm-type", "a2a+p2p"),
         "--cp-comm-type a2a+p2p needs --hierarchical-context-parallel-sizes"},
        /* core/parallel_state.py:899: as many data-parallel ranks inside experts as outside */
        {words_has(w, "--use-tp-pp-dp-mapping") && s->pp > 1 &&
             (int64_t)s->tp * s->cp != (int64_t)s->etp * s->ep,
         "--use-tp-pp-dp-mapping with pp > 1 needs etp x ep = tp x cp"},
        /* core/model_parallel_config.py:545, 550 */
        {defer && s->pp == 1, "--defer-embedding-wgrad-compute needs pp > 1"},
        {defer && words_has(w, "--no-gradient-accumulation-fusion"),
         "--defer-embedding-wgrad-compute excludes --no-gradient-accumulation-fusion"},
        /* args:698 */
        {words_has(w, "--step-batch-size-schedule") && words_has(w, "--global-batch-size"),
         "--step-batch-size-schedule and --global-batch-size exclude each other"},
    };
    ADD(r, list);
}

static void add_activations(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    bool distribute = words_has(w, "--distribute-saved-activations");
    int64_t offload = whole(w, "--cpu-offloading-num-layers");
    const struct conflict list[] = {
        /* tc:1927; other numbers than 0 are seen by the rules */
        {is_selective(w) && r->given[PARAM_recompute_layers] && s->recompute_layers == 0,
         "selective recompute takes no --recompute-num-layers"},
        /* args:1410, tc:1934 */
        {distribute && (s->tp == 1 || s->recompute != RECOMPUTE_FULL || s->seq_parallel),
         "--distribute-saved-activations needs tp > 1, full recompute and no sequence parallelism"},
        /* tc:1884 to tc:1896 */
        {offload && (s->pp > 1 || s->recompute != RECOMPUTE_NONE),
         "--cpu-offloading-num-layers needs pp 1 and no recompute"},
        {offload < 0 || offload >= r->model.layers,
         "--cpu-offloading-num-layers must be less than the model has"},
    };
    ADD(r, list);
}

static void add_kernels(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    const struct conflict list[] = {
        /* args:437 */
        {s->attention == ATTENTION_LOCAL && !flags_is(w, "--spec", "local", ""),
         "--attention-backend local needs --spec local"},
        /* tc:1743 */
        {words_has(w, "--moe-enable-deepep") && s->dispatcher != DISPATCH_FLEX,
         "--moe-enable-deepep needs --moe-token-dispatcher-type flex"},
    };
    ADD(r, list);
}

/* tc:3024 to tc:3032 look at these flags also where they have no effect, and the strategy has
 * none of them. */
static void add_expert_overlap(struct flags_result *r, const struct words *w)
{
    const struct strategy *s = &r->strategy;
    bool grouped = words_has(w, "--recompute-method") || words_has(w, "--recompute-num-layers");
    bool in_strategy = s->recompute_method != METHOD_NONE || s->recompute_layers != 0;
    const struct conflict list[] = {
        {s->moe_overlap && grouped && !in_strategy,
         "--overlap-moe-expert-parallel-comm excludes --recompute-method and "
         "--recompute-num-layers"},
        {s->moe_overlap && has_word(w, "--recompute-modules", "moe") &&
             s->recompute != RECOMPUTE_SELECTIVE,
         "--overlap-moe-expert-parallel-comm excludes --recompute-modules moe"},
    };
    ADD(r, list);
}

void flag_conflicts(struct flags_result *r, const struct words *w)
{
    static void (*const topic[])(struct flags_result *, const struct words *) = {
        add_precision, add_optimizer,   add_step_overlap, add_torch_fsdp,     add_megatron_fsdp,
        add_parallel,  add_activations, add_kernels,      add_expert_overlap,
    };
    for (size_t i = 0; i < sizeof topic / sizeof *topic; i++)
        topic[i](r, w);
}
