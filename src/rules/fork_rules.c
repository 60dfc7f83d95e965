/* The table of lifted rules, by their reasons: each is one line, whoever it is lifted for. */
#include "rules/fork_rules.h"

#include "base/arena.h"
#include "rules/rules.h"

#include <string.h>

static const struct lift {
    const char *fork, *reason, *instead, *source;
} LIFTS[] = {
#define LIFT(fork, reason, instead, source) {fork, reason, instead, source},
#include "rules/fork_rules.def"
#undef LIFT
};

enum { LIFT_COUNT = sizeof LIFTS / sizeof *LIFTS };

bool fork_rule_at(size_t i, const char **fork, const char **reason)
{
    if (i >= LIFT_COUNT)
        return false;
    *fork = LIFTS[i].fork;
    *reason = LIFTS[i].reason;
    return true;
}

/* A fork's own line before that of any file. */
static const struct lift *lift_of(const char *reason, const char *fork)
{
    for (size_t i = LIFT_COUNT; i-- > 0;)
        if (strcmp(LIFTS[i].reason, reason) == 0 &&
            (!*LIFTS[i].fork || (fork && strcmp(LIFTS[i].fork, fork) == 0)))
            return &LIFTS[i];
    return NULL;
}

const char *fork_runs(const char *reason, const char *fork, struct arena *mem)
{
    const struct lift *l = lift_of(reason, fork);
    if (!l)
        return NULL;
    return *l->fork ? arena_format(mem, "%s: %s", l->fork, l->source) : l->source;
}

/* The rule as a caution, and what is left of it in its place. */
static bool replace(struct rules *rules, struct rules *cautions, const struct rule *rule,
                    const struct lift *l, struct arena *mem, struct error *err)
{
    struct rules left;
    const char *text =
        arena_format(mem, "avoid !(%s) && (%s) \"refused by Megatron-LM%s%s: %s, %s\"\n",
                     rule->text, *l->instead ? l->instead : "on",
                     *l->fork ? ", not by " : " as it is today", l->fork, rule->reason, l->source);
    if (!rules_add(cautions, text, strlen(text), "fork_rules.def", mem, err))
        return false;
    if (!*l->instead)
        return true;
    rules_init(&left);
    text = arena_format(mem, "require %s \"%s\"\n", l->instead, rule->reason);
    if (!rules_add(&left, text, strlen(text), rule->file, mem, err))
        return false;
    left.rule[0].line = rule->line;
    rules_append(rules, &left, mem);
    return true;
}

static void drop_cautions(struct rules *cautions, const char *fork)
{
    int kept = 0;
    for (int i = 0; i < cautions->count; i++)
        if (!lift_of(cautions->rule[i].reason, fork))
            cautions->rule[kept++] = cautions->rule[i];
    cautions->count = kept;
}

bool rules_lift(struct rules *rules, struct rules *cautions, const char *fork, struct arena *mem,
                struct error *err)
{
    const struct rules all = *rules;
    rules_init(rules);
    drop_cautions(cautions, fork);
    for (int i = 0; i < all.count; i++) {
        const struct lift *l = lift_of(all.rule[i].reason, fork);
        const struct rules one = {.count = 1, .capacity = 1, .rule = &all.rule[i]};
        if (!l)
            rules_append(rules, &one, mem);
        else if (!replace(rules, cautions, &all.rule[i], l, mem, err))
            return false;
    }
    return true;
}
