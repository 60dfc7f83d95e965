/* Words as the shell would hand them on. Text, quotes and what the dollar sign stands for go into a
 * field that is open; what stands outside quotes is split at blanks. What cannot be known becomes
 * an unknown part of the field and is never split. */
#include "import/shell/script_parts.h"

#include <string.h>

struct build {
    struct script *s;
    struct str text; /* of the open field */
    bool there;      /* the field is there, even if empty */
    bool split;
    bool document; /* quotes are text */
    int line;
    struct fields *out;
};

void fields_add(struct fields *f, const char *text, int line, struct script *s)
{
    f->word = arena_room(s->mem, f->word, f->count, &f->capacity, sizeof *f->word);
    script_spend(s, 0, sizeof *f->word);
    f->word[f->count++] = (struct launch_word){text, line};
}

static void close_field(struct build *b)
{
    if (b->there && script_spend(b->s, 1, b->text.length))
        fields_add(b->out, arena_string(b->s->mem, str_text(&b->text)), b->line, b->s);
    b->there = false;
    str_clear(&b->text);
}

static void add_quoted(struct build *b, const char *text, size_t length)
{
    b->there = true;
    if (script_spend(b->s, 0, length))
        str_add_bytes(&b->text, text, length);
}

/* What parts words: IFS, where the script sets it. */
const char *script_blanks(struct script *s)
{
    const struct value *v = script_name(s, "IFS", 3)->value;
    return v && v->count > 0 && launch_is_known(v->word[0].text) ? v->word[0].text : " \t\n\r";
}

/* What a variable holds, outside quotes. */
static void add_split(struct build *b, const char *text)
{
    if (!b->split) {
        add_quoted(b, text, strlen(text));
        return;
    }
    const char *signs = script_blanks(b->s);
    while (*text && !b->s->failed) {
        size_t n = strcspn(text, signs);
        if (n > 0)
            add_quoted(b, text, n);
        text += n;
        if (*text)
            close_field(b);
        text += strspn(text, signs);
    }
}

static void add_value(struct build *b, const char *text, bool quoted)
{
    if (quoted)
        add_quoted(b, text, strlen(text));
    else
        add_split(b, text);
}

/* "${A[@]}": each element a field of its own, joined to what stands before and behind. */
static void add_elements(struct build *b, const struct value *v, bool quoted, bool joined)
{
    const char *blanks = joined ? script_blanks(b->s) : " ";
    for (int i = 0; v && i < v->count && !b->s->failed; i++) {
        if (i > 0 && (joined || !b->split))
            add_quoted(b, blanks, *blanks != 0);
        else if (i > 0)
            close_field(b);
        if (b->split && !joined && v->word[i].line)
            b->line = v->word[i].line;
        add_value(b, v->word[i].text, quoted);
    }
}

static void expand_part(struct build *, const char *p, const char *end, bool quoted);

static const char *cut(struct script *s, const char *text, size_t length)
{
    enum { MOST = 60 };
    bool long_text = length > MOST || memchr(text, '\n', length);
    const char *line = memchr(text, '\n', length);
    size_t n = line ? (size_t)(line - text) : length;
    n = n > MOST ? MOST : n;
    return arena_format(s->mem, "%.*s%s", (int)n, text, long_text ? "..." : "");
}

