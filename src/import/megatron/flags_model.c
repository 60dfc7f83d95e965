/* Model fields out of Megatron's flags. Most are one line of megatron.def; what is left here is
 * where Megatron's defaults (megatron/training/arguments.py, validate_args) or its way of saying
 * it differ from ours: an MLP of 4 x hidden, LayerNorm with biases, tied and learned position
 * embeddings unless told otherwise, and per-layer patterns that are Python list expressions,
 * "[0]*3+[1]*58". */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct field_flag FIELD_FLAGS[MODEL_FIELDS] = {
#define MEGATRON_MODEL(field, kind, flag, since) {MODEL_##field, kind, flag, since},
#include "import/megatron/megatron.def"
};

bool flags_number(const struct words *w, const char *flag, int lo, int hi, int *out,
                  struct error *err)
{
    const char *text = words_value(w, flag);
    int64_t n;
    if (!parse_int(text, &n) || n < lo || n > hi)
        return fail(err, ERROR_INPUT, "%s is '%s', expected a whole number from %d to %d", flag,
                    text, lo, hi);
    *out = (int)n;
    return true;
}

/* One line of megatron.def. An absent switch has a value too; an absent number keeps 0, "not
 * given". */
static bool read_field(struct flags_result *r, const struct field_flag *f, const struct words *w,
                       struct error *err)
{
    const struct model_field_info *info = model_field_info(f->field);
    int value = f->kind == UNLESS;
    if (f->kind == NONE)
        return true;
    r->model_given[f->field] = words_has(w, f->flag);
    if (f->kind == OWN)
        return true;
    if (words_has(w, f->flag) && f->kind != VALUE)
        value = f->kind == SWITCH;
    else if (words_has(w, f->flag) && !flags_number(w, f->flag, info->lo, info->hi, &value, err))
        return false;
    model_field_set(&r->model, f->field, value);
    return true;
}

/* A field whose number may be missing: the default is Megatron's. */
static bool read_number(struct flags_result *r, enum model_field f, const char *flag, int missing,
                        const struct words *w, struct error *err)
{
    const struct model_field_info *info = model_field_info(f);
    int value = missing;
    if (words_has(w, flag) && !flags_number(w, flag, info->lo, info->hi, &value, err))
        return false;
    r->model_given[f] |= words_has(w, flag);
    model_field_set(&r->model, f, value);
    return true;
}

static bool read_attention(struct flags_result *r, const struct words *w, struct error *err)
{
    struct model *m = &r->model;
    bool grouped = words_has(w, "--group-query-attention");
    r->model_given[MODEL_kv] = grouped;
    if (!grouped && r->of_file && !m->mla && words_has(w, "--num-query-groups") &&
        !flags_is(w, "--num-query-groups", "1", ""))
        flags_note(r, "--num-query-groups",
                   "it counts beside --group-query-attention alone, which is not there: every head "
                   "is planned with keys and values of its own");
    if (grouped && !read_number(r, MODEL_kv, "--num-query-groups", 1, w, err))
        return false;
    if (!read_number(r, MODEL_head_dim, "--kv-channels", 0, w, err))
        return false;
    m->qkv_bias = words_has(w, "--add-qkv-bias") || m->linear_bias;
    m->sinks = flags_is(w, "--softmax-type", "learnable", NULL);
    m->clamped = words_has(w, "--activation-func-clamp-value");
    if (!m->mla)
        return true;
    return (m->kv_lora || read_number(r, MODEL_kv_lora, "--kv-lora-rank", 32, w, err)) &&
           (m->qk_nope || read_number(r, MODEL_qk_nope, "--qk-head-dim", 128, w, err)) &&
           (m->qk_rope || read_number(r, MODEL_qk_rope, "--qk-pos-emb-head-dim", 64, w, err)) &&
           (m->v_dim || read_number(r, MODEL_v_dim, "--v-head-dim", 128, w, err));
}

static bool read_positions(struct flags_result *r, const struct words *w, struct error *err)
{
    const char *longest = words_has(w, "--max-position-embeddings") ? "--max-position-embeddings"
                          : words_has(w, "--seq-length")            ? "--seq-length"
                                                                    : "--encoder-seq-length";
    bool learned = flags_is(w, "--position-embedding-type", "learned_absolute", "learned_absolute");
    r->model.learned_pos = learned && !words_has(w, "--use-rotary-position-embeddings") &&
                           !words_has(w, "--no-position-embedding");
    if (!read_number(r, MODEL_max_seq, longest, 0, w, err))
        return false;
    r->model_given[MODEL_max_seq] = words_has(w, "--max-position-embeddings");
    if (flags_is(w, "--position-embedding-type", "none", NULL))
        r->model.nope_every = 1;
    return true;
}

