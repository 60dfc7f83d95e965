#include "run/scout.h"

#include "base/arena.h"
#include "base/error.h"

#include <assert.h>

static const char *const USUAL[] = {"cp=1",           "etp=1",           "micro_batch=1",
                                    "vpp=1,2,4",      "cuda_graph=none", "dist_opt=on",
                                    "tp_overlap=off", "fsdp=none"};
static const char *const USUAL_OF_EXPERTS[] = {"dispatcher=flex", "delay_wgrad=off"};

static void add(struct setting *to, const char *text)
{
    struct error err = {0};
    bool read = setting_parse(to, text, &err);
    assert(read);
    (void)read;
}

const struct setting *scout_settings(bool experts, struct arena *mem)
{
    struct setting *out = arena_array(mem, PARAMS, sizeof *out);
    for (size_t i = 0; i < sizeof USUAL / sizeof *USUAL; i++)
        add(out, USUAL[i]);
    for (size_t i = 0; experts && i < sizeof USUAL_OF_EXPERTS / sizeof *USUAL_OF_EXPERTS; i++)
        add(out, USUAL_OF_EXPERTS[i]);
    return out;
}
