/* Adapters of ms-swift (--tuner_type lora of `megatron sft`) in the words of --train. Its defaults: swift/megatron/arguments/
 * megatron_args.py, MegatronTunerMixin. Of other programs that have such flags nobody looked up what they mean. */
#include "import/shell/launch_trained.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <string.h>

static bool is_swift(const struct launch *l)
{
    return l->program && strcmp(l->program, "megatron") == 0;
}

static bool says_lora(const struct launch *l)
{
    static const char *const TYPES[] = {"--tuner-type", "--train-type", "--peft-type"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        const char *type = launch_value(l, TYPES[i]);
        if (type && is_one_of(type, "lora lora_llm"))
            return true;
    }
    return launch_value(l, "--adapters") || launch_value(l, "--mcore-adapter");
}

static bool has_flag(const struct launch *l, const char *flag)
{
    for (int i = 0; i < l->count; i++)
        if (launch_names_flag(l->word[i].text, flag))
            return true;
    return false;
}

/* Megatron's names, a comma in front of each; of latent attention all projections are one target. */
static void add_target(const char *name, struct str *out)
{
    bool latent = strncmp(name, "linear_q_", 9) == 0 || strncmp(name, "linear_kv_", 10) == 0;
    str_addf(out, "%s%s", out->length ? "," : "targets=", latent ? "qkv" : name);
}

static void add_targets(const struct launch *l, struct str *out)
{
    for (int i = 0; i < l->count; i++) {
        const char *sign = strchr(l->word[i].text, '=');
        if (!launch_names_flag(l->word[i].text, "--target-modules"))
            continue;
        str_clear(out); /* the last one counts */
        if (sign)
            add_target(sign + 1, out);
        for (int k = i + 1; !sign && k < l->count && !words_is_flag(l->word[k].text); k++)
            add_target(l->word[k].text, out);
    }
    if (!out->length)
        str_add(out, "targets=all");
}

static const char *value_or(const struct launch *l, const char *flag, const char *missing)
{
    const char *value = launch_value(l, flag);
    return value ? value : missing;
}

/* Of a flag's last mention, a word that the file alone does not tell; NULL = it tells all. */
static const char *unknown_word(const struct launch *l, const char *flag)
{
    const char *unknown = NULL;
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text, *sign = strchr(w, '=');
        if (!launch_names_flag(w, flag))
            continue;
        unknown = sign && !launch_is_known(sign) ? sign + 1 : NULL;
        for (int k = i + 1; !unknown && k < l->count && !words_is_flag(l->word[k].text); k++)
            if (!launch_is_known(l->word[k].text))
                unknown = l->word[k].text;
    }
    return unknown;
}

static const char *refused_unknown(const struct launch *l, struct arena *mem)
{
    static const char *const FLAGS[] = {"--lora-rank", "--lora-dropout", "--target-modules"};
    const char *word = NULL, *flag = NULL;
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS && !word; i++)
        word = unknown_word(l, flag = FLAGS[i]);
    return word ? launch_asks(l, flag, word, mem) : NULL;
}

/* Why its adapters are not planned; NULL = they are. */
static const char *refused(const struct launch *l, struct arena *mem)
{
    static const char *const OTHERS[] = {"--target-regex", "--modules-to-save",
                                         "--trainable-parameters", "--trainable-parameters-regex"};
    if (!is_swift(l))
        return "adapters (LoRA) of this program are not planned: --train lora:r=16 without its "
               "flags "
               "is";
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (has_flag(l, OTHERS[i]))
            return arena_format(mem,
                                "%s: what it trains beside the usual adapters is not planned: "
                                "without this flag they are",
                                OTHERS[i]);
    return refused_unknown(l, mem);
}

const char *launch_take_adapters(struct launch *l, struct arena *mem)
{
    struct str targets = {0};
    bool lora = says_lora(l), rank = has_flag(l, "--lora-rank");
    if (!lora && (is_swift(l) || !rank))
        return NULL;
    const char *why = refused(l, mem);
    if (why)
        return why;
    add_targets(l, &targets);
    l->train = arena_format(mem, "lora:r=%s,%s,dropout=%s,framework=swift",
                            value_or(l, "--lora-rank", "8"), str_text(&targets),
                            value_or(l, "--lora-dropout", "0.05"));
    str_release(&targets);
    launch_note(l, arena_format(mem, "adapters (LoRA) are planned as --train %s", l->train));
    if (is_one_of(value_or(l, "--lora-dtype", ""), "float32"))
        launch_note(l, "--lora_dtype float32: adapters are planned in 16 bits beside their fp32 "
                       "copy: memory is a little too low");
    return NULL;
}
