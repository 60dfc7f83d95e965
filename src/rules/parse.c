/* Recursive descent over a table of binary operators, one level of precedence per call, writing
 * code as it goes: operands are on the stack before their operation, and no tree is ever built.
 *
 *     ||  &&  == !=  < <= > >=  + -  * / %        loosest to tightest, all from the left
 *
 * Comparisons do not chain: 1 < tp < 4 would compare a truth value with 4. A parameter whose values
 * are words (recompute) may only stand beside == or != with one of its words, or in has(); a word
 * is known as such only once its other side is, so until then it is a constant whose number is
 * missing. */
#include "rules/code.h"

#include "base/str.h"
#include "rules/lex.h"
#include "strategy/names.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 64 /* nesting of brackets, functions and signs */ };

struct rule_parser {
    struct lexer *lex;
    struct code *code;
    int depth;
};

enum operand_kind {
    VALUE,  /* a number or truth value */
    CHOICE, /* a parameter whose values are words */
    WORD    /* a name that is no slot: a word of the other side, or a mistake */
};

struct operand {
    enum operand_kind kind;
    int start;          /* of its code */
    enum param param;   /* of a CHOICE */
    struct token token; /* its first one */
};

struct binary {
    enum token_kind token;
    int level;
    enum op op;
    bool compares;
};

enum { LEVELS = 6 };

static const struct binary BINARY[] = {
    {TOKEN_OR, 0, OP_OR, false},       {TOKEN_AND, 1, OP_AND, false},
    {TOKEN_EQ, 2, OP_EQ, true},        {TOKEN_NE, 2, OP_NE, true},
    {TOKEN_LT, 3, OP_LT, true},        {TOKEN_LE, 3, OP_LE, true},
    {TOKEN_GT, 3, OP_GT, true},        {TOKEN_GE, 3, OP_GE, true},
    {TOKEN_PLUS, 4, OP_ADD, false},    {TOKEN_MINUS, 4, OP_SUB, false},
    {TOKEN_STAR, 5, OP_MUL, false},    {TOKEN_SLASH, 5, OP_DIV, false},
    {TOKEN_PERCENT, 5, OP_MOD, false},
};

static const struct function {
    const char *name;
    enum op op;
    int least, most; /* arguments */
    const char *form;
} FUNCTIONS[] = {
    {"min", OP_MIN, 2, CODE_MAX, "min(a, b)"}, {"max", OP_MAX, 2, CODE_MAX, "max(a, b)"},
    {"ceil", OP_CEIL, 1, 1, "ceil(a)"},        {"floor", OP_FLOOR, 1, 1, "floor(a)"},
    {"abs", OP_ABS, 1, 1, "abs(a)"},           {"has", OP_HAS, 2, 2, "has(recompute_modules, moe)"},
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof *FUNCTIONS };

static const struct {
    const char *name;
    double value;
} TRUTHS[] = {{"on", 1}, {"off", 0}, {"true", 1}, {"false", 0}};
enum { TRUTH_COUNT = sizeof TRUTHS / sizeof *TRUTHS };

static bool parse_level(struct rule_parser *, int level, struct operand *out);

static bool emit(struct rule_parser *p, enum op op, int arg, double number)
{
    if (code_push(p->code, op, arg, number))
        return true;
    return lex_fail(
        p->lex, p->lex->token.begin,
        "the expression is too long (more than %d operations, or %d values kept at once)", CODE_MAX,
        CODE_STACK);
}

/* An operation on what stands in the code from `start` on. */
static bool emit_folded(struct rule_parser *p, enum op op, int arg, int start)
{
    if (!emit(p, op, arg, 0))
        return false;
    code_fold(p->code, start);
    return true;
}

static bool deeper(struct rule_parser *p)
{
    if (++p->depth <= DEEPEST)
        return true;
    return lex_fail(p->lex, p->lex->token.begin, "nested more than %d levels deep", DEEPEST);
}

static bool expect(struct rule_parser *p, enum token_kind kind, const char *what)
{
    return p->lex->token.kind == kind ? lex_next(p->lex) : lex_expected(p->lex, what);
}

/* The parameter one of whose words this is, or NULL. */
static const struct param_info *owner_of_word(const char *word)
{
    for (int i = 0; i < PARAMS; i++) {
        const struct param_info *info = param_info((enum param)i);
        int value;
        if ((info->kind == PARAM_WORD || info->kind == PARAM_SET) &&
            param_parse((enum param)i, word, &value, NULL))
            return info;
    }
    return NULL;
}

static bool unknown_name(const struct rule_parser *p, const struct token *t)
{
    const char *known[SLOT_NAMES_MAX + FUNCTION_COUNT + TRUTH_COUNT];
    size_t n = slot_names(known);
    char name[NAME_BYTES];
    lex_name(p->lex, t, name);
    const struct param_info *owner = owner_of_word(name);
    if (owner)
        return lex_fail(p->lex, t->begin,
                        "'%s' is a value, compare it with its parameter: %s == %s", name,
                        owner->name, name);
    for (int i = 0; i < FUNCTION_COUNT; i++)
        known[n++] = FUNCTIONS[i].name;
    for (int i = 0; i < TRUTH_COUNT; i++)
        known[n++] = TRUTHS[i].name;
    return lex_fail(p->lex, t->begin, "unknown name '%s'%s", name, did_you_mean(name, known, n));
}

