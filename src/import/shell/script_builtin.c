/* The commands of the shell that change variables, answer a query or end something. */
#include "import/shell/script_parts.h"

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

/* Whether there is an = that is no comparison, or ++ or --. */
static bool assigns(const char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++) {
        bool twice = text[i] == text[i + 1] && strchr("+-", text[i]);
        bool compares = i > 0 && strchr("=!", text[i - 1]);
        compares |= i > 0 && strchr("<>", text[i - 1]) && !(i > 1 && text[i - 2] == text[i - 1]);
        if (twice || (text[i] == '=' && text[i + 1] != '=' && !compares))
            return true;
    }
    return false;
}

/* Variables that an arithmetic which is not worked out may assign: all of it, to be sure. */
void script_forget_assigned(struct script *s, const char *text, size_t length)
{
    const char *end = text + length;
    if (!assigns(text, length))
        return;
    for (const char *p = text; p < end;) {
        const char *from = p;
        while (p < end && is_name_char(*p))
            p++;
        if (p > from && is_name_start(*from))
            script_forget(s, from, (size_t)(p - from), "which ((...)) changes");
        p += p == from;
    }
}

/* Words of a command that is not run from here on, in one text. */
static const char *joined(struct script *s, const struct fields *f, int from)
{
    struct str text = {0};
    for (int i = from; i < f->count; i++)
        if (script_spend(s, 1, strlen(f->word[i].text)))
            str_addf(&text, "%s%s", i > from ? " " : "", f->word[i].text);
    return str_keep(&text, s->mem);
}

/* Commands that are not known may set anything: the first such place is said. */
static void note_source(struct script *s, const char *text)
{
    if (s->sourced)
        return;
    s->sourced = s->line;
    s->source = text;
}

static enum answer do_eval(struct script *s, const struct fields *f)
{
    const char *text = joined(s, f, 1);
    if (*text == LAUNCH_MARK)
        note_source(s, text);
    return script_run_text(s, text, f->word[0].line);
}

static enum answer do_exit(struct script *s, const struct fields *f)
{
    (void)f;
    s->leaves = LEAVE_SCRIPT;
    return ANSWER_YES;
}

/* Outside a function it can only end a file that is sourced. */
static enum answer do_return(struct script *s, const struct fields *f)
{
    int64_t n;
    s->leaves = s->functions + s->sources > 0 ? LEAVE_FUNCTION : LEAVE_SCRIPT;
    s->status = ANSWER_MAYBE;
    if (f->count > 1 && parse_int(f->word[1].text, &n))
        s->status = n == 0 ? ANSWER_YES : ANSWER_NO;
    return ANSWER_YES;
}

/* break and continue, of one loop or several. */
static enum answer do_break(struct script *s, const struct fields *f)
{
    int64_t n = 1;
    bool breaks = strcmp(f->word[0].text, "break") == 0;
    if (s->loops == 0)
        return ANSWER_YES;
    if (f->count > 1 && (!parse_int(f->word[1].text, &n) || n < 1 || n > SCRIPT_DEPTH))
        n = 0;
    if (n != 1 && (!breaks || s->open || n == 0))
        script_fail(s, s->line, "break and continue of several loops are not followed here");
    s->levels = (int)n;
    s->leaves = breaks ? LEAVE_LOOP : LEAVE_ROUND;
    return ANSWER_YES;
}

static enum answer do_source(struct script *s, const struct fields *f)
{
    if (f->count < 2 || !script_source(s, f->word[1].text))
        note_source(s, joined(s, f, 0));
    return ANSWER_YES;
}

void script_set_arguments(struct script *s, const struct fields *f, int from)
{
    struct fields rest = {.count = f->count - from, .word = f->word + from};
    script_assign(s, script_name(s, "@", 1), value_of_fields(s, &rest));
}

static bool is_option(const char *word)
{
    return (*word == '-' || *word == '+') && word[1];
}

/* set -euo pipefail, set -- WORDS, set WORDS. */
static enum answer do_set(struct script *s, const struct fields *f)
{
    bool named = false;
    for (int i = 1; i < f->count; i++) {
        const char *word = f->word[i].text;
        bool ends = strcmp(word, "--") == 0;
        if (ends || (!named && !is_option(word))) {
            script_set_arguments(s, f, i + ends);
            break;
        }
        s->exports |= named ? strcmp(word, "allexport") == 0 : *word == '-' && strchr(word, 'a');
        named = !named && word[strlen(word) - 1] == 'o';
    }
    return ANSWER_YES;
}

static enum answer do_shift(struct script *s, const struct fields *f)
{
    const struct value *v = script_arguments(s);
    int64_t n = 1;
    if (f->count > 1 && !parse_int(f->word[1].text, &n))
        script_fail(s, s->line, "how far the arguments are shifted is not known");
    if (!v || n < 1 || n > v->count)
        return v && n == 0 ? ANSWER_YES : ANSWER_NO;
    for (int i = 0; i < n; i++)
        if (!launch_is_known(v->word[i].text) && v->word[i].text[0] == LAUNCH_MARK)
            return ANSWER_MAYBE; /* an end that is not known stays so */
    struct fields all = {.count = v->count, .word = (struct launch_word *)v->word};
    script_set_arguments(s, &all, (int)n);
    return ANSWER_YES;
}

static enum answer do_unset(struct script *s, const struct fields *f)
{
    for (int i = 1; i < f->count; i++)
        if (is_name_start(f->word[i].text[0]))
            script_assign(s, script_variable(s, f->word[i].text, strlen(f->word[i].text)), NULL);
    return ANSWER_YES;
}

