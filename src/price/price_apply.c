/* Prices of a cluster's groups, and what is said when there is none: what was asked for, where it
 * was looked for, and what there is. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/str.h"
#include "price/rent.h"

#include <stdio.h>
#include <string.h>

enum { LISTED = 24 }; /* names in a message, so that it can be read */

/* Distinct names, as they come. */
struct names {
    const char **name;
    size_t count;
};

static bool knows(const struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (same_name(n->name[i], name))
            return true;
    return false;
}

static void add_name(struct names *n, const char *name)
{
    if (!knows(n, name))
        n->name[n->count++] = name;
}

static void add_list(const struct names *n, struct str *out)
{
    for (size_t i = 0; i < n->count && i < LISTED; i++)
        str_addf(out, "%s%s", i ? ", " : "", n->name[i]);
    if (n->count > LISTED)
        str_addf(out, " and %zu more", n->count - LISTED);
}

static void add_tables(const struct price_list *l, struct str *out)
{
    for (int i = 0; i < l->tables; i++)
        str_addf(out, "%s%s", i ? ", " : "", l->name[i]);
}

/* "--provider is 'awz', which Astra's own table does not have (did you mean aws?)" */
static bool unknown(const struct price_list *l, const char *option, const char *given,
                    const struct names *known, struct error *err)
{
    const char *near = did_you_mean(given, known->name, known->count);
    struct str text = {0};
    str_addf(&text, "--%s is '%.63s', which is not in ", option, given);
    add_tables(l, &text);
    str_add(&text, near);
    if (!*near && known->count > 0) {
        str_add(&text, "; there are ");
        add_list(known, &text);
    }
    fail(err, ERROR_INPUT, "%s", str_text(&text));
    str_release(&text);
    return false;
}

bool prices_know(const struct price_list *l, const struct price_ask *ask, struct error *err)
{
    struct names provider = {arena_array(l->mem, (size_t)l->rows + 1, sizeof(char *)), 0};
    struct names region = {arena_array(l->mem, (size_t)l->rows + 1, sizeof(char *)), 0};
    for (int i = 0; ask->providers > 0 && i < l->rows; i++)
        add_name(&provider, l->row[i].provider);
    for (int i = 0; i < ask->providers; i++)
        if (!knows(&provider, ask->provider[i]))
            return unknown(l, "provider", ask->provider[i], &provider, err);
    for (int i = 0; ask->region && i < l->rows; i++) {
        struct price_ask any = {
            .market = l->row[i].market, .providers = ask->providers, .provider = ask->provider};
        if (*l->row[i].region && price_matches(&l->row[i], &any))
            add_name(&region, l->row[i].region);
    }
    return !ask->region || knows(&region, ask->region) ||
           unknown(l, "region", ask->region, &region, err);
}

/* "on-demand of aws, gcp; spot of aws" */
static void add_what_is(const struct price_list *l, const struct gpu *gpu, struct str *out)
{
    bool any = false;
    for (int m = 0; m < MARKETS; m++) {
        struct names provider = {arena_array(l->mem, (size_t)l->rows + 1, sizeof(char *)), 0};
        for (int i = 0; i < l->rows; i++)
            if (l->row[i].gpu == gpu && l->row[i].market == (enum market)m)
                add_name(&provider, l->row[i].provider);
        if (provider.count == 0)
            continue;
        str_addf(out, "%s%s of ", any ? "; " : ": there is ", market_name((enum market)m));
        add_list(&provider, out);
        any = true;
    }
}

static bool no_price(const struct price_list *l, const struct price_ask *ask, const struct gpu *gpu,
                     struct error *err)
{
    struct str text = {0};
    str_addf(&text, "no %s price of %s", market_name(ask->market), gpu->name);
    for (int i = 0; i < ask->providers; i++)
        str_addf(&text, "%s%s", i ? ", " : " by ", ask->provider[i]);
    if (ask->region)
        str_addf(&text, " in %s", ask->region);
    str_add(&text, " is in ");
    add_tables(l, &text);
    add_what_is(l, gpu, &text);
    str_addf(&text, " (--price %.*s=USD gives one)", (int)strcspn(gpu->aliases, " "), gpu->aliases);
    fail(err, ERROR_INPUT, "%s", str_text(&text));
    str_release(&text);
    return false;
}

bool rents_apply(struct rent *rent, const struct cluster *c, const struct price_list *l,
                 const struct price_ask *ask, bool must, struct error *err)
{
    struct str words = {0};
    bool ok = true;
    for (int i = 0; ok && i < c->groups; i++) {
        const struct node_group *g = &c->group[i];
        if (rent[i].given)
            continue;
        struct price_pick pick = price_pick(l, ask, g->gpu, g->per_node);
        str_clear(&words);
        if (pick.usd > 0)
            price_pick_words(&pick, ask, g->per_node, &words);
        rent[i].usd_per_hour = pick.usd;
        snprintf(rent[i].from, sizeof rent[i].from, "%s", str_text(&words));
        ok = pick.usd > 0 || !must || no_price(l, ask, g->gpu, err);
    }
    str_release(&words);
    return ok;
}
