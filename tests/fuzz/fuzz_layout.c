/* Layout strings: three bytes for pp, layers and MTP layers, the rest is the string. What is
 * taken must hold every layer once, and its print must mean the same layout. */
#include "base/str.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/strategy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct layout *l, const struct model *m, struct strategy *s)
{
    struct layout back;
    struct str text;
    int layers = 0;
    for (int i = 0; i < l->stages; i++) {
        if (l->first[i] != layers)
            abort();
        layers += l->layers[i];
    }
    str_init(&text);
    layout_print(l, m, &text);
    if (layers != m->layers || !layout_parse(&back, str_text(&text), m, s, NULL))
        abort();
    size_t bytes = sizeof *l->layers * (size_t)l->stages;
    if (back.stages != l->stages || memcmp(back.layers, l->layers, bytes) ||
        back.mtp_stage != l->mtp_stage || back.loss_stage != l->loss_stage)
        abort();
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strategy s;
    struct layout l;
    struct error err;
    if (size < 3)
        return 0;
    struct model m = {.layers = data[1] + 1, .mtp = data[2] % 3};
    struct str text;
    strategy_init(&s);
    s.pp = data[0] % 16 + 1;
    str_init(&text);
    str_add_bytes(&text, (const char *)data + 3, size - 3);
    if (layout_parse(&l, str_text(&text), &m, &s, &err))
        check(&l, &m, &s);
    str_release(&text);
    return 0;
}
