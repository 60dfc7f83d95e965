/* Any text as a --train: refused with a message, and the model is what it was; or what is trained is counted and stays
 * the same when it is written as text and read back. The first byte picks the model. */
#include "model/trained.h"

#include "base/str.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct model *m, const struct model *again)
{
    char difference[128];
    assert(model_same(m, again, difference, sizeof difference));
    for (int i = 0; i < MODEL_FIELDS; i++)
        assert(model_field_get(m, (enum model_field)i) ==
               model_field_get(again, (enum model_field)i));
}

static void check_counts(const struct model *m)
{
    int64_t trained = model_params_trained(m);
    assert(trained > 0 && (m->lora || trained <= model_params_total(m)));
    for (int k = 0; k < m->kinds; k++) {
        struct adapter_params a = model_adapter_params(m, &m->kind[k]);
        assert(a.split >= 0 && a.whole >= 0 && a.experts >= 0);
        assert(m->lora || a.split + a.whole + a.experts == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const MODELS[] = {
        "layers=4,hidden=64,ffn=128,heads=4,vocab=999",
        "layers=4,hidden=64,ffn=128,heads=4,vocab=999,experts=8,topk=2,expert_ffn=32,shared_ffn=32",
        "layers=4,hidden=64,ffn=128,heads=4,vocab=999,tied=1,full_every=4,gdn_heads=4,"
        "gdn_dim=16,gdn_key_heads=2,gdn_key_dim=16",
        "layers=4,hidden=64,ffn=128,heads=4,vocab=999,mla=1,q_lora=16,kv_lora=8,qk_nope=12,"
        "qk_rope=4,v_dim=10",
    };
    struct model before, m, again;
    struct error err = {0};
    struct str text = {0};
    if (size < 1)
        return 0;
    bool made = model_from_pairs(&before, MODELS[data[0] % (sizeof MODELS / sizeof *MODELS)], &err);
    assert(made);
    m = before;
    str_add_bytes(&text, (const char *)data + 1, size - 1);
    if (!model_set_trained(&m, str_text(&text), &err)) {
        assert(err.kind == ERROR_INPUT && err.text[0]);
        check_same(&before, &m);
    } else {
        again = before;
        check_counts(&m);
        str_clear(&text);
        model_add_trained(&m, &text);
        assert(model_set_trained(&again, str_text(&text), &err));
        check_same(&m, &again);
    }
    str_release(&text);
    return 0;
}
