/* Flags that say one thing together are one topic: what they say is the same, and all of them stay
 * as the user wrote them, or it is not, and those of the plan replace them. The flags that result
 * are read again: they must say the plan. */
#include "probe/answer.h"

#include "base/str.h"
#include "export/export.h"
#include "export/rewrite.h"
#include "export/shell.h"
#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"
#include "query/query.h"

#include <string.h>

enum { TOPIC_PARAMS = 8, TOPIC_FLAGS = 12 };

static const struct topic {
    enum param param[TOPIC_PARAMS]; /* up to the first that is global_batch */
    const char *flag[TOPIC_FLAGS];  /* up to NULL */
} TOPICS[] = {
    {{PARAM_tp, PARAM_etp}, {"--tensor-model-parallel-size", "--expert-tensor-parallel-size"}},
    {{PARAM_cp, PARAM_cp_comm}, {"--context-parallel-size", "--cp-comm-type"}},
    {{PARAM_pp, PARAM_vpp, PARAM_split, PARAM_first_layers, PARAM_last_layers, PARAM_p2p_overlap,
      PARAM_micro_batch_group},
     {"--pipeline-model-parallel-size", "--num-layers-per-virtual-pipeline-stage",
      "--num-virtual-stages-per-pipeline-rank", "--pipeline-model-parallel-layout",
      "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split",
      "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
      "--no-overlap-p2p-communication", "--microbatch-group-size-per-virtual-pipeline-stage"}},
    {{PARAM_seq_len}, {"--seq-length", "--encoder-seq-length"}},
    {{PARAM_precision}, {"--bf16", "--fp16", "--fp8-format", "--fp8-recipe"}},
    {{PARAM_dispatcher},
     {"--moe-token-dispatcher-type", "--moe-enable-deepep", "--moe-flex-dispatcher-backend"}},
    {{PARAM_attention}, {"--attention-backend", "--use-flash-attn"}},
    {{PARAM_loss_fusion, PARAM_loss_te},
     {"--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl"}},
    {{PARAM_recompute, PARAM_recompute_method, PARAM_recompute_layers, PARAM_recompute_modules},
     {"--recompute-granularity", "--recompute-method", "--recompute-num-layers",
      "--recompute-modules", "--recompute-activations", "--moe-layer-recompute"}},
    {{PARAM_fsdp, PARAM_dist_opt},
     {"--use-distributed-optimizer", "--use-megatron-fsdp", "--data-parallel-sharding-strategy",
      "--use-torch-fsdp2", "--torch-fsdp2-no-reshard-after-forward", "--ckpt-format",
      "--init-model-with-meta-device"}},
    {{PARAM_grad_bf16}, {"--grad-reduce-in-bf16", "--accumulate-allreduce-grads-in-fp32"}},
    {{PARAM_moments_bytes}, {"--exp-avg-dtype", "--exp-avg-sq-dtype"}},
    {{PARAM_optimizer_offload}, {"--optimizer-cpu-offload", "--optimizer-offload-fraction"}},
};

enum { TOPIC_COUNT = sizeof TOPICS / sizeof *TOPICS };

/* What the user's flags and the new plan are compared by. */
struct flag_change {
    const struct query *query;
    const struct strategy *before, *after;
    bool refused; /* the flags contradict each other: none of them is sure to stay right */
    const char *const *now;
    size_t nows; /* flags of the plan */
    const char *const *user;
    size_t users;
    struct arena *mem;
    size_t edits;
    struct flag_edit *edit; /* room for one of each flag */
};

static bool param_changes(const struct flag_change *c, enum param p)
{
    return strategy_get(c->before, p) != strategy_get(c->after, p);
}

/* Not in the flags: Megatron takes micro-batch x dp. */
static bool batch_changes(const struct flag_change *c)
{
    const struct strategy *a = c->before, *b = c->after;
    return !words_there(c->query->flags->words, "--global-batch-size") &&
           (c->query->terms.global_batch ||
            (int64_t)a->dp * a->micro_batch != (int64_t)b->dp * b->micro_batch);
}

/* What no parameter shows: a layout, the FSDP of PyTorch, and what only an option says. */
static bool changes_besides(const struct flag_change *c, enum param p)
{
    const struct query *q = c->query;
    if (p == PARAM_split)
        return layout_is_string(c->before->split);
    if (p == PARAM_fsdp)
        return words_there(q->flags->words, "--use-torch-fsdp2");
    if (p == PARAM_seq_len)
        return !words_there(q->flags->words, "--seq-length") &&
               !words_there(q->flags->words, "--encoder-seq-length");
    return false;
}

