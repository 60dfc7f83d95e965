/* A script as tokens. A word keeps its quotes: what they mean is known when it is expanded. The
 * places where a shell hides text from its own grammar are stepped over here: comments, quotes,
 * $(...), ${...}, backquotes, redirections and here-documents. */
#include "import/shell/script_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_name_char(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9');
}

bool raw_is(const struct raw *r, const char *text)
{
    return !r->array && strlen(text) == r->length && memcmp(r->text, text, r->length) == 0;
}

bool lexer_fail(struct script_lexer *lx, int line, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!lx->failed)
        fail(lx->err, ERROR_INPUT, "%s:%d: %s", lx->path, line, text);
    lx->failed = true;
    lx->kind = TOKEN_END;
    lx->at = lx->end;
    return false;
}

static bool at(const struct script_lexer *lx, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(lx->end - lx->at) >= n && memcmp(lx->at, text, n) == 0;
}

static void step(struct script_lexer *lx)
{
    lx->line += *lx->at++ == '\n';
}

static void step_escaped(struct script_lexer *lx)
{
    step(lx);
    if (lx->at < lx->end)
        step(lx);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
    return is_blank(c) || strchr("\n;&|()<>", c) != NULL;
}

static bool skip_quoting(struct script_lexer *);

/* From behind the opening to behind the closing character, over everything quoted. */
static bool skip_nested(struct script_lexer *lx, char open, char close)
{
    int line = lx->line, depth = 1;
    if (++lx->depth > SCRIPT_DEPTH)
        return lexer_fail(lx, line, "quotes, braces and $(...) are nested too deeply to be read");
    while (lx->at < lx->end) {
        char c = *lx->at;
        if (skip_quoting(lx))
            continue;
        if (lx->failed)
            return false;
        step(lx);
        depth += (c == open) - (c == close);
        if (depth == 0) {
            lx->depth--;
            return true;
        }
    }
    return lexer_fail(lx, line, "the %c that opens here is not closed", open);
}

/* From the quote's last sign, where it opens, to behind the next one. */
static void skip_quote(struct script_lexer *lx, const char *quote, bool escapes)
{
    int line = lx->line;
    char close = quote[strlen(quote) - 1];
    step(lx);
    while (lx->at < lx->end && *lx->at != close)
        escapes && * lx->at == '\\' ? step_escaped(lx) : step(lx);
    if (lx->at == lx->end)
        lexer_fail(lx, line, "the quote %s that opens here is not closed", quote);
    else
        step(lx);
}

/* A construct of the dollar sign; a lone one is text. */
static void skip_dollar(struct script_lexer *lx)
{
    step(lx);
    if (lx->at < lx->end && (*lx->at == '(' || *lx->at == '{')) {
        char open = *lx->at;
        step(lx);
        skip_nested(lx, open, open == '(' ? ')' : '}');
    } else if (lx->at < lx->end && *lx->at == '\'') {
        skip_quote(lx, "$'", true);
    }
}

static void skip_backquote(struct script_lexer *lx)
{
    skip_quote(lx, "`", true);
}

static void skip_double(struct script_lexer *lx)
{
    int line = lx->line;
    if (++lx->depth > SCRIPT_DEPTH) {
        lexer_fail(lx, line, "quotes, braces and $(...) are nested too deeply to be read");
        return;
    }
    step(lx);
    while (lx->at < lx->end && *lx->at != '"') {
        if (*lx->at == '\\')
            step_escaped(lx);
        else if (at(lx, "$(") || at(lx, "${"))
            skip_dollar(lx);
        else if (*lx->at == '`')
            skip_backquote(lx);
        else
            step(lx);
    }
    lx->depth--;
    if (lx->failed)
        return;
    if (lx->at == lx->end)
        lexer_fail(lx, line, "the quote \" that opens here is not closed");
    else
        step(lx);
}

/* Steps over what is quoted or belongs to a dollar sign; false where nothing of that stands. */
static bool skip_quoting(struct script_lexer *lx)
{
    switch (*lx->at) {
    case '\\':
        step_escaped(lx);
        return true;
    case '\'':
        skip_quote(lx, "'", false);
        return true;
    case '"':
        skip_double(lx);
        return true;
    case '`':
        skip_backquote(lx);
        return true;
    case '$':
        skip_dollar(lx);
        return true;
    default:
        return false;
    }
}

static const char *skip_alone(const char *p, const char *end, void (*skip)(struct script_lexer *))
{
    struct script_lexer lx = {.path = "", .at = p, .end = end};
    skip(&lx);
    return lx.failed ? NULL : lx.at;
}

const char *script_skip_dollar(const char *p, const char *end)
{
    return skip_alone(p, end, skip_dollar);
}

const char *script_skip_backquote(const char *p, const char *end)
{
    return skip_alone(p, end, skip_backquote);
}

/* Blanks, continued lines, and a comment up to the end of its line. */
static void skip_blanks(struct script_lexer *lx)
{
    while (lx->at < lx->end) {
        if (is_blank(*lx->at)) {
            lx->at++;
        } else if (at(lx, "\\\n")) {
            step_escaped(lx);
        } else if (at(lx, "\\\r\n")) {
            lx->at++;
            step_escaped(lx);
        } else if (*lx->at == '#') {
            while (lx->at < lx->end && *lx->at != '\n')
                lx->at++;
        } else {
            break;
        }
    }
}

