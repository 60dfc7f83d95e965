/* The kinds of layers a model is made of. A pattern says per layer its mixer, its feed-forward part
 * and whether its attention has the window; the distinct combinations, in order of appearance, are
 * the kinds, apart where the first or last layers stay in 16 bits. The short form (dense_first,
 * moe_every, window_every) is found by trying: the first two
 * follow from the first two layers with experts, the third is one of `layers` candidates.
 * O(layers^2), once a model. */
#include "model/model.h"

#include <assert.h>
#include <string.h>

/* Stands in the short form for a pattern it cannot say: at least not all layers are alike. */
enum { IRREGULAR = 2 };

/* The kind's place; MODEL_MAX_KINDS where there is no room for another. */
static int kind_index(struct model *m, const struct layer_kind *x)
{
    for (int k = 0; k < m->kinds; k++)
        if (m->kind[k].mixer == x->mixer && m->kind[k].feed == x->feed &&
            m->kind[k].window == x->window && m->kind[k].wide == x->wide)
            return k;
    if (m->kinds == MODEL_MAX_KINDS)
        return MODEL_MAX_KINDS;
    m->kind[m->kinds] = *x;
    return m->kinds++;
}

static bool too_many_kinds(struct error *err)
{
    return fail(err, ERROR_INPUT,
                "layers are of more than %d kinds (experts, window, 16 bits): with "
                "wide_first and wide_last 0 they are fewer",
                MODEL_MAX_KINDS);
}

static bool lay_out(struct model *m, const struct layer_pattern *p, struct error *err)
{
    m->kinds = 0;
    memset(m->kind, 0, sizeof m->kind);
    memset(m->layer, 0, sizeof m->layer);
    for (int i = 0; i < m->layers; i++) {
        struct layer_kind x = {.mixer = (enum mixer)p->mixer[i],
                               .feed = (enum feed)p->feed[i],
                               .wide = i < m->wide_first || i >= m->layers - m->wide_last,
                               .window = p->window[i] ? m->window : 0};
        int k = kind_index(m, &x);
        if (k == MODEL_MAX_KINDS)
            return too_many_kinds(err);
        m->layer[i] = (uint8_t)k;
    }
    m->mtp_layers = m->pattern[0] ? (int)strlen(m->mtp_pattern) : 1;
    m->mtp_layer[0] = m->layer[m->layers - 1];
    if (m->kind[m->mtp_layer[0]].mixer == MIXER_REUSE) { /* its layers are counted anew */
        struct layer_kind x = m->kind[m->mtp_layer[0]];
        x.mixer = MIXER_DSA;
        int k = kind_index(m, &x);
        if (k == MODEL_MAX_KINDS)
            return too_many_kinds(err);
        m->mtp_layer[0] = (uint8_t)k;
    }
    for (int i = 0; m->pattern[0] && i < m->mtp_layers; i++) {
        struct layer_kind x = layer_of_symbol(m->mtp_pattern[i]);
        x.window = mixer_attends(x.mixer) ? m->window : 0;
        int k = kind_index(m, &x);
        if (k == MODEL_MAX_KINDS)
            return too_many_kinds(err);
        m->mtp_layer[i] = (uint8_t)k;
    }
    return true;
}

static int next_moe(const struct model *m, const struct layer_pattern *p, int from)
{
    while (from < m->layers && p->feed[from] != FEED_MOE)
        from++;
    return from;
}

static bool moe_repeats(const struct model *m, const struct layer_pattern *p, int first, int every)
{
    for (int i = first; i < m->layers; i++)
        if ((p->feed[i] == FEED_MOE) != ((i - first) % every == 0))
            return false;
    return true;
}

static void shorten_moe(struct model *m, const struct layer_pattern *p)
{
    int first = next_moe(m, p, 0), second = next_moe(m, p, first + 1);
    int every = second - first;
    m->dense_first = first;
    m->moe_every = !moe_repeats(m, p, first, every) ? IRREGULAR : every > 1 ? every : 0;
}

/* As window_every, of layers with attention. */
static void shorten_full(struct model *m, const struct layer_pattern *p)
{
    for (int every = 2, i; every <= m->layers + 1; every++) {
        for (i = 0; i < m->layers; i++)
            if ((p->mixer[i] == MIXER_ATTENTION) != ((i + 1) % every == 0))
                break;
        m->full_every = every;
        if (i == m->layers)
            return;
    }
    m->full_every = IRREGULAR;
}

static bool window_repeats(const struct model *m, const struct layer_pattern *p, int every)
{
    for (int i = 0; i < m->layers; i++)
        if (p->window[i] != ((i + 1) % every != 0))
            return false;
    return true;
}

static void shorten_window(struct model *m, const struct layer_pattern *p)
{
    bool any = false, all = true;
    int every = 2;
    for (int i = 0; i < m->layers; i++) {
        any |= p->window[i];
        all &= p->window[i];
    }
    if (!any)
        m->window = 0;
    while (every <= m->layers && !window_repeats(m, p, every))
        every++;
    m->window_every = !any || all ? 0 : every <= m->layers ? every : IRREGULAR;
}

static double layer_total(const struct model *m, const struct layer_kind *kind)
{
    struct layer_params p = model_layer_params(m, kind);
    return (double)p.mixer_linear + (double)p.mixer_replicated + (double)p.mlp +
           (double)p.mlp_replicated + (double)p.experts;
}

