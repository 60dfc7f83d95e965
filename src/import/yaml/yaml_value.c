/* What stands in ${...}: another setting of the file (${model.hidden_size}, ${.hidden_size} of the same map), a
 * variable with or without a value to fall back on (${TP:4}, ${TP:-4}, ${oc.env:TP,4}), or a small sum
 * (${multiply:4,${.hidden_size}}). Anything else is not known, and says so where a flag needs it. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 8 };

static void expand(struct yaml_reading *r, const char *text, int line, int depth, struct str *out);

static const char *expanded(struct yaml_reading *r, const char *text, int line, int depth)
{
    struct str s = {0};
    expand(r, text, line, depth, &s);
    return str_keep(&s, r->mem);
}

static const char *env_value(const struct yaml_reading *r, const char *name)
{
    for (int i = r->envs - 1; i >= 0; i--)
        if (strcmp(r->env[i].name, name) == 0)
            return r->env[i].value;
    return NULL;
}

static bool is_variable(const char *name)
{
    bool ok = isalpha((unsigned char)*name) || *name == '_';
    for (; *name; name++)
        ok &= isalnum((unsigned char)*name) || *name == '_';
    return ok;
}

static void add_unknown(struct yaml_reading *r, const char *text, const char *name, int line,
                        struct str *out)
{
    str_add(out,
            dest_list_unknown(&r->list, (struct launch_unknown){.text = arena_string(r->mem, text),
                                                                .why = name ? "which is not set"
                                                                            : "which is not known",
                                                                .name = name,
                                                                .line = line}));
}

/* The setting that a name leads to: from the top, or from the map around it where it begins with dots. */
static const struct yaml *setting_at(const struct yaml_reading *r, const char *path)
{
    int up = (int)strspn(path, ".");
    if (up == 0)
        return reading_find(r, path);
    return up <= r->scopes ? yaml_at(r->scope[r->scopes - up], path + up) : NULL;
}

/* Numbers of "4, 1024" one after the other. */
static bool work_out(const char *operation, const char *numbers, char *out, size_t size)
{
    double total = 0, x;
    bool first = true;
    for (const char *p = numbers; *p; first = false) {
        char word[64];
        p += strspn(p, " ,");
        size_t n = strcspn(p, " ,");
        if (n == 0)
            break;
        if (n >= sizeof word)
            return false;
        memcpy(word, p, n);
        word[n] = 0;
        p += n;
        if (!parse_real(word, &x))
            return false;
        if (first)
            total = x;
        else if (is_one_of(operation, "multiply mul"))
            total *= x;
        else if (is_one_of(operation, "add sum plus"))
            total += x;
        else if (is_one_of(operation, "subtract sub minus"))
            total -= x;
        else if (x != 0)
            total /= x;
        else
            return false;
    }
    if (first || fabs(total) > 1e15)
        return false;
    snprintf(out, size, total == floor(total) ? "%.0f" : "%.9g", total);
    return true;
}

static bool add_sum(struct yaml_reading *r, const char *operation, const char *rest, int line,
                    int depth, struct str *out)
{
    static const char known[] =
        "multiply mul add sum plus subtract sub minus divide div int_divide floor_divide";
    char text[64];
    if (!is_one_of(operation, known) ||
        !work_out(operation, expanded(r, rest, line, depth), text, sizeof text))
        return false;
    str_add(out, text);
    return true;
}

/* A variable and what it falls back on (NULL = nothing). */
static void add_variable(struct yaml_reading *r, const char *whole, const char *name,
                         const char *fallback, int line, int depth, struct str *out)
{
    const char *set = env_value(r, name);
    bool open = !fallback || strncmp(fallback, "?", 1) == 0;
    if (set)
        str_add(out, set);
    else if (!open)
        expand(r, fallback, line, depth + 1, out);
    else
        add_unknown(r, whole, is_variable(name) ? name : NULL, line, out);
}

