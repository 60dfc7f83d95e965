/* The options of each axis. Powers of two and divisors where anything else would only be refused by
 * Megatron's rules; --set replaces a list (a single parameter) or filters it (parameters that go
 * together). */
#include "strategy/space.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "model/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct value_list {
    int count, capacity;
    int *value;
};

static void push(struct value_list *l, int v)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->value = memory_grow(l->value, (size_t)l->capacity * sizeof *l->value);
    }
    l->value[l->count++] = v;
}

static void push_once(struct value_list *l, int v)
{
    for (int i = 0; i < l->count; i++)
        if (l->value[i] == v)
            return;
    push(l, v);
}

static void push_range(struct value_list *l, int lo, int hi)
{
    for (int v = lo; v <= hi; v++)
        push(l, v);
}

static void push_powers(struct value_list *l, int64_t hi)
{
    for (int v = 1; v <= hi; v *= 2)
        push(l, v);
}

static void push_divisors(struct value_list *l, int n, int hi)
{
    for (int v = 1; v <= n && v <= hi; v++)
        if (n % v == 0)
            push_once(l, v);
}

static void sort(struct value_list *l)
{
    for (int i = 1; i < l->count; i++)
        for (int j = i; j > 0 && l->value[j] < l->value[j - 1]; j--) {
            int t = l->value[j];
            l->value[j] = l->value[j - 1];
            l->value[j - 1] = t;
        }
}

struct space_builder {
    struct space *space;
    const struct model *model;
    const struct node_group *group;
    const struct strategy *base;
    const struct setting *settings;
    int64_t max_gpus;
    struct space_terms terms;
    bool te;
    struct arena *mem;
    enum param param; /* whose values are listed */
};

static bool allowed(const struct setting *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->value[i] == value)
            return true;
    return s->count == 0;
}

/* An axis of a parameter and of those that go with it. */
static struct axis *new_axis(struct space_builder *b, enum param p)
{
    struct axis *a = &b->space->axis[b->space->axes++];
    memset(a, 0, sizeof *a);
    for (int i = p; i < PARAMS; i++)
        if (param_info((enum param)i)->axis == p) {
            assert(a->params < AXIS_PARAMS);
            a->param[a->params++] = (enum param)i;
            a->derives |= slots_derive_from((enum param)i);
        }
    assert(a->params > 0 && a->param[0] == p);
    return a;
}

/* Copies the options that --set allows; `l` has them one after the other. */
static void fill_axis(struct space_builder *b, struct axis *a, const struct value_list *l)
{
    assert(l->count % a->params == 0);
    a->value = arena_array(b->mem, (size_t)l->count, sizeof *a->value);
    for (int i = 0; i < l->count; i += a->params) {
        bool keep = true;
        for (int j = 0; j < a->params; j++)
            keep = keep && allowed(&b->settings[a->param[j]], l->value[i + j]);
        if (keep)
            memcpy(&a->value[a->options++ * a->params], &l->value[i],
                   (size_t)a->params * sizeof *l->value);
    }
}

static int fixed_or(const struct space_builder *b, enum param p)
{
    return b->settings[p].count ? b->settings[p].value[0] : param_info(p)->init;
}

/* A combination that --set asks for but the list does not have: taken as it is. */
static void take_asked(struct space_builder *b, struct axis *a)
{
    a->value = arena_array(b->mem, (size_t)a->params, sizeof *a->value);
    for (int j = 0; j < a->params; j++)
        a->value[j] = fixed_or(b, a->param[j]);
    a->options = 1;
}

/* The column of params.def: what a search tries. Where parameters go together, their values one after
 * the other. */
typedef void options_of(const struct space_builder *, struct value_list *);

static void asked_options(const struct space_builder *b, struct value_list *l)
{
    push(l, strategy_get(b->base, b->param));
}

/* The others are left to --set. */
static void init_options(const struct space_builder *b, struct value_list *l)
{
    push(l, param_info(b->param)->init);
}

static void tp_options(const struct space_builder *b, struct value_list *l)
{
    push_powers(l, b->max_gpus < 64 ? b->max_gpus : 64);
    push_divisors(l, b->group->per_node, (int)(b->max_gpus < 64 ? b->max_gpus : 64));
    sort(l);
}

