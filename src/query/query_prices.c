/* The options of prices. Tables are read when the query is resolved, for rates and corrections may
 * come behind them. */

#include "base/file.h"
#include "base/str.h"
#include "query/query_parts.h"

#include <string.h>

bool option_provider(struct options *o, const char *v, struct error *err)
{
    struct price_ask *ask = &o->money.ask;
    ask->provider = arena_array(o->mem, strlen(v) + 1, sizeof *ask->provider);
    ask->providers = 0;
    for (const char *at = v;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0)
            return fail(err, ERROR_INPUT, "--provider is '%s', expected names as in aws,gcp", v) ||
                   error_show(err, v, (size_t)(at - v));
        ask->provider[ask->providers++] = arena_copy(o->mem, at, length);
        at += length;
        if (!*at)
            return true;
    }
}

bool option_rate(struct options *o, const char *v, struct error *err)
{
    return rates_add(&o->money.rates, v, err);
}

static bool read_overrides(const struct money_options *m, struct price_overrides *o,
                           struct arena *mem, struct error *err)
{
    struct text text;
    if (m->override_file.count > 0 && m->source.count == 0)
        return fail(err, ERROR_INPUT,
                    "--price-overrides corrects SkyPilot's catalogs, which --prices has to name");
    if (!overrides_built_in(o, mem, err))
        return false;
    for (int i = 0; i < m->override_file.count; i++)
        if (!file_read(m->override_file.text[i], mem, &text, err) ||
            !overrides_add(o, text.data, text.length, m->override_file.text[i], mem, err))
            return false;
    return true;
}

bool options_price_list(const struct options *o, struct arena *mem, struct price_list *out,
                        struct price_ask *ask, struct error *err)
{
    const struct money_options *m = &o->money;
    struct price_overrides overrides;
    struct price_reading how = {&m->rates, &overrides};
    *ask = m->ask;
    ask->cheapest = m->offer == 1;
    prices_init(out, mem);
    if (!read_overrides(m, &overrides, mem, err))
        return false;
    if (m->source.count == 0)
        prices_add_built_in(out);
    for (int i = 0; i < m->source.count; i++)
        if (!prices_add(out, m->source.text[i], &how, err))
            return false;
    return prices_know(out, ask, err);
}

bool options_ask_prices(const struct options *o)
{
    static const enum option_id said[] = {OPTION_prices, OPTION_market, OPTION_provider,
                                          OPTION_region, OPTION_offer};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (o->times[said[i]])
            return true;
    return false;
}

bool query_set_prices(struct query *q, struct arena *mem, struct error *err)
{
    const struct money_options *m = &q->given->money;
    bool asked = options_ask_prices(q->given);
    struct price_list list;
    struct price_ask ask;
    rents_init(q->rent, &q->cluster, m->of_plan ? "the plan" : "cluster file");
    for (int g = 0; g < q->cluster.groups && m->of_plan && asked; g++)
        q->rent[g].given = false;
    for (int i = 0; i < m->price.count; i++)
        if (!rents_give(q->rent, &q->cluster, m->price.text[i], &m->rates, err))
            return false;
    if (!asked && m->override_file.count == 0)
        return true;
    if (!options_price_list(q->given, mem, &list, &ask, err))
        return false;
    bool any = q->given->any_gpu && rents_apply(q->rent, &q->cluster, &list, &ask, false, NULL) &&
               rents_keep_priced(q->rent, &q->cluster);
    return any || rents_apply(q->rent, &q->cluster, &list, &ask, true, err);
}
