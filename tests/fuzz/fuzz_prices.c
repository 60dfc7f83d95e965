/* Any bytes as a table of prices in Astra's format: refused with a message, or offers in range. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rates rates = {1, {{"EUR", 1.08}}};
    const struct price_reading how = {.rates = &rates};
    const struct price_ask usual = {0};
    struct price_list list;
    struct arena mem;
    struct csv csv;
    struct error err = {0};
    double usd;
    arena_init(&mem);
    prices_init(&list, &mem);
    list.name[list.tables++] = "fuzz";
    const char *text = arena_copy(&mem, (const char *)data, size);
    if (csv_parse(&csv, text, size, "fuzz", &mem, &err) &&
        prices_read_own(&list, &csv, "fuzz", &how, &err)) {
        assert(list.rows == csv.rows && list.rows > 0);
        for (int i = 0; i < list.rows; i++) {
            const struct price *p = &list.row[i];
            assert(p->gpu && *p->provider && p->gpus >= 1 && price_in_range(p->usd));
            struct price_pick pick = price_pick(&list, &usual, p->gpu, p->gpus);
            assert(p->market != MARKET_ON_DEMAND || (pick.gpus == p->gpus && pick.usd > 0));
        }
    } else {
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "fuzz:", 5) == 0);
    }
    if (!money_parse(text, &rates, &usd, &err))
        assert(err.kind == ERROR_INPUT && err.text[0]);
    arena_release(&mem);
    return 0;
}
