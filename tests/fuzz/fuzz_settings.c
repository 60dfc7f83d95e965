/* --set and the other options as text: the first byte picks the option. */
#include "base/arena.h"
#include "query/options.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const options[] = {"set",       "gpus",  "global-batch",  "seq-len",
                                          "precision", "stack", "memory-margin", "top",
                                          "threads",   "stage", "price"};
    struct options o;
    struct arena mem;
    struct error err = {0};
    char text[256];
    if (size < 1 || size > sizeof text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    arena_init(&mem);
    options_init(&o, &mem);
    options_set(&o, options[data[0] % (sizeof options / sizeof *options)], text, &err);
    arena_release(&mem);
    return 0;
}
