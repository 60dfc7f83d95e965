/* What a user would change to save memory or time. A change of one parameter is a row of the table;
 * what changes several has a function. None of them asks whether Megatron takes the result: the
 * rules do. A switch that would have no effect after a change goes with it, as the rules of a search
 * refuse it (sense.rules). */
#include "probe/moves.h"

#include "model/model.h"
static bool has(const struct model *m, const struct strategy *s, enum need need)
{
    const bool there[] = {[NEEDS_NOTHING] = true,
                          [NEEDS_TENSOR_PARALLEL] = s->tp > 1,
                          [NEEDS_CONTEXT_PARALLEL] = s->cp > 1,
                          [NEEDS_INTERLEAVED] = s->vpp > 1,
                          [NEEDS_EXPERTS] = m->experts > 0,
                          [NEEDS_SHARED] = m->shared_ffn > 0};
    return there[need];
}

/* Gives a parameter a value; false when it has it already. */
static bool turn(int *param, int value)
{
    bool changes = *param != value;
    *param = value;
    return changes;
}

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

/* The other way round. */
static bool halve_ways(struct strategy *s, int *ways)
{
    if (*ways % 2 || s->dp > 1 << 23)
        return false;
    s->dp *= 2;
    *ways /= 2;
    return true;
}

/* Options, as bits: the sequence sharded from now on; experts split as the rest is. */
enum { WITH_SEQUENCE = 1, WITH_EXPERTS = 2, TP_OPTIONS = 4 };

static bool change_tp(struct strategy *s, bool doubled, int option)
{
    bool sequence = option & WITH_SEQUENCE, experts = option & WITH_EXPERTS;
    if ((sequence && s->seq_parallel) || (experts && (s->etp != s->tp || s->etp > 1024)))
        return false;
    if (!(doubled ? double_ways(s, &s->tp) : halve_ways(s, &s->tp)))
        return false;
    if (sequence)
        s->seq_parallel = 1;
    if (experts)
        s->etp = s->tp;
    if (s->tp == 1)
        s->seq_parallel = s->tp_overlap = 0;
    return true;
}

static bool double_tp(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    return change_tp(s, true, option);
}

static bool double_tp_with(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    return change_tp(s, true, option + 1);
}

static bool halve_tp(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    return change_tp(s, false, option * WITH_EXPERTS);
}

static bool double_cp(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    return double_ways(s, &s->cp);
}