static void add_unknown(struct build *b, const char *text, size_t length, const char *why,
                        const char *name)
{
    const char *mark = script_unknown(b->s, cut(b->s, text, length), why, name, b->line);
    add_quoted(b, mark, strlen(mark));
}

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
        add_elements(b, v, quoted, quoted && is_joined(p));
        return;
    }
    int line = b->line;
    if (b->split && !quoted && !b->there && v->count > 0 && v->word[0].line)
        b->line = v->word[0].line; /* a list of flags in one text */
    if (v->count > 0)
        add_value(b, first_text(v), quoted);
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
        add_unknown(b, p->name, p->length, "whose length is not known", NULL);
    else
        add_value(b, arena_format(b->s->mem, "%zu", n), true);
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
    if (v && *p->name != '0' && add_changed(b, p, v, at, end - 1, quoted))
        return;
    const char *name = arena_copy(b->s->mem, p->name, p->length);
    add_unknown(b, from, (size_t)(end - from), v ? "which is not worked out" : why_unset(b->s),
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
            expand_part(b, word, end - 1, quoted);
    } else if (there) {
        add_parameter(b, p, v, quoted);
    } else if (op == '?') {
        add_unknown(b, from, (size_t)(end - from), why_unset(s),
                    arena_copy(s->mem, p->name, p->length));
    } else if (op == '=') {
        const char *text = script_expand_one(s, word, (size_t)(end - 1 - word));
        script_assign(s, script_variable(s, p->name, p->length), value_of_text(s, text, b->line));
        add_value(b, text, quoted);
    } else {
        expand_part(b, word, end - 1, quoted);
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
        add_unknown(b, from, (size_t)(end - from), "which only a run tells", NULL);
    else if (v)
        add_parameter(b, p, v, quoted);
    else if (!is_all(p))
        add_unknown(b, from, (size_t)(end - from), why_unset(s), name);
    else if (p->name[0] != '@' && p->name[0] != '*')
        add_unknown(b, from, (size_t)(end - from), why_unset(s), NULL);
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
        add_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
}

/* ${...}; `from` is at the dollar sign, `end` behind the brace. */
static void add_braced(struct build *b, const char *from, const char *end, bool quoted)
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
        add_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
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

static void add_arithmetic(struct build *b, const char *from, const char *end)
{
    const char *text = script_arithmetic(b->s, from + 3, (size_t)(end - from) - 5);
    add_quoted(b, text, strlen(text));
}

/* $'...': the escapes that scripts use. */
static void add_escapes(struct build *b, const char *from, const char *end)
{
    static const char signs[] = "n\nt\t\\\\''\"\"";
    struct str s = {0};
    bool known = true;
    for (const char *p = from + 2; p < end - 1; p++) {
        const char *sign = *p == '\\' ? strchr(signs, p[1]) : NULL;
        known &= *p != '\\' || (sign && (sign - signs) % 2 == 0);
        str_add_bytes(&s, sign ? sign + 1 : p, 1);
        p += *p == '\\';
    }
    if (known)
        add_quoted(b, str_text(&s), s.length);
    else
        add_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
    str_release(&s);
}

/* $(...) and `...`: what the commands would print, where that follows from the script alone. */
static void add_output(struct build *b, const char *from, const char *end, const char *commands,
                       bool quoted)
{
    int line = b->s->line;
    const char *text = script_output_of(b->s, commands);
    b->s->line = line;
    if (text)
        add_value(b, text, quoted);
    else
        add_unknown(b, from, (size_t)(end - from), "and no command is run", NULL);
}

/* What the dollar sign at `from` stands for; returns where it ends. */
static const char *add_dollar(struct build *b, const char *from, const char *stop, bool quoted)
{
    struct parameter p;
    const char *end = script_skip_dollar(from, stop);
    if (!end)
        return stop;
    if (from + 1 < stop && from[1] == '"' && !quoted) /* $"..." is a text to translate */
        return from + 1;
    if (end - from > 5 && memcmp(from, "$((", 3) == 0 && memcmp(end - 2, "))", 2) == 0) {
        add_arithmetic(b, from, end);
    } else if (from + 1 < stop && from[1] == '(') {
        add_output(b, from, end, arena_copy(b->s->mem, from + 2, (size_t)(end - from) - 3), quoted);
    } else if (from + 1 < stop && from[1] == '{') {
        add_braced(b, from, end, quoted);
    } else if (from + 1 < stop && from[1] == '\'' && !quoted) {
        add_escapes(b, from, end);
    } else {
        end = from + 1;
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
            add_quoted(b, "$", 1);
        else if (*p.name == '#')
            add_count_of(b, &(struct parameter){.name = "@", .length = 1}, script_arguments(b->s));
        else
            add_plain(b, &p, from, end, quoted);
    }
    return end;
}

