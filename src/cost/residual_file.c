/* Readers take a place, such as "entries[0].factors.intra", that stands before every message. */
#include "cost/residual_file.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "strategy/strategy.h"

#include <math.h>
#include <string.h>

static const char KIND[] = "astra-profile";
enum { VERSION = 1 };
static const double MOST_ERROR = 5, MOST_RUNS = 1e6;

double profile_rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

/* Keys of one object, and what is wrong with them. */
struct profile_reader {
    const char *place;
    const char *const *keys;
    size_t count;
    struct error *err;
    bool ok;
};

static void check_key(void *context, const char *key, const struct json *value)
{
    struct profile_reader *r = context;
    (void)value;
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->keys[i], key) == 0)
            return;
    if (r->ok)
        r->ok = fail(r->err, ERROR_INPUT, "%s has an unknown key '%.60s'%s", r->place, key,
                     did_you_mean(key, r->keys, r->count));
}

/* An object with these keys and no others, all of them there. */
static bool has_keys(const struct json *o, const char *place, const char *const *keys, size_t count,
                     struct error *err)
{
    struct profile_reader r = {place, keys, count, err, true};
    if (!json_is_object(o))
        return fail(err, ERROR_INPUT, "%s is no object", place);
    json_each(o, check_key, &r);
    for (size_t i = 0; r.ok && i < count; i++)
        if (!json_get(o, keys[i]))
            r.ok = fail(err, ERROR_INPUT, "%s lacks the key '%s'", place, keys[i]);
    return r.ok;
}

static bool read_number(const struct json *o, const char *place, const char *key, double lo,
                        double hi, double *out, struct error *err)
{
    const struct json *v = json_get(o, key);
    double x = json_number_of(v);
    if (!json_is_number(v))
        return fail(err, ERROR_INPUT, "%s.%s is no number, %g to %g is right", place, key, lo, hi);
    if (!(x >= lo && x <= hi))
        return fail(err, ERROR_INPUT, "%s.%s is %g, %g to %g is right", place, key, x, lo, hi);
    *out = profile_rounded(x);
    return true;
}

static bool read_factor(const struct json *o, const char *place, enum residual_factor f,
                        struct profile_entry *e, struct arena *mem, struct error *err)
{
    static const char *const keys[] = {"value", "error", "fitted", "observations", "why"};
    const struct json *fitted = json_get(o, "fitted"), *why = json_get(o, "why");
    struct residual *r = &e->residual;
    double observations;
    if (!has_keys(o, place, keys, sizeof keys / sizeof *keys, err) ||
        !read_number(o, place, "value", PROFILE_LEAST_FACTOR, PROFILE_MOST_FACTOR, &r->value[f],
                     err) ||
        !read_number(o, place, "error", 0, MOST_ERROR, &r->error[f], err) ||
        !read_number(o, place, "observations", 0, 1e9, &observations, err))
        return false;
    if (!json_is_bool(fitted) || !json_is_string(why))
        return fail(err, ERROR_INPUT, "%s.%s is no %s", place,
                    json_is_bool(fitted) ? "why" : "fitted",
                    json_is_bool(fitted) ? "text" : "bool");
    r->fitted[f] = json_bool_of(fitted);
    if (!r->fitted[f] && r->value[f] != 1)
        return fail(err, ERROR_INPUT, "%s.value is %g though it is not fitted, 1 is right", place,
                    r->value[f]);
    e->observations[f] = (int)observations;
    e->why[f] = arena_string(mem, json_text(why));
    return true;
}

/* Profiles that were made before there was a factor of the host lack it. */
static bool is_older(const struct json *o, int factor)
{
    return factor == RESIDUAL_host && !json_get(o, residual_name(RESIDUAL_host));
}

static void leave_out(struct profile_entry *e, int factor)
{
    e->residual.value[factor] = 1;
    e->why[factor] = "the profile was made without it";
}

static bool read_factors(const struct json *o, const char *place, struct profile_entry *e,
                         struct arena *mem, struct error *err)
{
    const char *names[RESIDUALS];
    size_t count = 0;
    for (int f = 0; f < RESIDUALS; f++)
        if (!is_older(o, f))
            names[count++] = residual_name((enum residual_factor)f);
    if (!has_keys(o, place, names, count, err))
        return false;
    for (int f = 0; f < RESIDUALS; f++)
        if (is_older(o, f))
            leave_out(e, f);
        else if (!read_factor(
                     json_get(o, residual_name((enum residual_factor)f)),
                     arena_format(mem, "%s.%s", place, residual_name((enum residual_factor)f)),
                     (enum residual_factor)f, e, mem, err))
            return false;
    return true;
}

