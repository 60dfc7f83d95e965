/* $((...)) of whole numbers: the operators of C by precedence, all 64 bits, ** too. What overflows
 * or divides by 0 is not worked out, and then all its variables are unknown if it assigns any. */
#include "import/shell/script_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*    name, sign, how strongly it binds; a sign stands before the one that it begins with */
/* clang-format off */
#define OPERATOR_TABLE(X) \
    X(POW, "**", 11) X(MUL, "*", 10) X(DIV, "/", 10) X(MOD, "%", 10) X(ADD, "+", 9) X(SUB, "-", 9) \
    X(SHL, "<<", 8) X(SHR, ">>", 8) X(LE, "<=", 7) X(GE, ">=", 7) X(LT, "<", 7) X(GT, ">", 7) \
    X(EQ, "==", 6) X(NE, "!=", 6) X(LAND, "&&", 2) X(LOR, "||", 1) X(BAND, "&", 5) X(XOR, "^", 4) \
    X(BOR, "|", 3)

#define X(name, sign, binds) name,
enum operation { OPERATOR_TABLE(X) OPERATORS, SET = OPERATORS };
#undef X
/* clang-format on */

static const struct {
    const char *sign;
    int binds;
} OPERATOR[OPERATORS] = {
#define X(name, sign, binds) {sign, binds},
    OPERATOR_TABLE(X)
#undef X
};

struct arithmetic {
    struct script *s;
    const char *at;
    const char *unknown; /* why there is no number; NULL = there is */
    int depth;
    int idle; /* inside what && || and ?: leave out: nothing is assigned */
};

static int64_t give_up(struct arithmetic *a, const char *why)
{
    if (!a->unknown)
        a->unknown = why;
    return 0;
}

static void skip(struct arithmetic *a)
{
    a->at += strspn(a->at, " \t\r\n");
}

static bool take(struct arithmetic *a, const char *sign)
{
    skip(a);
    if (strncmp(a->at, sign, strlen(sign)) != 0)
        return false;
    a->at += strlen(sign);
    return true;
}

static int64_t assignment(struct arithmetic *);

/* Digits as a shell reads them: 0x4 is hexadecimal, 010 is octal. */
static bool read_number(const char *text, int64_t *value)
{
    char *end;
    bool minus = *text == '-';
    const char *digits = text + minus;
    if (!isdigit((unsigned char)*digits))
        return false;
    errno = 0;
    long long n = strtoll(digits, &end, 0);
    *value = minus ? -n : n;
    return !*end && errno == 0 && strncmp(digits, "0b", 2) != 0;
}

static int64_t value_of(struct arithmetic *a, const struct variable *v)
{
    int64_t n;
    if (!v->value || v->value->count == 0)
        return give_up(a, script_unknown(a->s, arena_format(a->s->mem, "$((%s))", v->name),
                                         "which is not set", v->name, a->s->line));
    if (!launch_is_known(v->value->word[0].text))
        return give_up(a, v->value->word[0].text);
    return read_number(v->value->word[0].text, &n) ? n : give_up(a, "");
}

static void set(struct arithmetic *a, struct variable *v, int64_t n)
{
    if (a->unknown || a->idle)
        return;
    if (v->frozen || (v->value && v->value->array))
        give_up(a, "");
    else
        script_assign(
            a->s, v,
            value_of_text(a->s, arena_format(a->s->mem, "%lld", (long long)n), a->s->line));
}

static int64_t apply(struct arithmetic *, enum operation, int64_t, int64_t);

/* = or an operator and =; its operation, ADD of nothing for = alone. */
static bool take_assignment(struct arithmetic *a, enum operation *o)
{
    static const struct {
        const char *sign;
        enum operation operation;
    } signs[] = {{"+=", ADD},  {"-=", SUB},  {"*=", MUL},  {"/=", DIV}, {"%=", MOD},
                 {"<<=", SHL}, {">>=", SHR}, {"&=", BAND}, {"^=", XOR}, {"|=", BOR}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (take(a, signs[i].sign)) {
            *o = signs[i].operation;
            return true;
        }
    skip(a);
    *o = SET;
    return a->at[0] == '=' && a->at[1] != '=' && take(a, "=");
}

/* A variable without its dollar sign, and what changes it. */
static int64_t variable(struct arithmetic *a, int before)
{
    const char *from = a->at;
    enum operation o;
    int64_t n, old;
    while (is_name_char(*a->at))
        a->at++;
    struct variable *v = script_variable(a->s, from, (size_t)(a->at - from));
    if (take(a, "["))
        return give_up(a, "");
    if (take_assignment(a, &o)) {
        n = assignment(a);
        n = o == SET || a->unknown ? n : apply(a, o, value_of(a, v), n);
        set(a, v, n);
        return n;
    }
    old = value_of(a, v);
    int behind = take(a, "++") ? 1 : take(a, "--") ? -1 : 0;
    if (before == 0 && behind == 0)
        return old;
    n = a->unknown ? 0 : apply(a, ADD, old, before + behind);
    set(a, v, n);
    return before ? n : old;
}

static int64_t number(struct arithmetic *a)
{
    char digits[24];
    size_t n = 0;
    int64_t value;
    while (isalnum((unsigned char)a->at[n]) && n + 1 < sizeof digits) {
        digits[n] = a->at[n];
        n++;
    }
    digits[n] = 0;
    a->at += n;
    return read_number(digits, &value) ? value : give_up(a, "");
}

static int64_t operand(struct arithmetic *a)
{
    int64_t n;
    if (++a->depth > SCRIPT_DEPTH)
        return give_up(a, "");
    skip(a);
    if (take(a, "(")) {
        n = assignment(a);
        if (!take(a, ")"))
            give_up(a, "");
    } else if (take(a, "++") || take(a, "--")) {
        int change = a->at[-1] == '+' ? 1 : -1;
        skip(a);
        n = is_name_start(*a->at) ? variable(a, change) : give_up(a, "");
    } else if (take(a, "!")) {
        n = !operand(a);
    } else if (take(a, "~")) {
        n = ~operand(a);
    } else if (take(a, "-")) {
        n = operand(a);
        n = n == INT64_MIN ? give_up(a, "") : -n;
    } else if (take(a, "+")) {
        n = operand(a);
    } else if (is_name_start(*a->at)) {
        n = variable(a, 0);
    } else {
        n = isdigit((unsigned char)*a->at) ? number(a) : give_up(a, "");
    }
    a->depth--;
    return n;
}

static int64_t power(struct arithmetic *a, int64_t base, int64_t exponent)
{
    int64_t n = 1;
    if (exponent < 0 || exponent > 64)
        return give_up(a, "");
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(n, base, &n))
            return give_up(a, "");
    return n;
}