static const char *add_escaped(struct build *b, const char *p, const char *end, bool quoted)
{
    if (p + 1 == end) {
        add_quoted(b, p, 1);
        return end;
    }
    if (p[1] == '\n')
        return p + 2;
    if (quoted && !strchr(b->document ? "$`\\" : "$`\"\\", p[1]))
        add_quoted(b, p, 1);
    add_quoted(b, p + 1, 1);
    return p + 2;
}

/* Inside backquotes \` \\ and \$ lose their backslash. */
static const char *add_backquote(struct build *b, const char *p, const char *stop, bool quoted)
{
    const char *end = script_skip_backquote(p, stop);
    struct str s = {0};
    if (!end)
        return stop;
    for (const char *c = p + 1; c < end - 1; c++) {
        c += *c == '\\' && c + 1 < end - 1 && strchr("`\\$", c[1]);
        str_add_bytes(&s, c, 1);
    }
    add_output(b, p, end, str_keep(&s, b->s->mem), quoted);
    return end;
}

/* `quoted` changes at double quotes. */
static void expand_part(struct build *b, const char *p, const char *end, bool quoted)
{
    bool outside = !quoted;
    if (++b->s->depth > SCRIPT_DEPTH) {
        script_fail(b->s, b->line, "commands and variables are nested too deeply to be followed");
        return;
    }
    while (p < end && !b->s->failed) {
        if (*p == '\\') {
            p = add_escaped(b, p, end, quoted);
        } else if (*p == '"' && !b->document) {
            quoted = !quoted;
            b->there |= quoted;
            p++;
        } else if (*p == '\'' && !quoted) {
            const char *close = memchr(p + 1, '\'', (size_t)(end - p - 1));
            close = close ? close : end;
            add_quoted(b, p + 1, (size_t)(close - p - 1));
            p = close + (close < end);
        } else if (*p == '$') {
            /* "$@" without arguments is no word at all. */
            bool alone = quoted && b->there && b->text.length == 0 && outside;
            int before = b->out ? b->out->count : 0;
            const char *from = p;
            p = add_dollar(b, p, end, quoted);
            if (alone && p < end && *p == '"' && b->out && b->out->count == before &&
                b->text.length == 0 && (memchr(from, '@', (size_t)(p - from)) != NULL))
                b->there = false, quoted = false, p++;
        } else if (*p == '`') {
            p = add_backquote(b, p, end, quoted);
        } else {
            size_t n = 1;
            while (p + n < end && !strchr("\\\"'$`", p[n]))
                n++;
            add_quoted(b, p, n);
            p += n;
        }
    }
    b->s->depth--;
}

/* The first {...} outside quotes that is no ${...}; NULL = there is none. */
static const char *find_brace(const char *p, const char *end, const char **close)
{
    char quote = 0;
    for (; p < end; p++) {
        if (*p == '\\' || (*p == '$' && !quote)) {
            const char *behind = *p == '$' ? script_skip_dollar(p, end) : p + 2;
            p = (behind ? behind : end) - 1;
        } else if (*p == '"' || *p == '\'') {
            quote = quote == *p ? 0 : quote ? quote : *p;
        } else if (*p == '{' && !quote) {
            size_t n = 1;
            while (p + n < end && !strchr("{}\"'$`\\ ", p[n]))
                n++;
            *close = p + n;
            return p + n < end && p[n] == '}' ? p : NULL;
        }
    }
    return NULL;
}

static void expand_piece(struct script *s, const struct raw *raw, const char *open,
                         const char *piece, const char *close, struct fields *out)
{
    struct raw one = *raw;
    one.text = arena_format(s->mem, "%.*s%s%.*s", (int)(open - raw->text), raw->text, piece,
                            (int)(raw->text + raw->length - close - 1), close + 1);
    one.length = strlen(one.text);
    if (script_spend(s, 1, one.length))
        script_expand(s, &one, out);
}

