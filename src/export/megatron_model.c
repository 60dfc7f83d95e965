/* A model as Megatron-LM's flags. Plain flags are lines of megatron.def; a field of kind OWN has a
 * function in OWN_FIELD. Orders of layers are written as Python lists, "[0]*3+[1]*58". */
#include "export/export.h"

#include "base/arena.h"
#include "base/str.h"
#include "export/writer.h"
#include "import/megatron/param_flags.h"
#include "strategy/layout.h"

#include <string.h>

/* "[0]*3+[1]*58"; a pattern that repeats is written once, "([1]+[0])*24". */
static void add_runs(struct str *out, const bool item[], int count)
{
    for (int i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && item[i + n] == item[i];)
            n++;
        str_addf(out, "%s[%d]", i ? "+" : "", item[i]);
        if (n > 1)
            str_addf(out, "*%d", n);
    }
}

static int period_of(const bool item[], int count)
{
    for (int period = 1; period < count; period++) {
        int i = period;
        while (i < count && item[i] == item[i - period])
            i++;
        if (i == count && count % period == 0)
            return period;
    }
    return count;
}

static void add_list(struct writer *w, const char *flag, const bool item[], int count)
{
    struct str text = {0};
    int period = period_of(item, count);
    if (period > 1 && period < count) {
        str_add(&text, "(");
        add_runs(&text, item, period);
        str_addf(&text, ")*%d", count / period);
    } else {
        add_runs(&text, item, count);
    }
    writer_text(w, flag, &text);
}

static void add_heads(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    if (m->kv == m->heads || m->mla)
        return;
    writer_word(w, "--group-query-attention");
    writer_number(w, flag, m->kv);
}

/* Under MLA the widths have flags of their own; Megatron still wants a number that hidden need
 * not give. */
static void add_head_dim(struct writer *w, const char *flag)
{
    writer_number(w, flag, w->model->mla ? w->model->v_dim : w->model->head_dim);
}

/* Megatron refuses sequences longer than this; with rotary positions it costs nothing to raise
 * it. */
static void add_max_seq(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    bool raise = !m->learned_pos && w->strategy->seq_len > m->max_seq;
    writer_number(w, flag, raise ? w->strategy->seq_len : m->max_seq);
}

/* Where no flag says the activation, the nearest one. */
static void add_activation(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    bool told = !meaning_untold(m, MEANING_activation, w->release);
    if (m->gated)
        writer_word(w, told && m->activation == ACTIVATION_QUICK_GELU ? "--quick-geglu" : flag);
    if (m->gated || m->activation != ACTIVATION_RELU2)
        return;
    writer_word(w, "--squared-relu");
    if (m->linear_bias) /* Megatron fuses a bias with gelu and silu alone, and refuses others */
        writer_word(w, "--no-bias-gelu-fusion");
}

static void add_norm(struct writer *w, const char *flag)
{
    writer_pair(w, flag, w->model->layer_norm ? "LayerNorm" : "RMSNorm");
}

static void add_positions(struct writer *w, const char *flag)
{
    bool yarn = !w->model->mla && w->model->rope_scaling == ROPE_YARN &&
                !meaning_untold(w->model, MEANING_rope_scaling, w->release);
    bool none = w->model->nope_every == 1;
    writer_pair(w, flag,
                w->model->learned_pos ? "learned_absolute"
                : none                ? "none"
                : yarn                ? "yarn"
                                      : "rope");
}

static void add_qkv_bias(struct writer *w, const char *flag)
{
    if (w->model->qkv_bias && !w->model->linear_bias)
        writer_word(w, flag);
}

static void add_sinks(struct writer *w, const char *flag)
{
    if (w->model->sinks)
        writer_pair(w, flag, "learnable");
}

static void add_clamp(struct writer *w, const char *flag)
{
    if (w->model->clamped)
        writer_meaning(w, flag, MEANING_clamp);
}

static void add_window(struct writer *w, const char *flag)
{
    if (w->model->window)
        writer_pair(w, flag, arena_format(w->mem, "%d,0", w->model->window - 1));
}

/* window_every is no more than a sign of unlike layers where no number says their order. */
static void add_window_pattern(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    bool window[MODEL_MAX_LAYERS], all = true, every = m->window_every > 0;
    for (int i = 0; i < m->layers; i++) {
        all &= window[i] = m->kind[m->layer[i]].window > 0;
        every = every && window[i] == ((i + 1) % m->window_every != 0);
    }
    if (!m->window || all)
        return;
    if (every)
        writer_number(w, flag, m->window_every);
    else
        add_list(w, flag, window, m->layers);
}

static void add_moe_pattern(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    bool moe[MODEL_MAX_LAYERS], all = true;
    for (int i = 0; i < m->layers; i++)
        all &= moe[i] = m->kind[m->layer[i]].feed == FEED_MOE;
    if (m->experts && !all && !m->pattern[0])
        add_list(w, flag, moe, m->layers);
}

static void add_router(struct writer *w, const char *flag)
{
    if (w->model->sigmoid_router)
        writer_pair(w, flag, "sigmoid");
}

static void add_delta_net(struct writer *w, const char *flag)
{
    if (!w->model->gdn_heads)
        return;
    if (!w->model->pattern[0])
        writer_pair(w, "--experimental-attention-variant", "gated_delta_net");
    writer_number(w, flag, w->model->gdn_heads);
    if (writer_has(w, "--linear-conv-kernel-dim", 16))
        writer_number(w, "--linear-conv-kernel-dim", 4);
}

