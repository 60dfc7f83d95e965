/* Any bytes as a table: refused with a message, or a table whose every field is there. */
#include "base/csv.h"

#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct csv c;
    struct error err = {0};
    arena_init(&mem);
    const char *text = arena_copy(&mem, (const char *)data, size);
    if (csv_parse(&c, text, size, "fuzz", &mem, &err)) {
        assert(c.columns >= 1);
        for (int i = 0; i < c.rows; i++)
            for (int k = 0; k < c.columns; k++)
                assert(strlen(csv_at(&c, i, k)) <= size);
    } else {
        assert(err.kind == ERROR_INPUT && err.text[0]);
    }
    arena_release(&mem);
    return 0;
}
