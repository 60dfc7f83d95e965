/* Simple commands: what is assigned and declared, functions that are called, shells that are
 * started. A variable that a function or a single command has for itself is set aside and comes
 * back at the end. */
#include "import/shell/script_parts.h"

#include "import/megatron/words.h"

#include <string.h>

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

/* [KEY]=VALUE among the elements of a list; [0]*3+[1]*58 is a word. */
static bool has_keys(const struct raw *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct raw *e = &r->element[i];
        const char *end = e->text + e->length;
        const char *close =
            e->length > 0 && *e->text == '[' ? memchr(e->text, ']', e->length) : NULL;
        close = close && close + 1 < end && close[1] == '+' ? close + 1 : close;
        if (close && close + 1 < end && close[1] == '=')
            return true;
    }
    return false;
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

/* What becomes of a text in a variable that may be a number. */
static void assign_text(struct script *s, struct variable *v, const char *text, bool added,
                        int line)
{
    const char *old = v->value && v->value->count > 0 ? v->value->word[0].text : "";
    if (added && v->value && v->value->array) { /* its first element */
        script_forget(s, v->name, strlen(v->name), "one of whose elements is set");
        return;
    }
    if (added && *old) {
        script_spend(s, 1, strlen(old));
        text = arena_format(s->mem, v->integer ? "(%s)+(%s)" : "%s%s", old, text);
        line = v->value->word[0].line;
    }
    if (v->integer)
        text = launch_is_known(text)
                   ? script_arithmetic(s, text, strlen(text))
                   : script_unknown(s, v->name, "which is not worked out", v->name, line);
    script_assign(s, v, value_of_text(s, text, line));
}

/* NAME[KEY]=VALUE of a list with names: each is a variable of its own. */
static void assign_keyed(struct script *s, struct variable *v, const char *key, const char *value,
                         bool added)
{
    if (!launch_is_known(key)) {
        script_forget(s, v->name, strlen(v->name), "one of whose elements is set");
        return;
    }
    const char *name = arena_format(s->mem, "%s[%s]", v->name, key);
    assign_text(s, script_name(s, name, strlen(name)), value, added, s->line);
}

/* NAME[INDEX]=VALUE, where the elements up to that one are known. */
static void assign_element(struct script *s, struct variable *v, const char *index,
                           const char *value, bool added)
{
    struct fields f = {0};
    int64_t n;
    bool known = parse_int(index, &n) && n >= 0 && !v->integer && (!v->value || v->value->array);
    int count = v->value ? v->value->count : 0;
    for (int i = 0; i < count && known; i++) {
        known = launch_is_known(v->value->word[i].text) || i != n - 1;
        fields_add(&f, v->value->word[i].text, v->value->word[i].line, s);
    }
    if (!known || n > count || v->frozen) {
        script_forget(s, v->name, strlen(v->name), "one of whose elements is set");
        return;
    }
    if (n == count)
        fields_add(&f, value, s->line, s);
    else
        f.word[n].text = added ? arena_format(s->mem, "%s%s", f.word[n].text, value) : value;
    script_assign(s, v, value_of_fields(s, &f));
}

static void assign_indexed(struct script *s, struct variable *v, const struct raw *r, size_t name,
                           const char *value, bool added)
{
    const char *open = r->text + name + 1, *end = r->text + r->length;
    const char *close = memchr(open, ']', (size_t)(end - open));
    size_t n = close ? (size_t)(close - open) : 0;
    const char *text = script_expand_one(s, value, (size_t)(end - value));
    if (v->keyed)
        assign_keyed(s, v, script_expand_one(s, open, n), text, added);
    else
        assign_element(s, v, script_arithmetic(s, open, n), text, added);
}

/* NAME=([KEY]=VALUE ...) of a list with names. */
static void assign_keys(struct script *s, struct variable *v, const struct raw *r)
{
    for (int i = 0; i < r->count && !s->failed; i++) {
        const struct raw *e = &r->element[i];
        const char *end = e->text + e->length;
        const char *close = *e->text == '[' ? memchr(e->text, ']', e->length) : NULL;
        if (!close || close + 1 >= end || close[1] != '=') {
            script_forget(s, v->name, strlen(v->name), "whose elements have names");
            return;
        }
        s->line = e->line;
        assign_keyed(s, v, script_expand_one(s, e->text + 1, (size_t)(close - e->text) - 1),
                     script_expand_one(s, close + 2, (size_t)(end - close) - 2), false);
    }
}