/* In floating point, because it judges whether int64_t would do. */
static bool check_size(const struct model *m, struct error *err)
{
    double total =
        (double)model_embedding_params(m, m->vocab) + (double)model_head_params(m, m->vocab);
    for (int i = 0; i < m->layers; i++)
        total += layer_total(m, &m->kind[m->layer[i]]);
    for (int i = 0; i < m->mtp_layers; i++)
        total += m->mtp * layer_total(m, &m->kind[m->mtp_layer[i]]);
    total += m->mtp * (double)model_mtp_params(m);
    if (total > MODEL_MAX_PARAMS)
        return fail(err, ERROR_INPUT, "the fields give %.3g parameters, expected at most %.0e",
                    total, MODEL_MAX_PARAMS);
    return true;
}

static bool check_layers(const struct model *m, struct error *err)
{
    bool dense = model_has_feed(m, FEED_MLP), moe = model_has_feed(m, FEED_MOE);
    bool mamba = model_has_mixer(m, MIXER_MAMBA) || model_has_mixer(m, MIXER_PARALLEL);
    if (m->experts && !moe)
        return fail(err, ERROR_INPUT, "experts is %d, but none of the %d layers has experts",
                    m->experts, m->layers);
    if (dense && !m->ffn)
        return fail(err, ERROR_INPUT, "ffn is missing (%s)", model_field_info(MODEL_ffn)->help);
    if (moe && !m->experts)
        return fail(err, ERROR_INPUT, "experts is missing: the pattern has layers of them (E)");
    if (moe && !m->expert_ffn)
        return fail(err, ERROR_INPUT, "expert_ffn is missing (%s)",
                    model_field_info(MODEL_expert_ffn)->help);
    if (mamba != (m->mamba_heads > 0))
        return fail(err, ERROR_INPUT,
                    mamba ? "mamba_heads is missing (%s)"
                          : "mamba_heads is there, but no layer of the pattern is one (M): %s",
                    model_field_info(MODEL_mamba_heads)->help);
    if (model_has_mixer(m, MIXER_GDN) != (m->gdn_heads > 0))
        return fail(err, ERROR_INPUT,
                    m->gdn_heads ? "gdn_heads is there, but no layer is a gated delta net: add "
                                   "full_every=..., or G to the pattern (%s)"
                                 : "gdn_heads is missing (%s)",
                    model_field_info(MODEL_gdn_heads)->help);
    if (model_has_mixer(m, MIXER_KDA) != (m->kda_heads > 0 && m->kda_dim > 0))
        return fail(err, ERROR_INPUT,
                    m->kda_heads
                        ? "kda_heads and kda_dim are of layers of Kimi delta attention: both, "
                          "and K in the pattern"
                        : "kda_heads is missing (%s)",
                    model_field_info(MODEL_kda_heads)->help);
    if (model_has_mixer(m, MIXER_DSA) != (m->index_heads > 0))
        return fail(err, ERROR_INPUT,
                    m->index_heads ? "index_heads is there, but no layer of the pattern is sparse "
                                     "attention (D): %s"
                                   : "index_heads is missing (%s)",
                    model_field_info(MODEL_index_heads)->help);
    return check_size(m, err);
}

bool model_set_pattern(struct model *m, const struct layer_pattern *p, struct error *err)
{
    if (!lay_out(m, p, err) || !check_layers(m, err))
        return false;
    if (m->pattern[0]) { /* says it all */
        m->dense_first = m->moe_every = m->window_every = m->full_every = 0;
        return true;
    }
    if (m->gdn_heads)
        shorten_full(m, p);
    if (m->experts)
        shorten_moe(m, p);
    if (m->window)
        shorten_window(m, p);
    return true;
}

bool model_set_wide(struct model *m, int first, int last, struct error *err)
{
    struct layer_pattern pattern;
    if (first < 0 || last < 0 || first + last > m->layers)
        return fail(err, ERROR_INPUT, "%d first and %d last layers in 16 bits, the model has %d",
                    first, last, m->layers);
    for (int i = 0; i < m->layers; i++) {
        const struct layer_kind *kind = &m->kind[m->layer[i]];
        pattern.mixer[i] = (uint8_t)kind->mixer;
        pattern.feed[i] = (uint8_t)kind->feed;
        pattern.window[i] = kind->window > 0;
    }
    m->wide_first = first;
    m->wide_last = last;
    return lay_out(m, &pattern, err);
}

const char *mixer_lacks(enum mixer mixer)
{
    static const char *const LACKS[MIXERS] = {
#define MIXER(id, symbol, part, name, lacks) [MIXER_##id] = lacks,
#define FEED(...)
#include "model/layer_kinds.def"
        [MIXER_NONE] = ""};
    return *LACKS[mixer] ? LACKS[mixer] : NULL;
}

const char *model_lacks(const struct model *m)
{
    const char *lacks = NULL;
    for (int k = 0; k < m->kinds && !lacks; k++)
        lacks = mixer_lacks(m->kind[k].mixer);
    return lacks;
}

bool mixer_attends(enum mixer mixer)
{
    return mixer == MIXER_ATTENTION || mixer == MIXER_PARALLEL;
}

bool model_has_mixer(const struct model *m, enum mixer mixer)
{
    for (int k = 0; k < m->kinds; k++)
        if (m->kind[k].mixer == mixer)
            return true;
    return false;
}

bool model_has_feed(const struct model *m, enum feed feed)
{
    for (int k = 0; k < m->kinds; k++)
        if (m->kind[k].feed == feed)
            return true;
    return false;
}
