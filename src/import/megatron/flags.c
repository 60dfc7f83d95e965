/* A strategy out of Megatron's flags. Parameters with a plain flag are lines of megatron.def; the
 * others have a function here. Defaults are those of Megatron's validate_args, not those of a
 * search: no distributed optimizer, ETP = TP, selective recompute = core attention, transfers
 * overlapped as soon as the schedule is interleaved. What validate_args switches off silently is
 * switched off here too. */
#include "import/megatron/flags.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/flags_parts.h"
#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct param_flag PARAM_FLAGS[PARAMS] = {
#define MEGATRON(param, kind, flag, since) {PARAM_##param, kind, flag, since},
#include "import/megatron/megatron.def"
};

enum flag_treatment { NOTE, REFUSE };

static const struct effect {
    const char *flag;
    enum flag_treatment treatment;
    const char *harmless, *text;
} EFFECTS[] = {
#define EFFECT(flag, treatment, harmless, text) {flag, treatment, harmless, text},
#include "import/megatron/flag_effects.def"
#undef EFFECT
};

static void add_text(struct flags_texts *t, const char *text)
{
    if (t->count < FLAGS_MAX_TEXTS)
        t->text[t->count++] = text;
}

void flags_refuse(struct flags_result *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_text(&r->reasons, arena_string(r->mem, text));
}

bool flags_is(const struct words *w, const char *flag, const char *word, const char *missing)
{
    const char *value = words_value(w, flag);
    return (value || missing) && strcmp(value ? value : missing, word) == 0;
}

void flags_note(struct flags_result *r, const char *flag, const char *text)
{
    add_text(&r->notes, arena_format(r->mem, "%s: %s", flag, text));
}

/* Modules of selective recompute that belong to layers which cannot be planned. */
static const char FOREIGN_MODULES[] = "gdn_norm_out gdp_in_proj gdp_qkv mhc";

static bool read_words(struct flags_result *r, const struct param_flag *p, const struct words *w,
                       struct error *err)
{
    int set = 0;
    for (int i = 0; i < words_count(w, p->flag); i++) {
        const char *word = words_at(w, p->flag, i);
        int bit;
        if (is_one_of(word, FOREIGN_MODULES))
            continue;
        if (!*word || strpbrk(word, "+,") || strcmp(word, "none") == 0 ||
            !param_parse(p->param, word, &bit, NULL))
            return fail(err, ERROR_INPUT, "%s has '%s', expected words of: %s", p->flag, word,
                        param_info(p->param)->words);
        set |= bit;
    }
    if (set == 0)
        flags_note(r, p->flag, "modules of layers that cannot be planned are left out");
    strategy_set(&r->strategy, p->param, set);
    return true;
}

static bool read_param(struct flags_result *r, const struct param_flag *p, const struct words *w,
                       struct error *err)
{
    const struct param_info *info = param_info(p->param);
    int value = 1;
    if (p->kind == NONE || !words_has(w, p->flag))
        return true;
    r->given[p->param] = true;
    if (p->kind == OWN)
        return true;
    if (p->kind == WORDS)
        return read_words(r, p, w, err);
    if (p->kind == WORD && !param_parse(p->param, words_value(w, p->flag), &value, err))
        return false;
    if ((p->kind == SIZE || p->kind == VALUE) &&
        !flags_number(w, p->flag, info->lo, info->hi, &value, err))
        return false;
    strategy_set(&r->strategy, p->param, value);
    return true;
}

static bool read_sequence(struct flags_result *r, const struct words *w, struct error *err)
{
    if (!words_has(w, "--encoder-seq-length") || r->given[PARAM_seq_len])
        return true;
    r->given[PARAM_seq_len] = true;
    return flags_number(w, "--encoder-seq-length", 1, param_info(PARAM_seq_len)->hi,
                        &r->strategy.seq_len, err);
}

