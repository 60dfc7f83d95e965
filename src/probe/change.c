/* Both as Astra's parameters and as Megatron's flags: a flag that is only in one of two lists of
 * words, or has other values there. */
#include "probe/answer.h"

#include "base/str.h"
#include "export/export.h"
#include "export/shell.h"
#include "query/query.h"
#include "rules/rules.h"

#include <string.h>

static void add_set(struct change *c, enum param p, int value, struct arena *mem)
{
    struct str word = {0};
    str_addf(&word, "%s=", param_info(p)->name);
    param_print(p, value, &word);
    c->set[c->sets++] = arena_string(mem, str_text(&word));
    str_release(&word);
}

/* Parameters in which the two differ. A batch that followed from dp and micro-batch must be said
 * when one of these changes. */
static void fill_sets(struct change *c, const struct strategy *before, bool batch_said,
                      struct arena *mem)
{
    const struct strategy *s = &c->plan->strategy;
    c->set = arena_array(mem, PARAMS + 1, sizeof *c->set);
    for (int p = 0; p < PARAMS; p++)
        if (strategy_get(s, (enum param)p) != strategy_get(before, (enum param)p))
            add_set(c, (enum param)p, strategy_get(s, (enum param)p), mem);
    if (!batch_said && (int64_t)s->dp * s->micro_batch != (int64_t)before->dp * before->micro_batch)
        add_set(c, PARAM_global_batch, s->global_batch, mem);
}

/* Words of the flag at `i`: its name and what belongs to it. */
size_t flag_words(const char *const *words, size_t count, size_t i)
{
    size_t n = 1;
    while (i + n < count && strncmp(words[i + n], "--", 2) != 0)
        n++;
    return n;
}

/* Whether the list has the flag of `words`, with the same values unless only the name counts. */
static bool has_flag(const char *const *list, size_t count, const char *const *words, size_t n,
                     bool name_only)
{
    for (size_t i = 0, m; i < count; i += m) {
        m = flag_words(list, count, i);
        bool same = strcmp(list[i], words[0]) == 0 && (name_only || m == n);
        for (size_t k = 1; k < n && same && !name_only; k++)
            same = strcmp(list[i + k], words[k]) == 0;
        if (same)
            return true;
    }
    return false;
}

void add_flag_word(struct str *out, const char *word)
{
    if (out->length)
        str_add(out, " ");
    add_shell_word(out, word);
}

/* Flags of one list that the other lacks, for a shell. */
static const char *differing(const char *const *list, size_t count, const char *const *other,
                             size_t others, bool name_only, struct arena *mem)
{
    struct str text = {0};
    for (size_t i = 0, n; i < count; i += n) {
        n = flag_words(list, count, i);
        if (has_flag(other, others, list + i, n, name_only))
            continue;
        for (size_t k = 0; k < (name_only ? 1 : n); k++)
            add_flag_word(&text, list[i + k]);
    }
    return str_keep(&text, mem);
}

static void fill_flags(struct change *c, const struct plan *before, struct arena *mem)
{
    const char **old;
    size_t olds;
    c->add = c->remove = "";
    if (!plan_flags(c->plan, mem, &c->flag, &c->flags) || !plan_flags(before, mem, &old, &olds)) {
        c->flags = 0;
        return;
    }
    const char *const *now = (const char *const *)c->flag, *const *then = (const char *const *)old;
    c->add = differing(now, c->flags, then, olds, false, mem);
    c->remove = differing(then, olds, now, c->flags, true, mem);
}

static bool batch_given(const struct query *q)
{
    return q->terms.global_batch || (q->flags && q->flags->given[PARAM_global_batch]);
}

static bool minds(const struct plan *p, const struct rule *r)
{
    for (int i = 0; i < p->cautions; i++)
        if (p->caution[i]->line == r->line && strcmp(p->caution[i]->file, r->file) == 0)
            return true;
    return false;
}

static void fill_cautions(struct change *c, const struct query *q, const struct plan *asked,
                          struct arena *mem)
{
    struct rules *cautions = arena_alloc(mem, sizeof *cautions);
    struct plan then = *c->plan;
    if (!query_cautions(q, mem, cautions, NULL))
        return; /* cannot be: they were read before */
    plan_mind(&then, cautions, mem);
    c->caution = then.caution;
    for (int i = 0; i < then.cautions; i++)
        if (!minds(asked, then.caution[i]))
            c->caution[c->cautions++] = then.caution[i];
}

void change_fill(struct change *c, const struct query *q, const struct plan *asked,
                 const struct plan *then, struct arena *mem)
{
    *c = (struct change){.plan = then};
    fill_sets(c, &asked->strategy, batch_given(q), mem);
    fill_flags(c, asked, mem);
    fill_cautions(c, q, asked, mem);
}
