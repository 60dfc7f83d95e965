/* Any bytes as the manifest of learned models: refused with a message that begins with its name,
 * or scores and curves whose every number is in range. Trees are those compiled in. */
#include "cost/learned.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_in(double x, double lo, double hi)
{
    return x >= lo && x <= hi;
}

static void check_model(const struct learned_model *m)
{
    assert(m->name && m->trees && m->gpus >= 0 && m->gpus <= LEARNED_GPUS);
    assert(is_in(m->gpu_error, 0, 100) && is_in(m->arch_error, 0, 100));
    for (int i = 0; i < m->gpus; i++) {
        const struct gpu_score *s = &m->gpu[i];
        assert(s->gpu && s->rows <= 1000000000000u &&
               is_in(s->offset, -OFFSET_LIMIT, OFFSET_LIMIT));
        assert(is_in(s->shape_error, 0, 100) && is_in(s->gpu_error, 0, 100));
        for (int j = 0; j < i; j++)
            assert(m->gpu[j].gpu != s->gpu);
    }
}

static void check_curves(const struct memory_curves *c)
{
    for (int i = 0; i < 2 * MEMORY_KINDS; i++) {
        const struct memory_curve *one = &c->of[i / 2][i % 2];
        assert(is_in(one->fixed_s, 1e-9, 1) && is_in(one->share, 1e-3, 10));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct learned *l = NULL;
    struct error err = {0};
    if (!learned_parse(&l, (const char *)data, size, "f", &err)) {
        assert(!l && err.kind == ERROR_INPUT && strncmp(err.text, "f:", 2) == 0);
        return 0;
    }
    for (int i = 0; i < LEARNED_MODELS; i++)
        check_model(&l->model[i]);
    check_curves(&l->curves);
    learned_free(l);
    return 0;
}
