/* Any text as a file of lengths: refused with a message that names it, or a sample, shortest first. */
#include "base/arena.h"
#include "dataset/dataset.h"
#include "dataset/lengths.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sequences(const struct lengths *l, struct arena *mem)
{
    struct dataset d;
    dataset_make(l, l->of[0] % 2, PADDING_LONGEST, 128, mem, &d);
    struct sequence_work w = dataset_work(&d, 3, 2);
    assert(w.rows > 0 && w.segment > 0 && w.segment < 1.01 && d.tokens > 0 && d.tokens <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct lengths l;
    struct error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = 0;
    arena_init(&mem);
    bool ok = lengths_read(text, size, "lengths", &mem, &l, &err);
    assert(ok == (err.kind == ERROR_NONE));
    assert(ok || strncmp(err.text, "lengths:", 8) == 0);
    for (int i = 0; ok && i < l.count; i++)
        assert(l.of[i] >= 1 && l.of[i] <= LENGTH_MAX && (i == 0 || l.of[i] >= l.of[i - 1]));
    if (ok && size < 4096)
        check_sequences(&l, &mem);
    if (strncmp(text, "uniform:", 8) == 0 || strncmp(text, "lognormal:", 10) == 0) /* no files */
        lengths_parse(text, &mem, &l, &err);
    arena_release(&mem);
    free(text);
    return 0;
}
