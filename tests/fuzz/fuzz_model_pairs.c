/* Any text as key=value pairs: an error with a message, or a model that stays itself when its own
 * fields are written as pairs and read back. */
#include "model/model.h"

#include "base/str.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_pairs(const struct model *m, struct str *out)
{
    for (int i = 0; i < MODEL_FIELDS; i++)
        str_addf(out, "%s%s=%d", i ? "," : "", model_field_info((enum model_field)i)->name,
                 model_field_get(m, (enum model_field)i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model m, again;
    struct error err = {0};
    struct str text;
    char difference[128];
    str_init(&text);
    str_add_bytes(&text, (const char *)data, size);
    if (!model_from_pairs(&m, str_text(&text), &err)) {
        assert(err.kind == ERROR_INPUT && err.text[0]);
    } else {
        str_clear(&text);
        write_pairs(&m, &text);
        assert(model_from_pairs(&again, str_text(&text), &err));
        assert(model_same(&m, &again, difference, sizeof difference));
        assert(model_params_total(&m) == model_params_total(&again));
    }
    str_release(&text);
    return 0;
}