static bool topic_changes(const struct flag_change *c, const struct topic *t)
{
    for (int i = 0; i < TOPIC_PARAMS && t->param[i] != PARAM_global_batch; i++)
        if (param_changes(c, t->param[i]) || changes_besides(c, t->param[i]))
            return true;
    return c->refused && t->param[0] != PARAM_precision;
}

static const struct topic *topic_of(const char *flag)
{
    for (int i = 0; i < TOPIC_COUNT; i++)
        for (int k = 0; k < TOPIC_FLAGS && TOPICS[i].flag[k]; k++)
            if (strcmp(TOPICS[i].flag[k], flag) == 0)
                return &TOPICS[i];
    return NULL;
}

/* Whether the flag says something that the plan has otherwise. */
static bool flag_changes(const struct flag_change *c, const char *flag)
{
    const struct topic *t = topic_of(flag);
    if (t)
        return topic_changes(c, t);
    for (int i = 0; i < PARAMS; i++) { /* a parameter with one flag is its own topic */
        enum param param = PARAM_FLAGS[i].param;
        if (strcmp(PARAM_FLAGS[i].flag, flag) == 0)
            return param == PARAM_global_batch ? batch_changes(c)
                                               : c->refused || param_changes(c, param);
    }
    return false;
}

/* The name as the user wrote it, without "=value". */
static const char *name_at(const struct flag_change *c, size_t i)
{
    return arena_copy(c->mem, c->user[i], strcspn(c->user[i], "="));
}

/* The flag of today that it is. */
static const char *today_at(const struct flag_change *c, size_t i)
{
    return words_today(name_at(c, i));
}

static bool plan_names(const struct flag_change *c, const char *flag)
{
    for (size_t i = 0; i < c->nows; i += flag_words(c->now, c->nows, i))
        if (strcmp(c->now[i], flag) == 0)
            return true;
    return false;
}

/* A format of checkpoints goes only with the FSDP that demands it. */
static bool may_stay(const struct flag_change *c, const char *flag)
{
    const char *value = words_value(c->query->flags->words, flag);
    return strcmp(flag, "--ckpt-format") == 0 && value && strncmp(value, "torch", 5) == 0 &&
           strcmp(value, "torch_dcp") != 0;
}

static bool is_removed(const struct flag_change *c, size_t i)
{
    const char *flag = today_at(c, i);
    return words_there(c->query->flags->words, flag) && flag_changes(c, flag) &&
           (!plan_names(c, flag) || strcmp(flag, name_at(c, i)) != 0) && !may_stay(c, flag);
}

/* The last mention in the user's words has just these values. */
static bool user_says(const struct flag_change *c, const char *const *words, size_t n)
{
    const struct words *w = c->query->flags->words;
    if (!words_there(w, words[0]) || words_count(w, words[0]) != (int)n - 1)
        return false;
    for (size_t k = 1; k < n; k++)
        if (strcmp(words_at(w, words[0], (int)k - 1), words[k]) != 0)
            return false;
    return true;
}

/* Under its name of today: one of an earlier release is removed. */
static bool is_removed_name(const struct flag_change *c, const char *flag)
{
    for (size_t i = 0; i < c->users; i += flag_words(c->user, c->users, i))
        if (strcmp(today_at(c, i), flag) == 0 && is_removed(c, i))
            return true;
    return false;
}

/* No earlier flag is written like this one. */
static bool is_first(const struct flag_change *c, size_t i)
{
    for (size_t k = 0; k < i; k += flag_words(c->user, c->users, k))
        if (strcmp(name_at(c, k), name_at(c, i)) == 0)
            return false;
    return true;
}

static void add_edit(struct flag_change *c, enum flag_edit_kind kind, const char *name,
                     const char *const *value, size_t values)
{
    const struct words *w = c->query->flags->words;
    const char *today = words_today(name);
    size_t olds = kind == EDIT_ADD ? 0 : (size_t)words_count(w, today);
    const char **old = arena_array(c->mem, olds + 1, sizeof *old);
    for (size_t i = 0; i < olds; i++)
        old[i] = words_at(w, today, (int)i);
    c->edit[c->edits++] = (struct flag_edit){kind, name, olds, values, old, value};
}

