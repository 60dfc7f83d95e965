/* The growing lists of samples and the checks that every measured row passes. What has no number,
 * no GPU or no possible speed is counted and left out; outliers that could be real stay in. */
#include "learn/sample.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const SKIP_WORDS[SKIPS] = {"used",       "no number",   "not above 0",
                                       "above peak", "unknown GPU", "other kind"};

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
        s->op[s->ops] = *one;
        s->op[s->ops++].source = s->source;
    }
    samples_skip(s, why);
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
        s->comm[s->comms] = *one;
        s->comm[s->comms++].source = s->source;
    }
    samples_skip(s, why);
    return why;
}

void samples_skip(struct samples *s, enum skip why)
{
    assert(why < SKIPS);
    s->skipped[why]++;
}

double sample_number(const char *text)
{
    double value;
    return parse_real(text, &value) ? value : NAN;
}

size_t gpu_index(const struct gpu *g)
{
    size_t count;
    return (size_t)(g - gpu_table(&count));
}

enum { KEYS = 15 };

/* What was measured, by whom: rows with equal keys are repetitions. Times do not count. */
static void key_of(const struct sample *s, double key[KEYS])
{
    const struct operation *o = &s->op;
    double all[KEYS] = {s->source,      (double)gpu_index(s->gpu),
                        o->pass,        o->dtype,
                        o->kernel,      o->kind,
                        o->m,           o->n,
                        o->k,           o->count,
                        o->value_width, o->kv_share,
                        o->causal,      o->window,
                        o->bytes};
    memcpy(key, all, sizeof all);
}

static int compare_keys(const struct sample *a, const struct sample *b)
{
    double x[KEYS], y[KEYS];
    key_of(a, x);
    key_of(b, y);
    for (int i = 0; i < KEYS; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    int keys = compare_keys(x, y);
    return keys ? keys : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static uint32_t hash_doubles(const double *value, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        for (int shift = 0; shift < 64; shift += 8)
            hash = (hash ^ (uint8_t)(bits >> shift)) * 16777619u;
    }
    return hash ^ hash >> 15;
}

uint32_t shape_of(const struct operation *o)
{
    double product[] = {o->n, o->k}, memory[] = {o->kind, o->m, o->n, o->bytes};
    double heads[] = {o->heads, o->kv_share, o->k, o->value_width};
    switch (o->family) {
    case FAMILY_ATTENTION:
        return hash_doubles(heads, sizeof heads / sizeof *heads);
    case FAMILY_MEMORY:
        return hash_doubles(memory, sizeof memory / sizeof *memory);
    default:
        return hash_doubles(product, sizeof product / sizeof *product);
    }
}

uint32_t sample_hash(const struct sample *s)
{
    double key[KEYS];
    key_of(s, key);
    return hash_doubles(key, KEYS);
}

size_t samples_join(struct sample *list, size_t count)
{
    size_t rows = 0;
    if (count > 1) /* no list at all where nothing was read */
        qsort(list, count, sizeof *list, compare);
    for (size_t first = 0, end; first < count; first = end) { /* equal keys lie together, by time */
        for (end = first + 1; end < count; end++)
            if (compare_keys(&list[first], &list[end]) != 0)
                break;
        double middle = 0.5 * (list[(first + end - 1) / 2].time_s + list[(first + end) / 2].time_s);
        list[rows] = list[first];
        list[rows++].time_s = middle;
    }
    return rows;
}
