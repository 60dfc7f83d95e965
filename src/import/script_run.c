/* Goes through the commands of a script the way a shell would, without doing anything: only
 * variables change. A condition that cannot be answered takes every way and keeps what these have
 * in common. A way that ends the script is not the one that trains, unless training starts
 * there. */
#include "import/script_parts.h"

#include <string.h>

static enum answer run_one(struct script *, const struct node *);

/* Whether a way goes on to the end, or starts a training. */
static bool goes_on(struct script *s, int launches)
{
    bool stops = (s->exited || s->returned) && s->launches == launches;
    if (stops)
        s->exited = s->returned = false;
    return !stops;
}

/* A way that is taken; false, with nothing changed, when it leads out. */
static bool run_branch(struct script *s, const struct node *n)
{
    int mark = s->undos, launches = s->launches;
    script_run(s, n);
    if (goes_on(s, launches))
        return true;
    script_undo(s, mark);
    return false;
}

/* A way that may have been taken. */
static void run_maybe(struct script *s, struct ways *w, const struct node *n)
{
    int launches = s->launches;
    if (n)
        script_run(s, n);
    bool counts = goes_on(s, launches);
    s->exited = s->returned = false; /* another way goes on */
    ways_end_one(w, s, counts);
}

static enum answer run_either(struct script *s, const struct node *n, const struct node *other,
                              int line)
{
    struct ways w;
    ways_begin(&w, s, line);
    run_maybe(s, &w, n);
    run_maybe(s, &w, other);
    ways_merge(&w, s);
    return ANSWER_YES;
}

/* What is assumed of a command that is not run is no answer to a question. */
static enum answer condition(struct script *s, const struct node *n)
{
    s->assumed = false;
    s->doubt = NULL;
    enum answer a = script_run(s, n);
    return s->assumed ? ANSWER_MAYBE : a;
}

static enum answer run_if(struct script *s, const struct node *n)
{
    enum answer a = condition(s, n->condition);
    if (a == ANSWER_MAYBE)
        return run_either(s, n->body, n->other, n->line);
    if (a == ANSWER_YES && run_branch(s, n->body))
        return ANSWER_YES;
    if (n->other)
        run_branch(s, n->other);
    return ANSWER_YES;
}

static enum answer run_for(struct script *s, const struct node *n)
{
    struct fields list = {0};
    for (int i = 1; i < n->count; i++)
        script_expand(s, &n->word[i], &list);
    if (n->word[0].length == 0) /* for ((...)) */
        return run_either(s, n->body, NULL, n->line);
    if (list.count == 0)
        return ANSWER_YES;
    struct variable *v = script_variable(s, n->word[0].text, n->word[0].length);
    bool once = list.count == 1 && launch_is_known(list.word[0].text);
    script_assign(
        s, v,
        value_of_text(
            s,
            once ? list.word[0].text
                 : script_unknown(s, arena_format(s->mem, "${%s}", v->name),
                                  arena_format(s->mem, "which the loop in line %d sets", n->line),
                                  v->name, n->line),
            n->line));
    s->doubt = v->name;
    if (once) {
        script_run(s, n->body);
        return ANSWER_YES;
    }
    return run_either(s, n->body, NULL, n->line);
}

static enum answer run_while(struct script *s, const struct node *n)
{
    enum answer a = condition(s, n->condition);
    if (n->until)
        a = answer_not(a);
    return a == ANSWER_NO ? ANSWER_YES : run_either(s, n->body, NULL, n->line);
}

static enum answer arm_matches(struct script *s, const struct arm *arm, const char *subject)
{
    enum answer a = ANSWER_NO;
    for (int i = 0; i < arm->patterns && a != ANSWER_YES; i++) {
        const char *pattern = script_expand_one(s, arm->pattern[i].text, arm->pattern[i].length);
        enum answer b = script_matches(s, pattern, subject);
        a = b == ANSWER_NO ? a : b;
    }
    return a;
}

static enum answer run_case(struct script *s, const struct node *n)
{
    const char *subject = script_expand_one(s, n->word[0].text, n->word[0].length);
    struct ways w = {0};
    bool open = false, done = false;
    s->doubt = NULL;
    for (const struct arm *arm = n->arm; arm && !done && !s->failed; arm = arm->next) {
        enum answer a = arm_matches(s, arm, subject);
        if (a == ANSWER_YES && !open) {
            run_branch(s, arm->body);
            return ANSWER_YES;
        }
        if (a == ANSWER_NO)
            continue;
        if (!open)
            ways_begin(&w, s, n->line);
        open = true;
        run_maybe(s, &w, arm->body);
        done = a == ANSWER_YES;
    }
    if (open && !done)
        run_maybe(s, &w, NULL);
    if (open)
        ways_merge(&w, s);
    return ANSWER_YES;
}