/* Without --ffn-hidden-size a gated MLP is 2/3 as wide, a multiple of 64. */
static void default_ffn(struct flags_result *r, const struct words *w)
{
    struct model *m = &r->model;
    if (m->ffn == 0)
        m->ffn = words_has(w, "--swiglu") ? 8 * m->hidden / 192 * 64 : 4 * m->hidden;
}

static bool read_mlp(struct flags_result *r, const struct words *w, struct error *err)
{
    struct model *m = &r->model;
    m->gated = words_has(w, "--swiglu") || words_has(w, "--quick-geglu");
    r->model_given[MODEL_gated] = m->gated;
    m->layer_norm = !flags_is(w, "--normalization", "RMSNorm", NULL);
    m->sigmoid_router = !flags_is(w, "--moe-router-score-function", "softmax", "softmax");
    return m->experts == 0 || m->topk > 0 ||
           read_number(r, MODEL_topk, "--moe-router-topk", 2, w, err);
}

/* How many rows there are with what was added: a multiple is looked for that adds as much. */
static void read_padded(struct flags_result *r, int padded)
{
    enum { MOST = 1 << 14 };
    struct model m = r->model;
    for (m.vocab_pad = 0; m.vocab_pad <= MOST; m.vocab_pad++)
        if (model_padded_vocab(&m, r->strategy.tp) == padded) {
            r->model.vocab_pad = m.vocab_pad;
            return;
        }
    flags_note(r, "--padded-vocab-size",
               arena_format(r->mem, "the vocabulary is planned with %lld rows",
                            (long long)model_padded_vocab(&r->model, r->strategy.tp)));
}

static bool read_padding(struct flags_result *r, const struct words *w, struct error *err)
{
    static const char flag[] = "--padded-vocab-size";
    int padded;
    if (words_has(w, "--no-pad-vocab-size") || words_has(w, "--disable-pad-vocab-size"))
        r->model.vocab_pad = 1;
    if (r->model.vocab_pad == 128) /* the default, said */
        r->model.vocab_pad = 0;
    if (!words_has(w, flag) || r->vocab_missing || !r->model.vocab)
        return true;
    if (!flags_number(w, flag, 1, model_field_info(MODEL_vocab)->hi, &padded, err))
        return false;
    read_padded(r, padded);
    return true;
}

static bool read_vocab(struct flags_result *r, const struct words *w, struct error *err)
{
    if (!r->model_given[MODEL_vocab] &&
        !read_number(r, MODEL_vocab, "--padded-vocab-size", 0, w, err))
        return false;
    r->vocab_missing = r->has_model && r->model.vocab == 0;
    if (r->vocab_missing)
        r->model.vocab = 1;
    return read_padding(r, w, err);
}

/* "4095,0", "(4095,0)" or "[4095,0]". */
static bool read_pair(const char *text, int64_t *first, int64_t *second)
{
    char copy[64];
    size_t open = *text == '(' || *text == '[', length = strlen(text);
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text + open, length + 1 - open);
    char *comma = strchr(copy, ','), *close = strpbrk(copy, ")]");
    if (!comma || (close && (close < comma || close[1])))
        return false;
    *comma = 0;
    if (close)
        *close = 0;
    return parse_int(copy, first) && parse_int(comma + 1, second);
}

/* Tokens before the query and behind it; the window counts the query too. */
static bool read_window(struct flags_result *r, const struct words *w, struct error *err)
{
    const char *text = words_value(w, "--window-size");
    int64_t before, behind;
    if (!text)
        return true;
    if (r->of_file && parse_int(text, &before) && before > 0) { /* forks say how many there are */
        r->model.window = before < model_field_info(MODEL_window)->hi ? (int)before : 0;
        return true;
    }
    if (!read_pair(text, &before, &behind) || before < -1 || behind < -1 ||
        before >= model_field_info(MODEL_window)->hi)
        return fail(err, ERROR_INPUT,
                    "--window-size is '%s', expected BEFORE,BEHIND such as 4095,0; -1 is no limit",
                    text);
    r->model.window = (int)before + 1;
    return true;
}

/* A Python expression of lists: [0]*3+[1]*58, ([1]+[0])*24, [0,1]*2. */
struct pattern {
    const char *at;
    int depth;
};

struct number_list {
    int count;
    uint8_t item[MODEL_MAX_LAYERS];
};

