/* Any bytes as a file of defaults: refused with its name, or taken by a search, or refused there with
 * its name and line. */
#include "base/arena.h"
#include "query/defaults.h"
#include "query/options.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct options options;
    struct error err = {0};
    arena_init(&mem);
    options_init(&options, &mem);
    bool ok = defaults_read_text(&options, (const char *)data, size, "f", &err) &&
              defaults_take(&options, "search", &err);
    assert(ok || strncmp(err.text, "f:", 2) == 0);
    assert(!ok || defaults_used(&options, &mem));
    arena_release(&mem);
    return 0;
}
