/* A recipe is a function of Megatron-Bridge that fills a configuration; its settings are rows of bridge_recipes.def.
 * Performance recipes are chosen by model, task, GPUs, GPU type and precision, which make up the name of the function; on
 * another number of GPUs the batch grows with data parallelism (scripts/performance/utils/overrides.py,
 * set_post_overrides). */
#include "import/megatron/bridge_recipe.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/bridge_adapters.h"
#include "import/megatron/dest_names.h"
#include "import/shell/launch_translation.h"
#include "model/model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct bridge_recipe *bridge_recipes(void)
{
    static const struct bridge_recipe RECIPES[] = {
#define RECIPE(name, model, tp, pp, vpp, cp, ep, etp, micro, batch, sequence, precision, others)   \
    {name, model, tp, pp, vpp, cp, ep, etp, micro, batch, sequence, precision, others},
#include "import/megatron/bridge_recipes.def"
#undef RECIPE
        {0},
    };
    return RECIPES;
}

/* Options of the programs and the settings that they stand for (scripts/performance/utils/overrides.py,
 * set_user_overrides), %s for the value; "true" where no other value has an effect, "*" any but None, "!" None too, which
 * leaves the setting out. */
static const struct {
    const char *brief, *full, *value, *settings;
} OPTIONS[] = {
    {"-tp", "--tensor_model_parallel_size", "*", "tensor_model_parallel_size=%s"},
    {"-pp", "--pipeline_model_parallel_size", "*", "pipeline_model_parallel_size=%s"},
    {"-vp", "--virtual_pipeline_model_parallel_size", "!",
     "virtual_pipeline_model_parallel_size=%s"},
    {"-cp", "--context_parallel_size", "*", "context_parallel_size=%s"},
    {"-ep", "--expert_model_parallel_size", "*", "expert_model_parallel_size=%s"},
    {"-et", "--expert_tensor_parallel_size", "*", "expert_tensor_parallel_size=%s"},
    {"-etp", "--expert_tensor_parallel_size", "*", "expert_tensor_parallel_size=%s"},
    {"-mb", "--micro_batch_size", "*", "micro_batch_size=%s"},
    {"-gb", "--global_batch_size", "*", "global_batch_size=%s"},
    {"-sl", "--seq_length", "*", "seq_length=%s"},
    {"-", "--num_layers", "*", "num_layers=%s"},
    {"-", "--hidden_size", "*", "hidden_size=%s"},
    {"-", "--num_moe_experts", "*", "num_moe_experts=%s"},
    {"-", "--pipeline_model_parallel_layout", "*", "pipeline_model_parallel_layout=%s"},
    {"-", "--cuda_graph_impl", "*", "cuda_graph_impl=%s"},
    {"-", "--cuda_graph_scope", "*", "cuda_graph_scope=%s"},
    {"-", "--use_megatron_fsdp", "true", "use_megatron_fsdp=True"},
    {"-", "--moe_a2a_overlap", "true",
     "overlap_moe_expert_parallel_comm=True delay_wgrad_compute=True "
     "moe_shared_expert_overlap=False"},
    {"-", "--recompute_num_layers", "*",
     "recompute_granularity=full recompute_method=block recompute_num_layers=%s"},
    {"-", "--recompute_modules", "*", "recompute_granularity=selective recompute_modules=%s"},
    {"-", "--moe_flex_dispatcher_backend", "*",
     "moe_token_dispatcher_type=flex moe_flex_dispatcher_backend=%s"},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The last value of an option, by either name; NULL = it is not there. */
static const char *option(const struct launch *l, const char *brief, const char *full)
{
    const char *value = NULL;
    size_t n = strlen(full);
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        if (strncmp(w, full, n) == 0 && w[n] == '=')
            value = w + n + 1;
        else if ((strcmp(w, full) == 0 || strcmp(w, brief) == 0) && i + 1 < l->count)
            value = l->word[i + 1].text;
    }
    return value;
}

bool bridge_names_recipe(const struct launch *l)
{
    return option(l, "--recipe", "--recipe") || option(l, "-mr", "--model_recipe_name");
}

static int64_t number(const char *text)
{
    int64_t n;
    return text && parse_int(text, &n) && n > 0 && n < 1 << 24 ? n : 0;
}

static bool refuse(const struct launch *l, const char *why, struct error *err)
{
    fail(err, ERROR_INPUT, "%s:%d: %s", l->path, l->line, why);
    return error_in_file(err);
}