static bool read_sum(struct pattern *p, struct number_list *out);

static bool read_count(struct pattern *p, int *out)
{
    int n = 0;
    if (!isdigit((unsigned char)*p->at))
        return false;
    for (; isdigit((unsigned char)*p->at); p->at++)
        n = n > MODEL_MAX_LAYERS ? n : n * 10 + (*p->at - '0');
    *out = n;
    return true;
}

/* "[0,1,1]", a final comma allowed. */
static bool read_items(struct pattern *p, struct number_list *out)
{
    out->count = 0;
    while (*p->at != ']') {
        int item;
        if (!read_count(p, &item) || item > 1 || out->count == MODEL_MAX_LAYERS)
            return false;
        out->item[out->count++] = (uint8_t)item;
        if (*p->at == ',')
            p->at++;
        else if (*p->at != ']')
            return false;
    }
    p->at++;
    return true;
}

static bool read_factor(struct pattern *p, struct number_list *out)
{
    char open = *p->at;
    if (open == '[') {
        p->at++;
        return read_items(p, out);
    }
    if (open != '(' || p->depth == 16)
        return false;
    p->at++;
    p->depth++;
    if (!read_sum(p, out) || *p->at != ')')
        return false;
    p->at++;
    p->depth--;
    return true;
}

static bool multiply(struct number_list *l, int times)
{
    int once = l->count;
    if (once > 0 && times > MODEL_MAX_LAYERS / once)
        return false;
    l->count = once * times;
    for (int i = once; i < l->count; i++)
        l->item[i] = l->item[i - once];
    return true;
}

/* list * n, n * list. */
static bool read_product(struct pattern *p, struct number_list *out)
{
    int before = 1, behind;
    if (isdigit((unsigned char)*p->at)) {
        if (!read_count(p, &before) || *p->at++ != '*')
            return false;
    }
    if (!read_factor(p, out) || !multiply(out, before))
        return false;
    while (*p->at == '*') {
        p->at++;
        if (!read_count(p, &behind) || !multiply(out, behind))
            return false;
    }
    return true;
}

static bool read_sum(struct pattern *p, struct number_list *out)
{
    struct number_list more;
    if (!read_product(p, out))
        return false;
    while (*p->at == '+') {
        p->at++;
        if (!read_product(p, &more) || out->count + more.count > MODEL_MAX_LAYERS)
            return false;
        memcpy(out->item + out->count, more.item, (size_t)more.count);
        out->count += more.count;
    }
    return true;
}

/* A number n, or a list of one 0 or 1 per layer: then *every is 0. */
static bool read_pattern(const struct words *w, const char *flag, int layers, int *every,
                         struct number_list *list, struct error *err)
{
    const char *text = words_value(w, flag);
    struct pattern p = {.at = text};
    *every = 0;
    if (!strchr(text, '['))
        return flags_number(w, flag, 1, 1 << 30, every, err);
    if (!read_sum(&p, list) || *p.at)
        return fail(err, ERROR_INPUT,
                    "%s is '%s', expected a number or a list of 0 and 1 such as [0]*3+[1]*58", flag,
                    text);
    if (list->count != layers)
        return fail(err, ERROR_INPUT, "%s is '%s', %d entries; the model has %d layers", flag, text,
                    list->count, layers);
    return true;
}

/* Which layers have experts and which the window, where the flags say more than "all". */
static bool set_pattern(struct model *m, const struct words *w, struct error *err)
{
    static const char *const linear_freq = "--linear-attention-freq";
    struct layer_pattern pattern;
    struct number_list moe = {0}, window = {0}, linear = {0};
    int moe_every = 1, window_every = 1 << 30; /* every layer, no layer is left out */
    int full_every = m->full_every ? m->full_every : 1;
    if (m->gdn_heads && words_has(w, linear_freq) &&
        !read_pattern(w, linear_freq, m->layers, &full_every, &linear, err))
        return false;
    if (m->experts && words_has(w, "--moe-layer-freq") &&
        !read_pattern(w, "--moe-layer-freq", m->layers, &moe_every, &moe, err))
        return false;
    if (m->window && words_has(w, "--window-attn-skip-freq") &&
        !read_pattern(w, "--window-attn-skip-freq", m->layers, &window_every, &window, err))
        return false;
    for (int i = 0; i < m->layers; i++) {
        bool experts = m->experts && (moe_every ? i % moe_every == 0 : moe.item[i]);
        bool net = m->gdn_heads && (full_every ? (i + 1) % full_every != 0 : linear.item[i]);
        pattern.mixer[i] = (uint8_t)(net ? MIXER_GDN : model_attention_of(m, i));
        pattern.feed[i] = experts ? FEED_MOE : FEED_MLP;
        pattern.window[i] =
            m->window && (window_every ? (i + 1) % window_every != 0 : window.item[i]);
    }
    return model_set_pattern(m, &pattern, err);
}