static void cp_options(const struct space_builder *b, struct value_list *l)
{
    push_powers(l, b->te && b->max_gpus >= 1 ? (b->max_gpus < 64 ? b->max_gpus : 64) : 1);
}

static void pp_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 1, (int)(b->max_gpus < b->model->layers ? b->max_gpus : b->model->layers));
}

static void dp_options(const struct space_builder *b, struct value_list *l)
{
    int hi = (int)(b->max_gpus < b->base->global_batch ? b->max_gpus : b->base->global_batch);
    push_divisors(l, b->base->global_batch, hi);
}

static void ep_options(const struct space_builder *b, struct value_list *l)
{
    int hi = (int)(b->max_gpus < 1024 ? b->max_gpus : 1024);
    push_divisors(l, b->model->experts > 0 ? b->model->experts : 1, hi);
}

static void etp_options(const struct space_builder *b, struct value_list *l)
{
    push_powers(l, b->model->experts > 0 ? 8 : 1);
}

static void micro_batch_options(const struct space_builder *b, struct value_list *l)
{
    push_divisors(l, b->base->global_batch, 64);
}

static void vpp_options(const struct space_builder *b, struct value_list *l)
{
    int layers = b->model->layers;
    for (int more = 0; more <= 2; more++)
        push_divisors(l, layers + more, layers);
    for (int v = 1; v <= 8 && v <= layers; v++)
        push_once(l, v);
    sort(l);
}

static void split_options(const struct space_builder *b, struct value_list *l)
{
    (void)b;
    push_range(l, SPLIT_EVEN, SPLIT_REST);
}

static void onoff_options(const struct space_builder *b, struct value_list *l)
{
    (void)b;
    push_range(l, 0, 1);
}

static void moe_onoff_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, b->model->experts > 0);
}

static void cp_comm_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, CP_P2P, CP_A2A);
    if (b->model->index_heads) /* sparse attention knows no other */
        push(l, CP_ALLGATHER);
}

static bool is_of(const struct gpu *gpu, const char *arch)
{
    return strncmp(gpu->arch, arch, strlen(arch)) == 0;
}

/* `flex` sends through DeepEP or HybridEP, which NVIDIA's containers have for these GPUs. */
static void dispatcher_options(const struct space_builder *b, struct value_list *l)
{
    bool able = is_of(b->group->gpu, "Hopper") || is_of(b->group->gpu, "Blackwell") ||
                is_of(b->group->gpu, "Rubin");
    push(l, DISPATCH_ALLGATHER);
    if (b->model->experts > 0)
        push(l, DISPATCH_ALLTOALL);
    if (b->model->experts > 0 && b->te && able && b->terms.release >= 16)
        push(l, DISPATCH_FLEX);
}

/* fp8 stands for the recipe that fits, mxfp8 here. */
static bool fuses_experts(int precision)
{
    return precision == PRECISION_FP8 || precision == PRECISION_MXFP8;
}

/* TransformerEngine's fused experts: MXFP8 on 10.x (TE pytorch/ops/fused/grouped_mlp.py is_supported). */
static bool may_fuse_experts(const struct space_builder *b)
{
    double capability = gpu_capability(b->group->gpu);
    return b->model->experts > 0 && b->te && fuses_experts(b->base->precision) &&
           capability >= 10 && capability < 12 && b->terms.release >= 18;
}

static void fusion_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, may_fuse_experts(b));
}

static void delay_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, b->model->experts > 0 && b->te && b->terms.release >= 13);
}

/* Those of layers are TransformerEngine's: local ones take as long. Graphs of the whole step need every size before it: experts then have room for so many tokens and
 * lose the others, which trains other numbers. */
static void graph_options(const struct space_builder *b, struct value_list *l)
{
    bool experts = b->model->experts > 0, new = b->terms.release >= 18;
    push(l, GRAPH_NONE);
    if (b->te && (experts ? new : b->terms.release >= 15))
        push(l, GRAPH_TE);
    if (b->te && new && (!experts || (b->terms.production && may_fuse_experts(b))))
        push(l, GRAPH_STEP);
}

static void grouped_options(const struct space_builder *b, struct value_list *l)
{
    bool able = gpu_capability(b->group->gpu) >= 8;
    push(l, b->model->experts > 0 && b->te && able);
}

