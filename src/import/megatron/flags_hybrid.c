/* --hybrid-layer-pattern: one symbol a layer, '|' between the stages of the pipeline and '/' before the layers of an
 * MTP depth: "M-M*-|M-M*-/MM". Where it stands, the flags that split the pipeline otherwise are refused (validate_args in
 * megatron/training/arguments.py). Its older name has no stages, and the MTP layers a flag of their own. */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <string.h>

static const char NEW[] = "--hybrid-layer-pattern", OLD[] = "--hybrid-override-pattern";
static const char OLD_MTP[] = "--mtp-hybrid-override-pattern";

static void refuse_other_splits(struct flags_result *r, const struct words *w)
{
    static const char *const OTHERS[] = {
        "--num-layers-per-virtual-pipeline-stage", "--num-virtual-stages-per-pipeline-rank",
        "--pipeline-model-parallel-layout", "--account-for-embedding-in-pipeline-split",
        "--account-for-loss-in-pipeline-split"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (words_has(w, OTHERS[i]))
            flags_refuse(r, "%s and %s exclude each other: stages are cut by '|' in the pattern",
                         NEW, OTHERS[i]);
}

/* "M-M*|MM/M" cut into "Ett..|..tmL", as --pipeline-model-parallel-layout would say it, and "M-M*MM/M". */
static void split_stages(struct flags_result *r, const char *text, struct str *symbols)
{
    struct str layout = {0};
    size_t length = strcspn(text, "/");
    str_add(&layout, "E");
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '|')
            str_add_bytes(symbols, text + i, 1);
        str_add(&layout, text[i] == '|' ? "|" : "t");
    }
    for (const char *p = text + length; *p; p++)
        str_add(&layout, *p == '/' ? "m" : "");
    str_add(&layout, "L");
    str_add(symbols, text + length);
    if (memchr(text, '|', length)) {
        if (r->strategy.first_layers || r->strategy.last_layers)
            flags_refuse(r,
                         "%s with '|' and --decoder-first/last-pipeline-num-layers exclude each "
                         "other",
                         NEW);
        r->strategy.first_layers = r->strategy.last_layers = 0;
        r->layout_text = str_keep(&layout, r->mem);
        r->given[PARAM_vpp] = r->given[PARAM_split] = true;
        r->layers_per_virtual_stage = 0;
    }
    str_release(&layout);
}

/* The older way to say MTP layers. */
static void add_depths(const struct words *w, const struct model *m, struct str *symbols)
{
    const char *mtp = words_value(w, OLD_MTP);
    bool told = strchr(str_text(symbols), '/');
    for (int i = 0; mtp && !told && i < m->mtp; i++)
        str_addf(symbols, "/%s", mtp);
}

/* Symbols of our own, which Megatron-LM does not take. */
static void refuse_unknown_layers(struct flags_result *r, const char *flag)
{
    for (const char *p = r->model.pattern; *p; p++) {
        const char *lacks = mixer_lacks(layer_of_symbol(*p).mixer);
        if (lacks && strchr(r->model.pattern, *p) == p)
            flags_refuse(r, "%s has '%c': %s", flag, *p, lacks);
    }
}

/* The widths of state-space layers have defaults in Megatron, and say nothing without such layers. */
static bool read_mamba(struct flags_result *r, const struct words *w, struct error *err)
{
    struct model *m = &r->model;
    int head = m->mamba_head_dim ? m->mamba_head_dim : 64;
    bool any = strchr(m->pattern, 'M') || strchr(m->mtp_pattern, 'M');
    m->mamba_heads = any ? 2 * m->hidden / head : 0;
    if (any && words_has(w, "--mamba-num-heads"))
        return flags_number(w, "--mamba-num-heads", 1, model_field_info(MODEL_mamba_heads)->hi,
                            &m->mamba_heads, err);
    return true;
}

bool flags_read_hybrid(struct flags_result *r, const struct words *w, bool *hybrid,
                       struct error *err)
{
    const char *text = words_has(w, NEW) ? words_value(w, NEW) : words_value(w, OLD);
    const char *flag = words_has(w, NEW) ? NEW : OLD;
    struct str symbols = {0};
    struct error inner;
    int depths = r->model.mtp;
    *hybrid = text != NULL;
    if (!text && words_has(w, "--is-hybrid-model"))
        return fail(err, ERROR_INPUT,
                    "--is-hybrid-model without %s: which layers are meant is "
                    "not said",
                    NEW);
    if (!text)
        return true;
    if (words_has(w, NEW) && words_has(w, OLD))
        flags_refuse(r, "%s and %s exclude each other", NEW, OLD);
    for (int i = 0; i < words_count(w, "--spec"); i++)
        if (strstr(words_at(w, "--spec", i), "gated_delta_product"))
            return fail(err, ERROR_INPUT, "--spec: gated delta products are not planned");
    refuse_other_splits(r, w);
    split_stages(r, text, &symbols);
    add_depths(w, &r->model, &symbols);
    if (r->of_file && words_has(w, "--num-experts") && !strchr(str_text(&symbols), 'E')) {
        str_release(&symbols);
        return fail(err, ERROR_INPUT,
                    "--num-experts beside %s without layers of experts (E): what its symbols stand "
                    "for is the program's own",
                    flag);
    }
    r->model.layers = 0; /* --num-layers is ignored beside the pattern */
    bool ok = model_set_symbols(&r->model, str_text(&symbols), &inner) ||
              fail(err, inner.kind, "%s: %s", flag, inner.text);
    str_release(&symbols);
    refuse_unknown_layers(r, flag);
    if (ok && depths && !r->model.mtp)
        flags_note(r, "--mtp-num-layers", "the pattern has no layers for it: none are planned");
    return ok && read_mamba(r, w, err);
}
