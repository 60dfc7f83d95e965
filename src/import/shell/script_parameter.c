/* Parameters: $A, ${A[1]}, ${A:-x}, ${#A}, ${A%.sh} and their like, as text of the field that is open. */
#include "import/shell/script_field.h"

#include <string.h>

static const char *why_unset(struct script *s)
{
    if (!s->sourced)
        return "which is not set";
    return arena_format(s->mem, "which is not set (the file of line %d is not read)", s->sourced);
}

/* A parameter: NAME, a digit, or a sign. */
struct parameter {
    const char *name;
    size_t length;
    const char *subscript; /* "@", "*", a number; NULL = none */
    size_t subscript_length;
    bool counted; /* ${#...} */
};

static bool is_all(const struct parameter *p)
{
    return (p->length == 1 && (*p->name == '@' || *p->name == '*')) ||
           (p->subscript && p->subscript_length == 1 &&
            (*p->subscript == '@' || *p->subscript == '*'));
}

static bool is_joined(const struct parameter *p)
{
    return p->name[0] == '*' || (p->subscript && p->subscript[0] == '*');
}

/* One element as a value of its own; NULL = not there. Behind an unknown part, which may be
 * several words or none, nothing is known. */
static const struct value *element(struct script *s, const struct variable *v, const char *index)
{
    const struct value *all = v->value;
    int64_t i;
    bool known = parse_int(index, &i);
    if (!all)
        return NULL;
    if (known && i >= 0 && i < all->count && i == 0 && !all->array)
        return all;
    i += known && i < 0 ? all->count : 0;
    for (int k = 0; k < all->count && (k < i || index[0] == '-'); k++)
        known &= launch_is_known(all->word[k].text);
    if (!known)
        return value_of_text(s,
                             script_unknown(s, arena_format(s->mem, "${%s[...]}", v->name),
                                            "which is not worked out",
                                            is_name_start(*v->name) ? v->name : NULL, s->line),
                             s->line);
    return i >= 0 && i < all->count ? value_of_text(s, all->word[i].text, all->word[i].line) : NULL;
}

/* Of a list whose elements have names. */
static const struct value *keyed(struct script *s, const struct variable *v,
                                 const struct parameter *p)
{
    const char *key = script_expand_one(s, p->subscript, p->subscript_length);
    if (v->value) /* not known any more */
        return v->value;
    if (is_all(p) || !launch_is_known(key))
        return value_of_text(s,
                             script_unknown(s, arena_format(s->mem, "${%s[...]}", v->name),
                                            "which is not worked out", NULL, s->line),
                             s->line);
    const char *name = arena_format(s->mem, "%s[%s]", v->name, key);
    return script_name(s, name, strlen(name))->value;
}

/* What the parameter holds; NULL = not set. */
static const struct value *look_up(struct script *s, const struct parameter *p)
{
    if (p->length == 1 && (*p->name == '@' || *p->name == '*'))
        return script_arguments(s);
    if (*p->name == '0')
        return value_of_text(s, s->path, 0);
    struct variable *v = script_variable(s, p->name, p->length);
    if (*p->name >= '1' && *p->name <= '9' && (!v->fixed || script_arguments(s))) {
        int64_t n;
        if (!parse_int(v->name, &n))
            return NULL;
        if (!script_arguments(s))
            script_ask_argument(s, v->name);
        return element(s, script_name(s, "@", 1), arena_format(s->mem, "%lld", (long long)n - 1));
    }
    if (p->subscript && v->keyed)
        return keyed(s, v, p);
    if (p->subscript && !is_all(p))
        return element(s, v, script_arithmetic(s, p->subscript, p->subscript_length));
    return v->value;
}

/* Text of a value where one text is needed: an array's first element. */
static const char *first_text(const struct value *v)
{
    return v && v->count > 0 ? v->word[0].text : "";
}