/* How read takes what it reads. */
struct read_words {
    bool whole, list; /* all of it; as the elements of a list */
    int names, last;  /* first and last word that is a name */
};

static struct read_words read_options(const struct fields *f)
{
    struct read_words r = {.names = f->count, .last = f->count - 1};
    for (int i = 1; i < f->count; i++) {
        const char *word = f->word[i].text;
        char end = word[0] == '-' && word[1] ? word[strlen(word) - 1] : 0;
        r.list |= word[0] == '-' && strchr(word, 'a');
        r.whole |= end == 'd' && i + 1 < f->count && !*f->word[i + 1].text;
        if (word[0] != '-' && r.names == f->count)
            r.names = i;
        i += end && strchr("dnNptu", end);
    }
    return r;
}

/* The text between here and `end`, without the signs around it that part words. */
static const char *trimmed(struct script *s, const char *text, const char *end)
{
    const char *blanks = script_blanks(s);
    while (text < end && strchr(blanks, *text))
        text++;
    while (end > text && strchr(blanks, end[-1]))
        end--;
    return arena_copy(s->mem, text, (size_t)(end - text));
}

static void read_list(struct script *s, struct variable *v, const char *text)
{
    struct fields f = {0};
    const char *blanks = script_blanks(s);
    for (text += strspn(text, blanks); *text && *blanks; text += strspn(text, blanks)) {
        size_t n = strcspn(text, blanks);
        fields_add(&f, arena_copy(s->mem, text, n), s->line, s);
        text += n;
    }
    script_assign(s, v, value_of_fields(s, &f));
}

/* What was read, one word to a name, the rest to the last. */
static void read_names(struct script *s, const struct fields *f, const struct read_words *r,
                       const char *text)
{
    const char *blanks = script_blanks(s), *end = text + strlen(text);
    for (int i = r->names; i < f->count; i++) {
        const char *name = f->word[i].text;
        struct variable *v = script_variable(s, name, strlen(name));
        text += strspn(text, blanks);
        size_t n = i == r->last ? (size_t)(end - text) : strcspn(text, blanks);
        script_assign(s, v, value_of_text(s, trimmed(s, text, text + n), s->line));
        text += n;
    }
}

/* A line of what is there to read, or all of it. False where nothing is known of it. */
static bool read_input(struct script *s, const struct fields *f, enum answer *a)
{
    struct read_words r = read_options(f);
    const char *in = s->input, *name = r.names < f->count ? f->word[r.names].text : "";
    size_t n = in ? (r.whole ? strlen(in) : strcspn(in, "\n")) : 0;
    if (!in || s->open || !is_name_start(*name) || strcmp(f->word[0].text, "read") != 0 ||
        (!launch_is_known(in) && !r.whole))
        return false;
    *a = *in && !r.whole ? ANSWER_YES : ANSWER_NO;
    const char *text = arena_copy(s->mem, in, n);
    if (r.list)
        read_list(s, script_variable(s, name, strlen(name)), text);
    else
        read_names(s, f, &r, text);
    s->input = in + n + (in[n] == '\n');
    s->assumed = r.whole;
    return true;
}

/* read, mapfile, getopts: names among the words are set to what only a run tells. */
static enum answer do_read(struct script *s, const struct fields *f)
{
    enum answer a;
    s->assumed = true;
    if (read_input(s, f, &a))
        return a;
    for (int i = 1; i < f->count; i++) {
        const char *word = f->word[i].text;
        size_t n = 0;
        while (is_name_char(word[n]))
            n++;
        if (n > 0 && !word[n] && is_name_start(*word))
            script_forget(s, word, n, "which only a run tells");
    }
    return ANSWER_MAYBE;
}

/* printf -v NAME FORMAT WORDS; without -v it prints. */
static enum answer do_printf(struct script *s, const struct fields *f)
{
    s->assumed = true;
    if (f->count < 4 || strcmp(f->word[1].text, "-v") != 0) {
        script_prints(s, f);
        return ANSWER_YES;
    }
    const char *name = f->word[2].text, *text = script_format(s, f, 3);
    if (!text || !is_name_start(*name))
        script_forget(s, name, strlen(name), "which only a run tells");
    else
        script_assign(s, script_variable(s, name, strlen(name)), value_of_text(s, text, s->line));
    return ANSWER_YES;
}

static enum answer do_let(struct script *s, const struct fields *f)
{
    int64_t n = 1;
    bool known = true;
    for (int i = 1; i < f->count; i++)
        known = parse_int(script_arithmetic(s, f->word[i].text, strlen(f->word[i].text)), &n);
    s->assumed = false;
    return !known ? ANSWER_MAYBE : n ? ANSWER_YES : ANSWER_NO;
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
    return script_test(s, f->count - 1 - (bracket && f->count > 1), f->word + 1, false);
}

static const struct {
    const char *name;
    script_builtin *run;
} BUILTINS[] = {
    {"eval", do_eval},      {"exit", do_exit},    {"return", do_return},  {"source", do_source},
    {".", do_source},       {"set", do_set},      {"shift", do_shift},    {"unset", do_unset},
    {"read", do_read},      {"mapfile", do_read}, {"readarray", do_read}, {"getopts", do_read},
    {"printf", do_printf},  {"let", do_let},      {"true", do_true},      {":", do_true},
    {"false", do_true},     {"[", do_test},       {"test", do_test},      {"break", do_break},
    {"continue", do_break},
};

script_builtin *script_find_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof BUILTINS / sizeof *BUILTINS; i++)
        if (strcmp(name, BUILTINS[i].name) == 0)
            return BUILTINS[i].run;
    return NULL;
}
