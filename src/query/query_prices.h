/* What was asked about prices, and the tables once they are read. */
#ifndef ASTRA_QUERY_PRICES_H
#define ASTRA_QUERY_PRICES_H

#include "price/money.h"
#include "price/prices.h"
#include "query/options.h"

struct query;

struct query_prices {
    struct texts source, override_file;
    struct rates rates;
    struct price_ask ask;
    int offer;             /* which word of --offer */
    const struct gpu *gpu; /* the one to list; NULL = all */
    bool loaded;           /* `list` holds what the options above say */
    struct price_list list;
};

/* Something of them was asked: one that is missing is an error. */
bool query_asks_prices(const struct query *);
/* Sets the prices of the cluster: those of --price, then those of the tables where they are asked
 * for. Clusters come with the usual ones. */
bool query_set_prices(struct query *, struct error *);
/* Reads the tables for a list of them. */
bool query_price_list(struct query *, struct error *);

#endif
