/* Judging strategies. A rule runs some ten instructions over a small stack, no allocation, no calls
 * but fmod, ceil and floor: tens of nanoseconds. && and || jump over what they need not look at,
 *
 *     load cp; const 1; eq; OR ->end; load seq_len; ...; eq; end:
 *
 * which also keeps an undefined right side (seq_len % 0) from being asked for. */
#include "rules/code.h"
#include "rules/rules.h"

#include <assert.h>
#include <math.h>

static double truth(double x)
{
    return isnan(x) ? x : x != 0;
}

/* A comparison is undefined when one of its sides is. */
static double known(double a, double b, bool result)
{
    return isnan(a) || isnan(b) ? NAN : result;
}

static double has(double set, int bits)
{
    return set >= 0 && set <= (1 << 30) ? ((int)set & bits) == bits : NAN;
}

/* Of two values; a comparison is undefined when one of them is. */
static double two(enum op op, double a, double b)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return b == 0 ? NAN : a / b;
    case OP_MOD:
        return b == 0 ? NAN : fmod(a, b);
    case OP_MIN:
        return isnan(a) || a < b ? a : b;
    case OP_MAX:
        return isnan(a) || a > b ? a : b;
    case OP_EQ:
        return known(a, b, a == b);
    case OP_NE:
        return known(a, b, a != b);
    case OP_LT:
        return known(a, b, a < b);
    case OP_LE:
        return known(a, b, a <= b);
    case OP_GT:
        return known(a, b, a > b);
    default:
        return known(a, b, a >= b);
    }
}

static double one(enum op op, double x, int arg)
{
    switch (op) {
    case OP_NEG:
        return -x;
    case OP_NOT:
        return isnan(x) ? x : x == 0;
    case OP_CEIL:
        return ceil(x);
    case OP_FLOOR:
        return floor(x);
    case OP_ABS:
        return fabs(x);
    case OP_HAS:
        return has(x, arg);
    default:
        return truth(x);
    }
}

/* A value and a constant behind it that are compared at once: most of what rules are made of. */
static bool compares_constant(const struct instruction *in, int left)
{
    return left >= 3 && in[1].op == OP_CONST && in[2].op >= OP_EQ && in[2].op <= OP_GE;
}

/* Of two values that are defined. */
static inline bool compare(enum op op, double a, double b)
{
    switch (op) {
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

/* The truth of what was just compared is on top: through all && and || that look at it next, to
 * the instruction behind them. `*kept`: it is still there. */
static inline int decide(const struct instruction *list, int count, int i, bool met, bool *kept)
{
    *kept = true;
    while (i < count && list[i].op >= OP_AND) {
        if (met == (list[i].op == OP_AND)) {
            *kept = false;
            return i + 1;
        }
        i = list[i].arg;
    }
    return i;
}

double code_run(const struct instruction *list, int count, const double *values)
{
    double stack[CODE_STACK + 1], *top = stack; /* stack[0] stays below the first value */
    *top = NAN;
    for (int i = 0; i < count;) {
        const struct instruction *in = &list[i++];
        if (in->op == OP_LOAD && compares_constant(in, count - i + 1) &&
            !isunordered(values[in->arg], in[1].number)) {
            bool met = compare(in[2].op, values[in->arg], in[1].number), kept;
            i = decide(list, count, i + 2, met, &kept);
            if (kept)
                *++top = met;
        } else if (in->op == OP_LOAD) {
            *++top = values[in->arg];
        } else if (in->op == OP_CONST) {
            *++top = in->number;
        } else if (in->op <= OP_HAS) {
            *top = one(in->op, *top, in->arg);
        } else if (in->op < OP_AND) {
            top--;
            *top = two(in->op, top[0], top[1]);
        } else if ((*top = truth(*top)) == (in->op == OP_AND)) {
            top--;
        } else {
            i = in->arg;
        }
    }
    assert(top == stack + 1); /* what an expression leaves */
    return *top;
}

double rule_value(const struct rule *r, const double values[SLOTS])
{
    return code_run(r->code->list, r->code->count, values);
}

static bool allows(const struct rule *r, double value)
{
    return r->kind == RULE_AVOID || (!isnan(value) && (value != 0) == (r->kind == RULE_REQUIRE));
}

bool rule_allows(const struct rule *r, const double values[SLOTS])
{
    return allows(r, rule_value(r, values));
}

bool rule_holds(const struct rule *r, const double values[SLOTS])
{
    double value = rule_value(r, values);
    return !isnan(value) && value != 0;
}

int rule_constant(const struct rule *r)
{
    if (r->code->count != 1 || r->code->list[0].op != OP_CONST)
        return 0;
    return allows(r, r->code->list[0].number) ? 1 : -1;
}

bool rule_is_idle(const struct rule *r)
{
    return rule_constant(r) == 1 && (r->kind != RULE_AVOID || !rule_holds(r, NULL));
}
