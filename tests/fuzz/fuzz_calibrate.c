/* Any bytes as an input of calibrate: a message, or a report with finite figures and factors in their
 * ranges. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include "base/arena.h"
#include "calibrate/calibrate.h"
#include "calibrate/calibrate.h"
#include "calibrate/calibrate_input.h"
#include "input_file.h"

#include <assert.h>
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_report(const struct calibrate_report *r)
{
    for (int i = 0; i < r->rows; i++) {
        assert(r->row[i].before > 0 && isfinite(r->row[i].before));
        assert(r->row[i].after > 0 && isfinite(r->row[i].after));
    }
    for (int i = 0; i < r->profile->entries; i++)
        for (int f = 0; f < RESIDUALS; f++) {
            const struct residual *x = &r->profile->entry[i].residual;
            assert(x->value[f] >= PROFILE_LEAST_FACTOR && x->value[f] <= PROFILE_MOST_FACTOR);
            assert(x->error[f] >= 0 && isfinite(x->error[f]));
        }
}

/* The models are loaded once. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct options from;
    static struct resources resources;
    static struct arena given;
    static const char *const files[] = {path};
    struct arena mem;
    struct calibrate_input in;
    struct calibrate_report report = {.inputs = 1, .input = files};
    struct error err = {0};
    if (!from.mem) {
        arena_init(&given);
        options_init(&from, &given);
        if (!options_set(&from, "gpu", "H200", &err))
            abort();
    }
    write_input(data, size);
    arena_init(&mem);
    if (!calibrate_input_read(&in, &from, &resources, path, &mem, &err))
        assert(err.kind == ERROR_INPUT && *err.text);
    else if (calibrate_fit(&in, 1, &mem, &report, &err))
        check_report(&report);
    else
        assert(err.kind == ERROR_INFEASIBLE && *err.text);
    resources_clear(&resources);
    arena_release(&mem);
    return 0;
}
