/* NeMo's launcher: main.py training=llama/llama2_70b training.model.micro_batch_size=1 ... The file of the group `training`
 * lies in the launcher's own tree and is not read. Its name says which model it is; how the work is split is never
 * guessed, so that a launch which leaves it to that file is refused. */
#include "import/megatron/nemo_launcher.h"

#include "base/arena.h"
#include "base/str.h"

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

bool nemo_name_model(struct launch *l, struct dest_list *list, struct arena *mem, struct error *err)
{
    static const char *const SPLIT[] = {"training.model.tensor_model_parallel_size",
                                        "training.model.pipeline_model_parallel_size"};
    const char *training = nemo_training(l), *name = training ? strrchr(training, '/') + 1 : NULL;
    if (!training)
        return true;
    for (size_t i = 0; i < sizeof SPLIT / sizeof *SPLIT; i++)
        if (!value_of(l, SPLIT[i]))
            return fail(
                       err, ERROR_INPUT,
                       "%s:%d: %s is in the file of training=%s, which is not read: give that file "
                       "(conf/training/%s.yaml of the launcher), or add %s=VALUE",
                       l->path, l->line, strrchr(SPLIT[i], '.') + 1, training, training,
                       SPLIT[i]) ||
                   error_in_file(err);
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
