/* A plan as Megatron-LM's flags. Plain flags are lines of megatron.def, in its order; a parameter
 * of kind OWN has a function in OWN_PARAM. Flags whose value is Megatron's default are left out,
 * except sizes that a reader of a launch script looks for. Import reads all of it back. */
#include "export/export.h"

#include "base/arena.h"
#include "base/str.h"
#include "export/writer.h"
#include "import/megatron/param_flags.h"
#include "strategy/layout.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static bool has(struct writer *w, const struct param_flag *p)
{
    return writer_has(w, p->flag, p->since);
}

/* The first release with --fp4-format and --fp4-param-gather. */
enum { FP4_RELEASE = 15 };

/* Delayed scaling, the default recipe, does not go with these two modules, nor with layers in 16 bits. */
static void add_precision(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    bool undelayed = s->recompute_modules & (MODULE_LAYERNORM | MODULE_MOE_ACT) ||
                     w->model->wide_first + w->model->wide_last > 0;
    bool blocks = s->expert_fusion && w->model->experts > 0; /* fused experts quantise these */
    writer_word(w, s->precision == PRECISION_FP16 ? "--fp16" : p->flag);
    if (!precision_is_narrow(s->precision))
        return;
    if (s->precision == PRECISION_NVFP4) {
        if (writer_has(w, "--fp4-format", FP4_RELEASE))
            writer_pair(w, "--fp4-format", "e2m1");
        return;
    }
    writer_pair(w, "--fp8-format", s->precision == PRECISION_MXFP8 ? "e4m3" : "hybrid");
    const char *recipe = s->precision == PRECISION_FP8_BLOCKWISE     ? "blockwise"
                         : s->precision == PRECISION_MXFP8 || blocks ? "mxfp8"
                         : undelayed                                 ? "tensorwise"
                                                                     : NULL;
    if (recipe && writer_has(w, "--fp8-recipe", 12))
        writer_pair(w, "--fp8-recipe", recipe);
}

/* Weights in 4 bits have a flag of their own. */
static void add_narrow_params(struct writer *w, const struct param_flag *p)
{
    bool fp4 = w->strategy->precision == PRECISION_NVFP4;
    const char *flag = fp4 ? "--fp4-param-gather" : p->flag;
    if (w->strategy->fp8_params && writer_has(w, flag, fp4 ? FP4_RELEASE : p->since))
        writer_word(w, flag);
}

/* Megatron's default is tp; a model without experts has 1 here, whatever the default. */
static void add_etp(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    int silent = w->model->experts ? s->tp : 1;
    if (s->etp != silent && has(w, p))
        writer_number(w, p->flag, s->etp);
}

static bool counts_embedding(const struct strategy *s)
{
    return s->split == SPLIT_EMBEDDING || s->split == SPLIT_BOTH;
}

static bool counts_loss(const struct strategy *s)
{
    return s->split == SPLIT_LOSS || s->split == SPLIT_BOTH;
}

/* Layers per virtual stage, understood by every release, where all ranks have the same number. */
static void add_vpp(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    int layers = w->model->layers + counts_embedding(s) + counts_loss(s);
    if (s->vpp == 1 || layout_is_string(s->split) || w->model->pattern[0])
        return;
    if (s->split != SPLIT_ENDS && layers % (s->pp * s->vpp) == 0)
        writer_number(w, "--num-layers-per-virtual-pipeline-stage", layers / (s->pp * s->vpp));
    else if (has(w, p))
        writer_number(w, p->flag, s->vpp);
}

static void add_split(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    struct str text = {0};
    if (w->model->pattern[0]) /* has the stages */
        return;
    if (counts_embedding(s) && writer_has(w, "--account-for-embedding-in-pipeline-split", 11))
        writer_word(w, "--account-for-embedding-in-pipeline-split");
    if (counts_loss(s) && writer_has(w, "--account-for-loss-in-pipeline-split", 11))
        writer_word(w, "--account-for-loss-in-pipeline-split");
    if (!layout_is_string(s->split) || !has(w, p))
        return;
    assert(w->layout);
    layout_print(w->layout, w->model, &text);
    writer_text(w, p->flag, &text);
}

static void add_end(struct writer *w, const struct param_flag *p)
{
    int layers = strategy_get(w->strategy, p->param);
    bool told = w->model->pattern[0];
    if (w->strategy->split == SPLIT_ENDS && layers && !told && has(w, p))
        writer_number(w, p->flag, layers);
}

