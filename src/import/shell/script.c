/* A script from its text to the one launch that it is about. */
#include "import/shell/script.h"

#include "import/shell/script_parts.h"
#include "model/model.h"

#include <string.h>

/* Bytes that no script has would be taken for marks of our own. */
bool script_is_text(const char *path, const char *text, size_t length, struct error *err)
{
    int line = 1;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            line++;
        else if ((c < ' ' && c != '\t' && c != '\r' && c != '\f') || c == 127)
            return fail(err, ERROR_INPUT,
                        "%s:%d: has the control character 0x%02x: a launch script is text", path,
                        line, c);
    }
    return true;
}

static bool is_argument(const char *name)
{
    return *name && strspn(name, "0123456789") == strlen(name);
}

static void set_env(struct script *s, const struct script_env *env, int envs)
{
    for (int i = 0; i < envs; i++) {
        struct variable *v = script_variable(s, env[i].name, strlen(env[i].name));
        v->value = value_of_text(s, arena_string(s->mem, env[i].value), 0);
        v->exported = true;
        v->fixed = !env[i].weak;
    }
    struct fields f = {0};
    for (int n = 1; n <= envs; n++) {
        const char *name = arena_format(s->mem, "%d", n);
        const struct variable *v = script_variable(s, name, strlen(name));
        if (!v->fixed || !is_argument(name))
            break;
        fields_add(&f, v->value->word[0].text, 0, s);
    }
    if (f.count)
        script_name(s, "@", 1)->value = value_of_fields(s, &f);
}

static bool same_words(const struct launch *a, const struct launch *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->word[i].text, b->word[i].text) != 0)
            return false;
    return true;
}

static const char *text_of(const struct script *s, const char *word)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    return launch_text(&l, word, s->mem);
}

static bool nothing_started(const struct script *s, struct error *err)
{
    const char *unread = s->unread ? arena_format(s->mem, " (line %d runs %s, which is not read)",
                                                  s->unread, text_of(s, s->shell))
                                   : "";
    return fail(err, ERROR_INPUT,
                "%s: no training is started: expected a command with pretrain_gpt.py or "
                "another program, and Megatron's flags behind it%s",
                s->path, unread);
}

/* Files and commands that may set variables, and are not known. */
static void note_unread(const struct script *s, struct launch *out)
{
    if (s->sourced)
        launch_note(out, arena_format(s->mem, "line %d: not read: %s; what it sets does not count",
                                      s->sourced, text_of(s, s->source)));
}

/* A backslash that does not end its line, or none, leaves the rest of a launch to a command of its own. */
static void note_torn(const struct script *s, struct launch *out)
{
    if (s->torn)
        launch_note(out, arena_format(s->mem,
                                      "line %d: a command begins with a flag: the line before it "
                                      "has no backslash at its end, or a blank behind it, and "
                                      "flags from there on do not reach the program",
                                      s->torn));
}

/* A file that is not read may have the model's flags: then its name says which model that is. */
static void name_model(const struct script *s, struct launch *out)
{
    const char *text = s->sourced ? text_of(s, s->source) : "", *slash = strrchr(text, '/');
    const char *name = slash ? slash + 1 : text;
    bool decoder;
    if (model_named(name) || model_named_other(name, &decoder))
        out->model = name;
}

/* Primus takes what flags leave out from the file that EXP names, in a folder of its own. */
static void name_experiment(struct script *s, struct launch *out)
{
    const struct value *v = script_variable(s, "EXP", 3)->value;
    const char *path = v && v->count > 0 ? text_of(s, v->word[0].text) : "";
    size_t n = strlen(path);
    if (out->model || n < 6 || strcmp(path + n - 5, ".yaml") != 0)
        return;
    out->model = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    out->program = out->program ? out->program : "primus";
    launch_note(
        out,
        arena_format(s->mem,
                     "EXP names %s, which is not read: the model is taken by its name, what else "
                     "it sets does not count (astra estimate %s reads it)",
                     path, out->model));
}

/* The likeliest launch, of equals the first; others of its kind are said. */
static bool choose(struct script *s, struct launch *out, struct error *err)
{
    int best = 0;
    *out = (struct launch){.arguments = s->arguments};
    if (s->launches == 0)
        return nothing_started(s, err);
    for (int i = 1; i < s->launches; i++)
        if (s->score[i] > s->score[best])
            best = i;
    *out = s->launch[best];
    out->unknowns = s->unknowns;
    out->unknown = s->unknown;
    note_unread(s, out);
    note_torn(s, out);
    name_model(s, out);
    name_experiment(s, out);
    if (s->called_file)
        launch_note(out, s->called_file);
    if (s->counted_gpus)
        launch_note(out, arena_format(s->mem, "nvidia-smi is answered with the %lld GPUs of a node",
                                      (long long)s->counted_gpus));
    out->arguments = s->arguments;
    out->argument = s->argument;
    out->choices = s->choices;
    out->choice = s->choice;
    out->said_nodes = out->said_nodes ? out->said_nodes : s->nodes;
    out->said_per_node = out->said_per_node ? out->said_per_node : s->gpus;
    out->kind = s->nodes || s->tasks ? "sbatch file" : "launch script";
    out->is_script = true;
    for (int i = 0; i < s->launches; i++) {
        if (i == best || s->launch[i].line == out->line || same_words(&s->launch[i], out) ||
            s->score[i] * 2 <= s->score[best])
            continue;
        out->others++;
        launch_note(out, arena_format(s->mem, "line %d starts another training, which is not read",
                                      s->launch[i].line));
    }
    return true;
}

bool script_read(const char *path, const char *text, size_t length, const struct script_env *env,
                 int envs, int reading, struct launch *out, struct arena *mem, struct error *err)
{
    struct script *s = arena_alloc(mem, sizeof *s);
    struct script_lexer lx = {
        .path = path, .at = text, .end = text + length, .line = 1, .mem = mem, .err = err};
    bool ok;
    if (!script_is_text(path, text, length, err))
        return false;
    s->path = path;
    s->below = "";
    s->follows = reading & SCRIPT_FOLLOWS;
    s->curious = reading & SCRIPT_CURIOUS;
    s->doubts = reading & SCRIPT_DOUBTS;
    s->mem = mem;
    s->err = err;
    set_env(s, env, envs);
    script_read_headers(s, text, length);
    const struct node *first = script_parse(&lx, &ok);
    if (!ok)
        return false;
    script_run(s, first);
    if (!s->failed && s->launches == 0)
        script_look_for_flags(s);
    return !s->failed && choose(s, out, err);
}