static void add_parameter(struct build *b, const struct parameter *p, const struct value *v,
                          bool quoted)
{
    if (is_all(p)) {
        field_elements(b, v, quoted, quoted && is_joined(p));
        return;
    }
    int line = b->line;
    if (b->split && !quoted && !b->there && v->count > 0 && v->word[0].line)
        b->line = v->word[0].line; /* a list of flags in one text */
    if (v->count > 0)
        field_value(b, first_text(v), quoted);
    if (!b->there)
        b->line = line;
}

/* ${#NAME}, ${#NAME[@]} and $# */
static void add_count_of(struct build *b, const struct parameter *p, const struct value *v)
{
    const char *text = first_text(v);
    bool known = true;
    for (int i = 0; v && i < v->count; i++)
        known &= launch_is_known(v->word[i].text);
    size_t n = is_all(p) ? (v ? (size_t)v->count : 0) : strlen(text);
    if (!known)
        field_unknown(b, p->name, p->length, "whose length is not known", NULL);
    else
        field_value(b, arena_format(b->s->mem, "%zu", n), true);
}

/* "${A[@]:1}": some of the elements, or each changed in the same way. False where that is not worked out. */
static bool add_changed(struct build *b, const struct parameter *p, const struct value *v,
                        const char *op, const char *stop, bool quoted)
{
    struct script *s = b->s;
    struct fields f = {0};
    int64_t from = 0, taken = v->count;
    bool slices = is_all(p) && *op == ':', arguments = !p->subscript;
    for (int i = 0; i < v->count; i++)
        if (v->count > 1 && !launch_is_known(v->word[i].text) && v->word[i].text[0] == LAUNCH_MARK)
            return false; /* it may be several */
    if (slices && !script_slice(s, op, stop, v->count + arguments, &from, &taken))
        return false;
    from -= slices && arguments && from > 0; /* $1 is the first */
    for (int64_t i = from; i < from + taken && i < v->count && (is_all(p) || i == 0); i++) {
        const char *text = v->word[i].text;
        text = slices ? text : script_apply(s, text, op, stop);
        if (!text)
            return false;
        fields_add(&f, text, v->word[i].line, s);
    }
    if (v->count > 0 || is_all(p))
        add_parameter(b, p, value_of_fields(s, &f), quoted);
    return true;
}

/* Patterns, substrings: what is left of the value, where that can be worked out. */
static void add_worked(struct build *b, const struct parameter *p, const char *from, const char *at,
                       const char *end, const struct value *v, bool quoted)
{
    bool whole = v && v->count == 1 && !is_all(p);
    if (whole && end - 1 - at == 3 && memcmp(at, "%/*", 3) == 0 && *p->name != '0' &&
        script_is_own_file(b->s, v->word[0].text)) {
        field_value(b, script_own_folder(b->s), quoted);
        return;
    }
    if (v && *p->name != '0' && add_changed(b, p, v, at, end - 1, quoted))
        return;
    const char *name = arena_copy(b->s->mem, p->name, p->length);
    field_unknown(b, from, (size_t)(end - from), v ? "which is not worked out" : why_unset(b->s),
                  v || !is_name_start(*name) ? NULL : name);
    for (int i = 0; v && i < v->count; i++)
        script_may_hold(b->s, b->s->unknowns - 1, v->word[i].text);
}

/* ${NAME:-word} and its like. `op` is one of - = ? +, `colon`: empty counts as not set. */
static void add_default(struct build *b, const struct parameter *p, char op, bool colon,
                        const char *word, const char *from, const char *end, bool quoted)
{
    struct script *s = b->s;
    const struct value *v = look_up(s, p);
    bool empty = !v || v->count == 0 || (v->count == 1 && !*v->word[0].text);
    bool there = v && !(colon && empty);
    if (op == '+') {
        if (there)
            field_part(b, word, end - 1, quoted);
    } else if (there) {
        add_parameter(b, p, v, quoted);
    } else if (op == '?') {
        field_unknown(b, from, (size_t)(end - from), why_unset(s),
                      arena_copy(s->mem, p->name, p->length));
    } else if (op == '=') {
        const char *text = script_expand_one(s, word, (size_t)(end - 1 - word));
        script_assign(s, script_variable(s, p->name, p->length), value_of_text(s, text, b->line));
        field_value(b, text, quoted);
    } else {
        field_part(b, word, end - 1, quoted);
    }
}