/* a{1..3}b and a{x,y}b: a word of each; false where it is neither. */
static bool expand_braces(struct script *s, const struct raw *raw, struct fields *out)
{
    enum { PIECES = 1024 };
    const char *close = NULL, *open = find_brace(raw->text, raw->text + raw->length, &close);
    const char *body = open ? arena_copy(s->mem, open + 1, (size_t)(close - open) - 1) : "";
    const char *dots = strstr(body, "..");
    int64_t from, to;
    if (dots && parse_int(arena_copy(s->mem, body, (size_t)(dots - body)), &from) &&
        parse_int(dots + 2, &to) && from > -PIECES * PIECES && to < PIECES * PIECES &&
        to - from < PIECES && from - to < PIECES) {
        for (int64_t i = from;; i += from < to ? 1 : -1) {
            expand_piece(s, raw, open, arena_format(s->mem, "%lld", (long long)i), close, out);
            if (i == to || s->failed)
                return true;
        }
    }
    if (!strchr(body, ','))
        return false;
    for (const char *p = body;; p += strcspn(p, ",") + 1) {
        size_t n = strcspn(p, ",");
        expand_piece(s, raw, open, arena_copy(s->mem, p, n), close, out);
        if (!p[n] || s->failed)
            return true;
    }
}

void script_expand(struct script *s, const struct raw *raw, struct fields *out)
{
    if (memchr(raw->text, '{', raw->length) && raw->text[0] != '<' && expand_braces(s, raw, out))
        return;
    struct build b = {.s = s, .split = true, .line = raw->line, .out = out};
    bool process = raw->length > 2 && strchr("<>", raw->text[0]) && raw->text[1] == '(';
    str_init(&b.text);
    if (process) /* the name of a file that a command fills */
        add_unknown(&b, raw->text, raw->length, "and no command is run", NULL);
    else
        expand_part(&b, raw->text, raw->text + raw->length, false);
    close_field(&b);
    str_release(&b.text);
}

const char *script_expand_one(struct script *s, const char *text, size_t length)
{
    struct build b = {.s = s, .line = s->line};
    str_init(&b.text);
    expand_part(&b, text, text + length, false);
    return str_keep(&b.text, s->mem);
}

static bool is_sign(char c)
{
    return c && strchr("*?[(", c);
}

/* Signs of a pattern that stand outside quotes; `quoted`: whether there are quotes at all. */
static int open_signs(const struct raw *raw, bool *quoted)
{
    int signs = 0;
    char quote = 0;
    *quoted = false;
    for (size_t i = 0; i < raw->length; i++) {
        char c = raw->text[i];
        bool ends = quote && c == quote, begins = !quote && (c == '"' || c == '\'');
        *quoted |= begins || c == '\\';
        signs += !quote && is_sign(c);
        quote = ends ? 0 : begins ? c : quote;
        i += c == '\\';
    }
    return signs;
}

const char *script_expand_pattern(struct script *s, const struct raw *raw)
{
    const char *text = script_expand_one(s, raw->text, raw->length);
    bool quoted;
    int open = open_signs(raw, &quoted), all = 0;
    for (const char *p = text; *p; p++)
        all += is_sign(*p);
    if (!quoted || all == open)
        return text;
    return script_unknown(s, cut(s, raw->text, raw->length), "a pattern with quotes", NULL,
                          raw->line);
}

const char *script_expand_document(struct script *s, const struct document *d)
{
    struct build b = {.s = s, .line = s->line, .document = true};
    if (d->quoted)
        return arena_copy(s->mem, d->text, d->length);
    str_init(&b.text);
    expand_part(&b, d->text, d->text + d->length, true);
    return str_keep(&b.text, s->mem);
}
