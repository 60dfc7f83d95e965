/* What is the user's to set of a run, and what stands there until then. */
#include "export/job.h"

#include <string.h>

static const struct run_row ROWS[] = {
#define RUN(group, flag, variable, value, help) {RUN_##group, flag, variable, value, help},
#include "export/run.def"
#undef RUN
};

const struct run_row *run_next(const struct run_row *row, int groups)
{
    const struct run_row *end = ROWS + sizeof ROWS / sizeof *ROWS;
    for (row = row ? row + 1 : ROWS; row < end; row++)
        if ((int)row->group & groups)
            return row;
    return NULL;
}

const struct run_row *run_next_variable(const struct run_row *row, int groups)
{
    while ((row = run_next(row, groups)) && !*row->variable)
        continue;
    return row;
}

const char *run_image_needs(const struct export_job *j)
{
    return j->te ? "set: an image with PyTorch and TransformerEngine for these GPUs"
                 : "set: an image with PyTorch for these GPUs";
}

bool run_sets_connections(const struct export_job *j)
{
    const char *name = RUN_CONNECTIONS "=";
    for (size_t i = 0; i < j->envs; i++)
        if (strncmp(j->env[i], name, strlen(name)) == 0)
            return true;
    return false;
}