static const char *model_word(int i)
{
    return i ? "experts" : "dense";
}

static const char *precision_word(int i)
{
    return precision_info(i)->word;
}

static const struct word_set {
    const char *key, *right;
    int words;
    const char *(*word)(int);
} MODELS = {"models", "a list of dense and experts", 2, model_word},
  FORMATS = {"precisions", "a list of bf16, fp16, fp8, mxfp8, fp8_blockwise and nvfp4", PRECISIONS,
             precision_word};

static bool read_set(const struct json *o, const char *place, const struct word_set *set,
                     unsigned *out, struct error *err)
{
    const struct json *list = json_get(o, set->key);
    bool ok = json_is_array(list);
    for (size_t i = 0; ok && i < json_count(list); i++) {
        int at = 0;
        while (at < set->words && strcmp(json_text(json_at(list, i)), set->word(at)) != 0)
            at++;
        ok = at < set->words && !(*out >> at & 1);
        *out |= 1U << at;
    }
    return ok || fail(err, ERROR_INPUT, "%s.%s is wrong: %s, each at most once, is right", place,
                      set->key, set->right);
}

static bool read_runs(const struct json *o, const char *place, struct residual *r,
                      struct error *err)
{
    static const char *const keys[] = {"configurations", "models", "precisions"};
    double configurations, least = 0;
    for (int f = 0; f < RESIDUAL_TIMES; f++)
        least = r->fitted[f] ? 1 : least;
    if (!has_keys(o, place, keys, sizeof keys / sizeof *keys, err) ||
        !read_number(o, place, keys[0], least, MOST_RUNS, &configurations, err))
        return false;
    r->runs.configurations = (int)configurations;
    return read_set(o, place, &MODELS, &r->runs.models, err) &&
           read_set(o, place, &FORMATS, &r->runs.precisions, err);
}

static bool read_names(const struct json *o, const char *place, struct profile_entry *e,
                       struct error *err)
{
    const struct json *gpu = json_get(o, "gpu"), *stack = json_get(o, "stack");
    struct error cause = {0};
    if (!json_is_string(gpu))
        return fail(err, ERROR_INPUT, "%s.gpu is no text", place);
    e->gpu = gpu_find(json_text(gpu), &cause);
    if (!e->gpu)
        return fail(err, ERROR_INPUT, "%s.gpu: %s", place, cause.text);
    return stack_find(json_text(stack), &e->stack) ||
           fail(err, ERROR_INPUT, "%s.stack is '%.60s', te, torch or local is right", place,
                json_text(stack));
}

static bool read_entry(const struct json *o, const char *place, struct profile_entry *e,
                       struct arena *mem, struct error *err)
{
    static const char *const keys[] = {"gpu", "stack", "factors", "residual", "runs"};
    static const char *const scatter[] = {"time", "memory"};
    const char *rest = arena_format(mem, "%s.residual", place);
    const struct json *residual = json_get(o, "residual");
    return has_keys(o, place, keys, sizeof keys / sizeof *keys, err) &&
           read_names(o, place, e, err) &&
           read_factors(json_get(o, "factors"), arena_format(mem, "%s.factors", place), e, mem,
                        err) &&
           has_keys(residual, rest, scatter, 2, err) &&
           read_number(residual, rest, "time", 0, PROFILE_MOST_SCATTER, &e->residual.time_scatter,
                       err) &&
           read_number(residual, rest, "memory", 0, PROFILE_MOST_SCATTER,
                       &e->residual.memory_scatter, err) &&
           read_runs(json_get(o, "runs"), arena_format(mem, "%s.runs", place), &e->residual, err);
}

bool profile_read_entries(struct profile *p, const struct json *list, struct arena *mem,
                          struct error *err)
{
    p->entries = 0;
    if (!json_is_array(list) || json_count(list) == 0)
        return fail(err, ERROR_INPUT, "entries is no list of entries, at least one is right");
    for (size_t i = 0; i < json_count(list); i++) {
        struct profile_entry e = {0};
        const char *place = arena_format(mem, "entries[%zu]", i);
        if (i == PROFILE_MAX_ENTRIES)
            return fail(err, ERROR_INPUT, "entries has %zu entries, at most %d are right",
                        json_count(list), PROFILE_MAX_ENTRIES);
        if (!read_entry(json_at(list, i), place, &e, mem, err))
            return false;
        if (profile_find(p, e.gpu, e.stack))
            return fail(err, ERROR_INPUT, "%s: %s with stack %s is there twice", place, e.gpu->name,
                        stack_name(e.stack));
        p->entry[p->entries++] = e;
    }
    return true;
}