static void fsdp_options(const struct space_builder *b, struct value_list *l)
{
    push(l, FSDP_NONE);
    if (!b->terms.muon)
        push(l, FSDP_FULL);
}

/* The fused loss needs more memory for a short while (doc/layer.md) and is faster. */
static void on_options(const struct space_builder *b, struct value_list *l)
{
    (void)b;
    push(l, 1);
}

/* Whether a plan may run its scores through memory. */
static bool may_be_unfused(const struct space_builder *b)
{
    const struct setting *s = &b->settings[PARAM_attention];
    bool any = s->count == 0 && attention_is_unfused(b->terms.stack, ATTENTION_AUTO, b->group->gpu);
    for (int i = 0; i < s->count; i++)
        any = any || attention_is_unfused(b->terms.stack, s->value[i], b->group->gpu);
    return any;
}

/* Modules that exist in the model, subsets without what a larger module already covers. Core
 * attention alone, as NVIDIA's recipes have it, unless scores are kept: a fused kernel keeps one number
 * a head and token, and other modules give more for less time. */
static bool modules_sensible(const struct model *m, int set, bool te, bool unfused)
{
    bool dense = model_has_feed(m, FEED_MLP), moe = m->experts > 0;
    int exist = MODULE_LAYERNORM | (unfused || set == MODULE_CORE_ATTN ? MODULE_CORE_ATTN : 0) |
                (dense ? MODULE_MLP : 0) | (moe ? MODULE_MOE : 0) |
                (moe && te ? MODULE_MOE_ACT : 0) | (m->mla ? MODULE_MLA_UP : 0) |
                (m->shared_ffn ? MODULE_SHARED : 0);
    if (set & ~exist)
        return false;
    return !(set & MODULE_MOE && set & (MODULE_MOE_ACT | MODULE_SHARED));
}

static void push_recompute(struct value_list *l, int recompute, int method, int layers, int modules)
{
    push(l, recompute);
    push(l, method);
    push(l, layers);
    push(l, modules);
}

static void recompute_options(const struct space_builder *b, struct value_list *l)
{
    bool unfused = may_be_unfused(b);
    push_recompute(l, RECOMPUTE_NONE, METHOD_NONE, 0, 0);
    if (strategy_on_hf(b->base)) { /* gradient checkpointing: every decoder layer, or none */
        push_recompute(l, RECOMPUTE_FULL, METHOD_UNIFORM, 1, 0);
        return;
    }
    for (int set = 1; set < 1 << 7; set++)
        if (modules_sensible(b->model, set, b->te, unfused))
            push_recompute(l, RECOMPUTE_SELECTIVE, METHOD_NONE, 0, set);
    push_recompute(l, RECOMPUTE_FULL, METHOD_UNIFORM, 1, 0);
    for (int n = 1; n < b->model->layers; n++)
        push_recompute(l, RECOMPUTE_FULL, METHOD_BLOCK, n, 0);
}

static void fp8_params_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, b->terms.production && precision_is_narrow(b->base->precision));
}

/* TransformerEngine's loss was taken from core 0.12 on, until 0.18.2 refused it (args:1698 of
 * megatron.rules). */
static void loss_te_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, b->te && b->terms.release >= 12 && b->terms.release <= 18);
}

/* In the order of params.def. */
struct optimizer_option {
    int grad_bf16, precision_aware, main_grads_bf16, moments_bytes, offload;
};
static const enum param OPTIMIZER_PARAMS[] = {PARAM_grad_bf16, PARAM_precision_aware,
                                              PARAM_main_grads_bf16, PARAM_moments_bytes,
                                              PARAM_optimizer_offload};
enum { OPTIMIZER_PARAM_COUNT = sizeof OPTIMIZER_PARAMS / sizeof *OPTIMIZER_PARAMS };
static_assert(sizeof(struct optimizer_option) == OPTIMIZER_PARAM_COUNT * sizeof(int),
              "an option has one number for each parameter");

static void push_option(struct value_list *l, const int value[OPTIMIZER_PARAM_COUNT])
{
    for (int i = 0; i + OPTIMIZER_PARAM_COUNT <= l->count; i += OPTIMIZER_PARAM_COUNT)
        if (memcmp(&l->value[i], value, OPTIMIZER_PARAM_COUNT * sizeof *value) == 0)
            return;
    for (int i = 0; i < OPTIMIZER_PARAM_COUNT; i++)
        push(l, value[i]);
}

