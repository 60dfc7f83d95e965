/* Any bytes as a config.json: an error with a message, or a model whose numbers hold together. */
#include "model/model.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model m, again;
    struct error err = {0};
    char difference[128];
    if (!model_from_hf(&m, (const char *)data, size, "fuzz.json", &err)) {
        assert(err.kind == ERROR_INPUT && err.text[0]);
        return 0;
    }
    int64_t total = model_params_total(&m), active = model_params_active(&m);
    assert(0 < active && active <= total && (double)total <= MODEL_MAX_PARAMS);
    assert(model_flops(&m, 1, 1) > 0);
    assert(m.kinds >= 1 && m.kinds <= MODEL_MAX_KINDS);
    for (int i = 0; i < m.layers; i++)
        assert(m.layer[i] < m.kinds);
    assert(model_from_hf(&again, (const char *)data, size, "fuzz.json", &err));
    assert(model_same(&m, &again, difference, sizeof difference));
    return 0;
}