/* "NAME=" or "NAME+=", behind which a list may stand. */
static bool is_assignment(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && is_name_char(text[n]))
        n++;
    if (n == 0 || !is_name_start(text[0]))
        return false;
    n += n < length && text[n] == '+';
    return n + 1 == length && text[n] == '=';
}

static void read_word(struct script_lexer *);

static void skip_lines(struct script_lexer *lx)
{
    skip_blanks(lx);
    while (lx->at < lx->end && *lx->at == '\n') {
        step(lx);
        skip_blanks(lx);
    }
}

/* <(...) stands for the name of a file. */
static void read_process(struct script_lexer *lx)
{
    struct raw raw = {.text = lx->at, .line = lx->line};
    lx->at += 2;
    if (!skip_nested(lx, '(', ')'))
        return;
    raw.length = (size_t)(lx->at - raw.text);
    lx->kind = TOKEN_WORD;
    lx->raw = raw;
}

/* The elements of a list, from behind its parenthesis. */
static void read_array(struct script_lexer *lx, struct raw *into)
{
    int capacity = 0;
    struct raw *element = NULL;
    into->array = true;
    for (skip_lines(lx); lx->at < lx->end && *lx->at != ')'; skip_lines(lx)) {
        if (at(lx, "<(") || at(lx, ">(")) {
            read_process(lx);
        } else if (ends_word(*lx->at)) {
            lexer_fail(lx, lx->line, "a list in parentheses has a sign that belongs in quotes");
        } else {
            read_word(lx);
        }
        if (lx->failed)
            return;
        element = arena_room(lx->mem, element, into->count, &capacity, sizeof *element);
        element[into->count++] = lx->raw;
    }
    into->element = element;
    if (lx->at == lx->end)
        lexer_fail(lx, into->line, "the ( that opens here is not closed");
    else
        step(lx);
}

/* A word, or a list that is assigned. */
static void read_word(struct script_lexer *lx)
{
    struct raw raw = {.text = lx->at, .line = lx->line};
    while (lx->at < lx->end && !ends_word(*lx->at))
        if (!skip_quoting(lx))
            step(lx);
    if (lx->failed)
        return;
    raw.length = (size_t)(lx->at - raw.text);
    if (lx->at < lx->end && *lx->at == '(' && is_assignment(raw.text, raw.length)) {
        if (++lx->depth > SCRIPT_DEPTH) {
            lexer_fail(lx, lx->line, "lists are nested too deeply to be read");
            return;
        }
        step(lx);
        read_array(lx, &raw);
        lx->depth--;
    }
    if (lx->failed)
        return;
    lx->kind = TOKEN_WORD;
    lx->raw = raw;
}

/* The end of a here-document, without its quotes. */
static void await_document(struct script_lexer *lx)
{
    struct str s = {0};
    struct document *d = arena_alloc(lx->mem, sizeof *d);
    for (size_t i = 0; i < lx->raw.length; i++)
        if (!strchr("'\"\\", lx->raw.text[i]))
            str_add_bytes(&s, &lx->raw.text[i], 1);
    *d = (struct document){.text = "",
                           .stop = arena_string(lx->mem, str_text(&s)),
                           .quoted = s.length < lx->raw.length};
    lx->document = d;
    if (lx->pendings < (int)(sizeof lx->pending / sizeof *lx->pending))
        lx->pending[lx->pendings++] = d;
    else
        lexer_fail(lx, lx->line, "more here-documents start in one line than can be read");
    str_release(&s);
}

static void read_document(struct script_lexer *lx, struct document *d)
{
    size_t n = strlen(d->stop);
    d->text = lx->at;
    while (lx->at < lx->end) {
        const char *line = lx->at, *end = memchr(line, '\n', (size_t)(lx->end - line));
        end = end ? end : lx->end;
        lx->at = end;
        if (lx->at < lx->end)
            step(lx);
        while (line < end && (*line == '\t' || *line == ' ')) /* of <<-; of a script in YAML */
            line++;
        while (end > line && end[-1] == '\r')
            end--;
        if ((size_t)(end - line) == n && memcmp(line, d->stop, n) == 0)
            return;
        d->length = (size_t)(lx->at - d->text);
    }
}

static void read_newline(struct script_lexer *lx)
{
    step(lx);
    for (int i = 0; i < lx->pendings; i++)
        read_document(lx, lx->pending[i]);
    lx->pendings = 0;
    lx->kind = TOKEN_NEWLINE;
}

static void add_redirection(struct script_lexer *lx, const char *sign)
{
    struct redirection *r = arena_alloc(lx->mem, sizeof *r);
    *r = (struct redirection){.sign = sign, .stream = lx->stream, .word = lx->raw};
    r->before = lx->redirection;
    lx->redirection = r;
}

