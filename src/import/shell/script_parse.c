/* Tokens as commands: lists, pipelines, conditions, loops, functions. A pipeline is a list here:
 * nothing flows, so all that counts is that its parts are commands in shells of their own. */
#include "import/shell/script_parts.h"

#include <string.h>

/* Words that end a list where a command could stand. */
static const char *const CLOSERS[] = {"then", "else", "elif", "fi", "do", "done", "esac", "}"};

static const char TOO_DEEP[] = "commands are nested too deeply to be read";

struct script_parser {
    struct script_lexer *lx;
    int depth;
};

static struct node *parse_list(struct script_parser *);

static bool is_word(const struct script_parser *p, const char *text)
{
    return p->lx->kind == TOKEN_WORD && raw_is(&p->lx->raw, text);
}

static bool is_operator(const struct script_parser *p, const char *text)
{
    return p->lx->kind == TOKEN_OPERATOR && raw_is(&p->lx->raw, text);
}

static bool is_closer(const struct script_parser *p)
{
    for (size_t i = 0; i < sizeof CLOSERS / sizeof *CLOSERS; i++)
        if (is_word(p, CLOSERS[i]))
            return true;
    return false;
}

static void skip_newlines(struct script_parser *p)
{
    while (p->lx->kind == TOKEN_NEWLINE)
        lexer_next(p->lx);
}

/* What was expected where something else stands. */
static bool expect(struct script_parser *p, const char *word, int opened, const char *opener)
{
    skip_newlines(p);
    if (is_word(p, word) || is_operator(p, word)) {
        lexer_next(p->lx);
        return !p->lx->failed;
    }
    return lexer_fail(p->lx, opened, "the %s that begins here lacks its %s", opener, word);
}

static void add_raw(struct script_parser *p, struct node *n, const struct raw *word)
{
    n->word = arena_room(p->lx->mem, n->word, n->count, &n->capacity, sizeof *n->word);
    n->word[n->count++] = *word;
}

/* The word where the lexer stands. */
static void add_word(struct script_parser *p, struct node *n)
{
    add_raw(p, n, &p->lx->raw);
}

static struct node *refuse(struct script_parser *p, int line, const char *why)
{
    lexer_fail(p->lx, line, "%s", why);
    return NULL;
}

static struct node *new_node(struct script_parser *p, enum node_kind kind)
{
    struct node *n = arena_alloc(p->lx->mem, sizeof *n);
    n->kind = kind;
    n->line = p->lx->line;
    return n;
}

/* if LIST; then LIST; [elif ...] [else LIST;] fi, from behind `if` or `elif`. */
static struct node *parse_if(struct script_parser *p, int opened)
{
    struct node *n = new_node(p, NODE_IF);
    n->line = opened;
    n->condition = parse_list(p);
    if (!expect(p, "then", opened, "if"))
        return NULL;
    n->body = parse_list(p);
    if (is_word(p, "elif")) {
        if (++p->depth > SCRIPT_DEPTH)
            return refuse(p, p->lx->line, TOO_DEEP);
        int line = p->lx->line;
        lexer_next(p->lx);
        n->other = parse_if(p, line);
        p->depth--;
        return n;
    }
    if (is_word(p, "else")) {
        lexer_next(p->lx);
        n->other = parse_list(p);
    }
    return expect(p, "fi", opened, "if") ? n : NULL;
}

static struct node *parse_do(struct script_parser *p, struct node *n, const char *opener)
{
    if (!expect(p, "do", n->line, opener))
        return NULL;
    n->body = parse_list(p);
    return expect(p, "done", n->line, opener) ? n : NULL;
}

static struct node *parse_while(struct script_parser *p, bool until)
{
    struct node *n = new_node(p, NODE_WHILE);
    n->until = until;
    n->condition = parse_list(p);
    return parse_do(p, n, until ? "until" : "while");
}

static struct node *parse_for(struct script_parser *p)
{
    struct node *n = new_node(p, NODE_FOR);
    if (is_operator(p, "((")) {
        n->kind = NODE_COUNT;
        lexer_arithmetic(p->lx);
        add_word(p, n);
        lexer_next(p->lx);
    } else {
        if (p->lx->kind != TOKEN_WORD)
            return refuse(p, n->line, "the for that begins here lacks its variable");
        add_word(p, n);
        lexer_next(p->lx);
        skip_newlines(p);
        bool listed = is_word(p, "in");
        if (listed)
            for (lexer_next(p->lx); p->lx->kind == TOKEN_WORD; lexer_next(p->lx))
                add_word(p, n);
        else
            add_raw(p, n, &(struct raw){.text = "\"$@\"", .length = 4, .line = n->line});
    }
    if (is_operator(p, ";"))
        lexer_next(p->lx);
    return parse_do(p, n, "for");
}

