/* Plan files of `explain`: anything may stand in them. */
#include "astra.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/astra-fuzz-plan-%ld", (long)getpid());
    FILE *f = size <= 65536 ? fopen(path, "wb") : NULL;
    if (!f)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    struct astra *a = astra_new();
    if (astra_load_plan(a, path) == ASTRA_OK)
        astra_explain(a);
    astra_print(a, ASTRA_JSON);
    astra_free(a);
    remove(path);
    return 0;
}
