/* Any bytes as a rule file: either one message that names a place, or rules that can be judged. */
#include "base/arena.h"
#include "rules/rules.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_true(bool claim)
{
    if (!claim)
        abort();
}

static void check_rule(const struct rule *r, const double values[SLOTS])
{
    double value = rule_value(r, values);
    int constant = rule_constant(r);
    bool holds = !isnan(value) && value != 0;
    require_true(rule_holds(r, values) == holds);
    if (r->kind == RULE_AVOID)
        require_true(rule_allows(r, values) && r->source && r->source[0] != 0);
    else
        require_true(rule_allows(r, values) ==
                     (r->kind == RULE_REQUIRE ? holds : !isnan(value) && !holds));
    require_true(constant == 0 || rule_allows(r, values) == (constant == 1));
    require_true(r->text[0] != 0 && r->reason[0] != 0 && r->line >= 1);
    require_true(r->depends >> PARAMS == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct rules rules;
    struct error err = {0};
    double first[SLOTS], odd[SLOTS];
    arena_init(&mem);
    rules_init(&rules);
    for (int i = 0; i < SLOTS; i++) {
        first[i] = 1;
        odd[i] = i % 3 ? i - 20.5 : 0;
    }
    if (rules_add(&rules, (const char *)data, size, "fuzz", &mem, &err))
        for (int i = 0; i < rules.count; i++) {
            check_rule(&rules.rule[i], first);
            check_rule(&rules.rule[i], odd);
        }
    else
        require_true(rules.count == 0 && err.kind == ERROR_INPUT &&
                     strncmp(err.text, "fuzz:", 5) == 0);
    arena_release(&mem);
    return 0;
}
