#include "import/log/train_steps.h"

#include "base/arena.h"

#include <stdlib.h>

void step_store_init(struct step_store *s)
{
    *s = (struct step_store){0};
}

void step_store_release(struct step_store *s)
{
    free(s->step);
    step_store_init(s);
}

void step_store_clear(struct step_store *s)
{
    s->count = 0;
    s->offered = 0;
    s->mask = 0;
}

/* Numbers in a row to numbers without a pattern (the finalizer of splitmix64): every n-th line
 * would follow the rhythm of the run. */
static uint32_t draw(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return (uint32_t)(x ^ (x >> 31));
}

static void thin_out(struct step_store *s)
{
    size_t kept = 0;
    s->mask = s->mask << 1 | 1;
    for (size_t i = 0; i < s->count; i++)
        if ((s->step[i].lot & s->mask) == 0)
            s->step[kept++] = s->step[i];
    s->count = kept;
}

void step_store_add(struct step_store *s, struct step step)
{
    step.lot = draw((uint64_t)s->offered++);
    while (s->count == STORE_STEPS)
        thin_out(s);
    if (step.lot & s->mask)
        return;
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->step = memory_grow(s->step, s->capacity * sizeof *s->step);
    }
    s->step[s->count++] = step;
}