/* Where the name of a parameter ends. */
static const char *read_parameter(struct parameter *p, const char *at, const char *end)
{
    *p = (struct parameter){.name = at};
    if (at < end && is_name_start(*at))
        while (at < end && is_name_char(*at))
            at++;
    else if (at < end && *at >= '0' && *at <= '9')
        while (at < end && *at >= '0' && *at <= '9')
            at++;
    else if (at < end && strchr("@*#?$!-", *at))
        at++;
    p->length = (size_t)(at - p->name);
    if (at < end && *at == '[' && is_name_start(*p->name)) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (!close)
            return at;
        p->subscript = at + 1;
        p->subscript_length = (size_t)(close - at - 1);
        at = close + 1;
    }
    return at;
}

static void add_plain(struct build *b, const struct parameter *p, const char *from, const char *end,
                      bool quoted)
{
    struct script *s = b->s;
    const char *name = arena_copy(s->mem, p->name, p->length);
    const struct value *v = look_up(s, p);
    if (p->length == 1 && strchr("?$!-", *p->name))
        field_unknown(b, from, (size_t)(end - from), "which only a run tells", NULL);
    else if (v)
        add_parameter(b, p, v, quoted);
    else if (!is_all(p))
        field_unknown(b, from, (size_t)(end - from), why_unset(s), name);
    else if (p->name[0] != '@' && p->name[0] != '*')
        field_unknown(b, from, (size_t)(end - from), why_unset(s), NULL);
}

/* ${!NAME}: the variable whose name the other holds. */
static void add_indirect(struct build *b, const char *from, const char *end, bool quoted)
{
    struct parameter p;
    const char *at = read_parameter(&p, from + 3, end - 1);
    const struct value *v = at == end - 1 && !p.subscript ? look_up(b->s, &p) : NULL;
    const char *name = v && v->count == 1 ? v->word[0].text : "";
    size_t n = 0;
    while (is_name_char(name[n]))
        n++;
    if (n > 0 && !name[n] && is_name_start(*name))
        add_plain(b, &(struct parameter){.name = name, .length = n}, from, end, quoted);
    else
        field_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
}

/* ${...}; `from` is at the dollar sign, `end` behind the brace. */
void field_braced(struct build *b, const char *from, const char *end, bool quoted)
{
    struct parameter p;
    const char *at = from + 2, *stop = end - 1;
    bool counted = stop - at > 1 && *at == '#';
    if (stop - at > 1 && *at == '!' && is_name_start(at[1])) {
        add_indirect(b, from, end, quoted);
        return;
    }
    at = read_parameter(&p, at + counted, stop);
    if (p.length == 0 || from[2] == '!') {
        field_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
        return;
    }
    if (counted && at == stop) {
        add_count_of(b, &p, look_up(b->s, &p));
        return;
    }
    bool colon = at < stop && *at == ':';
    const char *op = at + colon;
    if (at == stop)
        add_plain(b, &p, from, end, quoted);
    else if (op < stop && strchr("-=?+", *op) && !(colon && op[-1] != ':'))
        add_default(b, &p, *op, colon, op + 1, from, end, quoted);
    else
        add_worked(b, &p, from, at, end, look_up(b->s, &p), quoted);
}

const char *field_named(struct build *b, const char *from, const char *stop, bool quoted)
{
    struct parameter p;
    const char *end = from + 1;
    if (end < stop && *end >= '0' && *end <= '9') {
        p = (struct parameter){.name = end++, .length = 1};
    } else {
        const char *bracket;
        end = read_parameter(&p, end, stop);
        bracket = memchr(from, '[', (size_t)(end - from));
        end = bracket ? bracket : end; /* $A[1] is $A and text */
        p.subscript = NULL;
    }
    if (p.length == 0)
        field_add(b, "$", 1);
    else if (*p.name == '#')
        add_count_of(b, &(struct parameter){.name = "@", .length = 1}, script_arguments(b->s));
    else
        add_plain(b, &p, from, end, quoted);
    return end;
}
