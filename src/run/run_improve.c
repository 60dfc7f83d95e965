/* The user's own script with the better plan put in: what `estimate` would run instead, as edits of
 * the text. The new text counts only if it is read back as the old launch with just these flags
 * changed, and as the plan that was found; otherwise nothing is written and the flags are said. */
#include "run/commands.h"

#include "base/file.h"
#include "export/export.h"
#include "export/rewrite.h"
#include "import/shell/launch.h"
#include "probe/probe.h"
#include "query/query_file.h"

#include <stdlib.h>
#include <string.h>

/* The old options with another text of the script. */
static bool options_again(const struct astra *a, const struct str *text, struct options *to,
                          struct error *err)
{
    const struct options *from = &a->options;
    for (const struct given *g = from->first; g; g = g->next) {
        bool derived = from->gpu && strcmp(g->option->name, "cluster") == 0; /* of --gpu */
        if (!derived && !options_set(to, g->option->name, g->value, err))
            return false;
    }
    to->at_hand = from->at_hand;
    return import_text(to, str_text(text), text->length, imported_launch(from)->path, err) &&
           options_flags(to, a->flags, a->flag, err);
}

/* A flag of the launch with its values as one text, "--a=b" as "--a b". */
static const char *group_text(const struct launch *l, int i, int end, struct arena *mem)
{
    struct str out = {0};
    for (int k = i; k < end; k++) {
        const char *word = launch_text(l, l->word[k].text, mem);
        size_t n = k == i && strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
        str_addf(&out, "%s%.*s", k > i ? "\n" : "", (int)n, word);
        if (word[n])
            str_addf(&out, "\n%s", word + n + 1);
    }
    return str_keep(&out, mem);
}

struct groups {
    size_t count;
    const char **text;
};

static struct groups groups_of(const struct launch *l, size_t more, struct arena *mem)
{
    struct groups g = {0, arena_array(mem, (size_t)l->count + more + 1, sizeof *g.text)};
    for (int i = 0, end; i < l->count; i = end) {
        end = i + 1; /* what is not known may be no value of the flag before it */
        while (end < l->count && strncmp(l->word[end].text, "--", 2) != 0 &&
               launch_is_known(l->word[end].text))
            end++;
        g.text[g.count++] = group_text(l, i, end, mem);
    }
    return g;
}

static bool is_named(const char *group, const char *name)
{
    size_t n = strlen(name);
    return strncmp(group, name, n) == 0 && (!group[n] || group[n] == '\n');
}

/* What the edits make of the launch. */
static void groups_edit(struct groups *g, const struct flag_edit *e, struct arena *mem)
{
    struct str text = {0};
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++)
        if (!is_named(g->text[i], e->name))
            g->text[kept++] = g->text[i];
    g->count = kept;
    str_add(&text, e->name);
    for (size_t i = 0; i < e->values; i++)
        str_addf(&text, "\n%s", e->value[i]);
    const char *group = str_keep(&text, mem);
    if (e->kind != EDIT_REMOVE)
        g->text[g->count++] = group;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names and folders may follow the variables that change: they are said, and no fault. */
static bool only_named(const char *want, const char *got, struct improvement *i, struct arena *mem)
{
    static const char *const flags[] = {"--save",           "--load",        "--tensorboard-dir",
                                        "--wandb-exp-name", "--wandb-group", "--wandb-save-dir"};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
        if (is_named(want, flags[k]) && is_named(got, flags[k])) {
            const char *value = strchr(got, '\n');
            i->also = arena_format(mem, "%s%s%s %s", i->also ? i->also : "", i->also ? ", " : "",
                                   flags[k], value ? value + 1 : "");
            return true;
        }
    return false;
}

/* Both sorted: the first flag of one that the other does not have so; NULL = none. */
static const char *first_difference(const struct groups *want, const struct groups *got,
                                    struct improvement *x, struct arena *mem)
{
    for (size_t i = 0; i < want->count || i < got->count; i++) {
        const char *a = i < want->count ? want->text[i] : NULL;
        const char *b = i < got->count ? got->text[i] : NULL;
        if (!a || !b || (strcmp(a, b) != 0 && !only_named(a, b, x, mem)))
            return !b || (a && strcmp(a, b) < 0) ? a : b;
    }
    return NULL;
}

/* The new launch is the old one with the edits, and no other thing of it has changed. */
static bool launch_holds(const struct launch *old, const struct launch *new, struct improvement *x,
                         struct arena *mem, struct error *err)
{
    const struct better_plan *b = x->answer->better;
    struct groups want = groups_of(old, b->edits, mem), got = groups_of(new, 0, mem);
    x->also = NULL;
    for (size_t i = 0; i < b->edits; i++)
        groups_edit(&want, &b->edit[i], mem);
    qsort(want.text, want.count, sizeof *want.text, compare_texts);
    qsort(got.text, got.count, sizeof *got.text, compare_texts);
    const char *flag = first_difference(&want, &got, x, mem);
    if (flag)
        return fail(err, ERROR_INPUT, "with the new values %.*s would come out wrong",
                    (int)strcspn(flag, "\n"), flag);
    return (old->nodes == new->nodes && old->per_node == new->per_node && old->gpus == new->gpus &&
            old->notes.count ==
                new->notes.count &&strcmp(old->program ? old->program : "",
                                          new->program ? new->program : "") == 0) ||
           fail(err, ERROR_INPUT, "with the new values it would start something else");
}

