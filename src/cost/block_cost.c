/* Sums the operators of a block. Communication that runs beside compute is exposed only where it is
 * longer than that compute, and at least by the part that cannot overlap (first and last chunk). */
#include "cost/cost.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double LEAST_EXPOSED = 0.1;

static double exposed(double comm_s, double compute_s)
{
    assert(comm_s >= 0 && compute_s >= 0);
    return fmax(LEAST_EXPOSED * comm_s, comm_s - compute_s);
}

static void add_comm(const struct op *o, const struct op_time *t, struct block_cost *out)
{
    out->forward_comm_s += o->beside_attention ? 0 : t->forward_s;
    if (!o->beside_attention)
        out->comm_s[o->axis] += t->forward_s;
    if (!o->beside_attention && !o->hidden_back)
        out->comm_back_s[o->axis] += t->backward_s;
}

/* What moe_overlap tells apart: the first collective of experts is the dispatch, the compute
 * that follows is theirs until the second. */
static void add_experts(const struct op *o, const struct op_time *t, int *seen,
                        struct block_cost *out)
{
    if (o->kind == OP_COMM && o->axis == AXIS_EP && (*seen)++ == 0) {
        out->dispatch_s += t->forward_s;
        out->dispatch_back_s += t->backward_s;
    } else if (o->kind != OP_COMM && *seen == 1) {
        out->experts_s += t->forward_s;
        out->experts_back_s += t->backward_s;
        out->experts_weight_s += t->weight_s;
    }
}

static void add_recompute(const struct op *o, const struct op_time *t, struct block_cost *out)
{
    double *again = o->kind == OP_COMM ? out->again_comm_s : out->again_s;
    for (int m = 0; m < MODULES; m++)
        if (o->modules >> m & 1) {
            again[m] += t->forward_s;
            out->dropped[m] += o->offloaded > 0 ? 0 : o->saved - o->stays;
            out->host_again_s[m] += o->host_s;
        }
}

/* Backward has two products for each one of forward, attention five for two. */
static void add_matrix(const struct op *o, const struct op_time *t, struct block_cost *out)
{
    double pairs = 2 * o->m * o->n * o->count;
    bool product = o->kind == OP_GEMM || o->kind == OP_GROUPED;
    if (product)
        out->product_flops += (o->no_back ? 1 : o->frozen ? 2 : 3) * pairs * o->k;
    else if (o->kind == OP_ATTENTION)
        out->attention_flops += (o->no_back ? 1 : 3.5) * pairs * (o->k + o->value_width);
    if (product || o->kind == OP_ATTENTION)
        out->matrix_s += t->forward_s + t->backward_s;
}

void block_cost_sum(const struct op *ops, const struct op_time *time, size_t count,
                    struct block_cost *out)
{
    double beside_weight_s = 0;
    int seen = 0; /* collectives of experts */
    struct op_time attention = {0}, ring = {0};
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const struct op *o = &ops[i];
        const struct op_time *t = &time[i];
        if (o->kind == OP_COMM) {
            add_comm(o, t, out);
            beside_weight_s += o->hidden_back ? t->backward_s : 0;
        } else {
            out->forward_s += t->forward_s;
            out->backward_s += t->backward_s;
            out->weight_s += t->weight_s;
        }
        add_experts(o, t, &seen, out);
        if (o->kind == OP_ATTENTION)
            attention = *t;
        if (o->kind == OP_ATTENTION || o->kind == OP_SCORES) {
            out->attention_s += t->forward_s;
            out->attention_back_s += t->backward_s;
        }
        if (o->beside_attention)
            ring = *t;
        add_recompute(o, t, out);
        add_matrix(o, t, out);
        out->host_s += o->host_s;
        out->host_back_s += o->host_back_s;
        if (o->kind == OP_COMM && o->axis == AXIS_TP) {
            out->host_tp_s += o->host_s;
            out->host_tp_back_s += o->host_back_s;
        }
        out->graphed_s += seen == 0 ? o->host_s : 0;
        out->graphed_back_s += seen == 0 ? o->host_back_s : 0;
        out->forward = fmax(out->forward, out->saved + o->saved + o->temporary);
        out->peak = fmax(out->peak, out->saved + o->temporary_back);
        out->saved += o->saved;
        out->offloaded += o->offloaded;
    }
    out->peak = fmax(out->peak, out->forward);
    double ring_s = exposed(ring.forward_s, attention.forward_s);
    out->comm_s[AXIS_CP] += ring_s;
    out->forward_comm_s += ring_s;
    out->comm_back_s[AXIS_CP] += exposed(ring.backward_s, attention.backward_s);
    out->comm_back_s[AXIS_TP] += exposed(beside_weight_s, out->weight_s);
    assert(out->weight_s <= out->backward_s && out->saved >= 0 && out->peak >= out->forward);
}