/* Whether the name or an option speaks of adapters of such a kind. */
static bool trains_adapters(const struct launch *l, const char *name, const char *kinds)
{
    static const char *const FLAGS[] = {"--peft", "--peft_scheme", "--task", "--mode"};
    char kind[8];
    bool found = false;
    for (const char *at = kinds; next_word(&at, kind, sizeof kind);) {
        const char *part = strstr(name, kind);
        found |= part && part > name && part[-1] == '_';
    }
    for (size_t i = 0; i < COUNT(FLAGS); i++) {
        const char *value = option(l, FLAGS[i], FLAGS[i]);
        found |= value && is_one_of(value, kinds);
    }
    return found;
}

static const struct bridge_recipe *find(const char *name, struct arena *mem)
{
    const char *full = arena_format(mem, "%s_config", name);
    for (const struct bridge_recipe *r = bridge_recipes(); r->name; r++)
        if (strcmp(r->name, name) == 0 || strcmp(r->name, full) == 0)
            return r;
    return NULL;
}

/* "64gpu" of a name; 0 = it does not say. */
static int64_t gpus_of(const char *name)
{
    const char *end = strstr(name, "gpu_"), *from = end;
    while (from && from > name && isdigit((unsigned char)from[-1]))
        from--;
    return from && from < end ? strtol(from, NULL, 10) : 0;
}

/* fp8_cs is fp8cs in names. */
static const char *joined(const char *text, struct arena *mem)
{
    char *out = arena_string(mem, text), *to = out;
    for (const char *p = text; *p; p++)
        if (*p != '_')
            *to++ = *p;
    *to = 0;
    return out;
}

/* The performance recipe for so many GPUs, or the nearest smaller number of them, else the smallest. */
static const struct bridge_recipe *find_variant(const struct launch *l, const char *stem,
                                                const char *variant, struct arena *mem)
{
    const char *task = option(l, "--task", "--task"), *gpu = option(l, "-g", "--gpu");
    const char *kind = option(l, "-c", "--compute_dtype");
    int64_t wanted = number(option(l, "-ng", "--num_gpus")), best = 0;
    const char *begin = arena_format(mem, "%s_%s_", stem, task ? task : "pretrain");
    const char *end = arena_format(mem, "gpu_%s_%s%s%s_config", gpu ? gpu : "",
                                   joined(kind ? kind : "bf16", mem), *variant ? "_" : "", variant);
    const struct bridge_recipe *found = NULL;
    for (const struct bridge_recipe *r = bridge_recipes(); gpu && r->name; r++) {
        const char *tail = strstr(r->name, "gpu_");
        int64_t n = gpus_of(r->name);
        if (strncmp(r->name, begin, strlen(begin)) != 0 || !tail || strcmp(tail, end) != 0)
            continue;
        bool nearer = !found || n == wanted ||
                      (best != wanted &&
                       (n <= wanted ? best > wanted || n > best : n < best && best > wanted));
        if (nearer) {
            found = r;
            best = n;
        }
    }
    return found;
}

/* A variant of another release is planned as the recipe without it. */
static const struct bridge_recipe *find_tuned(struct launch *l, const char *stem, struct arena *mem)
{
    const char *task = option(l, "--task", "--task"),
               *variant = option(l, "-cv", "--config_variant");
    const struct bridge_recipe *r = find_variant(l, stem, variant ? variant : "", mem);
    if (!r && variant) {
        r = find_variant(l, stem, "", mem);
        launch_note(l, arena_format(mem,
                                    "--config_variant %.40s is not known here: the recipe without "
                                    "it is planned",
                                    variant));
    }
    return r ? r : find(arena_format(mem, "%s_%s", stem, task ? task : "pretrain"), mem);
}

static bool unknown_recipe(const struct launch *l, const char *name, struct arena *mem,
                           struct error *err)
{
    enum { MOST = 2048 };
    const char *names[MOST];
    size_t count = 0;
    bool decoder;
    const char *other = model_named_other(name, &decoder);
    for (const struct bridge_recipe *r = bridge_recipes(); r->name && count < MOST; r++)
        names[count++] = r->name;
    if (other)
        return refuse(l, arena_format(mem, "the recipe %.80s is of %s", name, other), err);
    return refuse(
        l,
        arena_format(mem,
                     "the recipe %.80s is not known%s: give --model NAME and its settings "
                     "as a list of overrides",
                     name, did_you_mean(name, names, count)),
        err);
}

