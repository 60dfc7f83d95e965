/* The options of prices. Tables are read when the query is ready, for rates and corrections may
 * come behind them. */
#include "query/query.h"

#include "base/file.h"
#include "base/str.h"
#include "query/query_parts.h"

#include <string.h>

static bool add_file(struct query *q, const char *option, const char *v, int *count,
                     const char **file, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT, "--%s is empty, expected the name of a file", option);
    if (*count == PRICE_TABLES)
        return fail(err, ERROR_INPUT, "--%s is given more than %d times", option, PRICE_TABLES);
    file[(*count)++] = arena_string(&q->mem, v);
    q->pricing.loaded = false;
    return true;
}

bool set_prices(struct query *q, const char *v, struct error *err)
{
    q->pricing.asked = true;
    return add_file(q, "prices", v, &q->pricing.sources, q->pricing.source, err);
}

bool set_price_overrides(struct query *q, const char *v, struct error *err)
{
    return add_file(q, "price-overrides", v, &q->pricing.override_files, q->pricing.override_file,
                    err);
}

bool set_market(struct query *q, const char *v, struct error *err)
{
    const char *names[MARKETS];
    for (int i = 0; i < MARKETS; i++)
        names[i] = market_name((enum market)i);
    q->pricing.asked = q->pricing.market_asked = true;
    return market_parse(v, &q->pricing.ask.market) ||
           fail(err, ERROR_INPUT, "--market is '%s', expected on-demand, spot or reserved%s", v,
                did_you_mean(v, names, MARKETS));
}

bool set_provider(struct query *q, const char *v, struct error *err)
{
    struct price_ask *ask = &q->pricing.ask;
    ask->provider = arena_array(&q->mem, strlen(v) + 1, sizeof *ask->provider);
    ask->providers = 0;
    q->pricing.asked = true;
    for (const char *at = v;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return fail(err, ERROR_INPUT, "--provider is '%s', expected names as in aws,gcp", v) ||
                   error_show(err, v, (size_t)(at - v));
        ask->provider[ask->providers++] = arena_copy(&q->mem, at, length);
        at += length;
        if (!*at)
            return true;
    }
}

bool set_region(struct query *q, const char *v, struct error *err)
{
    q->pricing.asked = true;
    q->pricing.ask.region = arena_string(&q->mem, v);
    return *v || fail(err, ERROR_INPUT, "--region is empty, expected a name as in us-east-1");
}

bool set_offer(struct query *q, const char *v, struct error *err)
{
    static const char *const names[] = {"median", "cheapest"};
    q->pricing.asked = true;
    q->pricing.ask.cheapest = strcmp(v, names[1]) == 0;
    return strcmp(v, names[0]) == 0 || q->pricing.ask.cheapest ||
           fail(err, ERROR_INPUT, "--offer is '%s', expected median or cheapest%s", v,
                did_you_mean(v, names, 2));
}

bool set_rate(struct query *q, const char *v, struct error *err)
{
    q->pricing.loaded = false;
    return rates_add(&q->pricing.rates, v, err);
}

bool set_gpu(struct query *q, const char *v, struct error *err)
{
    q->pricing.gpu = gpu_find(v, err);
    return q->pricing.gpu != NULL;
}

static bool read_overrides(struct query *q, struct price_overrides *o, struct error *err)
{
    struct query_prices *p = &q->pricing;
    struct text text;
    if (p->override_files > 0 && p->sources == 0)
        return fail(err, ERROR_INPUT,
                    "--price-overrides corrects SkyPilot's catalogs, which --prices has to name");
    if (!overrides_built_in(o, &q->mem, err))
        return false;
    for (int i = 0; i < p->override_files; i++)
        if (!file_read(p->override_file[i], &q->mem, &text, err) ||
            !overrides_add(o, text.data, text.length, p->override_file[i], &q->mem, err))
            return false;
    return true;
}

static bool load(struct query *q, struct error *err)
{
    struct query_prices *p = &q->pricing;
    struct price_overrides overrides;
    struct price_reading how = {&p->rates, &overrides};
    if (!p->loaded) {
        prices_init(&p->list, &q->mem);
        if (!read_overrides(q, &overrides, err))
            return false;
        if (p->sources == 0)
            prices_add_built_in(&p->list);
        for (int i = 0; i < p->sources; i++)
            if (!prices_add(&p->list, p->source[i], &how, err))
                return false;
        p->loaded = true;
    }
    return prices_know(&p->list, &p->ask, err);
}

bool query_set_prices(struct query *q, struct error *err)
{
    struct query_prices *p = &q->pricing;
    for (int g = 0; g < q->cluster.groups && q->prices_of_plan && p->asked; g++)
        q->cluster.group[g].price_given = false;
    for (int i = 0; i < q->prices; i++)
        if (!cluster_set_price(&q->cluster, q->price[i], &p->rates, err))
            return false;
    if (!p->asked && p->override_files == 0)
        return true;
    return load(q, err) && cluster_apply_prices(&q->cluster, &p->list, &p->ask, true, err);
}

bool query_price_list(struct query *q, struct error *err)
{
    return load(q, err);
}