/* [(] PATTERN [| PATTERN] ...) LIST ;; */
static struct arm *parse_arm(struct script_parser *p, int opened)
{
    struct arm *arm = arena_alloc(p->lx->mem, sizeof *arm);
    struct node list = {0};
    if (is_operator(p, "("))
        lexer_next(p->lx);
    while (p->lx->kind == TOKEN_WORD || is_operator(p, "|")) {
        if (p->lx->kind == TOKEN_WORD)
            add_word(p, &list);
        lexer_next(p->lx);
    }
    if (list.count == 0 || !is_operator(p, ")")) {
        refuse(p, opened, "the case that begins here has a pattern without )");
        return NULL;
    }
    lexer_next(p->lx);
    arm->patterns = list.count;
    arm->pattern = list.word;
    arm->body = parse_list(p);
    arm->falls = is_operator(p, ";&");
    arm->tests = is_operator(p, ";;&");
    if (is_operator(p, ";;") || arm->falls || arm->tests)
        lexer_next(p->lx);
    skip_newlines(p);
    return p->lx->failed ? NULL : arm;
}

static struct node *parse_case(struct script_parser *p)
{
    struct node *n = new_node(p, NODE_CASE);
    const struct arm **last = &n->arm;
    if (p->lx->kind == TOKEN_WORD) {
        add_word(p, n);
        lexer_next(p->lx);
    }
    if (n->count == 0 || !expect(p, "in", n->line, "case"))
        return refuse(p, n->line, "the case that begins here lacks its word");
    skip_newlines(p);
    while (!is_word(p, "esac") && p->lx->kind != TOKEN_END) {
        struct arm *arm = parse_arm(p, n->line);
        if (!arm)
            return NULL;
        *last = arm;
        last = &arm->next;
    }
    return expect(p, "esac", n->line, "case") ? n : NULL;
}

static struct node *parse_test(struct script_parser *p)
{
    struct node *n = new_node(p, NODE_TEST);
    for (lexer_next_test(p->lx); p->lx->kind == TOKEN_WORD && !is_word(p, "]]");
         lexer_next_test(p->lx))
        add_word(p, n);
    if (!is_word(p, "]]"))
        return refuse(p, n->line, "the [[ that opens here is not closed by ]]");
    lexer_next(p->lx);
    return n;
}

static struct node *parse_arithmetic(struct script_parser *p)
{
    struct node *n = new_node(p, NODE_ARITHMETIC);
    lexer_arithmetic(p->lx);
    if (p->lx->failed)
        return NULL;
    add_word(p, n);
    lexer_next(p->lx);
    return n;
}

static struct node *parse_group(struct script_parser *p, enum node_kind kind, const char *close)
{
    struct node *n = new_node(p, kind);
    n->body = parse_list(p);
    return expect(p, close, n->line, kind == NODE_GROUP ? "{" : "(") ? n : NULL;
}

static struct node *parse_command(struct script_parser *);

static struct node *parse_function(struct script_parser *p, const struct raw *name)
{
    struct node *n = new_node(p, NODE_FUNCTION);
    add_raw(p, n, name);
    skip_newlines(p);
    n->body = parse_command(p);
    return n;
}

/* `function NAME [()] {...}` */
static struct node *parse_named_function(struct script_parser *p)
{
    struct raw name = p->lx->raw;
    if (p->lx->kind != TOKEN_WORD)
        return refuse(p, p->lx->line, "the function that begins here lacks its name");
    lexer_next(p->lx);
    if (is_operator(p, "(")) {
        lexer_next(p->lx);
        if (!expect(p, ")", name.line, "function"))
            return NULL;
    }
    return parse_function(p, &name);
}

