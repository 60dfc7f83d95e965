/* The order of layers in a Hugging Face config.json. Experts: DeepSeek counts dense layers from the
 * front (first_k_dense_replace, moe_layer_freq), Qwen has every decoder_sparse_step-th layer sparse
 * except those listed in mlp_only_layers. Windows: layer_types names the attention of each layer
 * where a file has it; older files leave it to the family's rule. */
#include "model/hf_config.h"

#include "base/json.h"

#include <string.h>

static bool dense_front(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                        struct error *err)
{
    int first = 0, every = 1;
    if (!hf_count(c, "first_k_dense_replace", 0, MODEL_MAX_LAYERS, &first, err) ||
        !hf_count(c, "moe_layer_freq", 1, MODEL_MAX_LAYERS, &every, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->moe[i] = i >= first && i % every == 0;
    return true;
}

static bool sparse_steps(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                         struct error *err)
{
    int step = 1;
    if (!hf_count(c, "decoder_sparse_step", 1, MODEL_MAX_LAYERS, &step, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->moe[i] = (i + 1) % step == 0;
    return true;
}

static bool dense_list(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                       struct error *err)
{
    const struct json *list = hf_get(c, "mlp_only_layers");
    if (!list)
        return true;
    if (!json_is_array(list))
        return fail(err, ERROR_INPUT, "%s: mlp_only_layers is no list of layer numbers", c->name);
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *item = json_at(list, i);
        int64_t layer = json_integer_of(item);
        if (!json_is_integer(item) || layer < 0 || layer >= m->layers)
            return fail(err, ERROR_INPUT,
                        "%s: mlp_only_layers[%zu] is no layer number from 0 to %d", c->name, i,
                        m->layers - 1);
        p->moe[layer] = false;
    }
    return true;
}

static bool moe_pattern(const struct hf_config *c, const struct model *m, struct layer_pattern *p,
                        struct error *err)
{
    if (!m->experts)
        return true;
    if (m->mla)
        return dense_front(c, m, p, err);
    return sparse_steps(c, m, p, err) && dense_list(c, m, p, err);
}

/* The family's rule, for files without layer_types. */
static bool window_rule(const struct hf_config *c, const struct hf_family *f, const struct model *m,
                        struct layer_pattern *p, struct error *err)
{
    int every = f->full_every, first = 0;
    if (f->window == WINDOW_PATTERN &&
        !hf_count(c, "sliding_window_pattern", 1, MODEL_MAX_LAYERS, &every, err))
        return false;
    if (f->window == WINDOW_SWITCHED &&
        !hf_count(c, "max_window_layers", 0, MODEL_MAX_LAYERS, &first, err))
        return false;
    for (int i = 0; i < m->layers; i++)
        p->window[i] = i >= first && !(every && (i + 1) % every == 0);
    return true;
}

static bool read_layer_type(const struct hf_config *c, const struct json *types, int i,
                            bool *window, struct error *err)
{
    const char *type = json_text(json_at(types, (size_t)i));
    *window = strcmp(type, "sliding_attention") == 0;
    if (*window || strcmp(type, "full_attention") == 0)
        return true;
    return fail(
        err, ERROR_INPUT,
        "%s: layer_types[%d] is '%.80s', expected full_attention or sliding_attention; other "
        "kinds of layers are not modelled",
        c->name, i, type);
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
    if (f->window == WINDOW_NONE || !on)
        return true;
    return hf_count(c, "sliding_window", 1, model_field_info(MODEL_window)->hi, &m->window, err);
}

bool hf_pattern(const struct hf_config *c, const struct hf_family *f, struct model *m,
                struct layer_pattern *p, struct error *err)
{
    const struct json *types = hf_get(c, "layer_types");
    memset(p, 0, sizeof *p);
    if (!moe_pattern(c, m, p, err) || !read_window(c, f, m, err))
        return false;
    if (types)
        return window_list(c, types, m, p, err);
    return !m->window || window_rule(c, f, m, p, err);
}
