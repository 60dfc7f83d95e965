/* Amounts of money as people write them. Astra counts in US dollars: other currencies need a rate
 * from the user, none is built in. */
#pragma once

#include "base/error.h"

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