static void add_param_word(struct writer *w, const struct param_flag *p)
{
    struct str word = {0};
    param_print(p->param, strategy_get(w->strategy, p->param), &word);
    writer_text(w, p->flag, &word);
}

static void add_cp_comm(struct writer *w, const struct param_flag *p)
{
    if (w->strategy->cp_comm != CP_P2P && has(w, p))
        add_param_word(w, p);
}

static void add_p2p_overlap(struct writer *w, const struct param_flag *p)
{
    if (w->strategy->vpp > 1 && !w->strategy->p2p_overlap)
        writer_word(w, p->flag);
}

/* DeepEP has eight GPUs in a node; HybridEP reaches larger domains, and counts nothing on the host
 * where experts have room for so many tokens (token_dispatcher.py of core/transformer/moe). Both want
 * probabilities in fp32. */
static void add_dispatcher(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    if (s->dispatcher == param_info(p->param)->init)
        return;
    add_param_word(w, p);
    if (s->dispatcher != DISPATCH_FLEX || !writer_has(w, "--moe-flex-dispatcher-backend", 16))
        return;
    bool hybrid = w->run.wide_domain || s->cuda_graph == GRAPH_STEP;
    writer_pair(w, "--moe-flex-dispatcher-backend", hybrid ? "hybridep" : "deepep");
    writer_pair(w, "--moe-router-dtype", "fp32");
}

/* Experts whose rows are not known before routing stay outside of a layer's graph; in one of the whole
 * step they have room for so many tokens, as in NVIDIA's recipes. Until 0.17 both were said otherwise. */
static void add_graph(struct writer *w, const struct param_flag *p)
{
    int graph = w->strategy->cuda_graph;
    bool experts = w->model->experts > 0;
    if (graph == GRAPH_NONE || !has(w, p))
        return;
    add_param_word(w, p);
    if ((graph == GRAPH_STEP || experts) && !writer_has(w, "--cuda-graph-modules", 18))
        return;
    if (graph == GRAPH_STEP)
        writer_word(w, "--no-check-for-nan-in-loss-and-grad"); /* demanded */
    if (graph == GRAPH_STEP && experts) {
        writer_pair(w, "--moe-expert-rank-capacity-factor", "1.5");
        writer_word(w, "--moe-paged-stash");
    } else if (experts) {
        writer_pair(w, "--cuda-graph-modules", "attn");
        writer_word(w, "moe_router");
        writer_word(w, "moe_preprocess");
    }
}

/* The fused kernel wants gate and value in turns of 32 rows. */
static void add_fusion(struct writer *w, const struct param_flag *p)
{
    if (!w->strategy->expert_fusion || !has(w, p))
        return;
    writer_word(w, p->flag);
    if (w->model->gated && w->model->experts > 0)
        writer_pair(w, "--moe-mlp-glu-interleave-size", "32");
}

static void add_loss_te(struct writer *w, const struct param_flag *p)
{
    if (w->strategy->loss_te && has(w, p))
        writer_pair(w, p->flag, "te");
}

static void add_fsdp(struct writer *w, const struct param_flag *p)
{
    if (w->strategy->fsdp == FSDP_NONE || !writer_has(w, "--use-megatron-fsdp", 14))
        return;
    writer_word(w, "--use-megatron-fsdp");
    add_param_word(w, p);
    writer_pair(w, "--ckpt-format", "fsdp_dtensor"); /* demanded */
    if (w->strategy->fsdp != FSDP_NO_SHARD && writer_has(w, "--init-model-with-meta-device", 12))
        writer_word(w, "--init-model-with-meta-device"); /* else the whole stage is built first */
}

/* Under fp16 Megatron sums gradients in 16 bits unless told otherwise, under bf16 in fp32. */
static void add_gradients(struct writer *w, const struct param_flag *p)
{
    const struct strategy *s = w->strategy;
    if (s->precision == PRECISION_FP16 && !s->grad_bf16)
        writer_word(w, "--accumulate-allreduce-grads-in-fp32");
    if (s->precision != PRECISION_FP16 && s->grad_bf16 && has(w, p))
        writer_word(w, p->flag);
}

static void add_main_grads(struct writer *w, const struct param_flag *p)
{
    if (w->strategy->main_grads_bf16 && has(w, p))
        writer_pair(w, p->flag, "bf16");
}