static bool read_root(struct profile *p, const struct json *root, struct arena *mem,
                      struct error *err)
{
    static const char *const keys[] = {"kind", "version", "made_from", "entries"};
    const struct json *kind = json_get(root, "kind"), *version = json_get(root, "version");
    if (!json_is_object(root) || strcmp(json_text(kind), KIND) != 0)
        return fail(err, ERROR_INPUT,
                    "no profile: its kind is '%.60s', '%s' is right (astra calibrate writes one)",
                    json_text(kind), KIND);
    if (json_integer_of(version) != VERSION)
        return fail(err, ERROR_INPUT, "version is %lld, %d is right",
                    (long long)json_integer_of(version), VERSION);
    if (!has_keys(root, "the profile", keys, sizeof keys / sizeof *keys, err))
        return false;
    if (!json_is_array(json_get(root, "made_from")))
        return fail(err, ERROR_INPUT, "made_from is no list of names");
    return profile_read_entries(p, json_get(root, "entries"), mem, err);
}

bool profile_read(struct profile *p, const char *text, size_t length, const char *name,
                  struct arena *mem, struct error *err)
{
    struct json *root = json_parse(text, length, name, err);
    struct error inner = {0};
    bool ok = root && read_root(p, root, mem, &inner);
    p->name = name;
    if (root && !ok)
        fail(err, inner.kind, "%s: %s", name, inner.text);
    if (root)
        json_release(root);
    return ok;
}

const struct profile_entry *profile_find(const struct profile *p, const struct gpu *gpu,
                                         enum stack stack)
{
    for (int i = 0; i < p->entries; i++)
        if (p->entry[i].gpu == gpu && p->entry[i].stack == stack)
            return &p->entry[i];
    return NULL;
}

static struct json *json_of_factor(const struct profile_entry *e, int f)
{
    struct json *o = json_new_object();
    json_set(o, "value", json_new_number(e->residual.value[f]));
    json_set(o, "error", json_new_number(e->residual.error[f]));
    json_set(o, "fitted", json_new_bool(e->residual.fitted[f]));
    json_set(o, "observations", json_new_integer(e->observations[f]));
    json_set(o, "why", json_new_string(e->why[f] ? e->why[f] : ""));
    return o;
}

static struct json *json_of_set(const struct word_set *set, unsigned has)
{
    struct json *list = json_new_array();
    for (int i = 0; i < set->words; i++)
        if (has >> i & 1)
            json_append(list, json_new_string(set->word(i)));
    return list;
}

static struct json *json_of_runs(const struct residual_runs *r)
{
    struct json *o = json_new_object();
    json_set(o, "configurations", json_new_integer(r->configurations));
    json_set(o, MODELS.key, json_of_set(&MODELS, r->models));
    json_set(o, FORMATS.key, json_of_set(&FORMATS, r->precisions));
    return o;
}

struct json *json_of_profile_entry(const struct profile_entry *e)
{
    struct json *o = json_new_object(), *factors = json_new_object(), *rest = json_new_object();
    for (int f = 0; f < RESIDUALS; f++)
        json_set(factors, residual_name((enum residual_factor)f), json_of_factor(e, f));
    json_set(rest, "time", json_new_number(e->residual.time_scatter));
    json_set(rest, "memory", json_new_number(e->residual.memory_scatter));
    json_set(o, "gpu", json_new_string(e->gpu->name));
    json_set(o, "stack", json_new_string(stack_name(e->stack)));
    json_set(o, "factors", factors);
    json_set(o, "residual", rest);
    json_set(o, "runs", json_of_runs(&e->residual.runs));
    return o;
}

struct json *json_of_profile(const struct profile *p, const char *const *made_from, int count)
{
    struct json *o = json_new_object(), *list = json_new_array();
    for (int i = 0; i < p->entries; i++)
        json_append(list, json_of_profile_entry(&p->entry[i]));
    json_set(o, "kind", json_new_string(KIND));
    json_set(o, "version", json_new_integer(VERSION));
    json_set(o, "made_from", json_new_strings(made_from, (size_t)count));
    json_set(o, "entries", list);
    return o;
}