/* The user's words that stay, and their number; names of the others to `removed`. */
static size_t keep_words(struct flag_change *c, const char **result, struct str *removed)
{
    size_t count = 0;
    for (size_t i = 0, n; i < c->users; i += n) {
        n = flag_words(c->user, c->users, i);
        bool gone = strncmp(c->user[i], "--", 2) == 0 && is_removed(c, i);
        if (gone && is_first(c, i)) {
            add_flag_word(removed, name_at(c, i));
            add_edit(c, EDIT_REMOVE, name_at(c, i), NULL, 0);
        }
        for (size_t k = 0; k < n && !gone; k++)
            result[count++] = c->user[i + k];
    }
    return count;
}

static size_t add_words(struct flag_change *c, const char **result, struct str *added)
{
    size_t count = 0;
    for (size_t i = 0, n; i < c->nows; i += n) {
        n = flag_words(c->now, c->nows, i);
        if (!flag_changes(c, c->now[i]) ||
            (user_says(c, c->now + i, n) && !is_removed_name(c, c->now[i])))
            continue;
        bool there =
            words_there(c->query->flags->words, c->now[i]) && !is_removed_name(c, c->now[i]);
        add_edit(c, there ? EDIT_SET : EDIT_ADD, c->now[i], c->now + i + 1, n - 1);
        for (size_t k = 0; k < n; k++) {
            add_flag_word(added, c->now[i + k]);
            result[count++] = c->now[i + k];
        }
    }
    return count;
}

/* Read again, the words are the plan and nothing in them is refused. */
static bool words_say(const struct flag_change *c, const char *const *words, size_t count,
                      int64_t world)
{
    struct flags_result r;
    struct model model = c->query->model;
    bool (*read)(int, const char *const *, struct flags_result *, struct arena *, struct error *) =
        c->query->flags && c->query->flags->of_file ? flags_import_file : flags_import;
    if (!read((int)count, words, &r, c->mem, NULL) || !flags_model(&r, &model, NULL) ||
        !flags_finish(&r, world, NULL) || r.reasons.count > 0)
        return false;
    for (int p = 0; p < PARAMS; p++) {
        int here = strategy_get(&r.strategy, (enum param)p);
        int there = strategy_get(c->after, (enum param)p);
        bool layout = p == PARAM_split && here == SPLIT_LAYOUT;
        if (here != there && !layout)
            return false;
    }
    return true;
}

bool better_flags(const struct query *q, const struct estimate_query *e, const struct plan *asked,
                  struct better_plan *out, struct arena *mem)
{
    struct change *c = &out->change;
    struct flag_change x = {.query = q,
                            .before = &asked->strategy,
                            .after = &c->plan->strategy,
                            .refused = e->reasons.count > 0,
                            .now = (const char *const *)c->flag,
                            .nows = c->flags,
                            .user = q->flags->word,
                            .users = (size_t)q->flags->word_count,
                            .mem = mem};
    const char **result = arena_array(mem, x.users + x.nows + 1, sizeof *result);
    struct str added = {0}, removed = {0};
    x.edit = arena_array(mem, x.users + x.nows + 1, sizeof *x.edit);
    size_t count = keep_words(&x, result, &removed);
    count += add_words(&x, result + count, &added);
    c->add = arena_string(mem, str_text(&added));
    c->remove = arena_string(mem, str_text(&removed));
    out->edit = x.edit;
    out->edits = x.edits;
    str_release(&added);
    str_release(&removed);
    return c->flags > 0 && words_say(&x, (const char *const *)result, count, e->gpus);
}

/* The value that the plan needs, NULL where any will do. */
static const char *connections(const struct plan *p, struct arena *mem)
{
    static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS=";
    const char **env;
    size_t count;
    plan_environment(p, mem, &env, &count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(env[i], name, sizeof name - 1) == 0)
            return env[i];
    return NULL;
}

void better_environment(const struct plan *asked, struct better_plan *out, struct arena *mem)
{
    const struct plan *then = out->change.plan;
    const char *now = connections(then, mem), *before = connections(asked, mem);
    bool sharded = then->strategy.fsdp != FSDP_NONE;
    bool same_set = now && before && strcmp(now, before) == 0;
    bool same_free = asked->strategy.fsdp != FSDP_NONE && !before;
    out->env = now && !(asked->feasible && same_set) ? now : "";
    out->unset =
        !now && sharded && !(asked->feasible && same_free) ? "CUDA_DEVICE_MAX_CONNECTIONS" : "";
}