/* The value of an option that sets something; NULL = it is not there. */
static const char *value_of_option(const struct launch *l, size_t i)
{
    const char *value = option(l, OPTIONS[i].brief, OPTIONS[i].full), *wanted = OPTIONS[i].value;
    bool counts = value && (*wanted == '!' || (*wanted == '*' && strcmp(value, "None") != 0) ||
                            same_name(value, wanted));
    return counts ? value : NULL;
}

/* Whether an option sets it, to nothing as well. */
static bool has_option(const struct launch *l, const char *name)
{
    char word[64];
    for (size_t i = 0; i < COUNT(OPTIONS); i++) {
        bool sets = false;
        for (const char *at = OPTIONS[i].settings; next_word(&at, word, sizeof word);)
            sets |= strcspn(word, "=") == strlen(name) && strncmp(word, name, strlen(name)) == 0;
        if (sets && value_of_option(l, i))
            return true;
    }
    return false;
}

/* tp brings its sequence parallelism along. */
static bool gives_way(const struct launch *l, const char *name)
{
    /* then the recipe's value does not count, also where the word says false */
    return launch_overrides(l, name) || has_option(l, name) ||
           (strcmp(name, "sequence_parallel") == 0 && has_option(l, "tensor_model_parallel_size"));
}

/* Whether the recipe lays its stages out, and the program's options leave its split as it is: another one is laid out
 * anew. */
static bool keeps_layout(const struct launch *l, const struct bridge_recipe *r)
{
    const char *pp = option(l, "-pp", "--pipeline_model_parallel_size");
    const char *vpp = option(l, "-vp", "--virtual_pipeline_model_parallel_size");
    return strstr(r->others, "pipeline_model_parallel_layout=") &&
           !gives_way(l, "pipeline_model_parallel_layout") && (!pp || number(pp) == r->pp) &&
           (!vpp || number(vpp) == r->vpp);
}

static void add(const struct launch *l, struct dest_list *list, const char *name, const char *value)
{
    if (!gives_way(l, name))
        dest_add(list, name, value, l->line);
}

static void add_number(const struct launch *l, struct dest_list *list, const char *name,
                       int64_t value, struct arena *mem)
{
    if (value > 0)
        add(l, list, name, arena_format(mem, "%lld", (long long)value));
}

static void add_others(const struct launch *l, const struct bridge_recipe *r,
                       struct dest_list *list, struct arena *mem)
{
    static const char layout[] = "pipeline_model_parallel_layout=";
    char word[512];
    for (const char *at = r->others; next_word(&at, word, sizeof word);) {
        size_t n = strcspn(word, "=");
        if (word[n] && !bridge_is_of_adapters(word) &&
            (strncmp(word, layout, sizeof layout - 1) != 0 || keeps_layout(l, r)))
            add(l, list, arena_copy(mem, word, n), word + n + 1);
    }
}

/* Sequences of a step where the number of GPUs or the split are others than the recipe's. */
static int64_t batch_of(const struct launch *l, const struct bridge_recipe *r)
{
    int64_t tp = number(option(l, "-tp", "--tensor_model_parallel_size"));
    int64_t pp = number(option(l, "-pp", "--pipeline_model_parallel_size"));
    int64_t cp = number(option(l, "-cp", "--context_parallel_size"));
    int64_t base = gpus_of(r->name), gpus = number(option(l, "-ng", "--num_gpus"));
    int64_t own = (int64_t)r->tp * r->pp * r->cp;
    int64_t split = (tp ? tp : r->tp) * (pp ? pp : r->pp) * (cp ? cp : r->cp);
    if (!base || !gpus || own < 1 || split < 1 || base / own < 1)
        return r->batch;
    int64_t batch = r->batch * (gpus / split) / (base / own);
    return batch > 0 ? batch : r->batch;
}

static void take_gpus(struct launch *l)
{
    int64_t gpus = number(option(l, "-ng", "--num_gpus"));
    int64_t each = number(option(l, "-gn", "--gpus_per_node"));
    const char *gpu = option(l, "-g", "--gpu");
    each = each ? each : gpu && (strncmp(gpu, "gb", 2) == 0 || strncmp(gpu, "vr", 2) == 0) ? 4 : 8;
    if (l->gpus || !gpus)
        return;
    l->gpus = gpus;
    l->per_node = gpus < each ? gpus : each;
    l->nodes = gpus / l->per_node;
}

