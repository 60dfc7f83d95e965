/* A command as a container or a task has it, written as the shell script that does the same. Each word stays on its
 * line, so that messages name the line of the file. */
#include "import/yaml/yaml_parts.h"

#include "base/arena.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

static void add_lines(struct str *s, int *line, int to, const char *end)
{
    for (; *line < to; ++*line)
        str_add(s, end);
}

/* How long $(NAME) is, which Kubernetes puts the value of a variable in for; 0 = it is something else. */
static size_t reference(const char *p)
{
    size_t n = 2;
    if (p[0] != '$' || p[1] != '(')
        return 0;
    while (isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n > 2 && p[n] == ')' ? n + 1 : 0;
}

static size_t add_reference(struct str *s, const char *p)
{
    size_t n = reference(p);
    if (n)
        str_addf(s, "${%.*s}", (int)n - 3, p + 2);
    return n;
}

const char *script_of_text(struct yaml_reading *r, const struct yaml *scalar)
{
    struct str s = {0};
    int line = 1;
    add_lines(&s, &line, scalar->text_line, "\n");
    for (const char *p = scalar->text; *p;) {
        size_t n = add_reference(&s, p);
        if (!n)
            str_add_bytes(&s, p, 1);
        p += n ? n : 1;
    }
    return str_keep(&s, r->mem);
}

/* In double quotes, in which nothing but references is expanded. */
static void add_word(struct str *s, const char *word)
{
    str_add(s, " \"");
    for (const char *p = word; *p;) {
        size_t n = add_reference(s, p);
        if (!n && strchr("\"\\`$", *p))
            str_add(s, "\\");
        if (!n)
            str_add_bytes(s, p, 1);
        p += n ? n : 1;
    }
    str_add(s, "\"");
}

static bool is_shell(const char *word)
{
    const char *slash = strrchr(word, '/');
    return is_one_of(slash ? slash + 1 : word, "sh bash zsh ash dash");
}

/* -c, -lc, -exc: the next word is a script. */
static bool takes_script(const char *word)
{
    size_t n = strlen(word);
    return n >= 2 && word[0] == '-' && word[1] != '-' && word[n - 1] == 'c';
}

struct command_words {
    struct str words; /* all of them */
    int line;
    bool shell, script; /* the words so far are a shell's, and the next is its script */
    const struct yaml *text;
};

static void add_command(struct command_words *c, const struct yaml *word)
{
    if (word->kind != YAML_SCALAR || c->text)
        return;
    if (c->script) {
        c->text = word;
        return;
    }
    c->script = c->shell && takes_script(word->text);
    c->shell |= is_shell(word->text);
    add_lines(&c->words, &c->line, word->line, "\\\n");
    add_word(&c->words, word->text);
}

static void add_all(struct command_words *c, const struct yaml *list)
{
    for (const struct yaml *w = list && list->kind == YAML_LIST ? list->item : NULL; w; w = w->next)
        add_command(c, w);
    if (list && list->kind == YAML_SCALAR && (c->script || c->line > 1))
        add_command(c, list);
}

const char *script_of_command(struct yaml_reading *r, const struct yaml *command,
                              const struct yaml *args)
{
    struct command_words c = {.line = 1};
    const struct yaml *first = command ? command : args;
    if (!first)
        return NULL;
    if (first->kind == YAML_SCALAR)
        return script_of_text(r, first);
    add_lines(&c.words, &c.line, first->line, "\n");
    add_all(&c, command);
    add_all(&c, args);
    const char *words = str_keep(&c.words, r->mem);
    return c.text ? script_of_text(r, c.text) : words;
}