static bool finish(struct flags_result *r, const struct words *w, struct error *err)
{
    struct error inner;
    default_ffn(r, w);
    if (r->model.pattern[0] && !strchr(r->model.pattern, 'E') && !strchr(r->model.mtp_pattern, 'E'))
        r->model.experts = 0;
    snprintf(r->model.name, sizeof r->model.name, "flags");
    if (!model_finish(&r->model, &inner))
        return fail(err, inner.kind, "the flags describe no model: %s", inner.text);
    if (r->model.pattern[0])
        return true;
    return set_pattern(&r->model, w, err);
}

/* Which layers are no attention: gated delta nets with Megatron's widths unless told. */
static bool read_variant(struct flags_result *r, const struct words *w, struct error *err)
{
    static const char *const flag = "--experimental-attention-variant";
    static const char *const hybrid = "--hybrid-layer-pattern";
    struct model *m = &r->model;
    bool net = flags_is(w, flag, "gated_delta_net", NULL) || flags_is(w, flag, "gdn", NULL);
    bool symbol = words_has(w, hybrid) && strchr(words_value(w, hybrid), 'G');
    if (words_has(w, flag) && !net && !flags_is(w, flag, "dsa", NULL))
        return fail(err, ERROR_INPUT, "%s %s: delta nets of the second kind are not planned", flag,
                    words_value(w, flag));
    if (net && !symbol && !words_has(w, "--linear-attention-freq"))
        return fail(err, ERROR_INPUT,
                    "%s without --linear-attention-freq: which layers are meant "
                    "is not said",
                    flag);
    if (!net && !symbol) {
        m->gdn_dim = m->gdn_key_heads = m->gdn_key_dim = 0;
        return true;
    }
    m->gdn_dim = m->gdn_dim ? m->gdn_dim : 128;
    m->gdn_key_dim = m->gdn_key_dim ? m->gdn_key_dim : 128;
    m->gdn_key_heads = m->gdn_key_heads ? m->gdn_key_heads : 16;
    m->full_every = symbol ? 0 : m->layers + 1; /* the list that follows says it */
    return read_number(r, MODEL_gdn_heads, "--linear-num-value-heads", 32, w, err);
}

bool flags_read_model(struct flags_result *r, const struct words *w, struct error *err)
{
    model_init(&r->model);
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (!read_field(r, &FIELD_FLAGS[i], w, err))
            return false;
    r->model_given[MODEL_wide_first] = r->model_given[MODEL_wide_last] = false; /* of any model */
    if (!words_has(w, "--num-layers") &&
        !read_number(r, MODEL_layers, "--encoder-num-layers", 0, w, err))
        return false;
    bool hybrid;
    if (!read_variant(r, w, err) || !flags_read_sparse(r, w, err))
        return false;
    if (!flags_read_hybrid(r, w, &hybrid, err))
        return false;
    r->model_given[MODEL_layers] |= hybrid;
    r->has_model = r->model.layers && r->model.hidden && r->model.heads;
    return read_attention(r, w, err) && read_positions(r, w, err) && read_mlp(r, w, err) &&
           read_vocab(r, w, err) && read_window(r, w, err) && flags_read_meaning(r, w, err) &&
           (!r->has_model || finish(r, w, err));
}

static bool needs_flags(const struct flags_result *r, struct error *err)
{
    const char *flag = !r->model.layers   ? "--num-layers"
                       : !r->model.hidden ? "--hidden-size"
                       : !r->has_model    ? "--num-attention-heads"
                                          : "--vocab-size";
    if (r->has_model)
        fail(err, ERROR_INPUT, "%s is missing (or name a model with --model)", flag);
    else
        fail(err, ERROR_INPUT, "no model: %s is missing among the flags (or name one with --model)",
             flag);
    return error_missing(err, flag);
}

/* What flags leave open or cannot say is taken from the model beside them. */
static bool agrees(struct flags_result *r, const struct model *given, struct error *err)
{
    char difference[160];
    struct model *m = &r->model;
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind == NONE)
            model_field_set(m, FIELD_FLAGS[i].field, model_field_get(given, FIELD_FLAGS[i].field));
    if (r->vocab_missing)
        m->vocab = given->vocab;
    if (!r->model_given[MODEL_max_seq])
        m->max_seq = given->max_seq;
    struct model other = *given; /* how it is padded is the run's */
    other.vocab_pad = m->vocab_pad;
    if (!model_same(m, &other, difference, sizeof difference))
        return fail(err, ERROR_INPUT, "the flags (here) and --model %s (there) disagree: %s",
                    given->name, difference);
    return true;
}

