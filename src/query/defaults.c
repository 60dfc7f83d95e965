#include "query/defaults.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/yaml.h"
#include "query/options.h"

#include "astra.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One file that is read. */
struct defaults_reader {
    struct options *to;
    struct defaults *defaults;
    const char *path;
    struct text text;
    struct error *err;
};

__attribute__((format(printf, 4, 5))) static bool wrong(const struct defaults_reader *r, int line,
                                                        int column, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(r->err, ERROR_INPUT, "%s:%d:%d: %s (--no-config reads no such file)", r->path, line,
                column, text) ||
           error_show_line(r->err, r->text.data, r->text.length, line, column);
}

/* What has a meaning beyond one answer: no plan, no file that is written. */
static bool can_be_default(const struct option *o)
{
    static const char *const not [] = {"env", "args", "gpu", "what-if"};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (strcmp(o->name, not [i]) == 0)
            return false;
    return o->use != WRITES && (option_takes(o, "search") || option_takes(o, "estimate"));
}

static bool unknown_key(const struct defaults_reader *r, const struct yaml *v)
{
    const char *names[OPTION_COUNT + 1];
    size_t n = 0;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (can_be_default(option_row((enum option_id)i)))
            names[n++] = option_row((enum option_id)i)->name;
    names[n++] = "clusters";
    const char *near = did_you_mean(v->key, names, n);
    return wrong(r, v->key_line, v->key_column, "'%.63s' cannot be a default%s", v->key,
                 *near ? near : ": options of search and estimate can, and clusters");
}

/* The file or folder of that name beside this one; the name itself where there is none. */
static const char *beside(const struct defaults_reader *r, const char *value)
{
    const char *slash = strrchr(r->path, '/');
    if (!slash || *value == '/')
        return value;
    const char *path = arena_format(r->to->mem, "%.*s/%s", (int)(slash - r->path), r->path, value);
    return file_exists(path) || folder_exists(path) ? path : value;
}

static bool keep(const struct defaults_reader *r, const struct yaml *v, const struct option *o,
                 const char *name, const char *value)
{
    struct defaults *d = r->defaults;
    if (d->count == DEFAULTS_MAX)
        return wrong(r, v->line, v->column, "more than %d defaults", DEFAULTS_MAX);
    d->value[d->count++] = (struct default_value){o, name, beside(r, value), d->files, v->line, 0};
    return true;
}

static bool is_off(const char *text)
{
    return strcmp(text, "false") == 0 || strcmp(text, "off") == 0 || strcmp(text, "no") == 0;
}

static bool is_scalar(const struct defaults_reader *r, const struct yaml *v, const char *key)
{
    return v->kind == YAML_SCALAR || wrong(r, v->line, v->column, "%s takes a single value", key);
}

/* One value, or several of an option that may be given so: a list, or a map of what it is of. */
static bool read_values(const struct defaults_reader *r, const struct yaml *v,
                        const struct option *o)
{
    struct arena *mem = r->to->mem;
    if (v->kind == YAML_SCALAR)
        return (o->kind == KIND_SWITCH && is_off(v->text)) || keep(r, v, o, NULL, v->text);
    if (o->most < 2)
        return is_scalar(r, v, o->name);
    for (const struct yaml *x = v->item; x; x = x->next)
        if (!is_scalar(r, x, o->name) ||
            !keep(r, x, o, NULL, x->key ? arena_format(mem, "%s=%s", x->key, x->text) : x->text))
            return false;
    return true;
}

static bool read_clusters(const struct defaults_reader *r, const struct yaml *v)
{
    if (v->kind != YAML_MAP)
        return wrong(r, v->line, v->column, "clusters is a map of names, as in lab: 4x8:H100");
    for (const struct yaml *x = v->item; x; x = x->next)
        if (!is_scalar(r, x, x->key) || !keep(r, x, NULL, x->key, x->text))
            return false;
    return true;
}

static bool read_members(const struct defaults_reader *r, const struct yaml *root)
{
    if (root->kind != YAML_MAP)
        return wrong(r, root->line, root->column,
                     "a file of defaults is a map of options, as in memory-margin: 0.06");
    for (const struct yaml *v = root->item; v; v = v->next) {
        const struct option *o = option_find(v->key);
        bool clusters = strcmp(v->key, "clusters") == 0;
        if (!clusters && (!o || !can_be_default(o)))
            return unknown_key(r, v);
        if (!(clusters ? read_clusters(r, v) : read_values(r, v, o)))
            return false;
    }
    return true;
}

bool defaults_read_text(struct options *o, const char *text, size_t length, const char *path,
                        struct error *err)
{
    if (!o->defaults)
        o->defaults = arena_alloc(o->mem, sizeof *o->defaults);
    struct defaults *d = o->defaults;
    struct defaults_reader r = {o, d, arena_string(o->mem, path), {text, length}, err};
    if (d->files == DEFAULT_FILES)
        return fail(err, ERROR_INPUT, "%s: more than %d files of defaults", path, DEFAULT_FILES);
    const struct yaml *root = yaml_parse(text, length, r.path, o->mem, err);
    d->file[d->files] = r.path;
    if (!root || !read_members(&r, root))
        return false;
    d->files++;
    return true;
}