/* Whether the operand can be counted with: neither words nor parameters that take words can. */
static bool need_value(const struct rule_parser *p, const struct operand *x)
{
    if (x->kind == VALUE)
        return true;
    if (x->kind == WORD)
        return unknown_name(p, &x->token);
    const struct param_info *info = param_info(x->param);
    return lex_fail(p->lex, x->token.begin,
                    "%s takes words, compare it by == or != with one of: %s", info->name,
                    info->words);
}

/* "a b c" -> its words, in `buffer`. */
static size_t split_words(const char *words, char buffer[256], const char *list[16])
{
    size_t n = 0;
    for (const char *w = words; *w && n < 16; w += strcspn(w, " "), w += *w == ' ') {
        size_t length = strcspn(w, " "), at = (size_t)(w - words);
        if (at + length >= 256)
            break;
        memcpy(buffer + at, w, length);
        buffer[at + length] = 0;
        list[n++] = buffer + at;
    }
    return n;
}

static bool word_value(const struct rule_parser *p, enum param param, const struct token *t,
                       int *value)
{
    char name[NAME_BYTES], buffer[256];
    const char *words[16];
    lex_name(p->lex, t, name);
    if (param_parse(param, name, value, NULL))
        return true;
    const struct param_info *info = param_info(param);
    size_t n = split_words(info->words, buffer, words);
    return lex_fail(p->lex, t->begin, "%s has no value '%s', its values are: %s%s", info->name,
                    name, info->words, did_you_mean(name, words, n));
}

/* Both sides of a comparison are on the stack; a word gets the number it has for the other side. */
static bool settle(struct rule_parser *p, const struct binary *b, struct operand *x,
                   struct operand *y)
{
    struct operand *word = x->kind == WORD ? x : y, *choice = x->kind == WORD ? y : x;
    if (word->kind != WORD || choice->kind != CHOICE || (b->op != OP_EQ && b->op != OP_NE))
        return need_value(p, x) && need_value(p, y);
    int value;
    if (!word_value(p, choice->param, &word->token, &value))
        return false;
    p->code->list[word->start].number = value;
    return true;
}

/* Makes 0, 1 or undefined of the value that ends the code. */
static bool emit_truth(struct rule_parser *p, int start)
{
    return code_is_truth(p->code) || emit_folded(p, OP_BOOL, 0, start);
}

/* The right side of && or ||. A constant left side leaves no code: it either decides alone, and the
 * right side is only read for its mistakes, or has no say. */
static bool parse_logical(struct rule_parser *p, const struct binary *b, struct operand *left)
{
    struct operand right;
    bool fixed = code_is_constant(p->code, left->start), decided = false;
    double result = 0;
    int jump = p->code->count;
    if (!need_value(p, left))
        return false;
    if (fixed) {
        result = p->code->list[left->start].number;
        decided = isnan(result) || (result != 0) == (b->op == OP_OR);
        code_drop(p->code, left->start);
    } else if (!emit(p, b->op, 0, 0))
        return false;
    if (!parse_level(p, b->level + 1, &right) || !need_value(p, &right))
        return false;
    if (decided) {
        code_drop(p->code, right.start);
        return emit(p, OP_CONST, 0, isnan(result) ? NAN : result != 0);
    }
    if (!emit_truth(p, right.start))
        return false;
    if (!fixed)
        p->code->list[jump].arg = p->code->count;
    return true;
}

static bool parse_right(struct rule_parser *p, const struct binary *b, struct operand *left)
{
    struct operand right;
    if (b->op == OP_AND || b->op == OP_OR)
        return parse_logical(p, b, left);
    return parse_level(p, b->level + 1, &right) && settle(p, b, left, &right) &&
           emit_folded(p, b->op, 0, left->start);
}

static const struct binary *binary_at(const struct rule_parser *p, int level)
{
    for (size_t i = 0; i < sizeof BINARY / sizeof *BINARY; i++)
        if (BINARY[i].token == p->lex->token.kind && BINARY[i].level == level)
            return &BINARY[i];
    return NULL;
}

static bool parse_name(struct rule_parser *p, struct operand *out);

static bool parse_primary(struct rule_parser *p, struct operand *out)
{
    struct token t = p->lex->token;
    if (t.kind == TOKEN_NAME)
        return lex_next(p->lex) && parse_name(p, out);
    if (t.kind == TOKEN_NUMBER)
        return emit(p, OP_CONST, 0, t.number) && lex_next(p->lex);
    if (t.kind != TOKEN_OPEN)
        return lex_expected(p->lex, "a number, a name or (");
    if (!deeper(p) || !lex_next(p->lex) || !parse_level(p, 0, out))
        return false;
    p->depth--;
    return expect(p, TOKEN_CLOSE, "an operator or )");
}