static int64_t divide(struct arithmetic *a, enum operation o, int64_t x, int64_t y)
{
    if (y == 0 || (x == INT64_MIN && y == -1))
        return give_up(a, "");
    return o == DIV ? x / y : x % y;
}

static int64_t apply(struct arithmetic *a, enum operation o, int64_t x, int64_t y)
{
    const int64_t plain[] = {[LE] = x <= y, [GE] = x >= y,   [LT] = (x < y), [GT] = (x > y),
                             [EQ] = x == y, [NE] = x != y,   [BAND] = x & y, [XOR] = x ^ y,
                             [BOR] = x | y, [LAND] = x && y, [LOR] = x || y, [SET] = y};
    int64_t n;
    switch (o) {
    case MUL:
        return __builtin_mul_overflow(x, y, &n) ? give_up(a, "") : n;
    case ADD:
        return __builtin_add_overflow(x, y, &n) ? give_up(a, "") : n;
    case SUB:
        return __builtin_sub_overflow(x, y, &n) ? give_up(a, "") : n;
    case DIV:
    case MOD:
        return divide(a, o, x, y);
    case POW:
        return power(a, x, y);
    case SHL:
        return x < 0 || y < 0 || y > 62 || x > INT64_MAX >> y ? give_up(a, "") : x << y;
    case SHR:
        return y < 0 || y > 62 ? give_up(a, "") : x >> y;
    default:
        return plain[o];
    }
}

/* The operator at hand that binds at least so strongly; -1 = none. */
static int operator_at(struct arithmetic *a, int binds)
{
    skip(a);
    for (int o = 0; o < OPERATORS; o++) {
        size_t n = strlen(OPERATOR[o].sign);
        if (strncmp(a->at, OPERATOR[o].sign, n) != 0)
            continue;
        bool assigns = a->at[n] == '=' && (o < LE || o > NE);
        return !assigns && OPERATOR[o].binds >= binds ? o : -1;
    }
    return -1;
}

static int64_t binary(struct arithmetic *a, int binds)
{
    int64_t x = operand(a);
    for (int o; !a->unknown && (o = operator_at(a, binds)) >= 0;) {
        a->at += strlen(OPERATOR[o].sign);
        bool idle = (o == LAND && !x) || (o == LOR && x);
        a->idle += idle;
        int64_t y = binary(a, OPERATOR[o].binds + (o != POW));
        a->idle -= idle;
        if (!a->unknown)
            x = apply(a, (enum operation)o, x, y);
    }
    return x;
}

static int64_t ternary(struct arithmetic *a)
{
    int64_t n = binary(a, 1);
    if (a->unknown || !take(a, "?"))
        return n;
    if (++a->depth > SCRIPT_DEPTH)
        return give_up(a, "");
    a->idle += !n;
    int64_t yes = assignment(a);
    a->idle += n ? 1 : -1;
    int64_t no = take(a, ":") ? assignment(a) : give_up(a, "");
    a->idle -= n != 0;
    a->depth--;
    return n ? yes : no;
}

/* Several of them, of which the last one counts. */
static int64_t assignment(struct arithmetic *a)
{
    int64_t n = ternary(a);
    while (!a->unknown && take(a, ","))
        n = ternary(a);
    return n;
}

const char *script_arithmetic(struct script *s, const char *text, size_t length)
{
    const char *plain = script_expand_one(s, text, length);
    const char *mark = strchr(plain, LAUNCH_MARK);
    struct arithmetic a = {.s = s, .at = plain};
    if (mark) {
        script_forget_assigned(s, plain, strlen(plain));
        return arena_copy(s->mem, mark, strcspn(mark, "\002") + 1);
    }
    int64_t n = assignment(&a);
    skip(&a);
    if (!a.unknown && !*a.at)
        return arena_format(s->mem, "%lld", (long long)n);
    script_forget_assigned(s, plain, strlen(plain));
    if (a.unknown && *a.unknown)
        return a.unknown;
    return script_unknown(s,
                          arena_format(s->mem, "$((%.*s))", length > 60 ? 60 : (int)length, text),
                          "which is not worked out", NULL, s->line);
}