/* --fp8-recipe names how tensors are scaled; delayed is the default. */
static int narrow_precision(const struct words *w)
{
    return words_has(w, "--fp4-format")                     ? PRECISION_NVFP4
           : flags_is(w, "--fp8-recipe", "mxfp8", NULL)     ? PRECISION_MXFP8
           : flags_is(w, "--fp8-recipe", "blockwise", NULL) ? PRECISION_FP8_BLOCKWISE
                                                            : PRECISION_FP8;
}

static bool read_precision(struct flags_result *r, const struct words *w, struct error *err)
{
    bool bf16 = words_has(w, "--bf16"), fp16 = words_has(w, "--fp16");
    bool narrow = words_has(w, "--fp8-format") || words_has(w, "--fp4-format");
    if (bf16 && fp16)
        return fail(err, ERROR_INPUT, "--bf16 and --fp16 exclude each other");
    if (!bf16 && !fp16 && r->of_file)
        flags_assume(r, (struct flags_assumption){
                            "precision", narrow ? "bf16 beside fp8" : "bf16", "--precision",
                            "nothing says the precision: where no launcher does, "
                            "Megatron trains in fp32, at least twice as long and "
                            "with activations of twice the size",
                            0.10});
    else if (!bf16 && !fp16)
        return fail(err, ERROR_INPUT,
                    "neither --bf16 nor --fp16 is there: training in fp32 is not planned, add "
                    "--bf16") ||
               error_missing(err, "--bf16");
    r->strategy.fp8_params =
        words_has(w, "--fp8-param-gather") || words_has(w, "--fp4-param-gather");
    r->given[PARAM_fp8_params] = r->strategy.fp8_params > 0;
    r->given[PARAM_precision] = bf16 || fp16;
    r->strategy.precision = narrow ? narrow_precision(w) : fp16 ? PRECISION_FP16 : PRECISION_BF16;
    return true;
}

static bool read_tensor_parallel(struct flags_result *r, const struct words *w, struct error *err)
{
    struct strategy *s = &r->strategy;
    s->etp = s->tp;
    if (s->tp == 1)
        s->seq_parallel = 0;
    return !r->given[PARAM_etp] || flags_number(w, "--expert-tensor-parallel-size", 1,
                                                param_info(PARAM_etp)->hi, &s->etp, err);
}

/* One value for all layers or one per layer; a strategy has one. */
static bool read_context_parallel(struct flags_result *r, const struct words *w, struct error *err)
{
    const char *flag = "--cp-comm-type", *first = words_value(w, flag);
    bool mixed = false;
    for (int i = 0; i < words_count(w, flag); i++) {
        const char *word = words_at(w, flag, i);
        int kind = CP_P2P;
        if (strcmp(word, "a2a+p2p") != 0 && !param_parse(PARAM_cp_comm, word, &kind, NULL))
            return fail(err, ERROR_INPUT, "%s is '%s', expected one of: %s a2a+p2p", flag, word,
                        param_info(PARAM_cp_comm)->words);
        mixed |= strcmp(word, first) != 0;
        if (i == 0)
            r->strategy.cp_comm = kind;
    }
    if (first && strcmp(first, "a2a+p2p") == 0)
        flags_note(r, flag, "a2a+p2p is planned as p2p");
    if (mixed)
        flags_note(r, flag, "every layer is planned like the first");
    return true;
}

