/* The growing lists of samples and the checks that every measured row passes. What has no number,
 * no GPU or no possible speed is counted and left out; outliers that could be real stay in. */
#include "learn/sample.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Rounding of published times and clocks a little above the data sheet's; caches make small
 * passes over memory look faster than the memory is. */
static const double PEAK_SLACK = 1.02, BANDWIDTH_SLACK = 4;

void samples_init(struct samples *s, struct arena *mem)
{
    memset(s, 0, sizeof *s);
    s->mem = mem;
}

/* Room for one more; `room` doubles. The old list stays in the arena, as large as the new one's
 * first half. */
static void *with_room(struct samples *s, void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    *room = *room ? 2 * *room : 1024;
    void *larger = arena_array(s->mem, *room, size);
    if (count > 0)
        memcpy(larger, list, count * size);
    return larger;
}

static enum skip check_numbers(const double *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return SKIP_NOT_A_NUMBER;
    for (size_t i = 0; i < count; i++)
        if (value[i] <= 0)
            return SKIP_NOT_POSITIVE;
    return SKIP_NONE;
}

static enum skip check_sizes(const struct sample *s)
{
    const struct operation *o = &s->op;
    double attention[] = {s->time_s, o->m, o->n, o->k, o->count, o->value_width, o->kv_share};
    double product[] = {s->time_s, o->m, o->n, o->k, o->count};
    double memory[] = {s->time_s, o->bytes};
    switch (o->family) {
    case FAMILY_ATTENTION:
        if (!isfinite(o->window))
            return SKIP_NOT_A_NUMBER;
        return o->window < 0 ? SKIP_NOT_POSITIVE
                             : check_numbers(attention, sizeof attention / sizeof *attention);
    case FAMILY_MEMORY: /* rows and width may be missing, but not one of them */
        if (!isfinite(o->m + o->n + o->k))
            return SKIP_NOT_A_NUMBER;
        return o->n > 0 && o->m <= 0 ? SKIP_NOT_POSITIVE
                                     : check_numbers(memory, sizeof memory / sizeof *memory);
    default:
        return check_numbers(product, sizeof product / sizeof *product);
    }
}

static enum skip check_speed(const struct sample *s)
{
    const struct operation *o = &s->op;
    if (o->family == FAMILY_MEMORY) {
        double limit = BANDWIDTH_SLACK * s->gpu->memory_gbs * 1e9;
        return o->bytes / s->time_s > limit ? SKIP_ABOVE_PEAK : SKIP_NONE;
    }
    double rate = operation_flops(o) / s->time_s;
    if ((o->dtype == DTYPE_FP8 && s->gpu->fp8_tflops <= 0) ||
        (o->dtype == DTYPE_BF16 && s->gpu->bf16_tflops <= 0))
        return SKIP_OTHER_KIND; /* no such unit */
    return rate > PEAK_SLACK * dtype_peak(s->gpu, o->dtype) ? SKIP_ABOVE_PEAK : SKIP_NONE;
}

enum skip samples_add(struct samples *s, const struct sample *one)
{
    enum skip why = check_sizes(one);
    if (why == SKIP_NONE)
        why = one->gpu ? check_speed(one) : SKIP_UNKNOWN_GPU;
    if (why == SKIP_NONE) {
        s->op = with_room(s, s->op, s->ops, &s->op_room, sizeof *s->op);
        s->op[s->ops++] = *one;
    }
    samples_skip(s, one->source, why);
    return why;
}

static enum skip check_comm(const struct comm_sample *one)
{
    double value[] = {one->time_s, one->bytes,    one->link_bs, one->ranks - 1.0,
                      one->nodes,  one->per_node, one->nic_bs};
    size_t count = sizeof value / sizeof *value;
    if (one->nic_bs == 0 && one->nodes == 1)
        count--; /* nothing leaves the node */
    enum skip why = check_numbers(value, count);
    if (why == SKIP_NONE && !one->gpu)
        why = SKIP_UNKNOWN_GPU;
    return why;
}

enum skip samples_add_comm(struct samples *s, const struct comm_sample *one)
{
    enum skip why = check_comm(one);
    if (why == SKIP_NONE) {
        s->comm = with_room(s, s->comm, s->comms, &s->comm_room, sizeof *s->comm);
        s->comm[s->comms++] = *one;
    }
    samples_skip(s, one->source, why);
    return why;
}

void samples_skip(struct samples *s, enum source_id source, enum skip why)
{
    assert(source < SOURCES && why < SKIPS);
    s->skipped[source][why]++;
}

double sample_number(const char *text)
{
    double value;
    return parse_real(text, &value) ? value : NAN;
}
