/* Reads the value of an option as its row says (options.def): one reader for each kind. */
#include "query/options.h"

#include "base/str.h"
#include "base/units.h"
#include "query/defaults.h"
#include "query/query_parts.h"
#include "search/mixed/mixed.h"

#include "astra.h"

#include <math.h>
#include <string.h>

static const struct option TABLE[] = {
#define AT(field) offsetof(struct options, field)
#define ROW(id, name, argument, kind, offers, most, at, lo, hi, expected, read, group, use, usual, \
            commands, help)                                                                        \
    {name, argument, commands, usual, kind, use, most, at, lo, hi, expected, read},
#include "query/options.def"
#undef ROW
#undef AT
};

const struct option *option_row(enum option_id id)
{
    return &TABLE[id];
}

const struct option *option_find(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp(TABLE[i].name, name) == 0)
            return &TABLE[i];
    return NULL;
}

bool option_takes(const struct option *o, const char *command)
{
    size_t n = strlen(command);
    for (const char *at = o->commands; (at = strstr(at, command)); at += n)
        if ((at == o->commands || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

bool option_is_input(const struct option *o)
{
    return o->use <= ASKS_ALL && option_takes(o, "search");
}

const struct astra_option *astra_options(void)
{
    static const struct astra_option table[] = {
#define ROW(id, name, argument, kind, offers, most, at, lo, hi, expected, read, group, use, usual, \
            commands, help)                                                                        \
    {name, argument, commands, help, group, usual, offers, (most) > 1},
#include "query/options.def"
#undef ROW
        {0},
    };
    return table;
}

/* Where a value goes, and what it says. */
struct reading {
    const struct option *option;
    struct options *into;
    void *at;
    const char *value;
    struct error *err;
};

static bool unexpected(const struct reading *r, const char *more)
{
    return fail(r->err, ERROR_INPUT, "--%s is '%s', expected %s%s", r->option->name, r->value,
                r->option->expected, more);
}

static bool read_switch(const struct reading *r)
{
    *(bool *)r->at = true;
    return true;
}

static bool read_whole(const struct reading *r)
{
    double n, lo = r->option->lo, hi = r->option->hi;
    bool length = r->option->kind == KIND_LENGTH;
    if (!(length ? parse_length : parse_amount)(r->value, &n) || n != floor(n) || n < lo || n > hi)
        return fail(r->err, ERROR_INPUT, "--%s is '%s', expected a whole number from %.0f to %.0f",
                    r->option->name, r->value, lo, hi);
    if (r->option->kind == KIND_COUNT)
        *(int64_t *)r->at = (int64_t)n;
    else
        *(int *)r->at = (int)n;
    return true;
}

static bool read_figure(const struct reading *r)
{
    enum option_kind kind = r->option->kind;
    double n;
    bool ok = kind == KIND_REAL     ? parse_real(r->value, &n)
              : kind == KIND_SHARE  ? parse_share(r->value, &n)
              : kind == KIND_AMOUNT ? parse_amount(r->value, &n)
                                    : parse_duration(r->value, &n);
    if (!ok || n < r->option->lo || n > r->option->hi)
        return unexpected(r, "");
    *(double *)r->at = n;
    return true;
}

enum { WORDS_MAX = 8 };

/* "a, b or c" and " (did you mean b?)". */
static bool no_such_word(const struct reading *r, char (*word)[32], int count)
{
    const char *names[WORDS_MAX];
    struct str list = {0};
    for (int i = 0; i < count; i++) {
        names[i] = word[i];
        str_addf(&list, "%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", word[i]);
    }
    fail(r->err, ERROR_INPUT, "--%s is '%s', expected %s%s", r->option->name, r->value,
         r->option->expected ? r->option->expected : str_text(&list),
         did_you_mean(r->value, names, (size_t)count));
    str_release(&list);
    return false;
}

static bool read_choice(const struct reading *r)
{
    char word[WORDS_MAX][32];
    int count = 0;
    for (const char *at = r->option->argument; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        memcpy(word[count], at, length);
        word[count][length] = 0;
        if (strcmp(word[count], r->value) == 0) {
            if (r->option->kind == KIND_CHOICE)
                *(int *)r->at = count;
            else
                *(const char **)r->at = arena_string(r->into->mem, r->value);
            return true;
        }
        count++;
        at += length;
    }
    return no_such_word(r, word, count);
}

static bool read_text(const struct reading *r)
{
    const struct option *o = r->option;
    if (!*r->value && o->expected)
        return fail(r->err, ERROR_INPUT, "--%s is empty, expected %s", o->name, o->expected);
    if (o->kind == KIND_OUTPUT && strcmp(r->value, "-") == 0)
        return unexpected(r, ": the answer goes to standard output");
    const char *text = arena_string(r->into->mem, r->value);
    struct texts *list = r->at;
    if (o->kind == KIND_LIST)
        list->text[list->count++] = text;
    else
        *(const char **)r->at = text;
    return true;
}

static bool read_own(const struct reading *r)
{
    return r->option->read(r->into, r->value, r->err);
}

static bool (*const READERS[])(const struct reading *) = {
    [KIND_SWITCH] = read_switch, [KIND_WHOLE] = read_whole,     [KIND_LENGTH] = read_whole,
    [KIND_COUNT] = read_whole,   [KIND_REAL] = read_figure,     [KIND_SHARE] = read_figure,
    [KIND_AMOUNT] = read_figure, [KIND_DURATION] = read_figure, [KIND_CHOICE] = read_choice,
    [KIND_WORD] = read_choice,   [KIND_TEXT] = read_text,       [KIND_OUTPUT] = read_text,
    [KIND_LIST] = read_text,     [KIND_OWN] = read_own,
};

static bool read_value(struct options *into, const struct option *o, const char *value,
                       struct error *err)
{
    const struct reading r = {o, into, (char *)into + o->at, value, err};
    return READERS[o->kind](&r);
}

/* Defaults that are numbers come from the rows; others say in words what happens. */
void options_init(struct options *o, struct arena *mem)
{
    memset(o, 0, sizeof *o);
    o->mem = mem;
    rules_init(&o->terms.rules);
    rules_init(&o->terms.cautions);
    o->terms.precision = o->money.objective = -1;
    o->terms.stack = STACK_OPEN;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (TABLE[i].kind >= KIND_WHOLE && TABLE[i].kind <= KIND_DURATION)
            read_value(o, &TABLE[i], TABLE[i].usual, NULL);
}

/* Remembered, so that another query can be asked that differs in one thing (query_change.c). */
static void remember(struct options *to, const struct option *o, const char *value)
{
    struct given *g = arena_alloc(to->mem, sizeof *g);
    *g = (struct given){o, arena_string(to->mem, value), NULL};
    if (to->last)
        to->last->next = g;
    else
        to->first = g;
    to->last = g;
    to->times[o - TABLE]++;
}

bool options_set(struct options *to, const char *option, const char *value, struct error *err)
{
    const struct option *o = option_find(option);
    const char *names[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT && !o; i++)
        names[i] = TABLE[i].name;
    if (!o)
        return fail(err, ERROR_INPUT, "no option is called --%s%s", option,
                    did_you_mean(option, names, OPTION_COUNT));
    if (o->most > 1 && to->times[o - TABLE] == o->most)
        return fail(err, ERROR_INPUT, "--%s is given more than %d times", o->name, o->most);
    if (o == &TABLE[OPTION_cluster] && value)
        value = defaults_cluster(to, value);
    if (!read_value(to, o, value ? value : "", err))
        return false;
    remember(to, o, value ? value : "");
    return true;
}
