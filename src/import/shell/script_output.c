/* What commands print, and where it goes: into $(...), into the next command of a pipeline, into a file that the
 * script reads again. Nothing is run and no file is written: a text is kept beside the variables, under the file's
 * name, and comes and goes with the ways that a script may take. */
#include "import/shell/script_parts.h"

#include <string.h>

void script_print(struct script *s, const char *text, size_t length)
{
    if (s->capture && script_spend(s, 1, length))
        str_add_bytes(&s->capture->text, text, length);
}

/* The commands of a text in a shell of their own. What it cannot read prints something unknown. */
static void run_apart(struct script *s, const char *commands)
{
    struct error ignored;
    struct script_lexer lx = {.path = s->path,
                              .at = commands,
                              .end = commands + strlen(commands),
                              .line = s->line,
                              .mem = s->mem,
                              .err = &ignored};
    int mark = s->undos;
    enum leave perhaps = s->perhaps;
    enum answer status = s->status;
    bool ok, assumed = s->assumed;
    const struct node *n = script_parse(&lx, &ok);
    s->perhaps = LEAVE_NOT;
    if (ok)
        script_run(s, n);
    s->capture->unknown |= !ok || s->perhaps;
    script_leave_shell(s, mark);
    s->leaves = LEAVE_NOT;
    s->perhaps = perhaps;
    s->status = status;
    s->assumed = assumed;
}

const char *script_output_of(struct script *s, const char *commands)
{
    struct capture own = {0}, *before = s->capture;
    const char *input = s->input, *doubt = s->doubt, *folder = s->folder, *text = NULL;
    if (s->depth + 4 > SCRIPT_DEPTH || !script_spend(s, 1, strlen(commands)))
        return NULL;
    s->depth += 4; /* each level takes several of our own */
    s->capture = &own;
    s->input = NULL;
    run_apart(s, commands);
    s->capture = before;
    s->input = input;
    s->doubt = doubt;
    s->folder = folder;
    s->depth -= 4;
    while (own.text.length > 0 && own.text.data[own.text.length - 1] == '\n')
        own.text.data[--own.text.length] = 0;
    if (!own.unknown && !s->failed)
        text = arena_string(s->mem, str_text(&own.text));
    str_release(&own.text);
    return text;
}

/* A file's name with unknown parts as the variables they are: the same wherever it stands. */
static struct variable *file_of(struct script *s, const char *path)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    struct str name = {0};
    str_add(&name, ">");
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    for (const char *p = path; *p;) {
        const struct launch_unknown *u = *p == LAUNCH_MARK ? launch_unknown_of(&l, p) : NULL;
        size_t n = u ? strcspn(p, "\002") + 1 : 1;
        if (u)
            str_addf(&name, "{%s}", u->name ? u->name : u->text);
        else
            str_add_bytes(&name, p, 1);
        p += n;
    }
    const char *text = str_keep(&name, s->mem);
    return script_name(s, text, strlen(text));
}

const char *script_written(struct script *s, const char *path)
{
    const struct variable *v = file_of(s, path);
    return v->value ? v->value->word[0].text : NULL;
}

void script_write(struct script *s, const char *path, const char *text, bool adds)
{
    struct variable *v = file_of(s, path);
    const char *old = adds && v->value ? v->value->word[0].text : "";
    if (script_spend(s, 1, strlen(old) + strlen(text)))
        script_assign(s, v, value_of_text(s, arena_format(s->mem, "%s%s", old, text), s->line));
}

/* The redirection that takes what is printed elsewhere; NULL = none does. */
static const struct redirection *output_of(const struct node *n)
{
    for (const struct redirection *r = n->redirection; r; r = r->before)
        if (r->sign[0] != '<' && (r->stream == -1 || r->stream == 1))
            return r;
    return NULL;
}

/* Streams and devices keep nothing. */
static void keep_output(struct script *s, const struct redirection *r, const struct capture *c)
{
    const char *path = script_expand_one(s, r->word.text, r->word.length);
    bool copies = strchr(r->sign, '&') && is_one_of(path, "1 2 -");
    if (copies || strncmp(path, "/dev/", 5) == 0 || s->failed)
        return;
    const char *text =
        c->unknown ? script_unknown(s, "a file's text", "which only a run tells", NULL, s->line)
                   : arena_string(s->mem, str_text(&c->text));
    script_write(s, path, text, strstr(r->sign, ">>") != NULL);
}

static const char *input_of(struct script *s, const struct node *n)
{
    if (n->document)
        return script_expand_document(s, n->document);
    for (const struct redirection *r = n->redirection; r; r = r->before) {
        const char *word = r->sign[0] == '<' && r->stream < 1
                               ? script_expand_one(s, r->word.text, r->word.length)
                               : NULL;
        if (word && strcmp(r->sign, "<<<") == 0)
            return arena_format(s->mem, "%s\n", word);
        if (word)
            return script_file(s, word);
    }
    return s->input;
}

enum answer script_redirect(struct script *s, const struct node *n,
                            enum answer (*run)(struct script *, const struct node *))
{
    if (!n->redirection && !n->document)
        return run(s, n);
    struct capture own = {0}, *before = s->capture;
    const struct redirection *out = output_of(n);
    const char *input = s->input;
    s->input = input_of(s, n);
    s->capture = out ? &own : before;
    enum answer a = run(s, n);
    s->capture = before;
    s->input = input;
    if (out)
        keep_output(s, out, &own);
    str_release(&own.text);
    return a;
}