/* What stands between ${ and }. */
static void add_reference(struct yaml_reading *r, const char *inner, int line, int depth,
                          struct str *out)
{
    size_t n = strcspn(inner, ":");
    const char *head = arena_copy(r->mem, inner, n), *rest = inner[n] ? inner + n + 1 : NULL;
    const char *whole = arena_format(r->mem, "${%s}", inner);
    if (rest && is_one_of(head, "oc.env env")) {
        size_t m = strcspn(rest, ",");
        const char *fallback = rest[m] ? rest + m + 1 + strspn(rest + m + 1, " ") : NULL;
        add_variable(r, whole, arena_copy(r->mem, rest, m), fallback, line, depth, out);
        return;
    }
    if (rest && strcmp(head, "oc.decode") == 0) { /* the text as a value, which all are here */
        expand(r, rest, line, depth + 1, out);
        return;
    }
    if (rest && add_sum(r, head, rest, line, depth + 1, out))
        return;
    const struct yaml *node = rest ? NULL : setting_at(r, inner);
    if (node && node->kind == YAML_SCALAR) {
        expand(r, node->text, line, depth + 1, out);
        return;
    }
    if (rest && *rest == '-')
        rest++;
    if (rest && !is_variable(head)) /* a resolver of the program's own */
        add_unknown(r, whole, NULL, line, out);
    else
        add_variable(r, whole, head, rest, line, depth, out);
}

/* The } that closes what opens at `p`, behind "${"; NULL = none. */
static const char *closing(const char *p)
{
    for (int open = 1; *p; p++) {
        open += p[0] == '$' && p[1] == '{';
        open -= *p == '}';
        if (open == 0)
            return p;
    }
    return NULL;
}

static void expand(struct yaml_reading *r, const char *text, int line, int depth, struct str *out)
{
    while (*text && out->length < YAML_VALUE_BYTES) {
        const char *at = strstr(text, "${"), *end = at ? closing(at + 2) : NULL;
        if (!end) {
            str_add(out, text);
            return;
        }
        str_add_bytes(out, text, (size_t)(at - text));
        const char *inner = arena_copy(r->mem, at + 2, (size_t)(end - at - 2));
        if (depth >= DEEPEST || ++r->looked_up > YAML_VALUES)
            add_unknown(r, arena_format(r->mem, "${%.60s}", inner), NULL, line, out);
        else
            add_reference(r, inner, line, depth, out);
        text = end + 1;
    }
}

/* Bytes of our marks are not text of anybody's. */
const char *reading_plain(const char *text, struct arena *mem)
{
    char *copy;
    if (!strpbrk(text, "\001\002"))
        return text;
    copy = arena_string(mem, text);
    for (char *p = copy; (p = strpbrk(p, "\001\002")); p++)
        *p = '?';
    return copy;
}

/* YAML's own words for yes and no; 1e6, 1000000.0 and 1_000_000 as a whole number. */
static const char *plain_value(const char *text, struct arena *mem)
{
    double x;
    if (same_name(text, "yes") || same_name(text, "on"))
        return "true";
    if (same_name(text, "no") || same_name(text, "off"))
        return "false";
    if (strcmp(text, "~") == 0)
        return "null";
    if (strpbrk(text, ".eE") && isdigit((unsigned char)*text) && parse_real(text, &x) && x >= 1 &&
        x < 1e15 && x == floor(x))
        return arena_format(mem, "%.0f", x);
    return words_plain(text, mem);
}

const char *reading_value(struct yaml_reading *r, const struct yaml *scalar)
{
    const char *text = reading_plain(scalar->text, r->mem);
    if (strstr(text, "${"))
        text = expanded(r, text, reading_line(r, scalar), 0);
    return scalar->plain ? plain_value(text, r->mem) : text;
}

const char *reading_text(struct yaml_reading *r, const char *path)
{
    const struct yaml *node = *path ? reading_find(r, path) : NULL;
    const char *text = node && node->kind == YAML_SCALAR ? reading_value(r, node) : NULL;
    return text && *text && launch_is_known(text) && !same_name(text, "null") ? text : NULL;
}
