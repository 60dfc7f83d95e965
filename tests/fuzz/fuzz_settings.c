/* --set and the other options as text: the first byte picks the option. */
#include "query/query.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const options[] = {"set",       "gpus",  "global-batch",  "seq-len",
                                          "precision", "stack", "memory-margin", "top",
                                          "threads",   "stage", "price"};
    struct query q;
    struct error err = {0};
    char text[256];
    if (size < 1 || size > sizeof text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    query_init(&q);
    query_set(&q, options[data[0] % (sizeof options / sizeof *options)], text, &err);
    query_release(&q);
    return 0;
}
