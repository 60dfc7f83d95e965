/* Steps of a training log, in pieces of any length: where it is cut must not matter, every line is
 * used or left out for one reason, and figures are figures. */
#include "base/arena.h"
#include "import/log/train_steps.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_in(const uint8_t *data, size_t size, size_t piece, struct step_summary *out,
                    struct arena *mem)
{
    struct train_steps t;
    struct error err = {0};
    train_steps_init(&t, mem);
    for (size_t at = 0; at < size; at += piece)
        train_steps_feed(&t, (const char *)data + at, size - at < piece ? size - at : piece);
    bool usable = train_steps_end(&t, out, &err);
    train_steps_release(&t);
    if (usable != (err.text[0] == 0))
        abort();
    return usable;
}

static void check(const struct step_summary *s, bool usable)
{
    if (s->lines != s->steps + s->warmup + s->outliers + s->other_batch + s->repeated)
        abort();
    if (s->steps < 0 || s->warmup < 0 || s->outliers < 0 || s->other_batch < 0 ||
        s->global_batch < 0)
        abort();
    if (usable != (s->steps > 0) || usable != (s->step_s > 0))
        abort();
    if (!isfinite(s->step_s) || !isfinite(s->spread) || !isfinite(s->trend) || s->spread < 0)
        abort();
    for (int i = 0; i < s->ranks; i++)
        if (s->rank[i].rank < 0 || !(s->rank[i].allocated_bytes > 0) ||
            (i > 0 && s->rank[i].rank <= s->rank[i - 1].rank))
            abort();
}

static bool same(const struct step_summary *a, const struct step_summary *b)
{
    bool figures = a->step_s == b->step_s && a->spread == b->spread && a->trend == b->trend &&
                   a->tflops_per_gpu == b->tflops_per_gpu && a->watts_per_gpu == b->watts_per_gpu;
    bool counts = a->lines == b->lines && a->steps == b->steps && a->broken == b->broken &&
                  a->outliers == b->outliers && a->global_batch == b->global_batch;
    return figures && counts && a->ranks == b->ranks && a->notes == b->notes &&
           a->first_iteration == b->first_iteration && a->last_iteration == b->last_iteration;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct step_summary whole, pieces;
    arena_init(&mem);
    bool a = read_in(data, size, size + 1, &whole, &mem);
    bool b = read_in(data, size, 1 + size % 7, &pieces, &mem);
    check(&whole, a);
    check(&pieces, b);
    if (a != b || !same(&whole, &pieces))
        abort();
    arena_release(&mem);
    return 0;
}
