/* What verl's words say of one optimizer step. The actor takes ppo_mini_batch_size prompts with rollout.n answers each:
 * so many sequences are Megatron's global batch (verl/trainer/ppo/ray_trainer.py, _update_actor). A micro-batch has
 * ppo_micro_batch_size_per_gpu of them, or, with use_dynamic_bsz, as many as go into ppo_max_token_len_per_gpu tokens of
 * each rank of context parallelism (verl/workers/actor/megatron_actor.py). Sequences are planned as long as they may
 * become: prompt and answer. */
#include "import/megatron/verl.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/dest_names.h"
#include "import/megatron/overrides.h"

#include <string.h>

static const char *const SECTIONS[] = {
#define VERL_SECTION(prefix) prefix,
#include "import/megatron/verl.def"
#undef VERL_SECTION
};

static const char *const IDLE[] = {
#define VERL_IDLE(name) name,
#include "import/megatron/verl.def"
#undef VERL_IDLE
};

static const struct {
    const char *name, *value;
} DEFAULTS[] = {
#define VERL_DEFAULT(name, value) {name, value},
#include "import/megatron/verl.def"
#undef VERL_DEFAULT
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The names of what both trainers count. */
static const struct verl_names {
    const char *model, *batch, *micro, *dynamic, *tokens;
    const char *batch_default, *micro_default, *dynamic_default, *tokens_default;
    const char *cp;
} PPO = {"actor_rollout_ref.model.path",
         "actor_rollout_ref.actor.ppo_mini_batch_size",
         "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
         "actor_rollout_ref.actor.use_dynamic_bsz",
         "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
         "256",
         NULL,
         "False",
         "16384",
         "actor_rollout_ref.actor.megatron.context_parallel_size"},
  SFT = {"model.path",
         "data.train_batch_size",
         "data.micro_batch_size_per_gpu",
         "data.use_dynamic_bsz",
         "data.max_token_len_per_gpu",
         "256",
         "4",
         "True",
         "8192",
         "engine.context_parallel_size"};

struct verl {
    struct launch *launch;
    const struct verl_names *names;
    struct dest_list list;
    struct arena *mem;
    bool sft;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The value of the last word KEY=VALUE; NULL = there is none. */
static const char *setting(const struct launch *l, const char *key)
{
    size_t n = strlen(key);
    for (int i = l->count - 1; i >= 0; i--) {
        const char *w = l->word[i].text + strspn(l->word[i].text, "+~");
        if (strncmp(w, key, n) == 0 && w[n] == '=')
            return w + n + 1;
    }
    return NULL;
}

static const char *setting_or(const struct launch *l, const char *key, const char *missing)
{
    const char *value = setting(l, key);
    return value ? value : missing;
}

/* -1 = it is no number, or not known. */
static int64_t number(const char *text)
{
    int64_t n;
    return text && parse_int(text, &n) && n >= 0 && n < 1 << 30 ? n : -1;
}

static bool is_true(const char *text)
{
    return text && same_name(text, "true");
}

static const char *module_of(const struct launch *l)
{
    if (l->program && begins(l->program, "verl."))
        return l->program;
    for (int i = 0; i < l->count; i++)
        if (begins(l->word[i].text, "verl.") || begins(l->word[i].text, "recipe."))
            return l->word[i].text;
    return NULL;
}

bool verl_is(const struct launch *l)
{
    const char *module = module_of(l);
    bool actor = false;
    for (int i = 0; i < l->count; i++)
        actor |= begins(l->word[i].text + strspn(l->word[i].text, "+~"), "actor_rollout_ref.");
    return actor || (module && begins(module, "verl."));
}

/* The name of the configuration, "" = the trainer's own. */
static const char *config_name(const struct launch *l)
{
    static const char flag[] = "--config-name";
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        if (begins(w, flag) && w[sizeof flag - 1] == '=')
            return w + sizeof flag;
        if (strcmp(w, flag) == 0 && i + 1 < l->count)
            return l->word[i + 1].text;
    }
    return "";
}

static bool has_section(const struct launch *l, const char *prefix)
{
    for (int i = 0; i < l->count; i++)
        if (begins(l->word[i].text + strspn(l->word[i].text, "+~"), prefix))
            return true;
    return false;
}

/* Its strategy, engine or configuration says so, or a setting that counts only there. */
static bool on_megatron(const struct launch *l)
{
    static const char *const KEYS[] = {"actor_rollout_ref.actor.strategy", "model_engine", "engine",
                                       "actor@actor_rollout_ref.actor"};
    for (size_t i = 0; i < COUNT(KEYS); i++) {
        const char *value = setting(l, KEYS[i]);
        if (value && launch_is_known(value))
            return strstr(value, "megatron") || strstr(value, "mindspeed");
    }
    return strstr(config_name(l), "megatron") || strstr(config_name(l), "mindspeed") ||
           has_section(l, "actor_rollout_ref.actor.megatron.");
}

static bool refuse(const struct launch *l, const char *why, struct error *err)
{
    fail(err, ERROR_INPUT, "%s:%d: %s", l->path, l->line, why);
    return error_in_file(err);
}

static bool trains_adapters(const struct launch *l)
{
    static const char *const KEYS[] = {"actor_rollout_ref.model.lora_rank",
                                       "actor_rollout_ref.model.lora.rank", "model.lora_rank",
                                       "model.lora.rank"};
    for (size_t i = 0; i < COUNT(KEYS); i++)
        if (number(setting_or(l, KEYS[i], "0")) != 0)
            return true;
    return false;
}

static bool is_planned(const struct launch *l, struct error *err)
{
    const char *module = module_of(l);
    if (module &&
        (strstr(module, "generation") || strstr(module, "eval") || strstr(module, "merger")))
        return refuse(l, "verl generates, evaluates or merges here, and trains nothing", err);
    if (!on_megatron(l))
        return refuse(l,
                      "verl trains on torch FSDP here, which is not Megatron and is not planned: "
                      "with actor_rollout_ref.actor.strategy=megatron (of an SFT: engine=megatron) "
                      "it is, or `astra search --model NAME` finds how Megatron would train it",
                      err);
    if (trains_adapters(l))
        return refuse(l,
                      "adapters (LoRA) train few of the weights, which is not planned: without "
                      "lora_rank the full training is",
                      err);
    return true;
}

static bool is_idle(const char *name)
{
    for (size_t i = 0; i < COUNT(IDLE); i++)
        if (strcmp(IDLE[i], name) == 0)
            return true;
    return false;
}

/* A setting of the engine; lists in brackets as they are. */
static void take_engine(struct verl *v, const char *word, int line)
{
    word += strspn(word, "+~");
    size_t n = strcspn(word, "=");
    for (size_t i = 0; word[n] && i < COUNT(SECTIONS); i++) {
        size_t k = strlen(SECTIONS[i]);
        if (k >= n || !begins(word, SECTIONS[i]))
            continue;
        const char *name = arena_copy(v->mem, word + k, n - k);
        if (strchr(name, '.'))
            continue;
        if (!is_idle(name) && !dest_add(&v->list, name, word + n + 1, line))
            launch_note(v->launch, arena_format(v->mem, "line %d: %s has no flag and is left out",
                                                line, arena_copy(v->mem, word, n)));
        return;
    }
}

/* The value of a setting of the engine, in whatever section; NULL = there is none. */
static const char *engine_setting(const struct launch *l, const char *name)
{
    for (size_t i = 0; i < COUNT(SECTIONS); i++) {
        char key[128];
        size_t n = strlen(SECTIONS[i]), k = strlen(name);
        if (n + k >= sizeof key)
            continue;
        memcpy(key, SECTIONS[i], n);
        memcpy(key + n, name, k + 1);
        const char *value = setting(l, key);
        if (value)
            return value;
    }
    return NULL;
}

static void add_count(struct verl *v, const char *name, int64_t n)
{
    dest_add(&v->list, name, arena_format(v->mem, "%lld", (long long)n), v->launch->line);
}

/* Both are factors or addends; where one is not known, so is the whole. */
static void add_two(struct verl *v, const char *name, const char *a, const char *b, bool product)
{
    int64_t x = number(a), y = number(b);
    if (x >= 0 && y >= 0)
        add_count(v, name, product ? x * y : x + y);
    else
        dest_add(&v->list, name, x < 0 ? a : b, v->launch->line);
}

/* Sequences of a micro-batch where tokens are counted: as many of the longest as go in, and into the batch. */
static void add_dynamic(struct verl *v, int64_t batch, int64_t sequence)
{
    struct launch *l = v->launch;
    int64_t tokens = number(setting_or(l, v->names->tokens, v->names->tokens_default));
    int64_t cp = number(setting_or(l, v->names->cp, "1"));
    if (tokens < 1 || cp < 1 || sequence < 1 || batch < 1) {
        launch_note(l, "use_dynamic_bsz: how many sequences go into a micro-batch is not known, "
                       "one is planned");
        return;
    }
    int64_t most = tokens * cp / sequence;
    while (most > 1 && batch % most != 0)
        most--;
    add_count(v, "micro_batch_size", most < 1 ? 1 : most);
    launch_note(l, arena_format(v->mem,
                                "use_dynamic_bsz: micro-batches of %lld of the longest sequences "
                                "are planned (%lld tokens of each rank), shorter ones are packed",
                                (long long)(most < 1 ? 1 : most), (long long)tokens));
}

static int64_t product(const char *a, const char *b)
{
    int64_t x = number(a), y = number(b);
    return x < 0 || y < 0 || x > 1 << 20 || y > 1 << 20 ? -1 : x * y;
}

static void add_batch(struct verl *v)
{
    const struct launch *l = v->launch;
    const struct verl_names *names = v->names;
    const char *mini = setting_or(l, names->batch, names->batch_default);
    const char *answers = v->sft ? "1" : setting_or(l, "actor_rollout_ref.rollout.n", "1");
    const char *prompt = v->sft ? "0" : setting_or(l, "data.max_prompt_length", "512");
    const char *answer = v->sft ? setting_or(l, "data.max_length", "1024")
                                : setting_or(l, "data.max_response_length", "512");
    const char *micro = setting_or(l, names->micro, names->micro_default);
    add_two(v, "global_batch_size", mini, answers, true);
    add_two(v, "seq_length", prompt, answer, false);
    if (is_true(setting_or(l, names->dynamic, names->dynamic_default)))
        add_dynamic(v, product(mini, answers),
                    number(prompt) < 0 || number(answer) < 0 ? -1
                                                             : number(prompt) + number(answer));
    else if (micro)
        dest_add(&v->list, "micro_batch_size", micro, l->line);
}

static void take_world(struct launch *l)
{
    int64_t nodes = number(setting_or(l, "trainer.nnodes", "1"));
    int64_t each = number(setting_or(l, "trainer.n_gpus_per_node", "8"));
    if (l->gpus || (!setting(l, "trainer.nnodes") && !setting(l, "trainer.n_gpus_per_node")))
        return;
    l->said_nodes = nodes > 0 ? nodes : 0;
    l->said_per_node = each > 0 ? each : 0;
    if (nodes < 1 || each < 1 || nodes > 1 << 20 || each > 1 << 10)
        return;
    l->nodes = nodes;
    l->per_node = each;
    l->gpus = nodes * each;
}

/* What is on the host while others use the GPU is loaded and stored around every update (verl/workers/megatron_workers.py). */
static void note_offload(struct verl *v)
{
    static const char *const NAMES[] = {"param_offload", "grad_offload", "optimizer_offload"};
    struct launch *l = v->launch;
    struct str s = {0};
    for (size_t i = 0; i < COUNT(NAMES); i++)
        if (is_true(engine_setting(l, NAMES[i])))
            str_addf(&s, "%s%s", *str_text(&s) ? ", " : "", NAMES[i]);
    if (*str_text(&s))
        launch_note(l,
                    arena_format(v->mem,
                                 "%s: planned on the GPU, where it is while the actor trains; the "
                                 "time to load and store it around every update is left out",
                                 str_text(&s)));
    str_release(&s);
}

/* verl's own converter leaves TransformerConfig's False (verl/models/mcore/config_converter.py); mbridge has its own. */
static void note_fusions(struct verl *v)
{
    struct launch *l = v->launch;
    bool fused = is_true(engine_setting(l, "use_mbridge")) ||
                 (is_true(engine_setting(l, "bias_activation_fusion")) &&
                  is_true(engine_setting(l, "apply_rope_fusion")));
    if (!fused)
        launch_note(l, "verl: activation and rotary positions are planned fused: without "
                       "use_mbridge, the default of earlier releases, dense models run them "
                       "unfused, and time and memory are a few percent too low");
}

static void note_rest(struct verl *v)
{
    static const char *const KNOWN[] = {"", "ppo_megatron_trainer", "sft_trainer_engine",
                                        "one_step_off_ppo_megatron_trainer",
                                        "fully_async_ppo_megatron_trainer"};
    struct launch *l = v->launch;
    const char *config = launch_text(l, config_name(l), v->mem), *dot = strstr(config, ".yaml");
    bool known = false;
    config = dot ? arena_copy(v->mem, config, (size_t)(dot - config)) : config;
    for (size_t i = 0; i < COUNT(KNOWN); i++)
        known |= strcmp(config, KNOWN[i]) == 0;
    note_offload(v);
    note_fusions(v);
    if (!v->sft)
        launch_note(l, "verl: the actor's training step is planned, every sequence at its longest "
                       "(prompt and answer); rollout, reference, critic and reward models are not, "
                       "nor the memory that they keep on the same GPUs");
    if (!known)
        launch_note(l, arena_format(v->mem,
                                    "--config-name %s is not read: what the words do not set is "
                                    "verl's default",
                                    config));
}

bool verl_of_launch(struct launch *l, struct arena *mem, struct error *err)
{
    struct verl v = {.launch = l, .mem = mem};
    if (!is_planned(l, err))
        return false;
    v.sft = !has_section(l, "actor_rollout_ref.");
    v.names = v.sft ? &SFT : &PPO;
    dest_list_init(&v.list, DEST_OVERRIDE, mem);
    dest_list_keep(&v.list, l->unknown, l->unknowns);
    for (size_t i = 0; i < COUNT(DEFAULTS); i++)
        if (!engine_setting(l, DEFAULTS[i].name))
            dest_add(&v.list, DEFAULTS[i].name, DEFAULTS[i].value, l->line);
    add_batch(&v);
    for (int i = 0; i < l->count; i++) {
        if (overrides_hidden(l, i, mem, err))
            return false;
        take_engine(&v, l->word[i].text, l->word[i].line);
    }
    const char *model = setting(l, v.names->model);
    l->model = model ? launch_text(l, model, mem) : NULL;
    l->program = "verl";
    take_world(l);
    note_rest(&v);
    l->count = v.list.count;
    l->word = v.list.word;
    l->unknowns = v.list.unknowns;
    l->unknown = v.list.unknown;
    return true;
}
