/* Rules drop strategies that make no sense. A rule file has lines
 *     require EXPR "reason"      drop what does not satisfy EXPR
 *     reject  EXPR "reason"      drop what satisfies EXPR
 *     avoid   EXPR "reason, source"   a caution: keep what satisfies EXPR, and say so
 * and comments (#). The expression language is in doc/rules.md. Rules are parsed once, folded,
 * compiled to a compact form, and tell which slots they need so that the search can apply them
 * early. */
#pragma once

#include "base/error.h"
#include "strategy/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct rule_code;

enum rule_kind { RULE_REQUIRE, RULE_REJECT, RULE_AVOID };

struct rule {
    enum rule_kind kind;
    const char *reason; /* as written, or the expression's text when none was given */
    const char *source; /* of a caution: who says so, written behind the reason; else NULL */
    const char *text;   /* the expression as written */
    const char *file;   /* where it stands */
    int line;
    uint64_t depends; /* bits of enum param that must be bound before it can be judged */
    const struct rule_code *code;
};

struct rules {
    int count, capacity;
    struct rule *rule; /* in the arena, in file order */
};

void rules_init(struct rules *);

/* Adds the rules of a text. Errors are FILE:LINE:COL: message, the line, and a caret under the
 * place; unknown names come with the nearest known one. */
bool rules_add(struct rules *, const char *text, size_t length, const char *file, struct arena *,
               struct error *);
bool rules_add_file(struct rules *, const char *path, struct arena *, struct error *);
/* The rules Megatron enforces, compiled in from data/rules/megatron.rules. */
bool rules_add_megatron(struct rules *, struct arena *, struct error *);
/* What Megatron runs but a search need not look at: the same as another strategy, or of no use.
 * From data/rules/sense.rules. */
bool rules_add_sense(struct rules *, struct arena *, struct error *);
/* What Megatron accepts and then cannot run. From data/rules/engine.rules. */
bool rules_add_engine(struct rules *, struct arena *, struct error *);
/* What engines of transformers' layers run, in place of both. From data/rules/hf.rules. */
bool rules_add_hf(struct rules *, struct arena *, struct error *);
/* What runs, but is known to go wrong or is bad practice. From data/rules/cautions.rules. */
bool rules_add_cautions(struct rules *, struct arena *, struct error *);

/* Adds rules that were parsed before; they share their code and texts. */
void rules_append(struct rules *, const struct rules *more, struct arena *);
/* The same of a file that may have both: rules that drop, and cautions. */
void rules_deal(const struct rules *read, struct rules *drop, struct rules *cautions,
                struct arena *);

/* The same rules where some values are known: shorter, and to be judged earlier. */
void rules_known(const struct rules *, const bool known[SLOTS], const double values[SLOTS],
                 struct arena *, struct rules *out);

/* What known values leave of one rule, as bytes: rules with the same residue judge alike whatever the
 * other values are. Returns how many bytes of `out` [RULE_RESIDUE_MAX] it takes. */
enum { RULE_RESIDUE_MAX = 8192 };
size_t rule_residue(const struct rule *, const bool known[SLOTS], const double values[SLOTS],
                    void *out);

/* Leaves out what drops nothing and cautions that never hold, whatever is bound. */
void rules_drop_idle(struct rules *);

/* The value of the expression: an undefined result (division by zero) is NaN. */
double rule_value(const struct rule *, const double values[SLOTS]);
/* Whether the strategy in `values` passes this rule. An undefined value drops, but for a caution,
 * which drops nothing. */
bool rule_allows(const struct rule *, const double values[SLOTS]);
/* Whether the expression is true: that is what a caution warns of. An undefined one is not. */
bool rule_holds(const struct rule *, const double values[SLOTS]);
/* Constant rules, after folding with nothing bound: 1 always allows, -1 always drops, 0 depends. */
int rule_constant(const struct rule *);
/* A rule that allows everything, a caution that never holds. */
bool rule_is_idle(const struct rule *);