static enum answer run_test(struct script *s, const struct node *n)
{
    struct fields f = {0};
    for (int i = 0; i < n->count; i++)
        fields_add(&f, script_expand_one(s, n->word[i].text, n->word[i].length), n->word[i].line,
                   s);
    s->assumed = false;
    return script_test(s, f.count, f.word);
}

static enum answer run_arithmetic(struct script *s, const struct node *n)
{
    const char *text = script_arithmetic(s, n->word[0].text, n->word[0].length);
    int64_t value;
    script_forget_assigned(s, n->word[0].text, n->word[0].length);
    s->assumed = false;
    if (!launch_is_known(text) || !parse_int(text, &value))
        return ANSWER_MAYBE;
    return value ? ANSWER_YES : ANSWER_NO;
}

/* NAME=, NAME+= or NAME[...]=: where the value begins; NULL = it is none. */
static const char *assigned(const struct raw *r, size_t *name, bool *added, bool *indexed)
{
    const char *p = r->text, *end = r->text + r->length;
    *added = *indexed = false;
    if (p == end || !is_name_start(*p))
        return NULL;
    while (p < end && is_name_char(*p))
        p++;
    *name = (size_t)(p - r->text);
    if (p < end && *p == '[') {
        const char *close = memchr(p, ']', (size_t)(end - p));
        *indexed = true;
        p = close ? close + 1 : end;
    }
    if (p < end && *p == '+') {
        *added = true;
        p++;
    }
    return p < end && *p == '=' ? p + 1 : NULL;
}

static void assign_array(struct script *s, struct variable *v, const struct raw *r, bool added)
{
    struct fields f = {0};
    for (int i = 0; added && v->value && i < v->value->count; i++)
        if (v->value->array || *v->value->word[i].text)
            fields_add(&f, v->value->word[i].text, v->value->word[i].line, s);
    for (int i = 0; i < r->count && !s->failed; i++) {
        s->line = r->element[i].line;
        script_expand(s, &r->element[i], &f);
    }
    script_assign(s, v, value_of_fields(s, &f));
}

static bool assign(struct script *s, const struct raw *r)
{
    size_t name;
    bool added, indexed;
    const char *value = assigned(r, &name, &added, &indexed);
    if (!value)
        return false;
    struct variable *v = script_variable(s, r->text, name);
    s->line = r->line;
    if (indexed) {
        script_forget(s, r->text, name, "one of whose elements is set");
    } else if (r->array) {
        assign_array(s, v, r, added);
    } else {
        const char *text = script_expand_one(s, value, (size_t)(r->text + r->length - value));
        int line = r->line;
        if (added && v->value && v->value->count > 0) {
            script_spend(s, 1, strlen(v->value->word[0].text));
            text = arena_format(s->mem, "%s%s", v->value->word[0].text, text);
            line = v->value->word[0].line;
        }
        script_assign(s, v, value_of_text(s, text, line));
    }
    return true;
}

void script_run_text(struct script *s, const char *text, int line)
{
    struct lexer lx = {.path = s->path,
                       .at = text,
                       .end = text + strlen(text),
                       .line = line,
                       .mem = s->mem,
                       .err = s->err};
    bool ok;
    if (s->failed || !script_spend(s, 1, strlen(text)))
        return;
    if (++s->depth > SCRIPT_DEPTH) {
        script_fail(s, line, "commands call each other too deeply to be followed");
        return;
    }
    const struct node *n = script_parse(&lx, &ok);
    if (ok)
        script_run(s, n);
    else
        s->failed = true;
    s->depth--;
}

static enum answer call(struct script *s, const struct node *body, const struct fields *f)
{
    const struct value *arguments = s->arguments;
    if (++s->depth > SCRIPT_DEPTH) {
        script_fail(s, s->line, "functions call each other too deeply to be followed");
        return ANSWER_MAYBE;
    }
    script_set_arguments(s, f, 1);
    enum answer a = run_one(s, body);
    s->returned = false;
    s->arguments = arguments;
    s->depth--;
    return a;
}

/* Whether `bash -c TEXT` is among the words, perhaps behind srun and its options. */
static bool run_shell(struct script *s, const struct fields *f)
{
    for (int i = 0; i + 2 < f->count; i++) {
        const char *slash = strrchr(f->word[i].text, '/');
        const char *name = slash ? slash + 1 : f->word[i].text, *option = f->word[i + 1].text;
        bool shell = strcmp(name, "bash") == 0 || strcmp(name, "sh") == 0;
        if (shell && option[0] == '-' && option[1] != '-' && option[strlen(option) - 1] == 'c') {
            const struct value *arguments = s->arguments;
            struct fields outer = s->outer;
            s->outer = (struct fields){.count = i, .word = f->word};
            script_set_arguments(s, f, i + 4 < f->count ? i + 4 : f->count); /* the first is $0 */
            script_run_text(s, f->word[i + 2].text, f->word[i + 2].line);
            s->outer = outer;
            s->arguments = arguments;
            s->exited = s->returned = false; /* of the inner shell */
            return true;
        }
    }
    return false;
}

