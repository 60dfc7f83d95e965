/* Words as the shell would hand them on. Text, quotes and what the dollar sign stands for go into a
 * field that is open; what stands outside quotes is split at blanks. What cannot be known becomes
 * an unknown part of the field and is never split. */
#include "import/shell/script_field.h"

#include <string.h>

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

void field_add(struct build *b, const char *text, size_t length)
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
        field_add(b, text, strlen(text));
        return;
    }
    const char *signs = script_blanks(b->s);
    while (*text && !b->s->failed) {
        size_t n = strcspn(text, signs);
        if (n > 0)
            field_add(b, text, n);
        text += n;
        if (*text)
            close_field(b);
        text += strspn(text, signs);
    }
}

void field_value(struct build *b, const char *text, bool quoted)
{
    if (quoted)
        field_add(b, text, strlen(text));
    else
        add_split(b, text);
}

/* "${A[@]}": each element a field of its own, joined to what stands before and behind. */
void field_elements(struct build *b, const struct value *v, bool quoted, bool joined)
{
    const char *blanks = joined ? script_blanks(b->s) : " ";
    for (int i = 0; v && i < v->count && !b->s->failed; i++) {
        if (i > 0 && (joined || !b->split))
            field_add(b, blanks, *blanks != 0);
        else if (i > 0)
            close_field(b);
        if (b->split && !joined && v->word[i].line)
            b->line = v->word[i].line;
        field_value(b, v->word[i].text, quoted);
    }
}

static const char *cut(struct script *s, const char *text, size_t length)
{
    enum { MOST = 60 };
    bool long_text = length > MOST || memchr(text, '\n', length);
    const char *line = memchr(text, '\n', length);
    size_t n = line ? (size_t)(line - text) : length;
    n = n > MOST ? MOST : n;
    return arena_format(s->mem, "%.*s%s", (int)n, text, long_text ? "..." : "");
}

void field_unknown(struct build *b, const char *text, size_t length, const char *why,
                   const char *name)
{
    const char *mark = script_unknown(b->s, cut(b->s, text, length), why, name, b->line);
    field_add(b, mark, strlen(mark));
}

static void add_arithmetic(struct build *b, const char *from, const char *end)
{
    const char *text = script_arithmetic(b->s, from + 3, (size_t)(end - from) - 5);
    field_add(b, text, strlen(text));
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
        field_add(b, str_text(&s), s.length);
    else
        field_unknown(b, from, (size_t)(end - from), "which is not worked out", NULL);
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
        field_value(b, text, quoted);
    else
        field_unknown(b, from, (size_t)(end - from), "and no command is run", NULL);
}

/* What the dollar sign at `from` stands for; returns where it ends. */
static const char *add_dollar(struct build *b, const char *from, const char *stop, bool quoted)
{
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
        field_braced(b, from, end, quoted);
    } else if (from + 1 < stop && from[1] == '\'' && !quoted) {
        add_escapes(b, from, end);
    } else {
        end = field_named(b, from, stop, quoted);
    }
    return end;
}

static const char *add_escaped(struct build *b, const char *p, const char *end, bool quoted)
{
    if (p + 1 == end) {
        field_add(b, p, 1);
        return end;
    }
    if (p[1] == '\n')
        return p + 2;
    if (quoted && !strchr(b->document ? "$`\\" : "$`\"\\", p[1]))
        field_add(b, p, 1);
    field_add(b, p + 1, 1);
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
void field_part(struct build *b, const char *p, const char *end, bool quoted)
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
            field_add(b, p + 1, (size_t)(close - p - 1));
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
            field_add(b, p, n);
            p += n;
        }
    }
    b->s->depth--;
}

void script_expand(struct script *s, const struct raw *raw, struct fields *out)
{
    if (memchr(raw->text, '{', raw->length) && raw->text[0] != '<' &&
        script_expand_braces(s, raw, out))
        return;
    struct build b = {.s = s, .split = true, .line = raw->line, .out = out};
    bool process = raw->length > 2 && strchr("<>", raw->text[0]) && raw->text[1] == '(';
    str_init(&b.text);
    if (process) /* the name of a file that a command fills */
        field_unknown(&b, raw->text, raw->length, "and no command is run", NULL);
    else
        field_part(&b, raw->text, raw->text + raw->length, false);
    close_field(&b);
    str_release(&b.text);
}

const char *script_expand_one(struct script *s, const char *text, size_t length)
{
    struct build b = {.s = s, .line = s->line};
    str_init(&b.text);
    field_part(&b, text, text + length, false);
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
    field_part(&b, d->text, d->text + d->length, true);
    return str_keep(&b.text, s->mem);
}
