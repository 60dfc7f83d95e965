/* The table as rules and settings of the search, as users write theirs: the search needs no second
 * way to be told. A parameter with one value left is a setting, because a search does not try all
 * values of all parameters. */
#include "import/megatron/flags.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"
#include "rules/rules.h"
#include "strategy/space.h"

#include <assert.h>
#include <string.h>

static const struct limit {
    const char *flag, *harmless;
    int param; /* that has one value left; -1 = none */
    int value; /* -1 = that of the plan */
    const char *rule, *why;
} LIMITS[] = {
#define LIMIT(flag, harmless, rule) {flag, harmless, -1, -1, rule, NULL},
#define KEEP(flag, harmless, param) {flag, harmless, PARAM_##param, -1, NULL, NULL},
#define SET(flag, harmless, param, value) {flag, harmless, PARAM_##param, value, NULL, NULL},
#define OPEN(flag, harmless, why) {flag, harmless, -1, -1, NULL, why},
#include "import/megatron/flag_limits.def"
};

/* The flag is there, with a value that binds. */
static bool binds(const struct words *w, const char *flag, const char *harmless)
{
    if (!words_there(w, flag))
        return false;
    const char *value = words_value(w, flag);
    return !value || strcmp(value, harmless) != 0;
}

static void add_rule(struct rules *rules, const char *expression, struct arena *mem)
{
    const char *line = arena_format(mem, "require %s\n", expression);
    bool holds = rules_add(rules, line, strlen(line), "flags", mem, NULL);
    assert(holds); /* the expressions are ours */
    (void)holds;
}

/* Another recipe rounds differently: numerics stay, and with delayed scaling so do these. */
static void add_recipe(const struct words *w, struct rules *rules, struct arena *mem)
{
    if (words_there(w, "--fp8-format") && !binds(w, "--fp8-recipe", "delayed"))
        add_rule(rules, "!has(recompute_modules, layernorm) && !has(recompute_modules, moe_act)",
                 mem);
}

/* The number of the flag as a rule writes it, however the user did; `missing` where it is not
 * there. */
static const char *number_of(const struct words *w, const char *flag, const char *missing,
                             struct arena *mem)
{
    int64_t number;
    if (!words_there(w, flag) || !parse_int(words_value(w, flag), &number))
        return missing;
    return arena_format(mem, "%lld", (long long)number);
}

/* What is not given of an evaluation's batch is that of the training. */
static void add_evaluation(const struct words *w, struct rules *rules, struct arena *mem)
{
    static const char all[] = "--eval-global-batch-size", micro[] = "--eval-micro-batch-size";
    if (words_there(w, all) || words_there(w, micro))
        add_rule(rules,
                 arena_format(mem, "%s %% (dp * %s) == 0", number_of(w, all, "global_batch", mem),
                              number_of(w, micro, "micro_batch", mem)),
                 mem);
}

const char *flag_limits(const struct flags_result *r, const struct strategy *asked,
                        struct setting settings[PARAMS], struct rules *rules, struct arena *mem)
{
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        const struct limit *l = &LIMITS[i];
        if (!binds(r->words, l->flag, l->harmless))
            continue;
        if (l->why)
            return arena_format(mem, "%s: %s", l->flag, l->why);
        if (l->rule)
            add_rule(rules, l->rule, mem);
        else
            settings[l->param] = (struct setting){
                1, {l->value >= 0 ? l->value : strategy_get(asked, (enum param)l->param)}};
    }
    add_recipe(r->words, rules, mem);
    add_evaluation(r->words, rules, mem);
    return NULL;
}