static bool parse_unary(struct rule_parser *p, struct operand *out)
{
    enum token_kind kind = p->lex->token.kind;
    *out = (struct operand){.kind = VALUE, .start = p->code->count, .token = p->lex->token};
    if (kind != TOKEN_NOT && kind != TOKEN_MINUS)
        return parse_primary(p, out);
    struct operand inner;
    if (!deeper(p) || !lex_next(p->lex) || !parse_unary(p, &inner) || !need_value(p, &inner))
        return false;
    p->depth--;
    return emit_folded(p, kind == TOKEN_NOT ? OP_NOT : OP_NEG, 0, out->start);
}

static bool parse_level(struct rule_parser *p, int level, struct operand *out)
{
    if (level == LEVELS)
        return parse_unary(p, out);
    if (!parse_level(p, level + 1, out))
        return false;
    bool compared = false;
    for (const struct binary *b; (b = binary_at(p, level)); compared = b->compares) {
        if (compared)
            return lex_fail(p->lex, p->lex->token.begin,
                            "comparisons do not chain: write 1 < tp && tp < 4 for 1 < tp < 4");
        if (!lex_next(p->lex) || !parse_right(p, b, out))
            return false;
        out->kind = VALUE;
    }
    return true;
}

/* has(SET, WORD), behind the opening bracket. */
static bool parse_has(struct rule_parser *p, const struct function *f)
{
    struct operand set;
    int bits;
    if (!parse_level(p, 0, &set) || (set.kind == WORD && !need_value(p, &set)))
        return false;
    if (set.kind != CHOICE || param_info(set.param)->kind != PARAM_SET)
        return lex_fail(p->lex, set.token.begin,
                        "has() asks a parameter that is a set of words, as in %s", f->form);
    if (!expect(p, TOKEN_COMMA, "a comma and a word"))
        return false;
    struct token word = p->lex->token;
    if (!expect(p, TOKEN_NAME, "a word") || !word_value(p, set.param, &word, &bits))
        return false;
    if (bits == 0)
        return lex_fail(p->lex, word.begin, "a set cannot hold none, write %s == none",
                        param_info(set.param)->name);
    return emit(p, OP_HAS, bits, 0);
}

/* Arguments behind the opening bracket; min and max take them two by two. */
static bool parse_arguments(struct rule_parser *p, const struct function *f, int start, int *count)
{
    struct operand argument;
    for (*count = 1;; ++*count) {
        if (!parse_level(p, 0, &argument) || !need_value(p, &argument))
            return false;
        if ((f->most == 1 || *count > 1) && !emit_folded(p, f->op, 0, start))
            return false;
        if (p->lex->token.kind != TOKEN_COMMA || *count == f->most)
            return true;
        if (!lex_next(p->lex))
            return false;
    }
}

static bool parse_call(struct rule_parser *p, const struct function *f, const struct operand *out)
{
    int count = 2;
    if (p->lex->token.kind != TOKEN_OPEN)
        return lex_fail(p->lex, out->token.begin, "%s is a function: write %s", f->name, f->form);
    if (!deeper(p) || !lex_next(p->lex))
        return false;
    if (f->op == OP_HAS ? !parse_has(p, f) : !parse_arguments(p, f, out->start, &count))
        return false;
    p->depth--;
    if (count < f->least || p->lex->token.kind == TOKEN_COMMA)
        return lex_fail(p->lex, p->lex->token.begin, "%s takes %d argument%s%s: %s", f->name,
                        f->least, f->least == 1 ? "" : "s", f->most > f->least ? " or more" : "",
                        f->form);
    return expect(p, TOKEN_CLOSE, "an operator or )");
}

static bool parse_slot(struct rule_parser *p, int slot, struct operand *out)
{
    enum param param = slot_info(slot)->param;
    if (param != PARAMS) {
        enum param_kind kind = param_info(param)->kind;
        out->kind = kind == PARAM_WORD || kind == PARAM_SET ? CHOICE : VALUE;
        out->param = param;
    }
    return emit(p, OP_LOAD, slot, 0);
}

/* The name is out->token, the current token the one behind it. */
static bool parse_name(struct rule_parser *p, struct operand *out)
{
    char name[NAME_BYTES];
    lex_name(p->lex, &out->token, name);
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(name, FUNCTIONS[i].name) == 0)
            return parse_call(p, &FUNCTIONS[i], out);
    for (int i = 0; i < TRUTH_COUNT; i++)
        if (strcmp(name, TRUTHS[i].name) == 0)
            return emit(p, OP_CONST, 0, TRUTHS[i].value);
    int slot = slot_find(name);
    if (slot >= 0)
        return parse_slot(p, slot, out);
    if (p->lex->token.kind == TOKEN_OPEN)
        return unknown_name(p, &out->token);
    out->kind = WORD;
    return emit(p, OP_CONST, 0, 0);
}

bool parse_expression(struct lexer *lex, struct code *code)
{
    struct rule_parser p = {lex, code, 0};
    struct operand whole;
    code->count = code->depth = 0;
    return parse_level(&p, 0, &whole) && need_value(&p, &whole);
}
