/* The options of prices. Tables are read when the query is ready, for rates and corrections may
 * come behind them. */
#include "query/query.h"

#include "base/file.h"
#include "base/str.h"
#include "query/query_parts.h"

#include <string.h>

bool option_provider(struct query *q, const char *v, struct error *err)
{
    struct price_ask *ask = &q->pricing.ask;
    ask->provider = arena_array(&q->mem, strlen(v) + 1, sizeof *ask->provider);
    ask->providers = 0;
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

bool option_rate(struct query *q, const char *v, struct error *err)
{
    return rates_add(&q->pricing.rates, v, err);
}

static bool read_overrides(struct query *q, struct price_overrides *o, struct error *err)
{
    struct query_prices *p = &q->pricing;
    struct text text;
    if (p->override_file.count > 0 && p->source.count == 0)
        return fail(err, ERROR_INPUT,
                    "--price-overrides corrects SkyPilot's catalogs, which --prices has to name");
    if (!overrides_built_in(o, &q->mem, err))
        return false;
    for (int i = 0; i < p->override_file.count; i++)
        if (!file_read(p->override_file.text[i], &q->mem, &text, err) ||
            !overrides_add(o, text.data, text.length, p->override_file.text[i], &q->mem, err))
            return false;
    return true;
}

static bool load(struct query *q, struct error *err)
{
    struct query_prices *p = &q->pricing;
    struct price_overrides overrides;
    struct price_reading how = {&p->rates, &overrides};
    p->ask.cheapest = p->offer == 1;
    if (!p->loaded) {
        prices_init(&p->list, &q->mem);
        if (!read_overrides(q, &overrides, err))
            return false;
        if (p->source.count == 0)
            prices_add_built_in(&p->list);
        for (int i = 0; i < p->source.count; i++)
            if (!prices_add(&p->list, p->source.text[i], &how, err))
                return false;
        p->loaded = true;
    }
    return prices_know(&p->list, &p->ask, err);
}

bool query_asks_prices(const struct query *q)
{
    static const enum option_id said[] = {OPTION_prices, OPTION_market, OPTION_provider,
                                          OPTION_region, OPTION_offer};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (q->times[said[i]])
            return true;
    return false;
}

bool query_set_prices(struct query *q, struct error *err)
{
    struct query_prices *p = &q->pricing;
    bool asked = query_asks_prices(q);
    for (int g = 0; g < q->cluster.groups && q->prices_of_plan && asked; g++)
        q->cluster.group[g].price_given = false;
    for (int i = 0; i < q->price.count; i++)
        if (!cluster_set_price(&q->cluster, q->price.text[i], &p->rates, err))
            return false;
    if (!asked && p->override_file.count == 0)
        return true;
    return load(q, err) && cluster_apply_prices(&q->cluster, &p->list, &p->ask, true, err);
}

bool query_price_list(struct query *q, struct error *err)
{
    return load(q, err);
}