struct block_peak block_peak_of(const struct op *ops, size_t count, double forward_beside)
{
    struct block_peak peak = {0};
    double saved = 0, most = -1;
    for (size_t i = 0; i < count; i++) {
        double own[] = {ops[i].saved + ops[i].temporary, ops[i].temporary_back};
        for (int back = 0; back < 2; back++) {
            double alive = saved + own[back] + (back ? 0 : forward_beside);
            if (alive <= most)
                continue;
            most = alive;
            peak = (struct block_peak){i, back == 1, saved, own[back]};
        }
        saved += ops[i].saved;
    }
    return peak;
}

/* Field by field: every member is a double. */
void block_cost_add(struct block_cost *sum, const struct block_cost *part)
{
    double *a = (double *)sum;
    const double *b = (const double *)part;
    double forward = fmax(sum->forward, sum->saved + part->forward);
    double peak = fmax(sum->peak, sum->saved + part->peak);
    for (size_t i = 0; i < sizeof *sum / sizeof *a; i++)
        a[i] += b[i];
    sum->forward = forward;
    sum->peak = peak;
}

void block_cost_add_times(struct block_cost *sum, const struct block_cost *part, double times)
{
    double *restrict a = (double *)sum;
    const double *restrict b = (const double *)part;
    for (size_t i = 0; i < sizeof *sum / sizeof *a; i++)
        a[i] += times * b[i];
}

void block_cost_take_bytes(struct block_cost *b, const struct block_cost *bytes)
{
    b->saved = bytes->saved;
    b->offloaded = bytes->offloaded;
    b->forward = bytes->forward;
    b->peak = bytes->peak;
    memcpy(b->dropped, bytes->dropped, sizeof b->dropped);
}

void block_cost_scale(struct block_cost *b, double times)
{
    double *a = (double *)b, before = (times - 1) * b->saved;
    assert(times >= 1);
    double forward = before + b->forward, peak = before + b->peak;
    for (size_t i = 0; i < sizeof *b / sizeof *a; i++)
        a[i] *= times;
    b->forward = forward;
    b->peak = peak;
}

void block_cost_slow(struct block_cost *b, double times)
{
    double *const seconds[] = {&b->forward_s,   &b->backward_s,      &b->weight_s,
                               &b->experts_s,   &b->experts_back_s,  &b->experts_weight_s,
                               &b->attention_s, &b->attention_back_s};
    assert(times > 0);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        *seconds[i] *= times;
    for (int m = 0; m < MODULES; m++)
        b->again_s[m] *= times;
}

int modules_once(int modules)
{
    return modules & MODULE_MOE ? modules & ~(MODULE_MOE_ACT | MODULE_SHARED) : modules;
}

double block_dropped(const struct block_cost *b, int modules)
{
    double sum = b->offloaded;
    modules = modules_once(modules);
    for (int m = 0; modules >> m; m++)
        if (modules >> m & 1)
            sum += b->dropped[m];
    return sum;
}
