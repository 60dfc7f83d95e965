/* The options of outages as text, the first byte picks the option: refused with a message that
 * names it, or rates and seconds in range with a slowdown that is a number. */
#include "query/query.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct options *given, struct arena *mem)
{
    const struct outage *o = &given->run.outage;
    struct query q = {0};
    struct error err = {0};
    assert(o->write_s >= 0 && o->write_s <= 2592000 && o->restart_s >= 0);
    assert(o->restart_s <= 2592000 && o->interval_s >= 0 && o->interval_s <= 2592000);
    bool ready = options_set(given, "cluster", "4x8:H100,2x8:A100", &err) &&
                 options_set(given, "model", "llama3-8b", &err) &&
                 query_resolve(given, QUERY_ESTIMATE, NULL, mem, &q, &err);
    assert(ready || (err.kind == ERROR_INPUT && strncmp(err.text, "--", 2) == 0));
    for (int g = 0; g < q.cluster.groups; g++) {
        double per_h = q.rent[g].outages_per_h;
        assert(per_h >= 0 && per_h <= 68);
        assert(outage_slowdown(o, per_h / 3600) >= 1 && outage_interval(o, per_h / 3600) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const options[] = {"mtbf", "interruptions", "checkpoint-every",
                                          "checkpoint-write", "restart"};
    struct options o;
    struct arena mem;
    struct error err = {0};
    char text[256];
    if (size < 1 || size > sizeof text)
        return 0;
    const char *option = options[data[0] % (sizeof options / sizeof *options)];
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    arena_init(&mem);
    options_init(&o, &mem);
    if (options_set(&o, option, text, &err))
        check(&o, &mem);
    else
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "--", 2) == 0 &&
               strncmp(err.text + 2, option, strlen(option)) == 0);
    arena_release(&mem);
    return 0;
}
