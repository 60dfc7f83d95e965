/* A recipe is a function of Megatron-Bridge that fills a configuration; its settings are rows of bridge_recipes.def.
 * Performance recipes are chosen by model, task, GPUs, GPU type and precision, which make up the name of the function; on
 * another number of GPUs the batch grows with data parallelism (scripts/performance/utils/overrides.py,
 * set_post_overrides). */
#include "import/megatron/bridge_recipe.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/dest_names.h"
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

/* Options of the programs that stand for settings. */
static const struct {
    const char *brief, *full, *setting;
} OPTIONS[] = {
    {"-tp", "--tensor_model_parallel_size", "tensor_model_parallel_size"},
    {"-pp", "--pipeline_model_parallel_size", "pipeline_model_parallel_size"},
    {"-vp", "--virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"},
    {"-cp", "--context_parallel_size", "context_parallel_size"},
    {"-ep", "--expert_model_parallel_size", "expert_model_parallel_size"},
    {"-et", "--expert_tensor_parallel_size", "expert_tensor_parallel_size"},
    {"-etp", "--expert_tensor_parallel_size", "expert_tensor_parallel_size"},
    {"-mb", "--micro_batch_size", "micro_batch_size"},
    {"-gb", "--global_batch_size", "global_batch_size"},
    {"-sl", "--seq_length", "seq_length"},
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

static bool trains_adapters(const struct launch *l, const char *name)
{
    static const char *const FLAGS[] = {"--peft", "--peft_scheme", "--task", "--mode"};
    bool found = strstr(name, "_peft") || strstr(name, "_lora") || strstr(name, "_dora");
    for (size_t i = 0; i < COUNT(FLAGS); i++) {
        const char *value = option(l, FLAGS[i], FLAGS[i]);
        found |= value && is_one_of(value, "peft lora dora");
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
static const struct bridge_recipe *find_tuned(const struct launch *l, const char *stem,
                                              struct arena *mem)
{
    const char *task = option(l, "--task", "--task"), *gpu = option(l, "-g", "--gpu");
    const char *kind = option(l, "-c", "--compute_dtype");
    int64_t wanted = number(option(l, "-ng", "--num_gpus")), best = 0;
    const char *begin = arena_format(mem, "%s_%s_", stem, task ? task : "pretrain");
    const char *end =
        arena_format(mem, "gpu_%s_%s_config", gpu ? gpu : "", joined(kind ? kind : "bf16", mem));
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
    return found ? found : find(arena_format(mem, "%s_%s", stem, task ? task : "pretrain"), mem);
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

/* Whether a word SECTION.NAME=VALUE sets it: then the recipe's value does not count, also where the word says false. */
static bool overridden(const struct launch *l, const char *name)
{
    size_t k = strlen(name);
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        size_t n = strcspn(w, "=");
        if (w[n] && n > k && w[n - k - 1] == '.' && strncmp(w + n - k, name, k) == 0)
            return true;
    }
    return false;
}

static void add(const struct launch *l, struct dest_list *list, const char *name, const char *value)
{
    if (!overridden(l, name))
        dest_add(list, name, value, l->line);
}

static void add_number(const struct launch *l, struct dest_list *list, const char *name,
                       int64_t value, struct arena *mem)
{
    if (value > 0)
        add(l, list, name, arena_format(mem, "%lld", (long long)value));
}

static void add_others(const struct launch *l, struct dest_list *list, const char *others,
                       struct arena *mem)
{
    char word[512];
    while (next_word(&others, word, sizeof word)) {
        size_t n = strcspn(word, "=");
        if (word[n])
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
    if (batch != r->batch)
        launch_note(
            l, arena_format(mem, "the recipe's batch of %d is scaled with data parallelism to %lld",
                            r->batch, (long long)batch));
}

static void add_recipe(const struct launch *l, const struct bridge_recipe *r, int64_t batch,
                       struct dest_list *list, struct arena *mem)
{
    add_number(l, list, "tensor_model_parallel_size", r->tp, mem);
    add_number(l, list, "pipeline_model_parallel_size", r->pp, mem);
    if (!strstr(r->others, "pipeline_model_parallel_layout=")) /* which says it too */
        add_number(l, list, "virtual_pipeline_model_parallel_size", r->vpp, mem);
    add_number(l, list, "context_parallel_size", r->cp, mem);
    add_number(l, list, "expert_model_parallel_size", r->ep, mem);
    add_number(l, list, "expert_tensor_parallel_size", r->etp, mem);
    add_number(l, list, "micro_batch_size", r->micro, mem);
    add_number(l, list, "global_batch_size", batch, mem);
    add_number(l, list, "seq_length", r->sequence, mem);
    add(l, list, "mixed_precision", r->precision);
    add_others(l, list, r->others, mem);
    for (size_t i = 0; i < COUNT(OPTIONS); i++) {
        const char *value = option(l, OPTIONS[i].brief, OPTIONS[i].full);
        if (value)
            dest_add(list, OPTIONS[i].setting, value, l->line);
    }
}

bool bridge_take_recipe(struct launch *l, struct dest_list *list, struct arena *mem,
                        struct error *err)
{
    const char *name = option(l, "--recipe", "--recipe"), *stem = NULL;
    if (!name)
        name = stem = option(l, "-mr", "--model_recipe_name");
    if (!launch_is_known(name)) {
        const struct launch_unknown *u = launch_unknown_of(l, name);
        return refuse(l,
                      arena_format(mem, "the recipe is %s, %s%s%s", launch_text(l, name, mem),
                                   u ? u->why : "which is not known",
                                   u && u->name ? ": give --env " : "",
                                   u && u->name ? arena_format(mem, "%s=VALUE", u->name) : ""),
                      err);
    }
    if (trains_adapters(l, name))
        return refuse(l,
                      "adapters (LoRA) train few of the weights, which is not planned: the _sft "
                      "recipe of the same model is",
                      err);
    const struct bridge_recipe *r = stem ? find_tuned(l, stem, mem) : find(name, mem);
    if (!r)
        return unknown_recipe(l, name, mem, err);
    int64_t batch = stem ? batch_of(l, r) : r->batch;
    note(l, r, batch, mem);
    add_recipe(l, r, batch, list, mem);
    l->model = r->model;
    take_gpus(l);
    return true;
}
