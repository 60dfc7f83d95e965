/* Bytes of a fuzz target as a file, for readers that take a path. The target defines _XOPEN_SOURCE
 * 700 first, for mkstemp and P_tmpdir. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64];

static void remove_file(void)
{
    remove(path);
}

/* One file for all inputs. */
static void write_input(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/astra-fuzz-XXXXXX", P_tmpdir);
        int handle = mkstemp(path);
        if (handle < 0 || close(handle) != 0 || atexit(remove_file) != 0)
            abort();
    }
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
}