/* Reads the new text as the old one was read, and predicts it. */
static bool read_back(struct astra *a, const struct str *text, struct improvement *i,
                      struct error *err)
{
    struct astra *again = arena_alloc(&a->mem, sizeof *again);
    const struct better_plan *b = i->answer->better;
    struct estimate_query e;
    arena_init(&again->mem);
    options_init(&again->options, &a->mem);
    bool ok = options_again(a, text, &again->options, err) &&
              launch_holds(imported_launch(&a->options), imported_launch(&again->options), i,
                           &a->mem, err) &&
              query_resolve(&again->options, QUERY_ESTIMATE, &a->resources, &again->mem,
                            &again->query, err) &&
              query_estimate(&again->query, &again->mem, &e, err);
    if (ok) {
        run_evaluate(&again->query, &e, &again->mem, &again->plan);
        i->step_s = again->plan.step_s;
        i->device_bytes = again->plan.feasible ? plan_fullest(&again->plan)->device_bytes : 0;
        i->limit_bytes = again->plan.limit_bytes;
        ok = (again->plan.feasible && i->step_s <= b->change.plan->step_s * (1 + LEAST_SPEEDUP)) ||
             fail(err, ERROR_INPUT, "the new text would not be the plan that was found");
    }
    arena_release(&again->mem);
    return ok;
}

/* The edits, once with lines of their own for new flags and once without. */
static bool put_in(struct astra *a, const struct text *old, bool inline_added,
                   struct improvement *i, struct error *err)
{
    const struct better_plan *b = i->answer->better;
    struct rewrite *r = arena_alloc(&a->mem, sizeof *r);
    const char *path = imported_launch(&a->options)->path;
    struct str diff = {0};
    rewrite_init(r, old->data, old->length, &a->mem);
    str_clear(&a->script);
    if (!rewrite_flags(r, b->edit, b->edits, inline_added, err) ||
        (*b->env && !rewrite_environment(r, b->env, err)) ||
        (*b->unset && !rewrite_environment(r, b->unset, err)) || !rewrite_sort(r, err))
        return false;
    rewrite_apply(r, &a->script);
    rewrite_diff(r, path, a->options.output.answer ? a->options.output.answer : path, &diff);
    i->diff = str_keep(&diff, &a->mem);
    return read_back(a, &a->script, i, err);
}

static bool has_flag(const struct launch *l, const char *flag)
{
    for (int i = 0; i < l->count; i++)
        if (strncmp(l->word[i].text, flag, strlen(flag)) == 0)
            return true;
    return false;
}

/* What no edit of this text can be sure of. */
static bool is_plain_script(const struct launch *l, struct error *err)
{
    if (!l->is_script)
        return fail(err, ERROR_INPUT, "it is not a shell script");
    if (strcmp(l->path, "-") == 0)
        return fail(err, ERROR_INPUT, "standard input is read once: give the file's name");
    if (!has_flag(l, "--seq-length") ||
        (!has_flag(l, "--micro-batch-size") && !has_flag(l, "--tensor-model-parallel-size")))
        return fail(err, ERROR_INPUT, "its flags do not describe the model and the batch");
    if (l->listed)
        return fail(err, ERROR_INPUT, "it starts nothing: its flags are put together elsewhere");
    if (l->others > 0)
        return fail(err, ERROR_INPUT, "it starts several trainings");
    return true;
}

/* A flag that nobody here knows may say again, or forbid, what an edit changes. */
static bool knows_flags(struct astra *a, struct error *err)
{
    const struct plan_source *s = imported_source(&a->query, &a->mem);
    for (int i = 0; i < s->strangers; i++) {
        const struct launch_strange *f = &s->stranger[i];
        if (f->changes && strcmp(f->changes, "the time") != 0 &&
            strcmp(f->changes, "anything") != 0)
            return fail(err, ERROR_INPUT, "%s is not known, and may change %s", f->flag,
                        f->changes);
    }
    return true;
}

/* Releases that build their own layers have few of the flags of today: only values change there. */
static bool old_release_has(const struct launch *l, const struct better_plan *b, struct error *err)
{
    for (size_t i = 0; l->old_release && i < b->edits; i++)
        if (b->edit[i].kind == EDIT_ADD)
            return fail(err, ERROR_INPUT,
                        "%s tells an earlier release, which may not have the %s that the plan adds",
                        l->old_release, b->edit[i].name);
    return true;
}