static struct variable *assign(struct script *s, const struct raw *r)
{
    size_t name;
    bool added, indexed;
    const char *value = assigned(r, &name, &added, &indexed);
    if (!value)
        return NULL;
    struct variable *v = script_variable(s, r->text, name);
    s->line = r->line;
    v->exported |= s->exports;
    if (indexed)
        assign_indexed(s, v, r, name, value, added);
    else if (v->keyed && r->array)
        assign_keys(s, v, r);
    else if (v->frozen)
        script_forget(s, r->text, name, "which is declared read-only or to be changed on its way");
    else if (r->array && has_keys(r))
        script_forget(s, r->text, name, "whose elements have names");
    else if (r->array)
        assign_array(s, v, r, added);
    else
        assign_text(s, v, script_expand_one(s, value, (size_t)(r->text + r->length - value)), added,
                    r->line);
    if (!r->array && !added)
        script_name_argument(s, v->name, value, (size_t)(r->text + r->length - value));
    return v;
}

static void set_aside(struct script *s, struct variable *v)
{
    s->local = arena_room(s->mem, s->local, s->locals, &s->local_capacity, sizeof *s->local);
    s->local[s->locals++] = (struct local){v, v->reference, v->value, s->open};
}

/* One that was set aside in a way that may not have been taken may also have stayed. */
static void bring_back(struct script *s, int to)
{
    while (s->locals > to) {
        const struct local *l = &s->local[--s->locals];
        l->variable->reference = l->reference;
        if (l->open > s->open && l->variable->value != l->value)
            script_forget(s, l->variable->name, strlen(l->variable->name),
                          "which may or may not be local to a function");
        else
            script_assign(s, l->variable, l->value);
    }
}

enum answer script_run_text(struct script *s, const char *text, int line)
{
    struct script_lexer lx = {.path = s->path,
                              .at = text,
                              .end = text + strlen(text),
                              .line = line,
                              .mem = s->mem,
                              .err = s->err};
    bool ok;
    enum answer a = ANSWER_MAYBE;
    if (s->failed || !script_spend(s, 1, strlen(text)))
        return a;
    if (++s->depth > SCRIPT_DEPTH) {
        script_fail(s, line, "commands call each other too deeply to be followed");
        return a;
    }
    const struct node *n = script_parse(&lx, &ok);
    if (ok)
        a = script_run(s, n);
    else
        s->failed = true;
    s->depth--;
    return a;
}

static enum answer call(struct script *s, const struct node *body, const struct fields *f)
{
    struct variable *arguments = script_name(s, "@", 1);
    const struct value *before = arguments->value;
    int locals = s->locals, loops = s->loops;
    enum leave perhaps = s->perhaps;
    if (++s->depth > SCRIPT_DEPTH) {
        script_fail(s, s->line, "functions call each other too deeply to be followed");
        return ANSWER_MAYBE;
    }
    script_set_arguments(s, f, 1);
    s->functions++;
    s->loops = 0;
    s->perhaps = LEAVE_NOT;
    enum answer a = script_run(s, body);
    if (s->leaves == LEAVE_FUNCTION) {
        a = s->status;
        s->assumed = false;
        s->leaves = LEAVE_NOT;
    }
    a = s->perhaps ? ANSWER_MAYBE : a;
    s->perhaps = perhaps;
    s->loops = loops;
    s->functions--;
    bring_back(s, locals);
    script_assign(s, arguments, before);
    s->depth--;
    return a;
}

/* Commands that are taken to succeed: a script that goes on behind them trains. */
static bool succeeds(const char *name)
{
    return is_one_of(name,
                     "cd mkdir pushd popd rm cp mv ln touch chmod sleep wait date tee umask pip "
                     "ulimit conda module cat");
}

static enum answer run_words(struct script *s, const struct fields *f)
{
    if (f->count == 0)
        return ANSWER_YES;
    const char *name = f->word[0].text;
    const struct variable *v = script_name(s, name, strlen(name));
    if (v->function)
        return call(s, v->function, f);
    script_builtin *builtin = script_find_builtin(name);
    if (builtin)
        return builtin(s, f);
    s->assumed = true;
    if (script_prints(s, f))
        return ANSWER_YES;
    if (s->capture)
        s->capture->unknown = true;
    if (strncmp(name, "--", 2) == 0 && words_is_flag(name) && !s->torn)
        s->torn = s->line;
    if (!script_start_shell(s, f))
        script_look_for_launch(s, f, s->line);
    if (strcmp(name, "exec") == 0 && f->count > 1)
        s->leaves = LEAVE_SCRIPT;
    s->assumed = true;
    return succeeds(name) ? ANSWER_YES : ANSWER_MAYBE;
}

/* What a declaration does to its variables. */
struct declaration {
    bool local, bare; /* bare: nothing is known of what its options do to values */
    bool exports, integer, freezes, refers, functions, keyed;
};

static bool declares(const struct raw *r, struct declaration *d, const struct script *s)
{
    *d = (struct declaration){0};
    if (raw_is(r, "export"))
        d->exports = true;
    else if (raw_is(r, "readonly"))
        d->freezes = true;
    else if (raw_is(r, "local") || raw_is(r, "declare") || raw_is(r, "typeset"))
        d->local = s->functions > 0;
    else
        return false;
    return true;
}