/* What was chosen, and that it is of one release. */
static void note(struct launch *l, const struct bridge_recipe *r, int64_t batch, struct arena *mem)
{
    launch_note(l,
                arena_format(mem,
                             "recipe %s of Megatron-Bridge 067f987d (2026-08-22): other releases "
                             "may set other values",
                             r->name));
    if (batch != r->batch && !gives_way(l, "global_batch_size"))
        launch_note(
            l, arena_format(mem, "the recipe's batch of %d is scaled with data parallelism to %lld",
                            r->batch, (long long)batch));
}

static void add_recipe(const struct launch *l, const struct bridge_recipe *r, int64_t batch,
                       struct dest_list *list, struct arena *mem)
{
    add_number(l, list, "tensor_model_parallel_size", r->tp, mem);
    add_number(l, list, "pipeline_model_parallel_size", r->pp, mem);
    if (!keeps_layout(l, r)) /* which says it too */
        add_number(l, list, "virtual_pipeline_model_parallel_size", r->vpp, mem);
    add_number(l, list, "context_parallel_size", r->cp, mem);
    add_number(l, list, "expert_model_parallel_size", r->ep, mem);
    add_number(l, list, "expert_tensor_parallel_size", r->etp, mem);
    add_number(l, list, "micro_batch_size", r->micro, mem);
    add_number(l, list, "global_batch_size", batch, mem);
    add_number(l, list, "seq_length", r->sequence, mem);
    add(l, list, "mixed_precision", arena_format(mem, "%s" PERFORMANCE_MIXED, r->precision));
    add(l, list, "attention_dropout",
        "0.0"); /* of all of these models, by their bridges and configs */
    add(l, list, "hidden_dropout", "0.0");
    add_others(l, r, list, mem);
}

static void add_options(const struct launch *l, const struct bridge_recipe *r,
                        struct dest_list *list, struct arena *mem)
{
    char word[64];
    for (size_t i = 0; i < COUNT(OPTIONS); i++) {
        const char *value = value_of_option(l, i), *at = OPTIONS[i].settings;
        bool said = *OPTIONS[i].value == '!' && keeps_layout(l, r); /* by the layout */
        if (!value || strcmp(value, "None") == 0 || said)
            continue;
        while (next_word(&at, word, sizeof word)) {
            size_t n = strcspn(word, "=");
            bool takes = strcmp(word + n, "=%s") == 0;
            dest_add(list, arena_copy(mem, word, n), takes ? value : word + n + 1, l->line);
        }
    }
    if (number(option(l, "-tp", "--tensor_model_parallel_size")) > 1)
        dest_add(list, "sequence_parallel", "True", l->line);
}

static bool says(const struct launch *l, const char *flag)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->word[i].text, flag) == 0)
            return true;
    return false;
}

void bridge_finish(struct dest_list *list)
{
    const struct launch l = {.count = list->count, .word = list->word};
    if (number(launch_value(&l, "--tensor-model-parallel-size")) < 2 ||
        !says(&l, "--sequence-parallel"))
        dest_drop(list, "tp_comm_overlap", list->count);
}

bool bridge_take_recipe(struct launch *l, struct dest_list *list, struct arena *mem,
                        struct error *err)
{
    const char *name = option(l, "--recipe", "--recipe"), *stem = NULL;
    if (!name)
        name = stem = option(l, "-mr", "--model_recipe_name");
    if (!launch_is_known(name))
        return refuse(l, launch_asks(l, "the recipe", name, mem), err);
    if (trains_adapters(l, name, "dora"))
        return refuse(l, "adapters of DoRA are not planned: those of LoRA are (lora)", err);
    const struct bridge_recipe *r = stem ? find_tuned(l, stem, mem) : find(name, mem);
    if (!r)
        return unknown_recipe(l, name, mem, err);
    if (!bridge_take_adapters(l, r->others, mem) && trains_adapters(l, name, "peft lora"))
        return refuse(
            l, "adapters (LoRA) are planned from a recipe with them: name its ..._peft_config",
            err);
    const char *unknown = l->train ? strchr(l->train, LAUNCH_MARK) : NULL;
    if (unknown) {
        const char *value = arena_copy(mem, unknown, strcspn(unknown, ","));
        return refuse(l, launch_asks(l, "a value of peft", value, mem), err);
    }
    int64_t batch = stem ? batch_of(l, r) : r->batch;
    note(l, r, batch, mem);
    add_recipe(l, r, batch, list, mem);
    add_options(l, r, list, mem);
    l->model = r->model;
    take_gpus(l);
    return true;
}
