#include "strategy/strategy.h"

#include "base/str.h"

#include <assert.h>
#include <string.h>

static const struct param_info INFO[PARAMS] = {
#define PARAM(field, kind, lo, hi, init, costs, axis, options, differs, order, section, shown,     \
              short_name, alternatives, complexity, words, help)                                   \
    {#field,                                                                                       \
     PARAM_##kind,                                                                                 \
     lo,                                                                                           \
     hi,                                                                                           \
     init,                                                                                         \
     COSTS_##costs,                                                                                \
     DIFFERS_##differs,                                                                            \
     ORDER_##order,                                                                                \
     PARAM_##axis,                                                                                 \
     SECTION_##section,                                                                            \
     SHOWN_##shown,                                                                                \
     short_name,                                                                                   \
     alternatives,                                                                                 \
     complexity,                                                                                   \
     words,                                                                                        \
     help},
#include "strategy/params.def"
};

/* Members are ints in table order, without padding: member p is the p-th int. */
static_assert(sizeof(struct strategy) == PARAMS * sizeof(int), "struct strategy is a row of ints");

const struct param_info *param_info(enum param p)
{
    assert(p < PARAMS);
    return &INFO[p];
}

int param_find(const char *name)
{
    for (int i = 0; i < PARAMS; i++)
        if (same_name(name, INFO[i].name))
            return i;
    return -1;
}

int strategy_get(const struct strategy *s, enum param p)
{
    return ((const int *)s)[p];
}

void strategy_set(struct strategy *s, enum param p, int value)
{
    ((int *)s)[p] = value;
}

void strategy_init(struct strategy *s)
{
    for (int i = 0; i < PARAMS; i++)
        strategy_set(s, (enum param)i, INFO[i].init);
}

int strategy_compare(const struct strategy *a, const struct strategy *b)
{
    const int *x = (const int *)a, *y = (const int *)b;
    for (int i = 0; i < PARAMS; i++)
        if (x[i] != y[i])
            return (x[i] < y[i]) == (INFO[i].order == ORDER_RISING) ? -1 : 1;
    return 0;
}

bool strategy_same_row(const struct strategy *a, const struct strategy *b, enum row_of row)
{
    static const enum param_differs last[] = {
        [ROW_LAYOUT] = DIFFERS_LAYOUT, [ROW_KIND] = DIFFERS_KIND};
    return true
#define PARAM(field, kind, lo, hi, init, costs, axis, options, differs, ...)                       \
    &&(DIFFERS_##differs < DIFFERS_LAYOUT || DIFFERS_##differs > last[row] || a->field == b->field)
#include "strategy/params.def"
        ;
}

static int steps_of(const struct param_info *p, int value)
{
    if (p->kind == PARAM_SET)
        return __builtin_popcount((unsigned)value);
    if (p->kind == PARAM_WORD)
        return value;
    int doublings = 0;
    for (int64_t reached = p->init; reached < value; reached *= 2)
        doublings++;
    return doublings;
}

int strategy_complexity(const struct strategy *s)
{
    int points = 0;
    for (int i = 0; i < PARAMS; i++) {
        int value = strategy_get(s, (enum param)i);
        if (INFO[i].complexity == BY_STEP)
            points += steps_of(&INFO[i], value);
        else if (value != INFO[i].init)
            points += INFO[i].complexity;
    }
    return points;
}

/* The index of `word` (length n) in the blank-separated `words`, or -1. */
static int word_index(const char *words, const char *word, size_t n)
{
    for (int i = 0; *words; i++) {
        size_t m = strcspn(words, " ");
        if (m == n && strncmp(words, word, n) == 0)
            return i;
        words += m + (words[m] == ' ');
    }
    return -1;
}

static void add_word(const char *words, int index, struct str *out)
{
    while (index-- > 0)
        words += strcspn(words, " ") + 1;
    str_add_bytes(out, words, strcspn(words, " "));
}

static bool parse_set(const struct param_info *p, const char *text, int *value, struct error *err)
{
    *value = 0;
    if (strcmp(text, "none") == 0)
        return true;
    while (*text) {
        size_t n = strcspn(text, "+,");
        int i = word_index(p->words, text, n);
        if (i < 0)
            return fail(err, ERROR_INPUT, "%s is %.*s, expected words of: %s, joined by +", p->name,
                        (int)n, text, p->words);
        *value |= 1 << i;
        text += n + (text[n] != 0);
    }
    assert(*value >= p->lo && *value <= p->hi); /* a bit for each word */
    return true;
}

bool param_parse(enum param id, const char *text, int *value, struct error *err)
{
    const struct param_info *p = &INFO[id];
    int64_t number;
    if (p->kind == PARAM_SET)
        return parse_set(p, text, value, err);
    if (p->kind == PARAM_WORD && (*value = word_index(p->words, text, strlen(text))) >= 0)
        return true;
    if (p->kind == PARAM_WORD)
        return fail(err, ERROR_INPUT, "%s is '%s', expected one of: %s", p->name, text, p->words);
    if (p->kind == PARAM_ONOFF && (same_name(text, "on") || same_name(text, "off"))) {
        *value = same_name(text, "on");
        return true;
    }
    if (!parse_int(text, &number) || number < p->lo || number > p->hi)
        return fail(err, ERROR_INPUT, "%s is '%s', expected %s from %d to %d", p->name, text,
                    p->kind == PARAM_ONOFF ? "on, off or a number" : "a number", p->lo, p->hi);
    *value = (int)number;
    return true;
}

void param_print(enum param id, int value, struct str *out)
{
    const struct param_info *p = &INFO[id];
    assert(p->kind == PARAM_INT || (value >= p->lo && value <= p->hi));
    if (p->kind == PARAM_WORD)
        add_word(p->words, value, out);
    else if (p->kind == PARAM_ONOFF)
        str_add(out, value ? "on" : "off");
    else if (p->kind == PARAM_INT)
        str_addf(out, "%d", value);
    else if (value == 0)
        str_add(out, "none");
    else
        for (int i = 0, first = 1; value >> i; i++)
            if (value >> i & 1) {
                if (!first)
                    str_add(out, "+");
                add_word(p->words, i, out);
                first = 0;
            }
}

int64_t strategy_gpus(const struct strategy *s)
{
    assert(s->tp >= 1 && s->cp >= 1 && s->pp >= 1 && s->dp >= 1);
    return (int64_t)s->tp * s->cp * s->pp * s->dp;
}

int64_t strategy_micro_batches(const struct strategy *s)
{
    int64_t per_round = (int64_t)s->micro_batch * s->dp;
    assert(per_round >= 1 && s->global_batch >= 1);
    return s->global_batch % per_round ? 0 : s->global_batch / per_round;
}

void strategy_print(const struct strategy *s, struct str *out)
{
    struct strategy rest = *s;
    str_addf(out, "tp=%d pp=%d dp=%d micro_batch=%d", s->tp, s->pp, s->dp, s->micro_batch);
    rest.tp = rest.pp = rest.dp = rest.micro_batch = 1;
    rest.global_batch = rest.seq_len = 1; /* the job's, not the plan's */
    for (int i = 0; i < PARAMS; i++) {
        int v = strategy_get(&rest, (enum param)i);
        if (v == INFO[i].init)
            continue;
        str_addf(out, " %s", INFO[i].name);
        if (INFO[i].kind != PARAM_ONOFF || v == 0) {
            str_add(out, "=");
            param_print((enum param)i, v, out);
        }
    }
}
