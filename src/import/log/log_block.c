#include "import/log/train_steps.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/log/train_log.h"

#include <stdio.h>
#include <string.h>

/* Arguments that say where a run reads and writes, how long it goes on and who watches: they differ
 * from one start to the next, and no step takes longer for it. */
static const char IDLE[] =
    "*_dir *_path *_paths adlr_autoresume* ckpt_* consumed_* dist_ckpt_* eval_* exit_* finetune "
    "iteration load* local_rank log_* lr* master_* min_lr no_load_* non_persistent_* "
    "override_opt_* "
    "rank save* seed tensorboard_* train_iters train_samples use_checkpoint_* wandb_*";

static bool is_idle(const char *name)
{
    char pattern[BLOCK_NAME];
    for (const char *at = IDLE; next_word(&at, pattern, sizeof pattern);)
        if (matches_pattern(pattern, name))
            return true;
    return false;
}

/* FNV-1a. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
    return h;
}

static struct block_argument *find(const struct log_block *b, uint64_t name)
{
    for (int i = 0; i < b->count; i++)
        if (b->argument[i].name == name)
            return &b->argument[i];
    return NULL;
}

void log_block_begin(struct log_block *b, struct arena *mem)
{
    if (!b->argument)
        b->argument = arena_array(mem, BLOCK_ARGUMENTS, sizeof *b->argument);
    b->blocks++;
    b->found = 0;
    b->other[0] = 0;
}

static void compare(struct log_block *b, const char *name, const char *value)
{
    struct block_argument *a = find(b, hash(name));
    if (a && a->block < b->blocks) {
        a->block = b->blocks;
        b->found++;
    }
    if ((!a || a->value != hash(value)) && !b->other[0])
        snprintf(b->other, sizeof b->other, "%s", name);
}

void log_block_line(struct log_block *b, const char *line)
{
    const char *from, *value;
    char name[BLOCK_NAME];
    size_t length;
    if (!train_log_argument(line, &from, &length, &value) || length >= sizeof name)
        return;
    memcpy(name, from, length);
    name[length] = 0;
    if (is_idle(name))
        return;
    if (b->blocks > 1)
        compare(b, name, value);
    else if (b->count < BLOCK_ARGUMENTS && !find(b, hash(name)))
        b->argument[b->count++] = (struct block_argument){hash(name), hash(value), 1};
}

bool log_block_same(const struct log_block *b)
{
    return b->blocks < 2 || (!b->other[0] && b->found == b->count);
}
