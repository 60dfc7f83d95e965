/* The order of layers in a Hugging Face config.json. Experts: DeepSeek counts dense layers from the
 * front (first_k_dense_replace, moe_layer_freq), Qwen has every decoder_sparse_step-th layer sparse
 * except those listed in mlp_only_layers. Windows: layer_types names the attention of each layer
 * where a file has it; older files leave it to the family's rule. */
#include "model/hf_config.h"

#include "base/json.h"

#include <string.h>

/* A list with one item for each layer; NULL where the file has none. */
static bool list_of_layers(const struct hf_config *c, const char *key, const struct model *m,
                           const struct json **out, struct error *err)
{
    const struct json *list = hf_get(c, key);
    *out = list && json_is_array(list) && json_count(list) > 0 ? list : NULL;
    if (*out && json_count(list) != (size_t)m->layers)
        return fail(err, ERROR_INPUT, "%s: %s is no list of %d items, one for each layer", c->name,
                    key, m->layers);
    return true;
}

static void set_experts(struct layer_pattern *p, int layer, bool experts)
{
    p->feed[layer] = experts ? FEED_MOE : FEED_MLP;
}

static bool dense_front(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                        struct error *err)
{
    int first = m->dense_first, every = 1;
    const struct json *list;
    if (!hf_count(c, "first_k_dense_replace", 0, MODEL_MAX_LAYERS, &first, err) ||
        !hf_count(c, "num_dense_layers", 0, MODEL_MAX_LAYERS, &first, err) ||
        !list_of_layers(c, "moe_layer_freq", m, &list, err) ||
        (!list && !hf_count(c, "moe_layer_freq", 1, MODEL_MAX_LAYERS, &every, err)))
        return false;
    for (int i = 0; i < m->layers; i++)
        set_experts(p, i,
                    list ? json_integer_of(json_at(list, (size_t)i)) != 0
                         : i >= first && i % every == 0);
    return true;
}