/* A few model flags beside a model: each must say what the model says. */
static bool given_agree(const struct flags_result *r, const struct model *given, struct error *err)
{
    for (int i = 0; i < MODEL_FIELDS; i++) {
        const struct field_flag *f = &FIELD_FLAGS[i];
        bool compared = r->model_given[f->field] && f->field != MODEL_max_seq &&
                        f->field != MODEL_vocab_pad && f->field != MODEL_dense_first &&
                        f->field != MODEL_moe_every && f->field != MODEL_window_every &&
                        f->field != MODEL_full_every;
        int here = model_field_get(&r->model, f->field), there = model_field_get(given, f->field);
        if (compared && here != there)
            return fail(err, ERROR_INPUT, "%s and --model %s disagree: %s is %d here and %d there",
                        f->flag, given->name, model_field_info(f->field)->name, here, there);
    }
    return true;
}

static bool take_field(struct flags_result *r, const struct field_flag *f, struct model *m)
{
    int here = model_field_get(&r->model, f->field), there = model_field_get(m, f->field);
    bool pattern = f->field == MODEL_dense_first || f->field == MODEL_moe_every ||
                   f->field == MODEL_window_every || f->field == MODEL_full_every;
    if (!r->model_given[f->field] || pattern || here == there)
        return false;
    model_field_set(m, f->field, here);
    bool of_run = f->field == MODEL_max_seq || f->field == MODEL_vocab_pad;
    if (!of_run)
        flags_note(r, f->flag,
                   arena_format(r->mem, "planned as given: %s of %s would be %d",
                                model_field_info(f->field)->name, m->name, there));
    return !of_run;
}

/* The model that a file names, with what its flags say otherwise. */
static bool take_fields(struct flags_result *r, struct model *m, struct error *err)
{
    struct error inner;
    bool changed = false;
    bool pattern = (m->experts && words_has(r->words, "--moe-layer-freq")) ||
                   (m->window && words_has(r->words, "--window-attn-skip-freq")) ||
                   (m->gdn_heads && words_has(r->words, "--linear-attention-freq"));
    for (int i = 0; i < MODEL_FIELDS; i++)
        changed |= take_field(r, &FIELD_FLAGS[i], m);
    if (changed && !model_finish(m, &inner))
        return fail(err, inner.kind, "%s with the flags beside it is no model: %s", m->name,
                    inner.text);
    if (changed)
        snprintf(m->name, sizeof m->name, "flags");
    return !pattern || set_pattern(m, r->words, err);
}

/* Layers at both ends that stay in 16 bits, one each unless the flags say how many. */
static bool set_wide(const struct flags_result *r, struct model *m, struct error *err)
{
    const struct words *w = r->words;
    const char *first = "--num-layers-at-start-in-bf16", *last = "--num-layers-at-end-in-bf16";
    int count[2] = {1, 1};
    if (!words_has(w, "--first-last-layers-bf16"))
        return true;
    if ((words_has(w, first) && !flags_number(w, first, 0, m->layers, &count[0], err)) ||
        (words_has(w, last) && !flags_number(w, last, 0, m->layers, &count[1], err)))
        return false;
    return model_set_wide(m, count[0], count[1], err);
}

bool flags_model(struct flags_result *r, const struct model *given, struct error *err)
{
    if (!given)
        return r->has_model && !r->vocab_missing ? set_wide(r, &r->model, err)
                                                 : needs_flags(r, err);
    struct model model = *given;
    bool named = r->model_named;
    if (named          ? !take_fields(r, &model, err)
        : r->has_model ? !agrees(r, given, err)
                       : !given_agree(r, given, err))
        return false;
    if (r->model_named && !model.learned_pos && r->given[PARAM_seq_len] &&
        r->strategy.seq_len > model.max_seq) /* rotary positions have no end of their own */
        model.max_seq = r->strategy.seq_len;
    if (!flags_meaning_agrees(r, &model, err) || !set_wide(r, &model, err))
        return false;
    model.vocab_pad = r->model.vocab_pad ? r->model.vocab_pad : model.vocab_pad;
    r->model = model;
    r->has_model = true;
    r->vocab_missing = false;
    return true;
}
