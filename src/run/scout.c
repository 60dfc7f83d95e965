#include "run/scout.h"

#include "base/arena.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

/* Each is among the options that a search has anyway. */
static const char *const USUAL[] = {"cp=1",           "etp=1",           "micro_batch=1",
                                    "vpp=1,2,4",      "cuda_graph=none", "dist_opt=on",
                                    "tp_overlap=off", "fsdp=none"};
static const char *const USUAL_OF_EXPERTS[] = {"dispatcher=flex", "delay_wgrad=off"};

static void add(struct setting *to, const struct setting *given, const char *text)
{
    struct setting one[PARAMS] = {{0}};
    struct error err = {0};
    bool read = setting_parse(one, text, &err);
    assert(read);
    (void)read;
    for (int p = 0; p < PARAMS; p++)
        if (one[p].count > 0 && given[p].count == 0)
            to[p] = one[p];
}

const struct setting *scout_settings(const struct setting settings[PARAMS], bool experts,
                                     struct arena *mem)
{
    struct setting *out = arena_array(mem, PARAMS, sizeof *out);
    memcpy(out, settings, PARAMS * sizeof *out);
    for (size_t i = 0; i < sizeof USUAL / sizeof *USUAL; i++)
        add(out, settings, USUAL[i]);
    for (size_t i = 0; experts && i < sizeof USUAL_OF_EXPERTS / sizeof *USUAL_OF_EXPERTS; i++)
        add(out, settings, USUAL_OF_EXPERTS[i]);
    return out;
}