/* ERNIE: from moe_layer_start_index to moe_layer_end_index every moe_layer_interval-th layer. */
static bool stepped(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                    struct error *err)
{
    int first = 1, last = m->layers - 1, every = 1;
    const struct json *end = hf_get(c, "moe_layer_end_index");
    bool open = json_integer_of(end) == -1; /* to the last */
    if (!hf_count(c, "moe_layer_start_index", 0, MODEL_MAX_LAYERS, &first, err) ||
        (!open && !hf_count(c, "moe_layer_end_index", 0, MODEL_MAX_LAYERS, &last, err)) ||
        !hf_count(c, "moe_layer_interval", 1, MODEL_MAX_LAYERS, &every, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        set_experts(p, i, i >= first && i <= last && (i + 1) % every == 0);
    return true;
}

/* Numbers of layers that have the opposite of what all others have. */
static bool listed_layers(const struct hf_config *c, const char *key, bool value,
                          const struct model *m, struct layer_pattern *p, struct error *err)
{
    const struct json *list = hf_get(c, key);
    if (list && !json_is_array(list))
        return fail(err, ERROR_INPUT, "%s: %s is no list of layer numbers", c->name, key);
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_at(list, i);
        int64_t layer = json_integer_of(item);
        if (!json_is_integer(item) || layer < 0 || layer >= m->layers)
            return fail(err, ERROR_INPUT, "%s: %s[%zu] is no layer number from 0 to %d", c->name,
                        key, i, m->layers - 1);
        set_experts(p, (int)layer, value);
    }
    return true;
}

/* Llama 4: moe_layers, or every interleave_moe_layer_step-th. */
static bool interleaved(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                        struct error *err)
{
    int step = 1;
    const struct json *list = hf_get(c, "moe_layers");
    if (list && json_count(list) > 0)
        return listed_layers(c, "moe_layers", true, m, p, err);
    if (!hf_count(c, "interleave_moe_layer_step", 1, MODEL_MAX_LAYERS, &step, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        set_experts(p, i, (i + 1) % step == 0);
    return true;
}

/* mlp_layer_types of transformers 5. */
static bool typed_layers(const struct hf_config *c, const struct json *types, const struct model *m,
                         struct layer_pattern *p, struct error *err)
{
    for (int i = 0; i < m->layers; i++) {
        const char *type = json_text(json_at(types, (size_t)i));
        set_experts(p, i, strcmp(type, "sparse") == 0);
        if (p->feed[i] != FEED_MOE && strcmp(type, "dense") != 0)
            return fail(err, ERROR_INPUT,
                        "%s: mlp_layer_types[%d] is '%.80s', expected sparse or dense", c->name, i,
                        type);
    }
    return true;
}

static bool sparse_steps(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                         struct error *err)
{
    int step = 1;
    if (!hf_count(c, "decoder_sparse_step", 1, MODEL_MAX_LAYERS, &step, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        set_experts(p, i, (i + 1) % step == 0);
    return true;
}

bool hf_feeds(const struct hf_config *c, const struct hf_family *f, const struct model *m,
              struct layer_pattern *p, struct error *err)
{
    const struct json *types;
    if (!m->experts)
        return true;
    if (!list_of_layers(c, "mlp_layer_types", m, &types, err))
        return false;
    if (types)
        return typed_layers(c, types, m, p, err);
    if (f->reads & INTERLEAVED)
        return interleaved(c, m, p, err);
    if (f->reads & STEPPED)
        return stepped(c, m, p, err);
    if (f->reads & GROUPS)
        return dense_front(c, m, p, err);
    return sparse_steps(c, m, p, err) && listed_layers(c, "mlp_only_layers", false, m, p, err);
}

/* sliding_window_pattern is a number, or a word of one cycle: LLLG. */
static bool read_cycle(const struct hf_config *c, int *every, struct error *err)
{
    const struct json *v = hf_get(c, "sliding_window_pattern");
    if (!v || !json_is_string(v))
        return hf_count(c, "sliding_window_pattern", 1, MODEL_MAX_LAYERS, every, err) &&
               hf_count(c, "global_attn_every_n_layers", 1, MODEL_MAX_LAYERS, every, err);
    const char *word = json_text(v);
    size_t n = strlen(word);
    if (n == 0 || n > MODEL_MAX_LAYERS || strspn(word, "L") != n - 1 || word[n - 1] != 'G')
        return fail(
            err, ERROR_INPUT,
            "%s: sliding_window_pattern is '%.80s', expected a number or a word such as LLLG",
            c->name, word);
    *every = (int)n;
    return true;
}

/* Llama 4 has full attention where nothing is rotated: no_rope_layers (0 = not), or every 4th. */
static bool chunked_rule(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                         struct error *err)
{
    int every = 4;
    const struct json *list;
    if (!list_of_layers(c, "no_rope_layers", m, &list, err) ||
        !hf_count(c, "no_rope_layer_interval", 1, MODEL_MAX_LAYERS, &every, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->window[i] = list ? json_integer_of(json_at(list, (size_t)i)) != 0 : (i + 1) % every != 0;
    return true;
}

/* The family's rule, for files without layer_types. */
static bool window_rule(const struct hf_config *c, const struct hf_family *f, const struct model *m,
                        struct layer_pattern *p, struct error *err)
{
    int every = f->full_every, first = 0, leading = f->window == WINDOW_LEADING;
    if (f->window == WINDOW_CHUNKED)
        return chunked_rule(c, m, p, err);
    if (f->window == WINDOW_PATTERN && !read_cycle(c, &every, err))
        return false;
    if (f->window == WINDOW_SWITCHED &&
        !hf_count(c, "max_window_layers", 0, MODEL_MAX_LAYERS, &first, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->window[i] = i >= first && !(every && (i + 1) % every == leading % every);
    return true;
}

static bool read_layer_type(const struct hf_config *c, const struct json *types, int i,
                            bool *window, struct error *err)
{
    const char *type = json_text(json_at(types, (size_t)i));
    *window = strcmp(type, "sliding_attention") == 0 || strcmp(type, "chunked_attention") == 0;
    if (*window || strcmp(type, "full_attention") == 0)
        return true;
    return fail(
        err, ERROR_INPUT,
        "%s: layer_types[%d] is '%.80s', expected full_attention or sliding_attention; other "
        "kinds of layers are not modelled%s",
        c->name, i, type, HF_WAY_OUT);
}

static bool window_list(const struct hf_config *c, const struct json *types, const struct model *m,
                        struct layer_pattern *p, struct error *err)
{
    if (!json_is_array(types) || json_count(types) != (size_t)m->layers)
        return fail(err, ERROR_INPUT, "%s: layer_types is no list of %d names, one for each layer",
                    c->name, m->layers);
    for (int i = 0; i < m->layers; i++) {
        if (!read_layer_type(c, types, i, &p->window[i], err))
            return false;
        if (p->window[i] && !m->window)
            return fail(err, ERROR_INPUT,
                        "%s: layer_types[%d] is sliding_attention, but sliding_window is not given",
                        c->name, i);
    }
    return true;
}

/* Qwen files carry a sliding_window that is switched off. */
static bool read_window(const struct hf_config *c, const struct hf_family *f, struct model *m,
                        struct error *err)
{
    bool on = f->window != WINDOW_SWITCHED;
    if (!on && !hf_flag(c, "use_sliding_window", &on, err))
        return false;
    const char *key = f->window == WINDOW_CHUNKED ? "attention_chunk_size" : "sliding_window";
    if (f->window == WINDOW_NONE || !on)
        return true;
    if (hf_is_null(c, key))
        m->window = 0;
    return hf_count(c, key, 1, model_field_info(MODEL_window)->hi, &m->window, err);
}

/* Attention in every full_every-th layer, or as layer_types names it. */
static bool delta_nets(const struct hf_config *c, const struct json *types, const struct model *m,
                       struct layer_pattern *p, struct error *err)
{
    int width = 4;
    if (!hf_count(c, "linear_conv_kernel_dim", 1, 1024, &width, err))
        return false;
    if (width != 4)
        return fail(err, ERROR_INPUT, "%s: linear_conv_kernel_dim is %d, and only 4 is modelled%s",
                    c->name, width, HF_WAY_OUT);
    if (types && (!json_is_array(types) || json_count(types) != (size_t)m->layers))
        return fail(err, ERROR_INPUT, "%s: layer_types is no list of %d names, one for each layer",
                    c->name, m->layers);
    for (int i = 0; i < m->layers; i++) {
        const char *type = types ? json_text(json_at(types, (size_t)i)) : "";
        bool net = types ? strcmp(type, "linear_attention") == 0 : (i + 1) % m->full_every != 0;
        if (types && !net && strcmp(type, "full_attention") != 0)
            return fail(err, ERROR_INPUT,
                        "%s: layer_types[%d] is '%.80s', expected linear_attention or "
                        "full_attention",
                        c->name, i, type);
        p->mixer[i] = net ? MIXER_GDN : MIXER_ATTENTION;
    }
    return true;
}

/* "FFSSSF", or a list of F, S, full, shared: whether a layer chooses its tokens; NULL where the file has neither. */
static const struct json *index_list(const struct hf_config *c, const char **key)
{
    *key = hf_get(c, "indexer_types") ? "indexer_types" : "index_topk_pattern";
    return hf_get(c, *key);
}

static char index_type(const struct json *list, int layer)
{
    const char *text = json_text(json_is_array(list) ? json_at(list, (size_t)layer) : list);
    size_t n = strlen(text), at = json_is_array(list) ? 0 : (size_t)layer;
    return at >= n ? 0 : text[at] == 'f' ? 'F' : text[at] == 's' ? 'S' : text[at];
}

/* Two numbers say which layers choose: index_first of them, and then every index_every-th. */
static bool shorten_index(const struct json *list, struct model *m)
{
    int first = 0, every = 0;
    while (first < m->layers && index_type(list, first) == 'F')
        first++;
    for (int i = first; i < m->layers && !every; i++)
        every = index_type(list, i) == 'F' ? i - first + 1 : 0;
    m->index_first = first;
    m->index_every = first == m->layers ? 0 : every ? every : m->layers;
    for (int i = 0; i < m->layers; i++)
        if (index_type(list, i) != (model_attention_of(m, i) == MIXER_DSA ? 'F' : 'S'))
            return false;
    return first > 0;
}

static bool read_index(const struct hf_config *c, struct model *m, struct error *err)
{
    const char *key;
    const struct json *list = index_list(c, &key);
    bool named = json_is_array(list) || json_is_string(list);
    size_t items = json_is_array(list) ? json_count(list) : strlen(json_text(list));
    if (m->index_every > 1 && !m->index_first)
        m->index_first = 2;
    if (list && (!named || items != (size_t)m->layers || !shorten_index(list, m)))
        return fail(
            err, ERROR_INPUT,
            "%s: %s is no list of %d times full or shared, first all full, then every n-th%s",
            c->name, key, m->layers, HF_WAY_OUT);
    if (m->index_every <= 1)
        m->index_every = m->index_first = 0;
    return true;
}

bool hf_pattern(const struct hf_config *c, const struct hf_family *f, struct model *m,
                struct layer_pattern *p, struct error *err)
{
    const struct json *types = hf_get(c, "layer_types");
    memset(p, 0, sizeof *p);
    if (m->index_heads && !read_index(c, m, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->mixer[i] = (uint8_t)model_attention_of(m, i);
    if (f->reads & DELTA && !delta_nets(c, types, m, p, err))
        return false;
    if (!hf_feeds(c, f, m, p, err) || !read_window(c, f, m, err))
        return false;
    if (types && !m->index_heads && !(f->reads & (DELTA | PAIRED)))
        return window_list(c, types, m, p, err);
    return !m->window || window_rule(c, f, m, p, err);
}
