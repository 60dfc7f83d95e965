/* Any text as a file of hosts: refused with a message that names it, or every name is one that a
 * shell, Slurm and FlagScale's hostfile read as a name alone. */
#include "base/arena.h"
#include "query/options.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name)
{
    assert(isalnum((unsigned char)*name));
    for (; *name; name++)
        assert(isalnum((unsigned char)*name) || strchr("._-:", *name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options o;
    struct arena mem;
    struct error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = 0;
    arena_init(&mem);
    options_init(&o, &mem);
    bool ok = options_hosts(&o, text, size, "hosts", &err);
    assert(ok == (err.kind == ERROR_NONE));
    assert(ok || strncmp(err.text, "hosts:", 6) == 0);
    assert(!ok || o.export.hosts > 0);
    for (size_t i = 0; ok && i < o.export.hosts; i++)
        check_name(o.export.host[i]);
    arena_release(&mem);
    free(text);
    return 0;
}