/* A number where it says it, else a list. */
static void add_linear_pattern(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    bool linear[MODEL_MAX_LAYERS], regular = true;
    if (!m->gdn_heads || m->pattern[0])
        return;
    for (int i = 0; i < m->layers; i++) {
        linear[i] = m->kind[m->layer[i]].mixer == MIXER_GDN;
        regular &= linear[i] == ((i + 1) % m->full_every != 0);
    }
    if (regular)
        writer_number(w, flag, m->full_every);
    else
        add_list(w, flag, linear, m->layers);
}

/* The kernels stand for attention=auto; what rotates must not be fused with sparse attention. */
static void add_indexer(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    if (!m->index_heads)
        return;
    if (!m->pattern[0])
        writer_pair(w, "--experimental-attention-variant", "dsa");
    writer_number(w, flag, m->index_heads);
    if (w->strategy->attention != ATTENTION_UNFUSED)
        writer_pair(w, "--dsa-kernel-backend", "cudnn");
    writer_word(w, "--no-rope-fusion");
    writer_has(w, "sparse attention by absorbed products", 19);
}

static void add_index_loss(struct writer *w, const char *flag)
{
    if (w->model->index_loss == 2)
        writer_word(w, flag);
}

static void add_mamba(struct writer *w, const char *flag)
{
    if (w->model->mamba_heads)
        writer_number(w, flag, w->model->mamba_heads);
}

static void add_wide_first(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    if (!precision_is_narrow(w->strategy->precision) || m->wide_first + m->wide_last == 0)
        return;
    writer_word(w, "--first-last-layers-bf16");
    writer_number(w, flag, m->wide_first);
}

static void add_wide_last(struct writer *w, const char *flag)
{
    const struct model *m = w->model;
    if (precision_is_narrow(w->strategy->precision) && m->wide_first + m->wide_last > 0)
        writer_number(w, flag, m->wide_last);
}

static void add_nothing(struct writer *w, const char *flag)
{
    (void)w, (void)flag;
}

static void (*const OWN_FIELD[MODEL_FIELDS])(struct writer *, const char *flag) = {
    [MODEL_kv] = add_heads,
    [MODEL_head_dim] = add_head_dim,
    [MODEL_max_seq] = add_max_seq,
    [MODEL_gated] = add_activation,
    [MODEL_layer_norm] = add_norm,
    [MODEL_learned_pos] = add_positions,
    [MODEL_qkv_bias] = add_qkv_bias,
    [MODEL_sinks] = add_sinks,
    [MODEL_clamped] = add_clamp,
    [MODEL_window] = add_window,
    [MODEL_window_every] = add_window_pattern,
    [MODEL_dense_first] = add_moe_pattern,
    [MODEL_moe_every] = add_nothing, /* part of the pattern */
    [MODEL_sigmoid_router] = add_router,
    [MODEL_mamba_heads] = add_mamba,
    [MODEL_index_heads] = add_indexer,
    [MODEL_index_loss] = add_index_loss,
    [MODEL_gdn_heads] = add_delta_net,
    [MODEL_full_every] = add_linear_pattern,
    [MODEL_wide_first] = add_wide_first,
    [MODEL_wide_last] = add_wide_last,
};

/* Whether the release has what was written from word `from` on. */
static void check_release(struct writer *w, const struct field_flag *f, size_t from)
{
    for (size_t i = from; i < w->count; i++)
        if (strcmp(w->word[i], f->flag) == 0)
            writer_has(w, f->flag, f->since);
}

static void add_field(struct writer *w, const struct field_flag *f)
{
    int value = model_field_get(w->model, f->field);
    size_t from = w->count;
    if (f->kind == OWN)
        OWN_FIELD[f->field](w, f->flag);
    else if (f->kind == VALUE && value)
        writer_number(w, f->flag, value);
    else if ((f->kind == SWITCH && value) || (f->kind == UNLESS && !value))
        writer_word(w, f->flag);
    check_release(w, f, from);
}

/* Symbols of each stage's layers, '|' between; without stages where there are none that hold the layers. */
static void add_stages(const struct writer *w, const char *symbols, size_t layers, struct str *out)
{
    struct layout even;
    const struct layout *l = layout_is_string(w->strategy->split) ? w->layout : &even;
    bool cut = l != &even || layout_of(&even, w->model, w->strategy, NULL);
    for (int i = 0; cut && i < l->stages; i++) {
        str_add(out, i ? "|" : "");
        str_add_bytes(out, symbols + l->first[i], l->layers[i]);
    }
    if (!cut)
        str_add_bytes(out, symbols, layers);
    str_add(out, symbols + layers); /* MTP */
}

/* Layers of one half, and the stages they are on. */
static void add_hybrid(struct writer *w)
{
    struct str symbols = {0}, text = {0};
    if (!w->model->pattern[0] || !writer_has(w, HYBRID_PATTERN, 17))
        return;
    model_add_symbols(w->model, &symbols);
    add_stages(w, str_text(&symbols), (size_t)w->model->layers, &text);
    writer_text(w, HYBRID_PATTERN, &text);
    writer_pair(w, "--spec", "megatron.core.models.mamba.mamba_layer_specs");
    writer_word(w, "mamba_stack_spec");
    str_release(&symbols);
}

void writer_model(struct writer *w)
{
    for (int i = 0; i < MODEL_FIELDS; i++)
        add_field(w, &FIELD_FLAGS[i]);
    add_hybrid(w);
}