/* With the values that --set asks for, whatever the others are: rules drop what does not go
 * together. */
static void push_as_asked(const struct space_builder *b, struct value_list *l, int at,
                          int value[OPTIMIZER_PARAM_COUNT])
{
    if (at == OPTIMIZER_PARAM_COUNT) {
        push_option(l, value);
        return;
    }
    const struct setting *s = &b->settings[OPTIMIZER_PARAMS[at]];
    int usual = value[at];
    for (int i = 0; i < s->count || i == 0; i++) {
        value[at] = s->count ? s->value[i] : usual;
        push_as_asked(b, l, at + 1, value);
    }
    value[at] = usual;
}

static void push_optimizer(const struct space_builder *b, struct value_list *l,
                           struct optimizer_option o)
{
    int value[OPTIMIZER_PARAM_COUNT];
    memcpy(value, &o, sizeof value);
    push_as_asked(b, l, 0, value);
}

/* The precision-aware optimizer at full precision, with parts of it on the host; in production also
 * gradients in 16 bits, and with them moments. */
static void optimizer_options(const struct space_builder *b, struct value_list *l)
{
    bool all = b->terms.production;
    if (strategy_on_hf(b->base)) {
        push_optimizer(b, l, (struct optimizer_option){0, 0, 0, 4, 0});
        push_optimizer(b, l, (struct optimizer_option){0, 0, 0, 4, 100});
        return;
    }
    for (int half = 0; half <= all; half++) {
        push_optimizer(b, l, (struct optimizer_option){half, 0, 0, 4, 0});
        for (int percent = 0; percent <= 100; percent += 25)
            push_optimizer(b, l, (struct optimizer_option){half, 1, half, half ? 2 : 4, percent});
    }
}

/* FSDP2 alone can keep what it gathered. */
static void reshard_options(const struct space_builder *b, struct value_list *l)
{
    push(l, 1);
    if (b->base->engine == ENGINE_FSDP2)
        push(l, 0);
}

static void offloads_options(const struct space_builder *b, struct value_list *l)
{
    push_range(l, 0, b->base->engine == ENGINE_FSDP2 || b->base->engine == ENGINE_ZERO3);
}

/* A parameter with an axis of its own that the engine does not leave open. */
static bool is_settled(const struct space_builder *b, enum param p)
{
    return strategy_on_hf(b->base) && p >= PARAM_FIRST_CELL && !engine_varies(p);
}

static void add_axis(struct space_builder *b, enum param p)
{
    static options_of *const options[PARAMS] = {
#define PARAM(field, kind, lo, hi, init, costs, axis, options, ...) options##_options,
#include "strategy/params.def"
    };
    struct value_list l = {0};
    const struct setting *s = &b->settings[p];
    struct axis *a = new_axis(b, p);
    b->param = p;
    if (is_settled(b, p) && s->count == 0)
        push(&l, engine_value(b->base->engine, p));
    else if (p < PARAM_FIRST_CELL || a->params > 1 || s->count == 0)
        options[p](b, &l);
    else
        for (int i = 0; i < s->count; i++)
            push_once(&l, s->value[i]);
    fill_axis(b, a, &l);
    if (a->params > 1 && a->options == 0)
        take_asked(b, a);
    free(l.value);
}

static void count_sizes(struct space *s)
{
    s->size_from[s->axes] = 1;
    for (int i = s->axes - 1; i >= 0; i--)
        s->size_from[i] = s->size_from[i + 1] * s->axis[i].options;
}

void space_init(struct space *s, const struct model *m, const struct node_group *g,
                const struct strategy *base, const struct setting settings[PARAMS],
                int64_t max_gpus, struct space_terms terms, struct arena *mem)
{
    struct space_builder b = {
        s, m, g, base, settings, max_gpus, terms, terms.stack == STACK_TE, mem, PARAMS};
    s->axes = 0;
    for (int p = 0; p < PARAMS; p++) {
        if (p == PARAM_FIRST_PART)
            s->first_part = s->axes;
        if (p == PARAM_FIRST_PARTITION)
            s->first_partition = s->axes;
        if (p == PARAM_FIRST_PASS_TIMES)
            s->first_pass_times = s->axes;
        if (p == PARAM_FIRST_STATE)
            s->first_state = s->axes;
        if (param_info((enum param)p)->axis == (enum param)p)
            add_axis(&b, (enum param)p);
    }
    assert(0 < s->first_part && s->first_part < s->first_partition);
    assert(s->first_partition < s->first_pass_times && s->first_pass_times < s->first_state);
    assert(s->first_state < s->axes && s->axes <= PARAMS);
    count_sizes(s);
}

