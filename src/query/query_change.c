/* A change of one input: "gpus=64", "price:h100=-20%", taken apart and applied. Inputs are the options
 * of a search that take a value, and figures of the pool. A changed query is resolved from all that
 * the old one was given, but for the option that changes: nothing that an option does has to be
 * undone. */
#include "base/str.h"
#include "base/units.h"
#include "query/query_parts.h"

#include <string.h>

struct input_change {
    char name[64];     /* of an option, or a figure of the nodes of a type */
    char key[64];      /* behind a colon: GPU type, parameter; "" = none */
    const char *value; /* what it becomes, or by how much it changes; borrowed */
    double factor;     /* of a relative change; 0: `value` is a new one */
};

static const char EXAMPLES[] = "as in gpus=64, global-batch=x2, price:h100=-20% or nodes:h100=x2";

static const struct option *input_of(const char *name)
{
    const struct option *o = option_find(name);
    return o && option_is_input(o) ? o : NULL;
}

static bool is_keyed(const struct option *o)
{
    return o->use == ASKS_EACH || o->use == ASKS_ALL;
}

static bool is_figure(const char *name)
{
    size_t count;
    const char *const *names = cluster_figures(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool unknown(const char *name, struct error *err)
{
    size_t figures, n = 0;
    const char *const *figure = cluster_figures(&figures), *names[OPTION_COUNT + 8];
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_is_input(option_row((enum option_id)i)))
            names[n++] = option_row((enum option_id)i)->name;
    for (size_t i = 0; i < figures && i < 8; i++)
        names[n++] = figure[i];
    const char *near = did_you_mean(name, names, n);
    if (*near)
        return fail(err, ERROR_INPUT, "'%s' is not an input that can change%s", name, near);
    return fail(
        err, ERROR_INPUT,
        "'%s' is not an input that can change: options of search that take a value can, and "
        "price, nodes, nic, link and memory of a type, %s",
        name, EXAMPLES);
}

static void copy_part(char out[64], const char *from, size_t length)
{
    if (length > 63)
        length = 63; /* no known name is as long */
    memcpy(out, from, length);
    out[length] = 0;
}

/* The key stands behind a colon, or in front of a second equals sign as it does in the option. */
static bool take_key(struct input_change *c, const char *colon, const char *equals,
                     struct error *err)
{
    const struct option *o = input_of(c->name);
    bool keyed = !o || is_keyed(o);
    const char *second = o && !colon ? strchr(equals + 1, '=') : NULL;
    if (!keyed && colon)
        return fail(err, ERROR_INPUT, "%s is one value: write %s=CHANGE", c->name, c->name);
    if (!keyed)
        return true;
    if (colon)
        copy_part(c->key, colon + 1, (size_t)(equals - colon - 1));
    else if (second) {
        copy_part(c->key, equals + 1, (size_t)(second - equals - 1));
        c->value = second + 1;
    }
    const char *example = strcmp(c->name, "set") == 0 ? "tp" : "h100";
    if (o && o->use == ASKS_ALL && *c->value) /* of one type or of all */
        return true;
    return (*c->key && *c->value) ||
           fail(err, ERROR_INPUT, "%s of what? Write %s:%s=CHANGE", c->name, c->name, example);
}

static bool take_factor(struct input_change *c, struct error *err)
{
    const char *v = c->value;
    if (parse_factor(v, &c->factor))
        return true;
    c->factor = 0;
    bool percents = strcmp(c->name, "interruptions") == 0; /* are values of it */
    return (!strchr("+-", v[0]) && (percents || v[strlen(v) - 1] != '%')) ||
           fail(err, ERROR_INPUT,
                "'%.63s' is no change: a new value, or -20%%, +10%% or x2 of the old one is right",
                v);
}

/* Names are checked, values are not: that is done where they are applied. */
static bool parse(struct input_change *c, const char *text, struct error *err)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || !equals[1])
        return fail(err, ERROR_INPUT, "write NAME=CHANGE, %s", EXAMPLES);
    const char *colon = memchr(text, ':', length);
    *c = (struct input_change){.value = equals + 1};
    copy_part(c->name, text, colon ? (size_t)(colon - text) : length);
    if (!input_of(c->name) && !is_figure(c->name))
        return unknown(c->name, err) || error_show(err, text, 0);
    if (!take_key(c, colon, equals, err))
        return error_show(err, text, colon ? (size_t)(colon - text) : length);
    return take_factor(c, err) || error_show(err, text, (size_t)(c->value - text));
}

static bool wrong(const char *change, const struct error *cause, struct error *err)
{
    fail(err, cause->kind, "--what-if '%.200s': %s", change, cause->text);
    return error_show_as(err, cause);
}

bool option_what_if(struct options *o, const char *v, struct error *err)
{
    struct input_change c;
    struct error cause = {0};
    if (!parse(&c, v, &cause))
        return wrong(v, &cause, err);
    o->what_if.text[o->what_if.count++] = arena_string(o->mem, v);
    return true;
}

/* "tp=8" of --set has the key tp and the value 8; other options are their value alone. */
static const char *value_of(const struct given *g, char key[64])
{
    const char *equals = is_keyed(g->option) ? strchr(g->value, '=') : NULL;
    copy_part(key, g->value, equals ? (size_t)(equals - g->value) : 0);
    return equals ? equals + 1 : g->value;
}

