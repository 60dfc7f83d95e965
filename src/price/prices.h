/* What GPUs cost: tables of offers, read from files or compiled in, and the one rule that makes a
 * price of them. Amounts are USD per GPU-hour. doc/prices.md has the formats. */
#pragma once

#include "base/error.h"
#include "cluster/cluster.h"

#include <stddef.h>

struct arena;
struct csv;
struct rates;
struct str;

enum market { MARKET_ON_DEMAND, MARKET_SPOT, MARKET_RESERVED, MARKETS };
const char *market_name(enum market);
bool market_parse(const char *name, enum market *);

/* One offer. Texts are "" where not known. */
struct price {
    const struct gpu *gpu;
    const char *provider, *region, *zone, *instance, *date, *source;
    int gpus; /* of the instance */
    enum market market;
    double usd; /* per GPU-hour */
    int table;  /* where it comes from */
};

enum { PRICE_TABLES = 16 };

/* Tables that were read, one after the other; all memory is the arena's. */
struct price_list {
    struct arena *mem;
    int rows, capacity;
    struct price *row;
    int tables;
    const char *name[PRICE_TABLES];
    int64_t skipped; /* rows of catalogs whose accelerator Astra does not know */
};

void prices_init(struct price_list *, struct arena *);
void prices_append(struct price_list *, const struct price *);

/* A defect of a catalog: what stands in a column for this cloud and these instances is wrong. */
struct price_override {
    const char *cloud, *instance; /* patterns: * is any text */
    const char *column;
    const char *value; /* NULL: the figure is dropped */
};
struct price_overrides {
    int count;
    struct price_override *entry;
};

/* What reading needs beside the text. */
struct price_reading {
    const struct rates *rates;               /* may be NULL */
    const struct price_overrides *overrides; /* may be NULL; later entries win */
};

/* The table that is compiled in (data/prices.csv) and its overrides. */
void prices_add_built_in(struct price_list *);
bool overrides_built_in(struct price_overrides *, struct arena *, struct error *);
bool overrides_add(struct price_overrides *, const char *text, size_t length, const char *name,
                   struct arena *, struct error *);

/* "built-in", a file in Astra's format, "sky", "sky:aws,gcp", a folder of SkyPilot's catalogs or
 * one of them. */
bool prices_add(struct price_list *, const char *source, const struct price_reading *,
                struct error *);
/* An amount outside of what GPUs cost is refused: below a cent, above 1,000 dollars. */
bool price_in_range(double usd);

/* Which offers count. All zero: what a search uses unless told otherwise. */
struct price_ask {
    enum market market;
    int providers; /* 0 = all */
    const char **provider;
    const char *region; /* NULL = all */
    bool cheapest;      /* instead of the median over providers */
};

bool price_matches(const struct price *, const struct price_ask *);

/* The price of a GPU in nodes of `per_node`, doc/prices.md has the rule. usd 0: there is none. */
struct price_pick {
    double least, most; /* of the providers */
    double usd;
    int providers;             /* that offer it */
    int gpus;                  /* of the instances that count */
    const struct price *offer; /* the one that was taken; NULL: a median over several */
};
struct price_pick price_pick(const struct price_list *, const struct price_ask *,
                             const struct gpu *, int per_node);
/* "median of 8 providers, on-demand, 8-GPU instances" */
void price_pick_words(const struct price_pick *, const struct price_ask *, int per_node,
                      struct str *out);

/* The providers and the region asked for are in the tables. */
bool prices_know(const struct price_list *, const struct price_ask *, struct error *);
/* Of the table that is compiled in, on demand and in nodes of the usual size; reads it again. */
double gpu_usual_price(const struct gpu *);

/* The readers of the two formats, and what they share. */

/* `name` stands in messages; the rows belong to the table being read. */
bool prices_read_own(struct price_list *, const struct csv *, const char *name,
                     const struct price_reading *, struct error *);
bool prices_read_catalog(struct price_list *, const struct csv *, const char *name,
                         const char *cloud, const struct price_reading *, struct error *);
bool prices_is_catalog(const struct csv *);

/* The columns of a catalog that carry figures, which overrides may correct. */
enum figure { FIGURE_COUNT, FIGURE_PRICE, FIGURE_SPOT, FIGURES_COUNT };
const char *figure_name(enum figure);

/* The figure as corrected, "" when it was dropped; `text` where no override speaks of it. */
const char *overrides_apply(const struct price_overrides *, const char *cloud, const char *instance,
                            enum figure, const char *text);

/* Amounts of money as people write them (money.c). Astra counts in US dollars: other currencies need
 * a rate from the user, none is built in. */

enum { MONEY_RATES = 32 };

/* What one unit of a currency is worth. All zero: no rates, which is fine. */
struct rates {
    int count;
    struct rate {
        char code[4]; /* EUR */
        double usd;
    } rate[MONEY_RATES];
};

/* "EUR=1.08": one euro is 1.08 dollars. One given before is replaced. */
bool rates_add(struct rates *, const char *assignment, struct error *);
/* Dollars per unit of a currency, 1 for "" and USD. Case is ignored. Where there is no rate the message
 * says how to give one. `rates` may be NULL. */
bool rates_get(const struct rates *, const char *code, double *usd, struct error *);

/* "2.5", "$2.5", "20K", "2.5 EUR", "20K EUR", "2MUSD": K, M, B (or G) and T are powers of 1000, a
 * currency is three letters. `rates` may be NULL. Signs are read; the caller says which amounts are
 * right. */
bool money_parse(const char *text, const struct rates *, double *usd, struct error *);
