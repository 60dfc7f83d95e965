/* What a model means as Megatron-LM's flags, and what of it no flag says. Plain flags are lines of
 * megatron.def; rotary scaling is said by several flags together. Flags that a release does not
 * have are left out: meaning_untold() says so, and the answer names it. */
#include "export/export.h"

#include "base/arena.h"
#include "base/str.h"
#include "export/writer.h"
#include "import/megatron/param_flags.h"

#include <string.h>

void writer_meaning(struct writer *w, const char *flag, enum model_meaning f)
{
    char text[40];
    model_meaning_print(f, model_meaning_get(w->model, f), text, sizeof text);
    writer_pair(w, flag, arena_string(w->mem, text));
}

static bool is_plain(const struct model *m, enum model_meaning f)
{
    return model_meaning_get(m, f) == model_meaning_info(f)->init;
}

static void add_unless_plain(struct writer *w, enum model_meaning f)
{
    if (!is_plain(w->model, f) && !meaning_untold(w->model, f, w->release))
        writer_meaning(w, MEANING_FLAGS[f].flag, f);
}

/* All of it, as Bridge has no defaults. */
static void add_yarn(struct writer *w)
{
    writer_meaning(w, "--rotary-scaling-factor", MEANING_rope_factor);
    add_unless_plain(w, MEANING_mscale);
    add_unless_plain(w, MEANING_mscale_all);
    if (w->model->mla)
        return;
    writer_meaning(w, MEANING_FLAGS[MEANING_rope_original].flag, MEANING_rope_original);
    writer_meaning(w, MEANING_FLAGS[MEANING_beta_fast].flag, MEANING_beta_fast);
    writer_meaning(w, MEANING_FLAGS[MEANING_beta_slow].flag, MEANING_beta_slow);
    writer_word(w, w->model->yarn_exact != 0 ? MEANING_FLAGS[MEANING_yarn_exact].flag
                                             : "--yarn-correction-range-round-to-int");
}

/* The trainer ignores the factor of llama3; it is written for who reads, and for import. */
static void add_scaling(struct writer *w)
{
    const struct model *m = w->model;
    if (m->rope_scaling == ROPE_YARN)
        add_yarn(w);
    else if (m->mla) /* no stretching is Megatron-LM's default, but not that of Bridge */
        writer_pair(w, "--rotary-scaling-factor", "1");
    if (m->rope_scaling == ROPE_LINEAR)
        writer_meaning(w, "--rotary-seq-len-interpolation-factor", MEANING_rope_factor);
    if (m->rope_scaling != ROPE_LLAMA3)
        return;
    writer_word(w, "--use-rope-scaling");
    if (w->release >= MEANING_FLAGS[MEANING_rope_factor].since)
        writer_meaning(w, MEANING_FLAGS[MEANING_rope_factor].flag, MEANING_rope_factor);
}

static void add_own(struct writer *w, enum model_meaning f)
{
    if (f == MEANING_rope_theta)
        writer_meaning(w, MEANING_FLAGS[f].flag, f);
    else if (f == MEANING_rope_scaling)
        add_scaling(w);
    else if (f == MEANING_index_coeff)
        writer_meaning(w, MEANING_FLAGS[f].flag, f);
    else if (f == MEANING_index_hadamard && w->model->index_hadamard == 0)
        writer_word(w, MEANING_FLAGS[f].flag);
    else if (f == MEANING_nope_every && w->model->nope_every != 1) /* --position-embedding-type */
        add_unless_plain(w, f);
}

static void add_meaning(struct writer *w, const struct meaning_flag *f)
{
    const struct model *m = w->model;
    if (f->kind == NONE || w->release < f->since || !model_meaning_counts(m, f->field) ||
        meaning_untold(m, f->field, w->release))
        return;
    if (f->kind == OWN)
        add_own(w, f->field);
    else if (f->kind == SWITCH && !is_plain(m, f->field))
        writer_word(w, f->flag);
    else if (f->kind == SIZE || (f->kind != SWITCH && !is_plain(m, f->field)))
        writer_meaning(w, f->flag, f->field);
}

void writer_meanings(struct writer *w)
{
    for (int i = 0; i < MODEL_MEANINGS; i++)
        add_meaning(w, &MEANING_FLAGS[i]);
}

static const char *untold_meaning(const struct model *m, enum model_meaning f, int release,
                                  struct arena *mem)
{
    const char *why = meaning_untold(m, f, release);
    char value[40];
    if (!why || !*why)
        return NULL;
    model_meaning_print(f, model_meaning_get(m, f), value, sizeof value);
    return arena_format(mem, "%s is %s: %s", model_meaning_info(f)->name, value, why);
}

/* Several fields may lack one thing. */
static void add_once(const char **list, size_t *count, const char *text)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(list[i], text) == 0)
            return;
    list[(*count)++] = text;
}

size_t export_untold(const struct model *m, int release, struct arena *mem, const char ***texts)
{
    const char **list = arena_array(mem, MODEL_FIELDS + 2 + MODEL_MEANINGS, sizeof *list);
    size_t count = 0;
    if (model_lacks(m))
        add_once(list, &count, model_lacks(m));
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind == NONE && *FIELD_FLAGS[i].flag &&
            model_field_get(m, FIELD_FLAGS[i].field))
            add_once(list, &count, FIELD_FLAGS[i].flag);
    if (m->linear_bias && !m->qkv_bias)
        list[count++] = "Megatron has no linear biases without those on queries, keys and values";
    for (int i = 0; i < MODEL_MEANINGS; i++) {
        const char *text = untold_meaning(m, (enum model_meaning)i, release, mem);
        if (text)
            list[count++] = text;
    }
    *texts = list;
    return count;
}

const char *export_untold_text(const struct model *m, int release, struct arena *mem)
{
    const char **text;
    struct str all = {0};
    size_t count = export_untold(m, release, mem, &text);
    for (size_t i = 0; i < count; i++)
        str_addf(&all, "%s%s", i ? "; " : "", text[i]);
    return count ? str_keep(&all, mem) : NULL;
}