static void read_option(struct declaration *d, const struct raw *r)
{
    for (size_t i = 1; i < r->length; i++) {
        d->exports |= r->text[i] == 'x';
        d->integer |= r->text[i] == 'i';
        d->keyed |= r->text[i] == 'A';
        d->freezes |= r->text[i] == 'r';
        d->bare |= strchr("luc", r->text[i]) != NULL;
        d->refers |= r->text[i] == 'n' && !d->exports;
        d->functions |= strchr("fFp", r->text[i]) != NULL;
        d->local &= r->text[i] != 'g';
    }
}

/* declare -n NAME=OTHER */
static void refer(struct script *s, struct variable *v, const char *value)
{
    if (!value || !is_name_start(*value) || s->open)
        script_fail(s, s->line, "a name that stands for another variable is not followed here");
    else if (script_variable(s, value, strlen(value)) != v)
        v->reference = script_variable(s, value, strlen(value));
}

/* A variable with what its declaration assigns, or without. */
static void declare_one(struct script *s, const struct declaration *d, const struct raw *r)
{
    size_t n = 0;
    bool added, indexed;
    while (n < r->length && is_name_char(r->text[n]))
        n++;
    struct variable *v = script_name(s, r->text, n);
    const char *value = assigned(r, &n, &added, &indexed);
    if (d->local) {
        set_aside(s, v);
        v->reference = NULL;
    }
    if (d->refers) {
        refer(s, v,
              value ? script_expand_one(s, value, (size_t)(r->text + r->length - value)) : NULL);
        return;
    }
    v->exported |= d->exports;
    v->integer |= d->integer;
    v->keyed |= d->keyed;
    v->frozen |= d->bare;
    if (value)
        assign(s, r);
    else if (d->local)
        script_assign(s, v, NULL);
    v->frozen |= d->freezes;
}

/* export "A=1", export $LIST: names and values once they are expanded. */
static void declare_expanded(struct script *s, const struct declaration *d, const struct raw *r)
{
    struct fields f = {0};
    script_expand(s, r, &f);
    for (int i = 0; i < f.count && !s->failed; i++) {
        const char *text = f.word[i].text, *sign = strchr(text, '=');
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (n > 0 && is_name_start(*text) && (!text[n] || sign == text + n)) {
            struct variable *v = script_variable(s, text, n);
            v->exported |= d->exports;
            if (d->local)
                set_aside(s, v);
            if (sign)
                script_assign(s, v, value_of_text(s, sign + 1, r->line));
        } else if (!launch_is_known(text) && !s->sourced) {
            s->sourced = s->line;
            s->source = text;
        }
    }
}

static enum answer run_declaration(struct script *s, const struct node *n, int first,
                                   struct declaration d)
{
    s->assumed = true;
    if (raw_is(&n->word[first], "local") && s->functions == 0)
        return ANSWER_NO; /* outside a function a shell refuses it */
    for (int i = first + 1; i < n->count && !s->failed && !d.functions; i++) {
        const struct raw *r = &n->word[i];
        size_t k = 0;
        while (k < r->length && is_name_char(r->text[k]))
            k++;
        bool named =
            k > 0 && is_name_start(*r->text) && (k == r->length || strchr("=+[", r->text[k]));
        s->line = r->line;
        if (r->length > 0 && (r->text[0] == '-' || r->text[0] == '+'))
            read_option(&d, r);
        else if (named)
            declare_one(s, &d, r);
        else
            declare_expanded(s, &d, r);
    }
    if (d.functions && s->capture) /* declare -f prints them */
        s->capture->unknown = true;
    return ANSWER_YES;
}

/* A=1 before a command is there for it alone. */
static enum answer run_prefixed(struct script *s, const struct node *n, int first,
                                const struct fields *f)
{
    int locals = s->locals;
    size_t name;
    bool added, indexed;
    for (int i = 0; i < first && !s->failed; i++) {
        assigned(&n->word[i], &name, &added, &indexed);
        struct variable *v = script_name(s, n->word[i].text, name);
        bool exported = v->exported;
        set_aside(s, v);
        assign(s, &n->word[i]);
        v->exported = exported || f->count > 0;
    }
    s->line = n->line;
    enum answer a = run_words(s, f);
    bring_back(s, locals);
    return a;
}

enum answer script_simple(struct script *s, const struct node *n)
{
    struct fields f = {0};
    struct declaration d;
    size_t name;
    bool added, indexed;
    int first = 0;
    while (first < n->count && assigned(&n->word[first], &name, &added, &indexed))
        first++;
    for (int i = 0; first == n->count && i < n->count && !s->failed; i++)
        assign(s, &n->word[i]);
    if (first == n->count) {
        s->assumed = true;
        return ANSWER_YES;
    }
    if (declares(&n->word[first], &d, s))
        return run_declaration(s, n, first, d);
    for (int i = first; i < n->count && !s->failed; i++)
        if (!n->word[i].array)
            script_expand(s, &n->word[i], &f);
    s->line = n->line;
    return s->failed ? ANSWER_MAYBE : run_prefixed(s, n, first, &f);
}