static void add_moments(struct writer *w, const struct param_flag *p)
{
    const char *dtype = w->strategy->moments_bytes == 1 ? "fp8" : "bf16";
    if (w->strategy->moments_bytes > 2 || !has(w, p))
        return;
    writer_pair(w, p->flag, dtype);
    writer_pair(w, "--exp-avg-sq-dtype", dtype);
}

static void add_offload(struct writer *w, const struct param_flag *p)
{
    int percent = w->strategy->optimizer_offload;
    if (percent == 0 || !writer_has(w, "--optimizer-cpu-offload", 12))
        return;
    writer_word(w, "--optimizer-cpu-offload");
    writer_pair(w, p->flag, arena_format(w->mem, "%d.%02d", percent / 100, percent % 100));
}

static void (*const OWN_PARAM[PARAMS])(struct writer *, const struct param_flag *) = {
    [PARAM_precision] = add_precision,
    [PARAM_fp8_params] = add_narrow_params,
    [PARAM_etp] = add_etp,
    [PARAM_vpp] = add_vpp,
    [PARAM_split] = add_split,
    [PARAM_first_layers] = add_end,
    [PARAM_last_layers] = add_end,
    [PARAM_cp_comm] = add_cp_comm,
    [PARAM_p2p_overlap] = add_p2p_overlap,
    [PARAM_dispatcher] = add_dispatcher,
    [PARAM_cuda_graph] = add_graph,
    [PARAM_expert_fusion] = add_fusion,
    [PARAM_fsdp] = add_fsdp,
    [PARAM_loss_te] = add_loss_te,
    [PARAM_grad_bf16] = add_gradients,
    [PARAM_main_grads_bf16] = add_main_grads,
    [PARAM_moments_bytes] = add_moments,
    [PARAM_optimizer_offload] = add_offload,
};

/* "core_attn mlp": the words of a set, each a word of its own. */
static void add_set(struct writer *w, const struct param_flag *p, int set)
{
    const struct param_info *info = param_info(p->param);
    writer_word(w, p->flag);
    for (int bit = 1; bit <= info->hi; bit <<= 1)
        if (set & bit) {
            struct str word = {0};
            param_print(p->param, bit, &word);
            writer_word(w, str_keep(&word, w->mem));
        }
}

static void add_param(struct writer *w, const struct param_flag *p)
{
    int value = strategy_get(w->strategy, p->param);
    bool left_out = p->kind != SIZE && value == param_info(p->param)->init;
    assert(p->kind != OWN || OWN_PARAM[p->param]);
    if (OWN_PARAM[p->param])
        OWN_PARAM[p->param](w, p);
    if (OWN_PARAM[p->param] || p->kind == NONE || left_out || !has(w, p))
        return;
    if (p->kind == SWITCH)
        writer_word(w, p->flag);
    else if (p->kind == WORD)
        add_param_word(w, p);
    else if (p->kind == WORDS)
        add_set(w, p, value);
    else
        writer_number(w, p->flag, value);
}

/* Figures are computed without a mask in every batch unless flags asked for one; our module takes none. */
static void add_mask(struct writer *w)
{
    if (w->run.stack == STACK_TORCH || !w->run.switches.batch_mask)
        writer_word(w, "--no-create-attention-mask-in-dataloader");
}

/* Megatron's layers without TransformerEngine have none of these fusions, and make their own mask
 * where they need one. Stack torch is what our module makes of them: it needs LocalSpecProvider. */
static void add_local_layers(struct writer *w)
{
    writer_pair(w, "--transformer-impl", "local");
    if (w->run.stack == STACK_TORCH && writer_has(w, "--spec of stack torch", 16)) {
        writer_pair(w, "--spec", EXPORT_MODULE);
        writer_word(w, EXPORT_MODULE_FUNCTION);
    }
    add_mask(w);
    writer_word(w, "--no-persist-layer-norm");
    writer_word(w, "--no-gradient-accumulation-fusion");
    if (!w->run.switches.softmax_fused)
        writer_word(w, "--no-masked-softmax-fusion");
    writer_word(w, "--no-rope-fusion");
}

static void add_rate(struct writer *w, const char *flag, double rate)
{
    struct str text = {0};
    str_addf(&text, rate == 0 ? "%.1f" : "%.15g", rate);
    writer_text(w, flag, &text);
}

/* What the figures are computed for and Megatron's defaults are not, and what its validator
 * demands. */
