/* The number of replicas and the batch of a step: said, of a schedule that grows it, or a micro-batch for each replica. */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* "200B:768" begins behind so many tokens; DBL_MAX = it cannot be read. */
static double threshold(const char *text, size_t length)
{
    static const char units[] = "KMBT";
    char digits[24];
    int64_t n;
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    length -= unit != NULL;
    if (length >= sizeof digits)
        return DBL_MAX;
    memcpy(digits, text, length);
    digits[length] = 0;
    return parse_int(digits, &n) ? (double)n * pow(1e3, unit ? (double)(unit - units + 1) : 0)
                                 : DBL_MAX;
}

/* "0:384 200B:768": the batch of the last step that the run comes to, and how many tokens it has (0 = not known: then
 * the last of all); 0 where there is none. */
static int64_t last_of_schedule(const struct flags_result *r)
{
    const char *text = words_value(r->words, "--step-batch-size-schedule");
    double tokens = (double)r->train_samples * (double)r->strategy.seq_len;
    int64_t batch = 0, n;
    for (const char *p = text ? text : ""; *p;) {
        size_t length = strcspn(p, " ,"), colon = strcspn(p, ":");
        char *number = colon < length ? arena_copy(r->mem, p + colon + 1, length - colon - 1) : "";
        bool comes = batch == 0 || tokens <= 0 || threshold(p, colon) < tokens;
        if (comes && parse_int(number, &n) && n > 0)
            batch = n;
        p += length + strspn(p + length, " ,");
    }
    return batch;
}

bool flags_set_batch(struct flags_result *r, int64_t world, struct error *err)
{
    struct strategy *s = &r->strategy;
    int64_t replica = (int64_t)s->tp * s->cp * s->pp, dp = world / replica;
    if (world % replica || dp == 0)
        flags_refuse(r, "%lld GPUs are no multiple of tp x cp x pp = %d x %d x %d",
                     (long long)world, s->tp, s->cp, s->pp);
    if (dp > param_info(PARAM_dp)->hi)
        return fail(err, ERROR_INPUT, "dp is %lld, the largest is %d", (long long)dp,
                    param_info(PARAM_dp)->hi);
    s->dp = dp > 0 ? (int)dp : 1;
    if (r->given[PARAM_global_batch])
        return true;
    int64_t batch = last_of_schedule(r);
    int64_t steps = r->accumulation > 0 ? r->accumulation : 1;
    batch = batch > 0 ? batch : (int64_t)s->micro_batch * s->dp * steps;
    if (batch > param_info(PARAM_global_batch)->hi)
        return fail(err, ERROR_INPUT,
                    "micro-batch x dp = %d x %d is above the largest global batch, %d",
                    s->micro_batch, s->dp, param_info(PARAM_global_batch)->hi);
    s->global_batch = (int)batch;
    r->given[PARAM_global_batch] = r->accumulation > 0 || last_of_schedule(r) > 0;
    return true;
}