/* Where a command reads and writes stands beside its words. */
static void read_redirection(struct script_lexer *lx)
{
    static const char *const operators[] = {"&>>", "<<<", "<<-", "&>", "<<", "<&",
                                            "<>",  ">>",  ">&",  ">|", "<",  ">"};
    size_t i = 0;
    while (!at(lx, operators[i]))
        i++;
    lx->at += strlen(operators[i]);
    skip_blanks(lx);
    if (at(lx, "<(") || at(lx, ">(")) {
        read_process(lx);
        return;
    }
    if (lx->at == lx->end || ends_word(*lx->at))
        return;
    read_word(lx);
    if (lx->failed)
        return;
    if (strcmp(operators[i], "<<") == 0 || strcmp(operators[i], "<<-") == 0)
        await_document(lx);
    else
        add_redirection(lx, operators[i]);
}

static bool is_redirection(const struct script_lexer *lx)
{
    return (*lx->at == '<' || *lx->at == '>' || at(lx, "&>")) && !at(lx, "<(") && !at(lx, ">(");
}

/* "<PATH TO gpt2-vocab.json>" is there to be filled in: bash would read from PATH and write to the flag behind it. How long
 * it is; 0 = it is none. A file name alone may be meant as such. */
static size_t placeholder(const struct script_lexer *lx)
{
    enum { LONGEST = 80 };
    const char *from = lx->at + 1, *p = from;
    bool parts = false, dotted = false;
    if (*lx->at != '<' || p == lx->end || !is_name_start(*p))
        return 0;
    for (; p < lx->end && p - from < LONGEST && (is_name_char(*p) || (*p && strchr(" /.,:-", *p)));
         p++) {
        parts |= *p == ' ';
        dotted |= *p == '.';
    }
    bool closed = p < lx->end && *p == '>' && p[-1] != ' ' && (parts || !dotted) &&
                  (p + 1 == lx->end || is_blank(p[1]) || p[1] == '\n');
    return closed ? (size_t)(p + 1 - lx->at) : 0;
}

static void read_placeholder(struct script_lexer *lx, size_t length)
{
    lx->kind = TOKEN_WORD;
    lx->raw = (struct raw){.text = lx->at, .length = length, .line = lx->line};
    lx->at += length;
}

static void read_operator(struct script_lexer *lx)
{
    static const char *const operators[] = {"&&", "||", "|&", ";;&", ";;", ";&",
                                            "((", "&",  "|",  ";",   "(",  ")"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (at(lx, operators[i])) {
            lx->kind = TOKEN_OPERATOR;
            lx->raw = (struct raw){
                .text = operators[i], .length = strlen(operators[i]), .line = lx->line};
            lx->at += lx->raw.length;
            return;
        }
}

static bool is_number(const struct raw *r)
{
    for (size_t i = 0; i < r->length; i++)
        if (r->text[i] < '0' || r->text[i] > '9')
            return false;
    return !r->array && r->length > 0;
}

void lexer_next(struct script_lexer *lx)
{
    for (lx->stream = -1;;) {
        skip_blanks(lx);
        lx->kind = TOKEN_END;
        if (lx->at == lx->end)
            return;
        if (*lx->at == '\n') {
            read_newline(lx);
            return;
        }
        if (placeholder(lx)) {
            read_placeholder(lx, placeholder(lx));
            return;
        }
        if (is_redirection(lx)) {
            read_redirection(lx);
            lx->stream = -1;
            if (lx->failed)
                return;
            continue;
        }
        if (*lx->at == '<' || *lx->at == '>') {
            read_process(lx);
            return;
        }
        if (ends_word(*lx->at)) {
            read_operator(lx);
            return;
        }
        read_word(lx);
        bool stream = !lx->failed && lx->at < lx->end && (*lx->at == '<' || *lx->at == '>') &&
                      is_number(&lx->raw); /* 2>&1 */
        if (!stream)
            return;
        lx->stream = lx->raw.length == 1 ? lx->raw.text[0] - '0' : 9;
    }
}

void lexer_next_test(struct script_lexer *lx)
{
    skip_lines(lx);
    struct raw raw = {.text = lx->at, .line = lx->line};
    lx->kind = TOKEN_END;
    while (lx->at < lx->end && !is_blank(*lx->at) && *lx->at != '\n') {
        bool ends = lx->at - raw.text >= 2 && *lx->at == ';' && lx->at[-1] == ']';
        if (ends)
            break;
        if (!skip_quoting(lx))
            step(lx);
    }
    raw.length = (size_t)(lx->at - raw.text);
    if (lx->failed || raw.length == 0)
        return;
    lx->kind = TOKEN_WORD;
    lx->raw = raw;
}

void lexer_arithmetic(struct script_lexer *lx)
{
    struct raw raw = {.text = lx->at, .line = lx->line};
    if (!skip_nested(lx, '(', ')'))
        return;
    raw.length = (size_t)(lx->at - raw.text) - 1;
    if (lx->at == lx->end || *lx->at != ')') {
        lexer_fail(lx, raw.line, "the (( that opens here is not closed by ))");
        return;
    }
    step(lx);
    lx->kind = TOKEN_WORD;
    lx->raw = raw;
}
