/* What a user would change to save memory, one function a kind. None of them asks whether Megatron
 * takes the result: the rules do. */
#include "remedy.h"

#include "model/model.h"
#include "space/strategy.h"

/* Layers per virtual stage as the plan counts them where that still comes out, else as even as
 * possible. A layout string is of one pipeline only. */
static void split_again(const struct model *m, struct strategy *s)
{
    int ends = s->split == SPLIT_BOTH ? 2 : s->split == SPLIT_EMBEDDING || s->split == SPLIT_LOSS;
    int stages = s->pp * s->vpp;
    if (s->split < SPLIT_UNEVEN && (m->layers + ends) % stages == 0)
        return;
    s->split = m->layers % stages == 0 ? SPLIT_EVEN : SPLIT_UNEVEN;
    s->first_layers = s->last_layers = 0;
}

/* Twice the ways of one kind, half the data parallelism: the GPUs stay. */
static bool double_ways(struct strategy *s, int *ways)
{
    if (s->dp % 2 || *ways > 1024)
        return false;
    s->dp /= 2;
    *ways *= 2;
    return true;
}

static bool double_tp(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return double_ways(s, &s->tp);
}

static bool double_cp(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return double_ways(s, &s->cp);
}

/* Without virtual stages there is nothing for transfers to overlap with. */
static void set_vpp(struct strategy *s, int vpp)
{
    s->vpp = vpp;
    if (vpp > 1)
        return;
    s->p2p_overlap = 0;
    s->micro_batch_group = 0;
}

/* Option 1 keeps the number of virtual stages. */
static bool double_pp(const struct model *m, struct strategy *s, int option)
{
    if ((option == 1 && s->vpp % 2) || s->pp > 512 || !double_ways(s, &s->pp))
        return false;
    if (option == 1)
        set_vpp(s, s->vpp / 2);
    s->micro_batch_group = 0;
    split_again(m, s);
    return true;
}

static bool double_ep(const struct model *m, struct strategy *s, int option)
{
    (void)option;
    s->ep *= 2;
    return m->experts > 0 && s->ep <= m->experts;
}

static bool stop_interleaving(const struct model *m, struct strategy *s, int option)
{
    (void)option;
    if (s->vpp == 1)
        return false;
    set_vpp(s, 1);
    split_again(m, s);
    return true;
}

static bool halve_micro_batch(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    if (s->micro_batch % 2)
        return false;
    s->micro_batch /= 2;
    return true;
}

/* Switches a parameter on or off; false when it is so already. */
static bool turn(int *param, int value)
{
    bool changes = *param != value;
    *param = value;
    return changes;
}

static bool plain_loss(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return turn(&s->loss_fusion, 0);
}

static bool shard_sequence(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return s->tp > 1 && turn(&s->seq_parallel, 1);
}

/* Option 1: with the overlaps that hide its collectives, as FSDP below has them. */
static bool shard_optimizer(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    if (option == 1)
        s->overlap_grad_reduce = s->overlap_param_gather = 1;
    return turn(&s->dist_opt, 1);
}

/* Each sharding with the overlaps that it switches on (sense.rules). */
static bool shard_fully(const struct model *m, struct strategy *s, int option)
{
    int sharding = FSDP_OPTIM + option;
    (void)m;
    if (sharding <= s->fsdp)
        return false;
    s->fsdp = sharding;
    s->dist_opt = 1;
    if (sharding >= FSDP_OPTIM_GRADS)
        s->overlap_grad_reduce = 1;
    if (sharding == FSDP_FULL)
        s->overlap_param_gather = 1;
    return true;
}

enum { QUARTERS = 4 };

static bool offload_optimizer(const struct model *m, struct strategy *s, int option)
{
    int percent = 100 / QUARTERS * (option + 1);
    (void)m;
    if (percent <= s->optimizer_offload)
        return false;
    s->optimizer_offload = percent;
    s->precision_aware = s->dist_opt = 1;
    return true;
}

static bool bf16_gradients(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return turn(&s->grad_bf16, 1);
}

static bool bf16_moments(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    if (s->moments_bytes <= 2)
        return false;
    s->moments_bytes = 2;
    s->precision_aware = s->dist_opt = 1;
    return true;
}

/* Options of more recompute: sets of modules, then groups of layers, then numbers of layers. */
enum { MODULE_SETS = 127, GROUPINGS = 4, BLOCKS = 1024 };

static bool more_modules(struct strategy *s, int set)
{
    int before = s->recompute == RECOMPUTE_SELECTIVE ? s->recompute_modules : 0;
    if (s->recompute == RECOMPUTE_FULL || set == before || (set & before) != before)
        return false;
    s->recompute = RECOMPUTE_SELECTIVE;
    s->recompute_modules = set;
    return true;
}

static bool more_layers(struct strategy *s, int method, int layers)
{
    bool same = s->recompute == RECOMPUTE_FULL && s->recompute_method == method;
    bool less = s->recompute == RECOMPUTE_FULL && s->recompute_method == METHOD_UNIFORM &&
                method == METHOD_BLOCK;
    if (less || (same && layers <= s->recompute_layers))
        return false;
    s->recompute = RECOMPUTE_FULL;
    s->recompute_method = method;
    s->recompute_layers = layers;
    s->recompute_modules = 0;
    return true;
}

static bool recompute_more(const struct model *m, struct strategy *s, int option)
{
    int layers = option - MODULE_SETS - GROUPINGS + 1;
    if (option < MODULE_SETS)
        return more_modules(s, option + 1);
    if (option < MODULE_SETS + GROUPINGS)
        return more_layers(s, METHOD_UNIFORM, 1 << (option - MODULE_SETS));
    return layers <= m->layers / (s->pp * s->vpp) && more_layers(s, METHOD_BLOCK, layers);
}

const struct move *remedy_moves(size_t *count)
{
    static const struct move moves[] = {
        {double_tp, 1, false},
        {double_cp, 1, false},
        {double_pp, 2, false},
        {double_ep, 1, false},
        {stop_interleaving, 1, false},
        {halve_micro_batch, 1, false},
        {plain_loss, 1, false},
        {shard_sequence, 1, false},
        {shard_optimizer, 2, false},
        {shard_fully, FSDP_FULL - FSDP_OPTIM + 1, false},
        {offload_optimizer, QUARTERS, false},
        {bf16_gradients, 1, true},
        {bf16_moments, 1, true},
        {recompute_more, MODULE_SETS + GROUPINGS + BLOCKS, false},
    };
    *count = sizeof moves / sizeof *moves;
    return moves;
}