bool defaults_read(struct options *o, const char *path, struct error *err)
{
    struct text text;
    return file_read(path, o->mem, &text, err) &&
           defaults_read_text(o, text.data, text.length, path, err);
}

const char *defaults_cluster(const struct options *o, const char *value)
{
    const struct defaults *d = o->defaults;
    for (int i = d ? d->count : 0; i > 0; i--)
        if (!d->value[i - 1].option && strcmp(d->value[i - 1].name, value) == 0) {
            o->defaults->value[i - 1].used = true;
            return d->value[i - 1].value;
        }
    return value;
}

/* "H100" of "H100=2.1". */
static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* Whether it was given before: of price and set for the same GPU or parameter. */
static bool is_given(const struct options *o, const struct default_value *v,
                     const int times[OPTION_COUNT])
{
    if (v->option->use != ASKS_EACH)
        return times[v->option - option_row(0)] > 0;
    for (const struct given *g = o->first; g; g = g->next)
        if (g->option == v->option && same_key(g->value, v->value))
            return true;
    return false;
}

/* Of the pool and the model only where the command asks for one and nothing else says it. */
static bool is_wanted(const struct options *o, const struct option *option, const char *command)
{
    bool pool = strcmp(option->name, "cluster") == 0, model = strcmp(option->name, "model") == 0;
    bool asks = strcmp(command, "search") == 0 || strcmp(command, "estimate") == 0 ||
                strcmp(command, "explain") == 0 || strcmp(command, "improve") == 0;
    if (!option_takes(option, command) || ((pool || model) && !asks))
        return false;
    if (pool)
        return !o->has_cluster && !o->gpu;
    return !model || (!o->has_model && !o->has_flags);
}

static bool take(struct options *o, struct default_value *v, struct error *err)
{
    struct error cause = {0};
    v->used = true;
    if (options_set(o, v->option->name, v->value, &cause))
        return true;
    fail(err, cause.kind, "%s:%d: %s (--no-config reads no such file)", o->defaults->file[v->file],
         v->line, cause.text);
    return error_show_as(err, &cause);
}

/* "H100=2.1" where the pool has no H100: a site has more than one cluster. */
static bool of_absent_gpu(const struct options *o, const struct default_value *v)
{
    static const char *const keyed[] = {"price", "mtbf", "interruptions"};
    size_t n = strcspn(v->value, "=");
    bool of_gpu = false;
    for (size_t i = 0; i < sizeof keyed / sizeof *keyed; i++)
        of_gpu |= strcmp(v->option->name, keyed[i]) == 0;
    if (!of_gpu || !v->value[n])
        return false;
    const struct gpu *gpu = gpu_find(arena_copy(o->mem, v->value, n), NULL);
    for (int g = 0; o->has_cluster && g < o->cluster.groups; g++)
        if (o->cluster.group[g].gpu == gpu)
            return false;
    return gpu; /* an unknown one is a mistake, and said */
}

static bool take_file(struct options *o, int file, const char *command, bool pools,
                      struct error *err)
{
    struct defaults *d = o->defaults;
    int times[OPTION_COUNT];
    memcpy(times, o->times, sizeof times);
    for (int i = 0; i < d->count; i++) {
        struct default_value *v = &d->value[i];
        bool pool = v->option && strcmp(v->option->name, "cluster") == 0;
        if (v->option && v->file == file && pool == pools && is_wanted(o, v->option, command) &&
            !is_given(o, v, times) && !of_absent_gpu(o, v) && !take(o, v, err))
            return false;
    }
    return true;
}

/* The pool first, on which prices depend; of a later file first, so that its values count as given
 * for those before. */
bool defaults_take(struct options *o, const char *command, struct error *err)
{
    struct defaults *d = o->defaults;
    for (int pools = 1; d && pools >= 0; pools--)
        for (int f = d->files - 1; f >= 0; f--)
            if (!take_file(o, f, command, pools, err))
                return false;
    return true;
}

static void add_used(const struct options *o, struct str *out)
{
    const struct defaults *d = o->defaults;
    for (int f = 0; d && f < d->files; f++) {
        const char *between = "";
        for (int i = 0; i < d->count; i++) {
            const struct default_value *v = &d->value[i];
            if (!v->used || v->file != f)
                continue;
            if (!*between)
                str_addf(out, "%sdefaults of %s: ", out->length ? "\n" : "", d->file[f]);
            str_addf(out, "%s%s %s", between, v->option ? v->option->name : v->name, v->value);
            between = ", ";
        }
    }
}

const char *defaults_used(const struct options *o, struct arena *mem)
{
    struct str words = {0};
    add_used(o, &words);
    return str_keep(&words, mem);
}