/* Which virtual stages there are. Where two ways are given, the more precise one is planned. */
static bool read_virtual_stages(struct flags_result *r, const struct words *w, struct error *err)
{
    static const char *const per_stage = "--num-layers-per-virtual-pipeline-stage";
    static const char *const per_rank = "--num-virtual-stages-per-pipeline-rank";
    static const char *const layout = "--pipeline-model-parallel-layout";
    r->layout_text = words_value(w, layout);
    r->given[PARAM_vpp] = words_has(w, per_stage) || words_has(w, per_rank) || r->layout_text;
    if (words_has(w, per_stage) + words_has(w, per_rank) + words_has(w, layout) > 1)
        flags_refuse(r, "at most one of %s, %s and %s may be there", per_stage, per_rank, layout);
    if (words_has(w, per_rank) &&
        !flags_number(w, per_rank, 1, param_info(PARAM_vpp)->hi, &r->strategy.vpp, err))
        return false;
    if (words_has(w, per_stage) &&
        !flags_number(w, per_stage, 1, MODEL_MAX_LAYERS, &r->layers_per_virtual_stage, err))
        return false;
    if (r->layout_text || words_has(w, per_rank))
        r->layers_per_virtual_stage = 0;
    return true;
}

static bool read_ends(struct flags_result *r, const struct words *w, struct error *err)
{
    static const char *const first = "--decoder-first-pipeline-num-layers";
    static const char *const last = "--decoder-last-pipeline-num-layers";
    int hi = param_info(PARAM_first_layers)->hi;
    return (!words_has(w, first) ||
            flags_number(w, first, 1, hi, &r->strategy.first_layers, err)) &&
           (!words_has(w, last) || flags_number(w, last, 1, hi, &r->strategy.last_layers, err));
}

static bool read_split(struct flags_result *r, const struct words *w, struct error *err)
{
    static const int counted[2][2] = {{SPLIT_EVEN, SPLIT_LOSS}, {SPLIT_EMBEDDING, SPLIT_BOTH}};
    bool embedding = words_has(w, "--account-for-embedding-in-pipeline-split");
    bool loss = words_has(w, "--account-for-loss-in-pipeline-split");
    if (!read_virtual_stages(r, w, err) || !read_ends(r, w, err))
        return false;
    bool ends = r->strategy.first_layers || r->strategy.last_layers;
    if ((ends + (embedding || loss) + (r->layout_text != NULL)) > 1)
        flags_refuse(
            r, "--pipeline-model-parallel-layout, --decoder-first/last-pipeline-num-layers and "
               "--account-for-embedding/loss-in-pipeline-split exclude each other");
    if (ends && r->layers_per_virtual_stage)
        flags_refuse(
            r,
            "--num-layers-per-virtual-pipeline-stage needs ranks with the same number of layers: "
            "use --num-virtual-stages-per-pipeline-rank");
    r->given[PARAM_split] = ends || embedding || loss || r->layout_text;
    r->strategy.split = ends ? SPLIT_ENDS : counted[embedding][loss];
    r->strategy.p2p_overlap = !words_has(w, "--no-overlap-p2p-communication");
    return true;
}

static bool read_recompute(struct flags_result *r, const struct words *w, struct error *err)
{
    struct strategy *s = &r->strategy;
    bool moe = words_has(w, "--moe-layer-recompute");
    (void)err;
    if (words_has(w, "--recompute-activations"))
        s->recompute = RECOMPUTE_SELECTIVE;
    if (moe && s->recompute == RECOMPUTE_FULL)
        flags_refuse(r,
                     "--moe-layer-recompute and --recompute-granularity full exclude each other");
    else if (moe && s->recompute == RECOMPUTE_NONE) {
        /* Switched on behind Megatron's checks: method and number of layers have no effect. */
        s->recompute = RECOMPUTE_SELECTIVE;
        s->recompute_method = METHOD_NONE;
        s->recompute_layers = 0;
    }
    bool block = s->recompute == RECOMPUTE_FULL && s->recompute_method == METHOD_BLOCK;
    if (block && r->given[PARAM_recompute_layers] && s->recompute_layers == 0) {
        flags_note(r, "--recompute-num-layers 0",
                   "no layer is recomputed, whatever the granularity");
        s->recompute = RECOMPUTE_NONE; /* megatron/core/recompute.py: the first 0 layers are */
    }
    if (s->recompute == RECOMPUTE_SELECTIVE && !r->given[PARAM_recompute_modules])
        s->recompute_modules = MODULE_CORE_ATTN;
    if (moe)
        s->recompute_modules |= MODULE_MOE;
    if (s->recompute == RECOMPUTE_SELECTIVE && s->recompute_modules == 0)
        s->recompute = RECOMPUTE_NONE;
    if (s->recompute != RECOMPUTE_SELECTIVE)
        s->recompute_modules = 0;
    if (s->recompute == RECOMPUTE_NONE)
        s->recompute_method = METHOD_NONE, s->recompute_layers = 0;
    return true;
}