static struct node *parse_simple(struct script_parser *p)
{
    struct node *n = new_node(p, NODE_SIMPLE);
    if (p->lx->kind == TOKEN_WORD)
        n->line = p->lx->raw.line;
    for (; p->lx->kind == TOKEN_WORD; lexer_next(p->lx)) {
        if (p->lx->raw.array && p->lx->failed)
            return NULL;
        add_word(p, n);
    }
    if (n->count == 1 && is_operator(p, "(")) {
        lexer_next(p->lx);
        return expect(p, ")", n->line, "function") ? parse_function(p, &n->word[0]) : NULL;
    }
    if (n->count == 0) {
        lexer_fail(p->lx, p->lx->line, "'%s' stands where a command is expected",
                   p->lx->kind == TOKEN_OPERATOR ? p->lx->raw.text : "");
        return NULL;
    }
    return n;
}

static struct node *parse_open(struct script_parser *p)
{
    struct script_lexer *lx = p->lx;
    int line = lx->line;
    if (is_operator(p, "(("))
        return parse_arithmetic(p);
    if (is_word(p, "[["))
        return parse_test(p);
    if (is_operator(p, "("))
        return lexer_next(lx), parse_group(p, NODE_SUBSHELL, ")");
    if (is_word(p, "{"))
        return lexer_next(lx), parse_group(p, NODE_GROUP, "}");
    if (is_word(p, "if"))
        return lexer_next(lx), parse_if(p, line);
    if (is_word(p, "while") || is_word(p, "until")) {
        bool until = is_word(p, "until");
        return lexer_next(lx), parse_while(p, until);
    }
    if (is_word(p, "for") || is_word(p, "select"))
        return lexer_next(lx), parse_for(p);
    if (is_word(p, "case"))
        return lexer_next(lx), parse_case(p);
    if (is_word(p, "function"))
        return lexer_next(lx), parse_named_function(p);
    return parse_simple(p);
}

static struct node *parse_command(struct script_parser *p)
{
    bool negated = false;
    if (++p->depth > SCRIPT_DEPTH)
        return refuse(p, p->lx->line, TOO_DEEP);
    while (is_word(p, "!") || is_word(p, "time")) {
        negated ^= is_word(p, "!");
        lexer_next(p->lx);
    }
    struct node *n = parse_open(p);
    p->depth--;
    if (!n || p->lx->failed)
        return NULL;
    n->negated = negated;
    n->redirection = p->lx->redirection;
    n->document = p->lx->document;
    p->lx->redirection = NULL;
    p->lx->document = NULL;
    return n;
}

/* How the next command hangs together with this one. */
static enum link parse_link(struct script_parser *p, struct node *n)
{
    static const struct {
        const char *sign;
        enum link link;
        bool apart;
    } between[] = {
        {"&&", LINK_AND, false}, {"||", LINK_OR, false},  {"|", LINK_PIPE, true},
        {"|&", LINK_PIPE, true}, {";", LINK_NEXT, false}, {"&", LINK_NEXT, true},
    };
    enum link link = LINK_NEXT;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        if (is_operator(p, between[i].sign)) {
            link = between[i].link;
            n->apart |= between[i].apart;
            lexer_next(p->lx);
            break;
        }
    skip_newlines(p);
    return link;
}

static bool list_ends(const struct script_parser *p)
{
    return p->lx->kind == TOKEN_END || is_closer(p) || is_operator(p, ")") ||
           is_operator(p, ";;") || is_operator(p, ";&") || is_operator(p, ";;&");
}

static struct node *parse_list(struct script_parser *p)
{
    struct node *first = NULL, *last = NULL;
    enum link link = LINK_NEXT;
    skip_newlines(p);
    while (!p->lx->failed && !list_ends(p)) {
        struct node *n = parse_command(p);
        if (!n)
            return NULL;
        n->link = link;
        n->apart = link == LINK_PIPE;
        if (link == LINK_PIPE && last->negated) { /* ! is about the last of a pipeline */
            n->negated = !n->negated;
            last->negated = false;
        }
        if (last)
            last->next = n;
        else
            first = n;
        last = n;
        link = parse_link(p, n);
    }
    return first;
}

const struct node *script_parse(struct script_lexer *lx, bool *ok)
{
    struct script_parser p = {.lx = lx};
    lexer_next(lx);
    const struct node *first = parse_list(&p);
    if (!lx->failed && lx->kind != TOKEN_END)
        lexer_fail(lx, lx->line, "%.*s stands where nothing is open that it could close",
                   (int)lx->raw.length, lx->raw.text);
    *ok = !lx->failed;
    return first;
}
