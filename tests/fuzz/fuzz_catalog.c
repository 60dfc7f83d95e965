/* Any bytes as a catalog of SkyPilot, the first of them naming its cloud, and as corrections of
 * one: refused with a message, or offers in range. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const clouds[] = {"aws", "azure", "gcp", "runpod"};
    const char *cloud = size > 0 ? clouds[data[0] % 4] : "aws";
    struct price_overrides overrides;
    struct price_reading how = {.overrides = &overrides};
    struct price_list list;
    struct arena mem;
    struct csv csv;
    struct error err = {0};
    arena_init(&mem);
    prices_init(&list, &mem);
    list.name[list.tables++] = "fuzz";
    const char *text = arena_copy(&mem, (const char *)data + (size > 0), size - (size > 0));
    assert(overrides_built_in(&overrides, &mem, &err));
    int built_in = overrides.count;
    if (!overrides_add(&overrides, text, strlen(text), "fuzz", &mem, &err))
        assert(overrides.count == built_in && strncmp(err.text, "fuzz:", 5) == 0);
    if (csv_parse(&csv, text, strlen(text), "fuzz", &mem, &err) &&
        prices_read_catalog(&list, &csv, "fuzz", cloud, &how, &err)) {
        assert(list.skipped >= 0 && list.skipped <= csv.rows);
        for (int i = 0; i < list.rows; i++)
            assert(list.row[i].gpu && list.row[i].gpus >= 1 && price_in_range(list.row[i].usd));
    } else {
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "fuzz:", 5) == 0);
    }
    arena_release(&mem);
    return 0;
}