static void add_conditions(struct writer *w)
{
    add_rate(w, "--attention-dropout", w->run.attention_dropout);
    add_rate(w, "--hidden-dropout", w->run.hidden_dropout);
    if (w->run.switches.softmax_fp32)
        writer_word(w, "--attention-softmax-in-fp32");
    if (w->run.stack != STACK_TE)
        add_local_layers(w);
    else
        add_mask(w);
    if (w->run.switches.newton_steps > 0 && writer_has(w, "--optimizer muon", 16)) {
        writer_pair(w, "--optimizer", "muon");
        writer_number(w, "--muon-num-ns-steps", w->run.switches.newton_steps);
    }
    if (w->run.stack == STACK_TE && w->run.switches.separate_wgrads)
        writer_word(w, "--no-gradient-accumulation-fusion");
    if (w->run.stack == STACK_TE && w->strategy->attention == ATTENTION_LOCAL)
        writer_pair(w, "--spec", "local");
}

/* A whole number of at most two digits as releases have them, none with a 0 in front; -1 where
 * there is no such number. Moves behind it. */
static int take_number(const char **text)
{
    size_t n = strspn(*text, "0123456789");
    int value = -1;
    if (n == 1 || (n == 2 && **text != '0'))
        value = n == 1 ? **text - '0' : (**text - '0') * 10 + (*text)[1] - '0';
    *text += n;
    return value;
}

/* "0.12", "0.12.1", "v0.12", "core_v0.12.0": 12. */
bool export_release(const char *version, int *release, int *patch, struct error *err)
{
    enum { NEWEST = 19 };
    const char *text = version;
    int unused, major = 0, minor = INT_MAX, last = 0;
    if (version && !same_name(version, "HEAD")) {
        if (strncmp(text, "core_", 5) == 0)
            text += 5;
        text += *text == 'v' || *text == 'r';
        major = take_number(&text);
        minor = *text == '.' && text++ ? take_number(&text) : -1;
        last = *text == '.' && text++ ? take_number(&text) : 0;
        if (major != 0 || minor < 1 || minor > NEWEST || last < 0 || *text)
            return fail(err, ERROR_INPUT,
                        "Megatron version is '%s', expected HEAD or a release up to 0.%d, such as "
                        "0.12 or 0.17.1",
                        version, NEWEST);
    }
    *(release ? release : &unused) = minor;
    *(patch ? patch : &unused) = last;
    return true;
}

void writer_megatron(struct writer *w)
{
    w->word = arena_array(w->mem, WRITER_MAX_WORDS, sizeof *w->word);
    writer_model(w);
    writer_meanings(w);
    for (int i = 0; i < PARAMS; i++)
        add_param(w, &PARAM_FLAGS[i]);
    add_conditions(w);
}

/* What older releases refuse though they have the flags. */
static void check_combinations(struct writer *w)
{
    if (w->strategy->moe_overlap && w->model->mtp > 0 && w->strategy->pp == 1)
        writer_has(w, "--overlap-moe-expert-parallel-comm with MTP on one pipeline stage", 18);
}

bool export_megatron_flags(const struct model *m, const struct strategy *s, const struct layout *l,
                           const char *version, const struct export_run *run, struct arena *mem,
                           const char ***flags, size_t *count, struct error *err)
{
    struct writer w = {.model = m, .strategy = s, .layout = l, .mem = mem, .err = err};
    if (run)
        w.run = *run;
    if (!export_release(version, &w.release, NULL, err))
        return false;
    writer_megatron(&w);
    check_combinations(&w);
    *flags = w.word;
    *count = w.count;
    return !w.failed;
}

/* CUDA_DEVICE_MAX_CONNECTIONS: Megatron demands 1 for tensor or context parallelism before
 * Blackwell (validate_args), forbids 1 under FSDP, and advises 32 where expert communication
 * overlaps. NCCL_GRAPH_REGISTER: CUDA graphs with expandable segments (validate_args). */
void export_megatron_env(const struct strategy *s, struct arena *mem, const char ***env,
                         size_t *count)
{
    const char **list = arena_array(mem, 3, sizeof *list);
    size_t n = 0;
    if (s->moe_overlap)
        list[n++] = "CUDA_DEVICE_MAX_CONNECTIONS=32";
    else if ((s->tp > 1 || s->cp > 1) && s->fsdp == FSDP_NONE)
        list[n++] = "CUDA_DEVICE_MAX_CONNECTIONS=1";
    list[n++] = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    if (s->cuda_graph != GRAPH_NONE)
        list[n++] = "NCCL_GRAPH_REGISTER=0";
    *env = list;
    *count = n;
}
