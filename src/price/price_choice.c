/* The rule that makes one price of many offers (doc/prices.md):
 *
 *   1. the offers of the GPU in the market, by the providers and in the region asked for; of
 *      several tables the last one that has any;
 *   2. of these the instances with as many GPUs as a node, else those with 8, else the largest;
 *   3. each provider stands with its cheapest;
 *   4. the median over providers (of an even number the mean of the middle two), or the cheapest.
 *
 * O(offers) and a sort of what matches. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_NODE = 8 };

static bool provider_asked(const struct price_ask *ask, const char *provider)
{
    for (int i = 0; i < ask->providers; i++)
        if (same_name(ask->provider[i], provider))
            return true;
    return ask->providers == 0;
}

bool price_matches(const struct price *p, const struct price_ask *ask)
{
    return p->market == ask->market && provider_asked(ask, p->provider) &&
           (!ask->region || same_name(ask->region, p->region));
}

/* A total order in which a provider's cheapest offer comes first among its own. */
static int by_price(const void *a, const void *b)
{
    const struct price *x = *(const struct price *const *)a, *y = *(const struct price *const *)b;
    if (x->usd != y->usd)
        return x->usd < y->usd ? -1 : 1;
    return strcmp(x->provider, y->provider);
}

/* Offers of the GPU in the last table that has one. */
static const struct price **gather(const struct price_list *l, const struct price_ask *ask,
                                   const struct gpu *gpu, struct arena *mem, int *count)
{
    int table = -1;
    const struct price **offer = arena_array(mem, (size_t)l->rows + 1, sizeof *offer);
    *count = 0;
    for (int i = 0; i < l->rows; i++) {
        const struct price *p = &l->row[i];
        if (p->gpu != gpu || p->table < table || !price_matches(p, ask))
            continue;
        *count = p->table > table ? 0 : *count;
        table = p->table;
        offer[(*count)++] = p;
    }
    return offer;
}

static int instance_size(const struct price **offer, int count, int per_node)
{
    int largest = 0;
    bool usual = false;
    for (int i = 0; i < count; i++) {
        if (offer[i]->gpus == per_node)
            return per_node;
        usual = usual || offer[i]->gpus == USUAL_NODE;
        largest = offer[i]->gpus > largest ? offer[i]->gpus : largest;
    }
    return usual ? USUAL_NODE : largest;
}

static bool has_provider(const struct price **offer, int count, const char *provider)
{
    for (int i = 0; i < count; i++)
        if (same_name(offer[i]->provider, provider))
            return true;
    return false;
}

/* Keeps the cheapest offer of each provider with instances of this size, cheapest first. */
static int keep_best(const struct price **offer, int count, int gpus)
{
    int providers = 0;
    qsort(offer, (size_t)count, sizeof *offer, by_price);
    for (int i = 0; i < count; i++)
        if (offer[i]->gpus == gpus && !has_provider(offer, providers, offer[i]->provider))
            offer[providers++] = offer[i];
    return providers;
}

struct price_pick price_pick(const struct price_list *l, const struct price_ask *ask,
                             const struct gpu *gpu, int per_node)
{
    struct price_pick pick = {0};
    struct arena mem = {0};
    int count;
    const struct price **offer = gather(l, ask, gpu, &mem, &count);
    if (count > 0) {
        pick.gpus = instance_size(offer, count, per_node);
        pick.providers = keep_best(offer, count, pick.gpus);
        int middle = ask->cheapest ? 0 : pick.providers / 2;
        bool even = !ask->cheapest && pick.providers % 2 == 0;
        pick.usd = even ? (offer[middle - 1]->usd + offer[middle]->usd) / 2 : offer[middle]->usd;
        pick.least = offer[0]->usd;
        pick.most = offer[pick.providers - 1]->usd;
        pick.offer = ask->cheapest || pick.providers == 1 ? offer[middle] : NULL;
    }
    arena_release(&mem);
    return pick;
}

static void add_offer_words(const struct price *p, struct str *out)
{
    str_add(out, p->provider);
    if (*p->region)
        str_addf(out, " %s", p->region);
    if (*p->instance)
        str_addf(out, " %s", p->instance);
    str_addf(out, ", %s", market_name(p->market));
    if (*p->date)
        str_addf(out, ", %s", p->date);
}

void price_pick_words(const struct price_pick *pick, const struct price_ask *ask, int per_node,
                      struct str *out)
{
    if (pick->offer && ask->cheapest && pick->providers > 1)
        str_addf(out, "cheapest of %d providers: ", pick->providers);
    if (pick->offer)
        add_offer_words(pick->offer, out);
    else
        str_addf(out, "median of %d providers ($%.4g to $%.4g), %s, %d-GPU instances",
                 pick->providers, pick->least, pick->most, market_name(ask->market), pick->gpus);
    if (pick->gpus != per_node)
        str_addf(out, " (none has %d GPUs)", per_node);
}