/* A checkpoint of one file a rank is loaded by the split that wrote it. */
static bool can_load(const struct launch *l, const struct better_plan *b, struct error *err)
{
    static const char *const LOADS[] = {"--load", "--pretrained-checkpoint"};
    static const char *const SPLITS[] = {"--tensor-model-parallel-size",
                                         "--pipeline-model-parallel-size",
                                         "--num-layers-per-virtual-pipeline-stage",
                                         "--num-virtual-stages-per-pipeline-rank",
                                         "--pipeline-model-parallel-layout",
                                         "--expert-model-parallel-size",
                                         "--expert-tensor-parallel-size"};
    const char *format = launch_value(l, "--ckpt-format"), *load = NULL;
    bool whole = format ? strcmp(format, "torch") != 0 : !l->old_release;
    for (size_t i = 0; i < sizeof LOADS / sizeof *LOADS; i++)
        load = load ? load : launch_written(l, LOADS[i]) ? LOADS[i] : NULL;
    for (size_t i = 0; load && !whole && i < b->edits; i++)
        for (size_t k = 0; k < sizeof SPLITS / sizeof *SPLITS; k++)
            if (strcmp(b->edit[i].name, SPLITS[k]) == 0)
                return fail(err, ERROR_INPUT,
                            "%s reads a checkpoint of one file a rank, which another %s cannot "
                            "load without conversion",
                            load, SPLITS[k]);
    return true;
}

/* The release that was named has all flags of the plan. Of MindSpeed it is known that it keeps those of its release. */
static bool release_has(struct astra *a, const struct plan *p, struct error *err)
{
    const char **words, *fork = imported_launch(&a->options)->fork;
    bool release_counts = fork && strcmp(fork, "MindSpeed") == 0;
    size_t count;
    if (fork && !(release_counts && a->options.export.version))
        return fail(err, ERROR_INPUT, "it runs with %s, which has other flags than Megatron%s",
                    fork, release_counts ? ": --megatron-version says whose it has" : "");
    return plan_flags_for(p, a->options.export.version, &a->mem, &words, &count, err);
}

static bool read_script(struct astra *a, struct text *out, struct error *err)
{
    const char *text = a->options.at_hand;
    if (!text)
        return file_read(imported_launch(&a->options)->path, &a->mem, out, err);
    *out = (struct text){text, strlen(text)};
    return true;
}

static bool try_both(struct astra *a, struct improvement *i)
{
    const struct launch *l = imported_launch(&a->options);
    struct text old;
    struct error first = {0}, second = {0};
    if (!is_plain_script(l, &first) || !knows_flags(a, &first) ||
        !release_has(a, i->answer->better->change.plan, &first) ||
        !old_release_has(l, i->answer->better, &first) || !can_load(l, i->answer->better, &first) ||
        !read_script(a, &old, &first)) {
        i->why_not = arena_string(&a->mem, first.text);
        return false;
    }
    if (memchr(old.data, '\r', old.length)) {
        i->why_not = "its lines end in a carriage return";
        return false;
    }
    for (size_t k = 0; k < i->answer->better->edits; k++)
        i->newest |= i->answer->better->edit[k].kind == EDIT_ADD && !a->options.export.version;
    if (put_in(a, &old, false, i, &first) || put_in(a, &old, true, i, &second))
        return true;
    str_clear(&a->script);
    i->diff = NULL;
    i->why_not = arena_string(&a->mem, first.text);
    return false;
}

/* Once more with a plan that keeps what this script cannot be told. The first answer stays where that is no better. */
static bool try_held(struct astra *a, struct improvement *i)
{
    const struct better_plan *first = a->answer.better;
    const struct better_plan *held = better_held(&a->query, &a->asked, &a->plan, &a->mem);
    const char *why_not = i->why_not;
    a->answer.better = held;
    if (!held->why_not && held->better && try_both(a, i)) {
        i->best_step_s = first->change.plan->step_s;
        return true;
    }
    a->answer.better = first;
    i->why_not = why_not;
    return false;
}

bool run_improve(struct astra *a)
{
    struct improvement *i = &a->improvement;
    *i = (struct improvement){.answer = &a->answer};
    if (!a->options.imported)
        return fail(&a->error, ERROR_INPUT,
                    "a launch script is missing, as in astra improve train.sh --cluster 8x8:H100");
    if (!run_estimate(a, false) && a->kind != ANSWER_PLAN)
        return false;
    const struct better_plan *b = a->answer.better;
    const char *path = imported_launch(&a->options)->path;
    a->error = (struct error){0};
    a->kind = ANSWER_IMPROVE;
    if (!b || b->why_not)
        return fail(&a->error, ERROR_INFEASIBLE, "%s: no better plan can be looked for: %s", path,
                    b ? b->why_not : "it has no flags");
    if (!b->better)
        return fail(&a->error, ERROR_INFEASIBLE, "%s: no plan is better by %.0f %% or more", path,
                    100 * LEAST_SPEEDUP);
    return try_both(a, i) || try_held(a, i) ||
           fail(&a->error, ERROR_INFEASIBLE, "%s: left as it is, change the flags yourself: %s",
                path, i->why_not);
}
