#include "run/commands.h"

#include "base/file.h"
#include "query/options.h"

enum {
    AFTER_SEARCH = 2, /* the first ones are written when long work is done */
    OUTPUTS = 4
};

struct output {
    const char *option, *path; /* NULL: not asked for */
};

static bool differ(const struct output *a, const struct output *b, struct error *err)
{
    return !a->path || !b->path || !file_same(a->path, b->path) ||
           fail(err, ERROR_INPUT,
                "%s %s and %s %s are one file: each output needs a name of its own", a->option,
                a->path, b->option, b->path);
}

bool outputs_check(const struct output_options *o, struct error *err)
{
    const struct output output[OUTPUTS] = {{"--plot", o->plot},
                                           {"--report", o->report},
                                           {"--trace", o->trace},
                                           {"--output", o->answer}};
    for (int i = 0; i < OUTPUTS; i++)
        for (int k = i + 1; k < OUTPUTS; k++)
            if (!differ(&output[i], &output[k], err))
                return false;
    for (int i = 0; i < AFTER_SEARCH; i++)
        if (output[i].path && !file_writable(output[i].path, err))
            return false;
    return true;
}
