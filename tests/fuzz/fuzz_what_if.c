/* Any text as a change of an input: refused with a message that says of which, or a changed
 * query is there. */
#include "probe/what_if.h"
#include "query/query.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct query q;
    struct error err = {0};
    char text[256];
    if (size >= sizeof text || memchr(data, '/', size)) /* no files of the machine */
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    query_init(&q);
    if (!query_set(&q, "model", "layers=2,hidden=64,heads=4,ffn=128,vocab=1000", &err) ||
        !query_set(&q, "cluster", "2x8:H100,1..4x8:A100", &err) ||
        !query_set(&q, "gpus", "8", &err) || !query_set(&q, "set", "tp=2", &err))
        abort(); /* the query itself is right */
    bool ok = query_set(&q, "what-if", text, &err) && what_if_prepare(&q, &err);
    assert(ok == (q.what_ifs == 1 && err.kind == ERROR_NONE));
    if (ok)
        assert(q.changed[0]->has_model && q.changed[0]->has_cluster && q.changed[0]->what_ifs == 0);
    else
        assert(strncmp(err.text, "--what-if '", 11) == 0);
    query_release(&q);
    return 0;
}
