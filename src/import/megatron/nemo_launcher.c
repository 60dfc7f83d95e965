/* NeMo's launcher: main.py training=llama/llama2_70b training.model.micro_batch_size=1 ... The file of the group `training`
 * lies in the launcher's own tree: what it sets is a row of nemo_trainings.def. Of a name that is in no row the model is taken,
 * where it is a preset's; how the work is split is never guessed, so that such a launch has to say it. */
#include "import/megatron/nemo_launcher.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/shell/launch_translation.h"

#include <ctype.h>
#include <string.h>

static const char *value_of(const struct launch *l, const char *key)
{
    size_t n = strlen(key);
    for (int i = l->count - 1; i >= 0; i--) {
        const char *w = l->word[i].text + strspn(l->word[i].text, "+");
        if (strncmp(w, key, n) == 0 && w[n] == '=')
            return w + n + 1;
    }
    return NULL;
}

const char *nemo_training(const struct launch *l)
{
    const char *training = value_of(l, "training");
    bool of_launcher = value_of(l, "training.model.micro_batch_size") || value_of(l, "stages");
    return training && of_launcher && launch_is_known(training) && strchr(training, '/') ? training
                                                                                         : NULL;
}

static const struct training {
    const char *name;
    int nodes, each; /* GPUs of a node */
    const char *settings;
} TRAININGS[] = {
#define TRAINING(name, nodes, each, settings) {name, nodes, each, settings},
#include "import/megatron/nemo_trainings.def"
#undef TRAINING
};

static const struct training *find(const char *name)
{
    for (size_t i = 0; i < sizeof TRAININGS / sizeof *TRAININGS; i++)
        if (strcmp(TRAININGS[i].name, name) == 0)
            return &TRAININGS[i];
    return NULL;
}

static void take_world(struct launch *l, const struct training *t)
{
    const char *nodes = value_of(l, "training.trainer.num_nodes");
    const char *each = value_of(l, "training.trainer.devices");
    int64_t n = t->nodes, m = t->each;
    bool known = (!nodes || parse_int(nodes, &n)) && (!each || parse_int(each, &m));
    if (l->gpus || !known || n < 1 || m < 1 || n > 1 << 20 || m > 1 << 10)
        return;
    l->nodes = n;
    l->per_node = m;
    l->gpus = n * m;
}

static void take_training(struct launch *l, const struct training *t, struct dest_list *list,
                          struct arena *mem)
{
    char word[96];
    for (const char *at = t->settings; next_word(&at, word, sizeof word);) {
        size_t n = strcspn(word, "=");
        const char *name = arena_copy(mem, word, n);
        if (word[n] && !launch_overrides(l, name))
            dest_add(list, name, arena_string(mem, word + n + 1), l->line);
    }
    dest_add(list, "tokenizer_model", t->name, l->line);
    take_world(l, t);
    launch_note(l, arena_format(mem,
                                "training=%s of NeMo's launcher 26e42fa9 (2025-04-18): other "
                                "releases may set other values",
                                t->name));
}

static bool refuse(const struct launch *l, const char *training, const char *setting,
                   struct error *err)
{
    fail(err, ERROR_INPUT,
         "%s:%d: %s is in the file of training=%s, which is not read: give that file "
         "(conf/training/%s.yaml of the launcher), or add %s=VALUE",
         l->path, l->line, strrchr(setting, '.') + 1, training, training, setting);
    return error_in_file(err);
}

bool nemo_name_model(struct launch *l, struct dest_list *list, struct arena *mem, struct error *err)
{
    static const char *const SPLIT[] = {"training.model.tensor_model_parallel_size",
                                        "training.model.pipeline_model_parallel_size"};
    const char *training = nemo_training(l), *name = training ? strrchr(training, '/') + 1 : NULL;
    const struct training *known = training ? find(training) : NULL;
    if (!training)
        return true;
    if (known) {
        take_training(l, known, list, mem);
        return true;
    }
    for (size_t i = 0; i < sizeof SPLIT / sizeof *SPLIT; i++)
        if (!value_of(l, SPLIT[i]))
            return refuse(l, training, SPLIT[i], err);
    l->model = isdigit((unsigned char)*name)
                   ? arena_format(mem, "%.*s-%s", (int)(name - 1 - training), training, name)
                   : name;
    /* All files of launcher_scripts/conf/training for decoders (50 in 24.09) set these. */
    dest_add(list, "bf16", "True", l->line);
    dest_add(list, "use_distributed_optimizer", "True", l->line);
    launch_note(
        l, arena_format(mem,
                        "training=%s: its file is not read; planned are the model of its name, "
                        "bf16 and the distributed optimizer, as the launcher's files have it",
                        training));
    return true;
}
