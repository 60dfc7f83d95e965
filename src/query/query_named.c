/* A model that a file names instead of describing it: --model Qwen/Qwen2.5-7B-Instruct is the preset qwen2.5-7b. */
#include "query/query_read.h"

#include "base/arena.h"
#include "base/str.h"
#include "model/model.h"
#include "query/options.h"
#include "query/query_file.h"

#include <stdio.h>
#include <string.h>

/* The value of a flag as it stands there: of a path the end may be known where its beginning is not. */
static const char *value_text(const struct launch *l, const char *flag, struct arena *mem)
{
    const char *value = launch_written(l, flag);
    return value ? launch_text(l, value, mem) : NULL;
}

/* What a name that is no preset's may mean, and what to give. */
static const char *unknown_name(const char *name, struct arena *mem)
{
    enum { NEAR = 4 };
    bool decoder;
    const char *near[NEAR], *other = model_named_other(name, &decoder);
    int count = model_names_near(name, near, NEAR);
    struct str s = {0};
    if (!*name)
        str_add(&s, "the name of the model is empty");
    else
        str_addf(&s, "the model is named %.120s, which is %s", name, other ? other : "no preset");
    for (int k = 0; k < count; k++)
        str_addf(&s, "%s%s", k ? ", " : " (near it: ", near[k]);
    str_add(&s, count ? ")" : "");
    return str_keep(&s, mem);
}

enum { NAMES = 8 };

/* All that may name the model, best first. */
static int names_of(const struct imported *i, const char *name[NAMES], struct arena *mem)
{
    static const char *const FLAGS[] = {"--model", "--hf-checkpoint", "--hf-model-path",
                                        "--hf-path", "--model-path"};
    const char *value;
    int count = 0;
    if (i->launch.model)
        name[count++] = i->launch.model;
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++)
        if ((value = value_text(&i->launch, FLAGS[k], mem)))
            name[count++] = value;
    return count;
}

/* Flags may give the shape of a model whose layers are of another kind: its name tells. */
static bool can_be_planned(struct imported *i, const char *name, struct arena *mem,
                           struct error *err)
{
    bool decoder;
    const char *other = model_named_other(name, &decoder), *differs;
    if (other && decoder && !model_named_as(name, &differs))
        launch_note(&i->launch, arena_format(mem, "%.120s: %s", name, other));
    if (!other || decoder)
        return true;
    fail(err, ERROR_INPUT, "%s: the model is named %.120s, which is %s; --model NAME plans another",
         i->launch.path, name, other);
    return error_in_file(err);
}

/* Whether flags of the file say how many layers there are. */
static bool is_described(const struct launch_flags *f)
{
    static const char layers[] = "--num-layers";
    for (int i = 0; i < f->count; i++)
        if (strncmp(f->word[i], layers, sizeof layers - 1) == 0 &&
            strchr("=", f->word[i][sizeof layers - 1]))
            return true;
    return false;
}

/* A file that is included under a name that is no preset's may hold more than the flags. */
static void note_unknown(struct imported *i, bool whole, struct arena *mem)
{
    if (i->launch.model && whole)
        launch_note(&i->launch, arena_format(mem,
                                             "the model is named %.120s, which is not a preset: it "
                                             "is planned as the flags describe it",
                                             i->launch.model));
}

/* Megatron's attention where its multi-latent one is turned off: all heads have keys and values. */
static bool without_mla(struct model *m, struct error *err)
{
    m->head_dim = m->qk_nope;
    m->kv = m->heads;
    m->mla = m->q_lora = m->kv_lora = m->qk_nope = m->qk_rope = m->v_dim = 0;
    snprintf(m->name, sizeof m->name, "flags");
    return model_finish(m, err);
}

/* Flags win over the model that is included by its name (launch.model); one that a flag names counts where no flags
 * describe it. */
bool imported_model(struct options *o, struct imported *i, struct error *err)
{
    const char *name[NAMES], *preset = NULL, *differs = "";
    int count = names_of(i, name, o->mem), k = 0;
    bool whole = o->has_flags && o->flags.has_model;
    bool described = whole || is_described(&i->flags) || (o->has_flags && o->flags.model.layers);
    if (o->has_model)
        return true;
    for (int n = 0; n < count; n++)
        if (!can_be_planned(i, name[n], o->mem, err))
            return false;
    int tried = !described ? count : i->launch.model ? 1 : 0;
    for (; k < tried && !preset; k++)
        preset = model_named_as(name[k], &differs);
    if (count > 0 && !preset && !described)
        i->unknown_model = unknown_name(name[0], o->mem);
    if (!preset) {
        note_unknown(i, whole, o->mem);
        return true;
    }
    if (*differs)
        launch_note(&i->launch,
                    arena_format(o->mem, "%s: %s, of which %s", name[k - 1], preset, differs));
    i->named_preset = preset;
    i->named_model = arena_format(o->mem, "the file names %s", name[k - 1]);
    return options_set(o, "model", preset, err) &&
           (!i->launch.plain_attention || without_mla(&o->model, err));
}
