/* What is no part of the strategy but of the run: the layers' implementation, fusions, offloading, Muon, dropout. */
#include "import/megatron/flags_parts.h"

#include "base/str.h"
#include "import/megatron/words.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* A number from 0 to 1; `out` stays as it is where the flag is not there. */
static bool read_fraction(const struct words *w, const char *flag, double *out, struct error *err)
{
    const char *text = words_value(w, flag);
    if (text && (!parse_real(text, out) || *out < 0 || *out > 1))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a number from 0 to 1", flag, text);
    return true;
}

/* The same for a number of steps or samples. */
static bool read_length(const struct words *w, const char *flag, int64_t *out, struct error *err)
{
    const char *text = words_value(w, flag);
    if (text && (!parse_int(text, out) || *out < 0))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a number not below 0", flag, text);
    return true;
}

bool flags_read_offload(struct flags_result *r, const struct words *w, struct error *err)
{
    double fraction = 1.0;
    if (!read_fraction(w, "--optimizer-offload-fraction", &fraction, err))
        return false;
    r->given[PARAM_optimizer_offload] = words_has(w, "--optimizer-cpu-offload");
    if (r->given[PARAM_optimizer_offload])
        r->strategy.optimizer_offload = (int)lround(fraction * 100);
    return true;
}

/* Local layers are stack torch where --spec names the module that `astra export` writes. Whichever:
 * without TransformerEngine nothing asks for --attention-backend. */
static void read_stack(struct flags_result *r, const struct words *w)
{
    const char *spec = words_value(w, "--spec");
    bool own = spec && strcmp(spec, TORCH_MODULE) == 0;
    r->stack = STACK_TE;
    if (!flags_is(w, "--transformer-impl", "local", NULL))
        return;
    r->stack = own ? STACK_TORCH : STACK_LOCAL;
    if (spec && !own)
        flags_note(r, "--spec", "layers of another spec are planned as Megatron's local ones");
    /* either sets it (arguments.py:1713) */
    bool fp32 = words_has(w, "--attention-softmax-in-fp32");
    fp32 |= words_has(w, "--apply-query-key-layer-scaling");
    r->switches.softmax_fp32 = fp32 && r->stack == STACK_LOCAL;
    r->switches.softmax_fused =
        r->stack == STACK_LOCAL && !words_has(w, "--no-masked-softmax-fusion");
    bool has = r->stack == STACK_LOCAL && r->strategy.attention == ATTENTION_UNFUSED;
    if (!has && r->strategy.attention != ATTENTION_AUTO &&
        r->strategy.attention != ATTENTION_LOCAL) {
        flags_note(r, "--attention-backend", "has no effect without TransformerEngine");
        r->strategy.attention = ATTENTION_AUTO;
    }
}

/* Passes that are planned fused. A gated MLP has one such pass, one without a gate the other where it has biases
 * (validate_args switches it off elsewhere, which a log shows). */
static void note_unfused(struct flags_result *r, const struct words *w)
{
    bool gated = words_there(w, "--swiglu") || words_there(w, "--quick-geglu");
    bool plain = !gated && !words_there(w, "--squared-relu");
    bool te = r->stack == STACK_TE;
    const struct {
        bool counts;
        const char *flag, *text;
    } list[] = {
        {words_there(w, "--swiglu"), "--no-bias-swiglu-fusion",
         "the activation is planned fused: time and memory may be too low"},
        {words_there(w, "--quick-geglu") || (plain && !words_there(w, "--disable-bias-linear")),
         "--no-bias-gelu-fusion",
         "the activation is planned fused: time and memory may be too low"},
        {te && r->strategy.attention == ATTENTION_UNFUSED, "--no-masked-softmax-fusion",
         "mask and softmax are planned fused: a step may be longer"},
        {te && !flags_is(w, "--experimental-attention-variant", "dsa", NULL), "--no-rope-fusion",
         "rotary positions are planned fused: a step may be longer"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].counts && words_has(w, list[i].flag))
            flags_note(r, list[i].flag, list[i].text);
}

static void read_offloaded(struct flags_result *r, const struct words *w)
{
    static const char *const NAMES[] = {"attn_norm", "qkv_linear", "core_attn", "attn_proj",
                                        "mlp_norm",  "expert_fc1", "moe_act"}; /* OFFLOAD_ */
    if (!words_has(w, "--fine-grained-activation-offloading"))
        return;
    for (int i = 0; i < words_count(w, "--offload-modules"); i++)
        for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
            if (strcmp(words_at(w, "--offload-modules", i), NAMES[k]) == 0)
                r->switches.offload |= 1 << k;
}

/* A limit of 0 is none. */
static bool read_deferral(struct flags_result *r, const struct words *w, struct error *err)
{
    int64_t limit = 0;
    if (!read_length(w, "--wgrad-deferral-limit", &limit, err))
        return false;
    if (words_has(w, "--defer-embedding-wgrad-compute"))
        r->switches.deferred_wgrads = limit > 0 && limit < INT_MAX ? (int)limit : INT_MAX;
    return true;
}

/* dist_muon is its old name with the distributed optimizer, which shards whole matrices. */
static bool read_muon(struct flags_result *r, const struct words *w, struct error *err)
{
    bool old = flags_is(w, "--optimizer", "dist_muon", NULL);
    int steps = 5;
    if (!old && !flags_is(w, "--optimizer", "muon", NULL))
        return true;
    if (words_has(w, "--muon-num-ns-steps") &&
        !flags_number(w, "--muon-num-ns-steps", 1, 100, &steps, err))
        return false;
    r->switches.newton_steps = steps;
    flags_note(r, "--optimizer",
               "Muon's iteration is planned as fast as products of its size: nobody measured it");
    if (old)
        r->strategy.dist_opt = 1;
    return true;
}

/* A scope alone captures nothing: no graphs is the default of the implementation. */
static bool has_graphs(const struct words *w)
{
    return !flags_is(w, "--cuda-graph-impl", "none", "none") ||
           words_has(w, "--enable-cuda-graph") || words_has(w, "--external-cuda-graph");
}

/* What is no part of the strategy but of the run. */
bool flags_read_run(struct flags_result *r, const struct words *w, struct error *err)
{
    read_stack(r, w);
    note_unfused(r, w);
    read_offloaded(r, w);
    r->switches.batch_mask = !words_has(w, "--no-create-attention-mask-in-dataloader");
    r->switches.separate_wgrads = words_has(w, "--no-gradient-accumulation-fusion");
    r->switches.even_experts = words_has(w, "--moe-router-force-load-balancing") ||
                               words_has(w, "--moe-expert-capacity-factor");
    r->strategy.loss_te = flags_is(w, "--cross-entropy-fusion-impl", "te", NULL);
    if (flags_is(w, "--cuda-graph-scope", "full_iteration", NULL) && has_graphs(w)) /* until 0.17 */
        r->strategy.cuda_graph = GRAPH_STEP;
    flags_read_rl(r, w);
    r->switches.whole_init =
        r->strategy.fsdp != FSDP_NONE && !words_has(w, "--init-model-with-meta-device");
    r->attention_dropout = r->hidden_dropout = 0.1;
    return read_muon(r, w, err) && read_deferral(r, w, err) &&
           read_length(w, "--train-iters", &r->train_iters, err) &&
           read_length(w, "--train-samples", &r->train_samples, err) &&
           read_fraction(w, "--attention-dropout", &r->attention_dropout, err) &&
           read_fraction(w, "--hidden-dropout", &r->hidden_dropout, err);
}