static bool has_value(const struct setting *s, int value)
{
    for (int i = 0; i < s->count; i++)
        if (s->value[i] == value)
            return true;
    return false;
}

void space_narrow(struct space *s, const struct setting usual[PARAMS])
{
    for (int i = 0; i < s->axes; i++) {
        struct axis *a = &s->axis[i];
        const struct setting *some = &usual[a->param[0]];
        int kept = 0;
        for (int k = 0; k < a->options && some->count > 0; k++)
            if (has_value(some, a->value[k * a->params]))
                memmove(&a->value[kept++ * a->params], &a->value[k * a->params],
                        (size_t)a->params * sizeof *a->value);
        a->options = kept > 0 ? kept : a->options;
    }
    count_sizes(s);
}

bool space_lists(const struct space *s, enum param p, int value)
{
    for (int axis = 0; axis < s->axes; axis++)
        for (int i = 0; s->axis[axis].param[0] == p && i < s->axis[axis].options; i++)
            if (s->axis[axis].value[i * s->axis[axis].params] == value)
                return true;
    return false;
}

void space_put_pp_last(struct space *s)
{
    int at = 0;
    while (s->axis[at].param[0] != PARAM_pp)
        at++;
    assert(at < s->first_part);
    struct axis pp = s->axis[at];
    memmove(&s->axis[at], &s->axis[at + 1], (size_t)(s->axes - at - 1) * sizeof *s->axis);
    s->axis[s->axes - 1] = pp;
    s->first_part--;
    s->first_partition--;
    s->first_pass_times--;
    s->first_state--;
    count_sizes(s);
}

/* What "name=" the word begins with, or -1 after a message; `*value` is behind it. */
static int setting_name(const char *text, const char *at, size_t length, const char **value,
                        struct error *err)
{
    char name[64];
    const char *names[PARAMS], *equals = memchr(at, '=', length);
    size_t n = equals ? (size_t)(equals - at) : 0;
    if (n == 0 || n >= sizeof name || n + 1 == length) {
        fail(err, ERROR_INPUT, "--set %s: expected name=value or name=value,value,...", text);
        return -1;
    }
    memcpy(name, at, n);
    name[n] = 0;
    *value = equals + 1;
    for (int i = 0; i < PARAMS; i++)
        names[i] = param_info((enum param)i)->name;
    int p = param_find(name);
    if (p < 0) {
        fail(err, ERROR_INPUT, "--set %s: no parameter is called %s%s", text, name,
             did_you_mean(name, names, PARAMS));
        error_show(err, text, (size_t)(at - text));
    }
    return p;
}

static bool setting_value(struct setting *s, enum param p, const char *text, const char *at,
                          size_t length, struct error *err)
{
    char word[64];
    if (length >= sizeof word || s->count == SETTING_VALUES)
        return fail(err, ERROR_INPUT, "--set %s: too long, at most %d values", text,
                    SETTING_VALUES);
    memcpy(word, at, length);
    word[length] = 0;
    if (!param_parse(p, word, &s->value[s->count], err))
        return error_show(err, text, (size_t)(at - text));
    s->count++;
    return true;
}

/* A word with an equals sign begins the next parameter: tp=4,8,pp=2. */
bool setting_parse(struct setting settings[PARAMS], const char *text, struct error *err)
{
    bool seen[PARAMS] = {false};
    int p = -1;
    for (const char *at = text; *at || p < 0; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        const char *value = at;
        if (p < 0 || memchr(at, '=', length)) {
            if ((p = setting_name(text, at, length, &value, err)) < 0)
                return false;
            if (seen[p])
                return fail(err, ERROR_INPUT, "--set %s: %s is there twice, give its values once",
                            text, param_info((enum param)p)->name);
            seen[p] = true;
            settings[p].count = 0;
        }
        if (!setting_value(&settings[p], (enum param)p, text, value, length - (size_t)(value - at),
                           err))
            return false;
        at += length;
    }
    return true;
}
