#include "query/options.h"

#include "base/str.h"
#include "cluster/cluster.h"
#include "model/model.h"
#include "strategy/strategy.h"

#include <string.h>

static void add_name(struct str *out, const char *name)
{
    str_addf(out, "%s%s", out->length ? " " : "", name);
}

static void add_gpus(struct str *out)
{
    size_t count;
    const struct gpu *gpu = gpu_table(&count);
    for (size_t i = 0; i < count; i++) {
        add_name(out, gpu[i].name);
        if (*gpu[i].aliases)
            add_name(out, gpu[i].aliases);
    }
}

static void add_models(struct str *out)
{
    for (const struct model_preset *p = model_presets(); p->name; p++)
        add_name(out, p->name);
}

static void add_parameters(struct str *out)
{
    for (int p = 0; p < PARAMS; p++)
        add_name(out, param_info((enum param)p)->name);
}

void known_names(const char *of, struct str *out)
{
    static const struct {
        const char *of;
        void (*add)(struct str *);
    } lists[] = {{"gpus", add_gpus}, {"models", add_models}, {"parameters", add_parameters}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(of, lists[i].of) == 0)
            lists[i].add(out);
}
