/* The commands of the shell that change variables, answer a question or end something. */
#include "import/script_parts.h"

#include <string.h>

void script_forget(struct script *s, const char *name, size_t length, const char *why)
{
    struct variable *v = script_variable(s, name, length);
    script_assign(s, v,
                  value_of_text(s,
                                script_unknown(s, arena_format(s->mem, "${%s}", v->name), why,
                                               v->name, s->line),
                                s->line));
}

/* Variables that ((...)) and let assign. */
void script_forget_assigned(struct script *s, const char *text, size_t length)
{
    const char *end = text + length;
    for (const char *p = text; p < end;) {
        const char *from = p;
        while (p < end && is_name_char(*p))
            p++;
        const char *stop = p;
        while (p < end && *p == ' ')
            p++;
        size_t op = p < end ? strspn(p, "+-*/%") : 0;
        bool twice = op >= 2 && p[0] == p[1] && (*p == '+' || *p == '-');
        bool assigns = p + op < end && p[op] == '=' && !(p + op + 1 < end && p[op + 1] == '=');
        if (stop > from && is_name_start(*from) && (twice || assigns))
            script_forget(s, from, (size_t)(stop - from), "which ((...)) changes");
        p += p == from;
    }
}

/* Words of a command that is not run from here on, in one text. */
static const char *joined(struct script *s, const struct fields *f, int from)
{
    struct str text;
    str_init(&text);
    for (int i = from; i < f->count; i++)
        if (script_spend(s, 1, strlen(f->word[i].text)))
            str_addf(&text, "%s%s", i > from ? " " : "", f->word[i].text);
    const char *out = arena_string(s->mem, str_text(&text));
    str_release(&text);
    return out;
}

static enum answer do_eval(struct script *s, const struct fields *f)
{
    script_run_text(s, joined(s, f, 1), f->word[0].line);
    return ANSWER_YES;
}

static enum answer do_exit(struct script *s, const struct fields *f)
{
    (void)f;
    s->exited = true;
    return ANSWER_YES;
}

static enum answer do_return(struct script *s, const struct fields *f)
{
    (void)f;
    s->returned = true;
    return ANSWER_YES;
}

static enum answer do_source(struct script *s, const struct fields *f)
{
    if (!s->sourced)
        s->sourced = f->word[0].line;
    return ANSWER_YES;
}

void script_set_arguments(struct script *s, const struct fields *f, int from)
{
    struct fields rest = {.count = f->count - from, .word = f->word + from};
    s->arguments = value_of_fields(s, &rest);
}

static enum answer do_set(struct script *s, const struct fields *f)
{
    for (int i = 1; i < f->count; i++)
        if (strcmp(f->word[i].text, "--") == 0) {
            script_set_arguments(s, f, i + 1);
            break;
        }
    return ANSWER_YES;
}

static enum answer do_shift(struct script *s, const struct fields *f)
{
    int64_t n = 1;
    if (f->count > 1 && !parse_int(f->word[1].text, &n))
        n = 1;
    if (s->arguments && n > 0) {
        struct fields all = {.count = s->arguments->count,
                             .word = (struct launch_word *)s->arguments->word};
        script_set_arguments(s, &all, n < all.count ? (int)n : all.count);
    }
    return ANSWER_YES;
}

static enum answer do_unset(struct script *s, const struct fields *f)
{
    for (int i = 1; i < f->count; i++)
        if (is_name_start(f->word[i].text[0]))
            script_assign(s, script_variable(s, f->word[i].text, strlen(f->word[i].text)), NULL);
    return ANSWER_YES;
}

/* read, mapfile, getopts, printf -v: names among the words are set to what only a run tells. */
static enum answer do_read(struct script *s, const struct fields *f)
{
    bool prints = strcmp(f->word[0].text, "printf") == 0;
    for (int i = 1; i < f->count; i++) {
        const char *word = f->word[i].text;
        size_t n = 0;
        while (is_name_char(word[n]))
            n++;
        bool behind = i > 1 && strcmp(f->word[i - 1].text, "-v") == 0;
        if (n > 0 && !word[n] && is_name_start(*word) && (!prints || behind))
            script_forget(s, word, n, "which only a run tells");
    }
    s->assumed = true;
    return ANSWER_YES;
}

static enum answer do_let(struct script *s, const struct fields *f)
{
    for (int i = 1; i < f->count; i++)
        script_forget_assigned(s, f->word[i].text, strlen(f->word[i].text));
    return ANSWER_YES;
}

/* What is printed is not run. */
static enum answer do_echo(struct script *s, const struct fields *f)
{
    (void)f;
    s->assumed = true;
    return ANSWER_YES;
}

static enum answer do_true(struct script *s, const struct fields *f)
{
    s->assumed = false;
    return strcmp(f->word[0].text, "false") == 0 ? ANSWER_NO : ANSWER_YES;
}

static enum answer do_test(struct script *s, const struct fields *f)
{
    bool bracket = strcmp(f->word[0].text, "[") == 0;
    s->assumed = false;
    return script_test(s, f->count - 1 - (bracket && f->count > 1), f->word + 1);
}

static const struct {
    const char *name;
    script_builtin *run;
} BUILTINS[] = {
    {"eval", do_eval},   {"exit", do_exit},    {"return", do_return},  {"source", do_source},
    {".", do_source},    {"set", do_set},      {"shift", do_shift},    {"unset", do_unset},
    {"read", do_read},   {"mapfile", do_read}, {"readarray", do_read}, {"getopts", do_read},
    {"printf", do_read}, {"let", do_let},      {"true", do_true},      {":", do_true},
    {"false", do_true},  {"[", do_test},       {"test", do_test},      {"echo", do_echo},
};

script_builtin *script_find_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof BUILTINS / sizeof *BUILTINS; i++)
        if (strcmp(name, BUILTINS[i].name) == 0)
            return BUILTINS[i].run;
    return NULL;
}