static enum answer run_words(struct script *s, const struct fields *f)
{
    if (f->count == 0)
        return ANSWER_YES;
    const char *name = f->word[0].text;
    struct variable *v = script_variable(s, name, strlen(name));
    if (v->function)
        return call(s, v->function, f);
    script_builtin *builtin = script_find_builtin(name);
    if (builtin)
        return builtin(s, f);
    if (!run_shell(s, f))
        script_look_for_launch(s, f, s->line);
    if (strcmp(name, "exec") == 0 && f->count > 1)
        s->exited = true;
    s->assumed = true;
    return ANSWER_YES;
}

static bool declares(const struct raw *r)
{
    static const char *const names[] = {"export", "declare", "typeset", "local", "readonly"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (raw_is(r, names[i]))
            return true;
    return false;
}

static enum answer run_simple(struct script *s, const struct node *n)
{
    struct fields f = {0};
    size_t name;
    bool added, indexed;
    int first = 0;
    while (first < n->count && assigned(&n->word[first], &name, &added, &indexed))
        first++;
    if (first == n->count || declares(&n->word[first])) {
        for (int i = 0; i < n->count && !s->failed; i++)
            assign(s, &n->word[i]);
        s->assumed = true;
        return ANSWER_YES;
    }
    for (int i = first; i < n->count && !s->failed; i++)
        if (!n->word[i].array)
            script_expand(s, &n->word[i], &f);
    s->line = n->line;
    return s->failed ? ANSWER_MAYBE : run_words(s, &f);
}

static enum answer run_subshell(struct script *s, const struct node *n)
{
    int mark = s->undos;
    enum answer a = script_run(s, n->body);
    script_undo(s, mark);
    s->exited = s->returned = false;
    return a;
}

static enum answer run_group(struct script *s, const struct node *n)
{
    return script_run(s, n->body);
}

static enum answer run_function(struct script *s, const struct node *n)
{
    script_variable(s, n->word[0].text, n->word[0].length)->function = n->body;
    return ANSWER_YES;
}

static enum answer run_one(struct script *s, const struct node *n)
{
    static enum answer (*const runs[])(struct script *, const struct node *) = {
        [NODE_SIMPLE] = run_simple, [NODE_IF] = run_if,
        [NODE_FOR] = run_for,       [NODE_WHILE] = run_while,
        [NODE_CASE] = run_case,     [NODE_FUNCTION] = run_function,
        [NODE_GROUP] = run_group,   [NODE_SUBSHELL] = run_subshell,
        [NODE_TEST] = run_test,     [NODE_ARITHMETIC] = run_arithmetic,
    };
    if (!n || !script_spend(s, 1, 0))
        return ANSWER_MAYBE;
    s->line = n->line;
    enum answer a = runs[n->kind](s, n);
    return n->negated ? answer_not(a) : a;
}

/* A command behind && or || that may or may not be reached; `a` is the answer so far. */
static enum answer run_doubtful(struct script *s, const struct node *n, enum answer a)
{
    struct ways w;
    int launches = s->launches;
    ways_begin(&w, s, n->line);
    enum answer b = run_one(s, n);
    bool counts = goes_on(s, launches);
    s->exited = s->returned = false;
    ways_end_one(&w, s, counts);
    run_maybe(s, &w, NULL);
    ways_merge(&w, s);
    bool decides = n->link == LINK_AND ? b == ANSWER_NO : b == ANSWER_YES && !s->assumed;
    return decides ? b : a;
}

/* One that is reached. What leads out is not the way that trains. */
static enum answer run_linked(struct script *s, const struct node *n)
{
    int mark = s->undos, launches = s->launches;
    enum answer a = run_one(s, n);
    if (goes_on(s, launches))
        return a;
    script_undo(s, mark);
    return ANSWER_YES;
}

enum answer script_run(struct script *s, const struct node *first)
{
    enum answer a = ANSWER_YES;
    for (const struct node *n = first; n && !s->failed && !s->exited && !s->returned; n = n->next) {
        bool skipped =
            (n->link == LINK_AND && a == ANSWER_NO) || (n->link == LINK_OR && a == ANSWER_YES);
        if (skipped)
            continue;
        if (n->link == LINK_NEXT)
            a = run_one(s, n);
        else
            a = a == ANSWER_MAYBE ? run_doubtful(s, n, a) : run_linked(s, n);
    }
    return a;
}