/* The sharding strategy speaks only together with Megatron-FSDP, which brings the distributed
 * optimizer. */
static bool read_fsdp(struct flags_result *r, const struct words *w, struct error *err)
{
    const char *sharding = words_value(w, "--data-parallel-sharding-strategy");
    bool torch = words_has(w, "--use-torch-fsdp2");
    r->given[PARAM_fsdp] = torch || words_has(w, "--use-megatron-fsdp");
    if (!r->given[PARAM_fsdp])
        return true;
    r->strategy.fsdp = FSDP_FULL;
    r->strategy.dist_opt = 1;
    return torch || !sharding || param_parse(PARAM_fsdp, sharding, &r->strategy.fsdp, err);
}

/* Gradients are summed in fp32 by default under bf16, in 16 bits by default under fp16. */
static bool read_gradients(struct flags_result *r, const struct words *w, struct error *err)
{
    struct strategy *s = &r->strategy;
    (void)err;
    s->main_grads_bf16 = flags_is(w, "--main-grads-dtype", "bf16", NULL);
    if (words_has(w, "--fp16"))
        s->grad_bf16 = !words_has(w, "--accumulate-allreduce-grads-in-fp32");
    else
        s->grad_bf16 = words_has(w, "--grad-reduce-in-bf16") || s->main_grads_bf16;
    return true;
}

static int bytes_of(const struct words *w, const char *flag)
{
    return flags_is(w, flag, "fp32", "fp32") ? 4 : flags_is(w, flag, "fp8", NULL) ? 1 : 2;
}

static bool read_moments(struct flags_result *r, const struct words *w, struct error *err)
{
    int first = bytes_of(w, "--exp-avg-dtype");
    int second = bytes_of(w, "--exp-avg-sq-dtype");
    (void)err;
    if (first != second)
        flags_note(r, "--exp-avg-dtype, --exp-avg-sq-dtype",
                   "both moments are planned like the wider one");
    r->strategy.moments_bytes = first > second ? first : second;
    return true;
}

static bool read_effects(struct flags_result *r, const struct words *w, struct error *err)
{
    for (size_t i = 0; i < sizeof EFFECTS / sizeof *EFFECTS; i++) {
        const struct effect *e = &EFFECTS[i];
        const char *value = words_value(w, e->flag);
        if (!words_has(w, e->flag) || (value && is_one_of(value, e->harmless)))
            continue;
        if (e->treatment == REFUSE)
            return fail(err, ERROR_INPUT, "%s: %s", e->flag, e->text);
        flags_note(r, e->flag, e->text);
    }
    for (const char *const *text = words_notes(w); *text; text++)
        add_text(&r->notes, *text);
    return true;
}

static bool import(int argc, const char *const *argv, bool of_file, struct flags_result *r,
                   struct arena *mem, struct error *err)
{
    static bool (*const read[])(struct flags_result *, const struct words *, struct error *) = {
        read_effects,          read_precision,    read_sequence,      read_tensor_parallel,
        read_context_parallel, read_split,        read_recompute,     read_fsdp,
        read_gradients,        read_moments,      flags_read_offload, flags_read_run,
        flags_read_model,      flags_read_hetero,
    };
    const struct words *w = words_read(argc, argv, mem, err);
    *r = (struct flags_result){
        .mem = mem, .words = w, .word = argv, .word_count = argc, .of_file = of_file};
    if (!w)
        return false;
    strategy_init(&r->strategy);
    for (int i = 0; i < PARAMS; i++)
        if (!read_param(r, &PARAM_FLAGS[i], w, err))
            return false;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (!read[i](r, w, err))
            return false;
    return true;
}