static bool halve_cp(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    if (!halve_ways(s, &s->cp))
        return false;
    if (s->cp == 1)
        s->cp_comm = CP_P2P;
    return true;
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

/* Option 1 keeps the number of virtual stages. */
static bool halve_pp(const struct model *m, struct strategy *s, int option)
{
    if ((option == 1 && (s->vpp == 1 || s->vpp > 512)) || !halve_ways(s, &s->pp))
        return false;
    set_vpp(s, s->pp == 1 ? 1 : option == 1 ? 2 * s->vpp : s->vpp);
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

static bool halve_ep(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    if (s->ep % 2)
        return false;
    s->ep /= 2;
    if (s->ep == 1)
        s->moe_overlap = s->delay_wgrad = 0;
    return true;
}

/* Option 0: twice, 1: half. */
static bool change_etp(const struct model *m, struct strategy *s, int option)
{
    if (m->experts == 0 || (option == 0 ? s->etp > 1024 : s->etp % 2 != 0))
        return false;
    s->etp = option == 0 ? 2 * s->etp : s->etp / 2;
    return true;
}

/* Megatron overlaps the transfers of virtual stages unless told not to. */
enum { INTERLEAVINGS = 64 };

static bool interleave(const struct model *m, struct strategy *s, int option)
{
    int vpp = option + 2;
    if (s->pp == 1 || vpp == s->vpp || vpp > m->layers / s->pp)
        return false;
    if (s->vpp == 1)
        s->p2p_overlap = 1;
    set_vpp(s, vpp);
    split_again(m, s);
    return true;
}

static bool split_otherwise(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    s->first_layers = s->last_layers = 0;
    return s->pp > 1 && turn(&s->split, SPLIT_EVEN + option);
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
    bool even = s->micro_batch % 2 == 0;
    (void)m, (void)option;
    s->micro_batch /= 2;
    return even;
}

static bool double_micro_batch(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    s->micro_batch *= 2;
    return s->micro_batch <= 1 << 20;
}

static bool keep_sequence(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    s->tp_overlap = 0;
    return turn(&s->seq_parallel, 0);
}

/* Option 1 shards the sequence as well, which the overlap needs. */
static bool overlap_tp(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    if (s->tp == 1 || (option == 1 && !turn(&s->seq_parallel, 1)))
        return false;
    return turn(&s->tp_overlap, 1);
}

/* Options: neither, the reduction of gradients, the gather of parameters as well. */
static bool overlap_data(const struct model *m, struct strategy *s, int option)
{
    (void)m;
    bool reduce = turn(&s->overlap_grad_reduce, option >= 1);
    bool gather = turn(&s->overlap_param_gather, option == 2);
    return reduce || gather;
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

static bool unshard_optimizer(const struct model *m, struct strategy *s, int option)
{
    (void)m, (void)option;
    s->overlap_param_gather = 0;
    return s->fsdp == FSDP_NONE && turn(&s->dist_opt, 0);
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

/* Without it the precision-aware optimizer is of use for small moments and gradients only. */
static bool offload_less(const struct model *m, struct strategy *s, int option)
{
    int percent = 100 / QUARTERS * option;
    (void)m;
    if (percent >= s->optimizer_offload)
        return false;
    s->optimizer_offload = percent;
    if (percent == 0 && s->moments_bytes == 4 && !s->main_grads_bf16)
        s->precision_aware = 0;
    return true;
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

static void recompute_modules(struct strategy *s, int set)
{
    s->recompute = set ? RECOMPUTE_SELECTIVE : RECOMPUTE_NONE;
    s->recompute_method = METHOD_NONE;
    s->recompute_layers = 0;
    s->recompute_modules = set;
}

/* Any smaller set; of layers that are recomputed whole, any. */
static bool fewer_modules(struct strategy *s, int set)
{
    int before = s->recompute == RECOMPUTE_SELECTIVE ? s->recompute_modules : 0;
    bool less = s->recompute == RECOMPUTE_FULL || (set != before && (set & before) == set);
    if (s->recompute == RECOMPUTE_NONE || !less)
        return false;
    recompute_modules(s, set);
    return true;
}

static bool fewer_layers(struct strategy *s, int method, int layers)
{
    bool same = s->recompute_method == method;
    if (s->recompute != RECOMPUTE_FULL || (same && layers >= s->recompute_layers) ||
        (!same && method == METHOD_UNIFORM))
        return false;
    s->recompute_method = method;
    s->recompute_layers = layers;
    return true;
}

static bool recompute_less(const struct model *m, struct strategy *s, int option)
{
    int layers = option - MODULE_SETS - GROUPINGS;
    if (option <= MODULE_SETS)
        return fewer_modules(s, option);
    if (option <= MODULE_SETS + GROUPINGS)
        return fewer_layers(s, METHOD_UNIFORM, 1 << (option - MODULE_SETS - 1));
    return layers <= m->layers / (s->pp * s->vpp) && fewer_layers(s, METHOD_BLOCK, layers);
}

static const struct move MOVES[] = {
#define SET(param, value, options, need, numerics, saves)                                          \
    {NULL, PARAM_##param, value, need, options, numerics, saves},
#define MOVE(apply, options, numerics, saves)                                                      \
    {apply, (enum param)0, 0, NEEDS_NOTHING, options, numerics, saves},
#include "probe/moves.def"
#undef SET
#undef MOVE
};

const struct move *moves(size_t *count)
{
    *count = sizeof MOVES / sizeof *MOVES;
    return MOVES;
}

bool move_apply(const struct move *move, const struct model *m, struct strategy *s, int option)
{
    if (move->apply)
        return move->apply(m, s, option);
    int value = move->value + option;
    bool changes = has(m, s, move->need) && strategy_get(s, move->param) != value;
    if (changes)
        strategy_set(s, move->param, value);
    return changes;
}
