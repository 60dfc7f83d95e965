/* Plan files of `explain`: anything may stand in them. */
#include "astra.h"
#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/astra-fuzz-plan-%ld", (long)getpid());
    if (size > 65536 || !file_write(path, (const char *)data, size, NULL))
        return 0;
    struct astra *a = astra_new();
    if (astra_load_plan(a, path) == ASTRA_OK)
        astra_explain(a);
    astra_print(a, ASTRA_JSON);
    astra_free(a);
    remove(path);
    return 0;
}
