/* Any text as a change of an input: refused with a message that says of which, or a changed
 * query is there. */
#include "query/query.h"
#include "run/commands.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct options *o, const char *text, struct arena *mem)
{
    struct query q;
    struct error err = {0};
    const struct query **changed = NULL;
    bool ok = options_set(o, "what-if", text, &err) &&
              query_resolve(o, QUERY_SEARCH, NULL, mem, &q, &err) &&
              (changed = what_if_queries(&q, mem, &err));
    assert(ok == (o->what_if.count == 1 && err.kind == ERROR_NONE));
    if (ok)
        assert(changed[0]->cluster.groups > 0 && changed[0]->given->what_if.count == 0);
    else
        assert(strncmp(err.text, "--what-if '", 11) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options o;
    struct arena mem;
    struct error err = {0};
    char text[256];
    if (size >= sizeof text || memchr(data, '/', size)) /* no files of the machine */
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    arena_init(&mem);
    options_init(&o, &mem);
    if (!options_set(&o, "model", "layers=2,hidden=64,heads=4,ffn=128,vocab=1000", &err) ||
        !options_set(&o, "cluster", "2x8:H100,1..4x8:A100", &err) ||
        !options_set(&o, "gpus", "8", &err) || !options_set(&o, "set", "tp=2", &err))
        abort(); /* the query itself is right */
    check(&o, text, &mem);
    arena_release(&mem);
    return 0;
}
