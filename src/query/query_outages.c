/* Outages of a run: how often nodes fail or are taken back, and what a checkpoint and a restart
 * take. Rates are checked when they come and put on the groups once the cluster is known; they win
 * over those of the cluster file. */
#include "base/str.h"
#include "base/units.h"
#include "cluster/group.h"
#include "query/query_parts.h"

#include <string.h>

static const double HOUR = 3600;

/* "50000h", as hours. */
static bool parse_mtbf(const char *text, double *hours)
{
    double seconds;
    if (!parse_duration(text, &seconds))
        return false;
    *hours = seconds / HOUR;
    return *hours >= MTBF_H_MIN && *hours <= MTBF_H_MAX;
}

/* "0.02" or "2%". 0 takes back what a cluster file says. */
static bool parse_interruptions(const char *text, double *per_h)
{
    if (!parse_share(text, per_h))
        return false;
    return *per_h == 0 || (*per_h >= INTERRUPTIONS_MIN && *per_h <= INTERRUPTIONS_MAX);
}

/* The type in front of '=', cut at the buffer's size: no known name is as long. */
static const struct gpu *find_type(const char *text, size_t length, struct error *err)
{
    char name[64];
    if (length >= sizeof name)
        length = sizeof name - 1;
    memcpy(name, text, length);
    name[length] = 0;
    return gpu_find(name, err);
}

/* VALUE, or TYPE=VALUE. */
static bool add_rate(struct options *o, const char *option, const char *v, bool failures,
                     const char *expected, struct error *err)
{
    struct outage_rate r = {.option = option, .failures = failures};
    const char *equals = strchr(v, '='), *value = equals ? equals + 1 : v;
    struct error cause;
    if (!(failures ? parse_mtbf(value, &r.value) : parse_interruptions(value, &r.value)) ||
        equals == v)
        return fail(err, ERROR_INPUT, "--%s is '%.200s', expected %s", option, v, expected) ||
               (equals && error_show(err, v, equals == v ? 0 : (size_t)(value - v)));
    r.gpu = equals ? find_type(v, (size_t)(equals - v), &cause) : NULL;
    if (equals && !r.gpu)
        return fail(err, ERROR_INPUT, "--%s %.200s: %s", option, v, cause.text) ||
               error_show(err, v, 0);
    r.text = arena_string(o->mem, v);
    o->outages.rate[o->outages.rates++] = r;
    return true;
}

bool option_mtbf(struct options *o, const char *v, struct error *err)
{
    return add_rate(
        o, "mtbf", v, true,
        "a duration from 1h to 1e9h, as in 50000h, or that of one type, as in H100=2000d", err);
}

bool option_interruptions(struct options *o, const char *v, struct error *err)
{
    return add_rate(o, "interruptions", v, false,
                    "interruptions of a node per hour, 0 or from 1e-6 to 60, as in 0.02 or 2%, or "
                    "those of one type, as in H100=2%",
                    err);
}

static bool apply(struct query *q, const struct outage_rate *r, struct error *err)
{
    const struct cluster *c = &q->cluster;
    int found = 0;
    for (int i = 0; i < c->groups; i++) {
        struct rent *rent = &q->rent[i];
        if (r->gpu && c->group[i].gpu != r->gpu)
            continue;
        rent_set_outages(rent, &c->group[i], r->failures ? r->value : rent->mtbf_h,
                         r->failures ? rent->interruptions_per_h : r->value);
        found++;
    }
    return found || fail(err, ERROR_INPUT, "--%s %.200s: the cluster %s has no %s", r->option,
                         r->text, c->text, r->gpu->name);
}

/* Rates of all types first: that of one type wins, whichever came first. */
bool query_set_outages(struct query *q, struct error *err)
{
    const struct outage_options *o = &q->given->outages;
    for (int typed = 0; typed <= 1; typed++)
        for (int i = 0; i < o->rates; i++)
            if ((o->rate[i].gpu != NULL) == (typed == 1) && !apply(q, &o->rate[i], err))
                return false;
    return true;
}