bool flags_import(int argc, const char *const *argv, struct flags_result *r, struct arena *mem,
                  struct error *err)
{
    return import(argc, argv, false, r, mem, err);
}

bool flags_import_file(int argc, const char *const *argv, struct flags_result *r, struct arena *mem,
                       struct error *err)
{
    return import(argc, argv, true, r, mem, err);
}

void flags_assume(struct flags_result *r, struct flags_assumption a)
{
    if (r->assumptions < FLAGS_MAX_ASSUMPTIONS)
        r->assumption[r->assumptions++] = a;
}

bool flags_only_noted(const char *flag)
{
    for (size_t i = 0; i < sizeof EFFECTS / sizeof *EFFECTS; i++)
        if (strcmp(flag, EFFECTS[i].flag) == 0)
            return EFFECTS[i].treatment == NOTE;
    return false;
}

/* vpp from layers per virtual stage, as validate_args computes it. */
static void count_virtual_stages(struct flags_result *r)
{
    struct strategy *s = &r->strategy;
    int counted =
        s->split == SPLIT_BOTH ? 2 : s->split == SPLIT_EMBEDDING || s->split == SPLIT_LOSS;
    int layers = r->model.layers + counted, per_rank = layers / s->pp;
    if (layers % s->pp || per_rank % r->layers_per_virtual_stage)
        flags_refuse(r, "%d layers per virtual stage do not divide the %d layers of %d ranks",
                     r->layers_per_virtual_stage, layers, s->pp);
    s->vpp = per_rank / r->layers_per_virtual_stage;
    if (s->vpp < 1)
        s->vpp = 1;
}

/* A hybrid's pattern that cuts where Megatron would have cut it is no layout of its own. */
static bool is_even(const struct flags_result *r)
{
    struct strategy even = r->strategy;
    struct layout l;
    struct error none;
    even.split = SPLIT_EVEN;
    return r->model.pattern[0] && layout_of(&l, &r->model, &even, &none) &&
           memcmp(l.layers, r->layout.layers, (size_t)l.stages * sizeof *l.layers) == 0;
}

/* A layout that Megatron refuses leaves the split as even as possible, so that figures can be
 * given. */
static bool read_layout(struct flags_result *r, struct error *err)
{
    struct error inner;
    r->strategy.first_layers = r->strategy.last_layers = 0;
    bool parsed = layout_parse(&r->layout, r->layout_text, &r->model, &r->strategy, &inner);
    r->has_layout = parsed;
    if (r->has_layout && is_even(r)) {
        r->has_layout = false;
        r->strategy.split = SPLIT_EVEN;
    }
    if (parsed)
        return true;
    if (inner.kind != ERROR_INFEASIBLE)
        return fail(err, inner.kind, "--pipeline-model-parallel-layout: %s", inner.text);
    flags_refuse(r, "%s", inner.text);
    r->strategy.split = SPLIT_UNEVEN;
    return true;
}

bool flags_finish(struct flags_result *r, int64_t world, struct error *err)
{
    struct strategy *s = &r->strategy;
    if (r->layout_text && !read_layout(r, err))
        return false;
    if (r->layers_per_virtual_stage)
        count_virtual_stages(r);
    if (s->vpp == 1)
        s->p2p_overlap = 0;
    flag_conflicts(r, r->words);
    if (r->model.experts == 0 && !r->given[PARAM_etp])
        s->etp = 1;
    if (r->of_file && r->model.shared_ffn == 0 && !s->moe_overlap)
        s->shared_overlap = 0; /* as good as off, and what wrappers switch on for all models */
    return r->hetero ? flags_finish_hetero(r, world, err) : flags_set_batch(r, world, err);
}