/* Whether this is what changes. --set global_batch=512 and --global-batch 512 are the same. */
static bool is_replaced(const struct input_change *c, const struct given *g)
{
    char key[64];
    value_of(g, key);
    if (strcmp(c->name, g->option->name) == 0)
        return same_name(c->key, key);
    if (strcmp(g->option->name, "set") == 0)
        return !*c->key && same_name(c->name, key);
    return strcmp(c->name, "set") == 0 && same_name(c->key, g->option->name);
}

static double global_batch_of(const struct query *q)
{
    return query_global_batch(q);
}

static double seq_len_of(const struct query *q)
{
    return query_seq_len(q);
}

static double memory_margin_of(const struct query *q)
{
    return q->terms.memory_margin;
}

static double imbalance_of(const struct query *q)
{
    return query_imbalance(q);
}

/* Numbers that are known without being given, or that come in more ways than one. */
static const struct {
    const char *name;
    double (*get)(const struct query *);
} IN_FORCE[] = {
    {"global-batch", global_batch_of},
    {"seq-len", seq_len_of},
    {"memory-margin", memory_margin_of},
    {"expert-imbalance", imbalance_of},
};

/* Groups of a type may have prices of their own, from a file: then there is no one price. */
static bool price_in_force(const struct query *q, const char *type, double *usd, struct error *err)
{
    const struct cluster *c = &q->cluster;
    const struct gpu *gpu = gpu_find(type, err);
    int found = 0;
    if (!gpu)
        return false;
    for (int i = 0; i < c->groups; i++) {
        if (c->group[i].gpu != gpu)
            continue;
        if (found++ && q->rent[i].usd_per_hour != *usd)
            return fail(err, ERROR_INPUT,
                        "groups of %s have several prices, %g and %g: give a new one", gpu->name,
                        *usd, q->rent[i].usd_per_hour);
        *usd = q->rent[i].usd_per_hour;
    }
    if (!found)
        return fail(err, ERROR_INPUT, "the cluster %s has no %s", c->text, gpu->name);
    return *usd > 0 || fail(err, ERROR_INPUT, "no price of %s is known: give a new one", gpu->name);
}

/* "30", "30d", "$20K", "2%" times the factor; a unit is kept. */
static const char *times(const char *text, double factor, struct arena *mem)
{
    double number;
    text += *text == '$';
    size_t n = strlen(text);
    if (!parse_real(text, &number))
        n = strspn(text, "0123456789.");
    char *digits = arena_copy(mem, text, n);
    const char *unit = text + n;
    if (!parse_real(digits, &number) ||
        unit[strspn(unit, " %/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")])
        return NULL;
    return arena_format(mem, "%.12g%s", number * factor, unit);
}

static bool times_given(const struct input_change *c, const struct query *q, struct arena *mem,
                        const char **value, struct error *err)
{
    const struct given *last = NULL;
    char key[64];
    for (const struct given *g = q->given->first; g; g = g->next)
        if (is_replaced(c, g))
            last = g;
    if (!last)
        return fail(err, ERROR_INPUT,
                    "%s%s%s is not given, so it cannot change by %s: give a new value", c->name,
                    *c->key ? ":" : "", c->key, c->value);
    const char *now = value_of(last, key);
    *value = times(now, c->factor, mem);
    return *value || fail(err, ERROR_INPUT,
                          "%s is '%.63s', not a number that can change by %s: give a new value",
                          *c->key ? c->key : c->name, now, c->value);
}

/* The new value as text, as the option takes it. */
static bool new_value(const struct input_change *c, const struct query *q, struct arena *mem,
                      const char **value, struct error *err)
{
    double now = 0;
    *value = c->value;
    if (c->factor <= 0)
        return true;
    if (strcmp(c->name, "price") == 0) {
        if (!price_in_force(q, c->key, &now, err))
            return false;
        *value = arena_format(mem, "%.12g", now * c->factor);
        return true;
    }
    for (size_t i = 0; i < sizeof IN_FORCE / sizeof *IN_FORCE; i++)
        if (strcmp(c->name, IN_FORCE[i].name) == 0) {
            *value = arena_format(mem, "%.12g", IN_FORCE[i].get(q) * c->factor);
            return true;
        }
    return times_given(c, q, mem, value, err);
}

/* Everything that `from` was given, but for the change. */
static bool apply(const struct input_change *c, const struct query *from, struct options *to,
                  struct error *err)
{
    const char *value;
    for (const struct given *g = from->given->first; g; g = g->next)
        if (g->option->use != WRITES && !is_replaced(c, g) &&
            !options_set(to, g->option->name, g->value, err))
            return false;
    if (is_figure(c->name))
        return cluster_change(&to->cluster, c->name, c->key, c->value, err);
    if (!new_value(c, from, to->mem, &value, err))
        return false;
    if (*c->key)
        value = arena_format(to->mem, "%s=%s", c->key, value);
    return options_set(to, c->name, value, err);
}

const struct query *query_change(const struct query *from, const char *change, struct arena *mem,
                                 struct error *err)
{
    struct options *options = arena_alloc(mem, sizeof *options);
    struct query *q = arena_alloc(mem, sizeof *q);
    struct error cause = {0};
    struct input_change c;
    options_init(options, mem);
    if (parse(&c, change, &cause) && apply(&c, from, options, &cause) &&
        query_resolve(options, from->kind, from->resources, mem, q, &cause))
        return q;
    wrong(change, &cause, err);
    return NULL;
}
