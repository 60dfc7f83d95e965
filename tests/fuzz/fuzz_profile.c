/* Any bytes as a profile: refused with a message, or samples that can be learned from, with finite
 * times and features, and every row counted. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/features.h"
#include "input_file.h"
#include "learn/sample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sample(const struct sample *s)
{
    struct memory_curves curves;
    for (int i = 0; i < 2 * MEMORY_KINDS; i++)
        curves.of[i / 2][i % 2] = curve_unmeasured((int)(i / 2));
    assert(s->gpu && s->source == 0 && s->op.family < FAMILIES);
    assert(isfinite(s->time_s) && s->time_s > 0 && isfinite(s->mhz) && s->mhz >= 0);
    double base = base_time(&s->op, s->gpu, SUSTAINED, &curves);
    assert(isfinite(base) && base > 0 && isfinite(log(s->time_s / base)));
}

static void check_joined(struct samples *all)
{
    float x[FEATURES_MAX];
    size_t rows = samples_join(all->op, all->ops);
    assert(rows <= all->ops);
    for (size_t i = 0; i < rows; i++) {
        const struct sample *s = &all->op[i];
        features_of(&s->op, s->gpu, SUSTAINED, x);
        for (int j = 0; j < features_count(s->op.family); j++)
            assert(isfinite(x[j]));
        check_sample(s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct samples all;
    struct error err = {0};
    arena_init(&mem);
    samples_init(&all, &mem);
    write_input(data, size);
    if (read_profile(path, &all, &err)) {
        assert(all.ops == all.skipped[SKIP_NONE]);
        for (size_t i = 0; i < all.ops; i++)
            check_sample(&all.op[i]);
        check_joined(&all);
    } else
        assert(err.kind == ERROR_INPUT && strncmp(err.text, path, strlen(path)) == 0);
    arena_release(&mem);
    return 0;
}
