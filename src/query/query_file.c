/* A file is read once, piece by piece, as if it were the log of a training; its beginning is kept
 * beside. Where no block of arguments turns up, the beginning is the whole file, or the file is too
 * large to be anything else. */
#include "query/query_file.h"

#include "base/file.h"
#include "base/str.h"
#include "import/hf/hf_flags_in.h"
#include "import/hf/hf_job.h"
#include "import/log/train_log.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/overrides.h"
#include "import/megatron/words.h"
#include "import/shell/launch.h"
#include "import/yaml/yaml_launch.h"
#include "query/query.h"
#include "query/query_parts.h"
#include "query/query_read.h"
#include "simulate/plan.h"

#include <string.h>

static bool is_name(const char *text, size_t length)
{
    static const char digits[] = "0123456789";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strspn(text, letters);
    bool number = strspn(text, digits) == length; /* an argument of the script */
    return length > 0 && n == length && (number || !strchr(digits, text[0]));
}

bool option_env(struct options *o, const char *v, struct error *err)
{
    if (o->envs == ENVS_MAX)
        return fail(err, ERROR_INPUT, "--args and --env have more than %d words", ENVS_MAX);
    size_t n = strcspn(v, "=");
    if (!v[n] || !is_name(v, n))
        return fail(err, ERROR_INPUT, "--env is '%s', expected NAME=VALUE, as in TP=8", v);
    for (const char *p = v; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
            return fail(err, ERROR_INPUT, "--env %.*s has a control character", (int)n, v);
    o->env[o->envs++] = (struct script_env){.name = arena_copy(o->mem, v, n),
                                            .value = arena_string(o->mem, v + n + 1)};
    return true;
}

/* The next word of a command line, its quotes taken off; NULL = there is none, or a quote is not closed. */
static const char *next_argument(const char **at, struct arena *mem)
{
    struct str s = {0};
    const char *p = *at + strspn(*at, " \t\n");
    char quote = 0;
    bool any = *p != 0;
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
        if (*p == quote)
            quote = 0;
        else if (!quote && (*p == '"' || *p == '\''))
            quote = *p;
        else
            str_add_bytes(&s, p, 1);
    }
    *at = quote ? NULL : p;
    const char *word = str_keep(&s, mem);
    return any && !quote ? word : NULL;
}

bool option_args(struct options *o, const char *v, struct error *err)
{
    const char *at = v, *word;
    for (int n = 1; (word = next_argument(&at, o->mem)); n++) {
        if (!option_env(o, arena_format(o->mem, "%d=%s", n, word), err))
            return false;
    }
    return at || fail(err, ERROR_INPUT, "--args has a quote that is not closed");
}

/* What is read of a file. */
struct file_pieces {
    struct str head;
    struct train_log log;
    bool cut; /* the file is longer than its head */
};

static bool take_piece(void *context, const char *data, size_t length)
{
    struct file_pieces *p = context;
    size_t room = FILE_LIMIT - p->head.length;
    p->cut |= length > room;
    str_add_bytes(&p->head, data, length < room ? length : room);
    return train_log_feed(&p->log, data, length);
}

static size_t skip_blank(const struct text *t, size_t n)
{
    while (n < t->length && strchr(" \t\r\n", t->data[n]))
        n++;
    return n;
}

/* Commands may begin with [ and {, and lines of a log with [: behind the sign of JSON stands the
 * beginning of a value, or nothing at all. */
static bool is_json(const struct text *t)
{
    size_t n = skip_blank(t, 0), next = skip_blank(t, n + 1);
    char sign = n < t->length ? t->data[n] : 0, c = next < t->length ? t->data[next] : 0;
    if (sign == '{')
        return c == '"' || c == '}' || c == 0;
    return sign == '[' && (c == '{' || c == ']' || c == 0);
}

/* Settings of a training that are written as JSON, or as YAML that looks like it: no plan of ours, which has an engine. */
static bool is_settings(const char *text)
{
    return !strstr(text, "\"engine\"") &&
           (strstr(text, "num_layers\"") || strstr(text, "num-layers\""));
}

/* The training that a text describes. */
static bool read_launch(struct options *o, const struct text *t, const char *path,
                        struct launch *out, const char **call, const char **why, struct error *err)
{
    if (t->length == 0 || strspn(t->data, " \t\r\n") == t->length)
        return fail(err, ERROR_INPUT,
                    "%s: is empty, expected a plan, a launch script, a log or overrides", path);
    if (overrides_are(t->data, t->length))
        return overrides_read(path, t->data, t->length, out, o->mem, err);
    if (yaml_launch_is(t->data, t->length))
        return yaml_launch_read(path, t->data, t->length, o->env, o->envs,
                                imported_follows(o, path), out, o->mem, err) &&
               overrides_of_launch(out, o->mem, err);
    return imported_script(o, t, path, out, call, why, err);
}

static bool set_nodes(struct options *o, int64_t nodes, int64_t per_node, const char **text,
                      struct error *err)
{
    *text =
        arena_format(o->mem, "%lldx%lld:%s", (long long)nodes, (long long)per_node, o->gpu->name);
    return options_set(o, "cluster", *text, err);
}

/* The nodes that the file names, with the GPUs of --gpu; as many to a node as that type has, where the file does not
 * say. */
static bool take_cluster(struct options *o, const struct launch *l, const char **assumed,
                         struct error *err)
{
    const struct gpu *gpu = o->gpu;
    const char *text;
    if (!gpu)
        return true;
    if (o->has_cluster)
        return fail(err, ERROR_INPUT, "--gpu %s and --cluster are given: one of them is enough",
                    gpu->name);
    if (!l->gpus && l->said_nodes)
        return set_nodes(o, l->said_nodes, l->said_per_node ? l->said_per_node : gpu->per_node,
                         assumed, err);
    if (!l->gpus)
        return fail(err, ERROR_INPUT,
                    "%s: does not say how many GPUs it runs on: give --cluster instead of --gpu",
                    l->path);
    int64_t per_node = l->per_node ? l->per_node : l->gpus < 8 ? l->gpus : 8;
    if (l->gpus % per_node != 0)
        return fail(err, ERROR_INPUT, "%s: runs on %lld GPUs: give --cluster instead of --gpu",
                    l->path, (long long)l->gpus);
    return set_nodes(o, l->gpus / per_node, per_node, &text, err);
}

/* Nodes that the scheduler puts in one rack, where the pool has racks of several. */
static void take_segment(struct options *o, const struct launch *l)
{
    struct node_group *g = &o->cluster.group[0];
    if (o->has_cluster && o->cluster.groups == 1 && l->segment > 0 && g->domain > g->per_node &&
        l->segment <= g->domain / g->per_node && g->segment == 0)
        g->segment = (int)l->segment;
}

/* Programs that train something else than a decoder, or nothing. */
static bool is_planned(struct launch *l, struct arena *mem, struct error *err)
{
    const char *note, *why = l->program ? foreign_program(l->program, &note) : NULL;
    if (why)
        return fail(err, ERROR_INPUT,
                    "%s:%d: %s is not planned: %s; flags behind -- without a file are planned as a "
                    "decoder's",
                    l->path, l->line, l->program, why) ||
               error_in_file(err);
    if (l->program && note)
        launch_note(l, arena_format(mem, "%s: %s", l->program, note));
    return true;
}

static bool take_launch(struct options *o, const struct launch *l, struct imported *i,
                        struct error *err)
{
    i->launch = *l;
    if (!is_planned(&i->launch, o->mem, err) || !take_cluster(o, l, &i->assumed_nodes, err))
        return false;
    take_segment(o, l);
    launch_split(&i->launch, &i->flags, o->mem);
    if (i->flags.refused)
        return fail(err, ERROR_INPUT, "%s", i->flags.refused) || error_in_file(err);
    o->imported = i;
    if (!options_flags(o, 0, NULL, &i->trouble)) /* flags behind the file may settle it */
        imported_name_place(o, &i->trouble);
    return imported_model(o, i, err);
}

/* A log, where its block was found; otherwise by the beginning of the text. */
static bool take_pieces(struct options *o, struct file_pieces *p, const char *path,
                        struct error *err)
{
    struct launch l;
    struct imported *i = arena_alloc(o->mem, sizeof *i);
    struct text text = {str_text(&p->head), p->head.length};
    if (train_log_launch(&p->log, path, &l))
        return take_launch(o, &l, i, err);
    if (p->cut)
        return fail(err, ERROR_INPUT,
                    "%s: is larger than %d MiB and has no block of Megatron's arguments", path,
                    FILE_LIMIT >> 20);
    if (hf_is_text(text.data))
        return o->has_flags = hf_import_text(text.data, path, &o->flags, o->mem, err);
    if (is_json(&text) && !is_settings(text.data))
        return import_plan(o, &text, path, err);
    return read_launch(o, &text, path, &l, &i->assumed_call, &i->call_why, err) &&
           take_launch(o, &l, i, err);
}

/* `text` NULL: that of the file. */
static bool import_pieces(struct options *o, const char *path, const char *text, struct error *err)
{
    struct file_pieces p = {0};
    path = arena_string(o->mem, path);
    str_init(&p.head);
    train_log_init(&p.log, o->mem);
    if (text)
        take_piece(&p, text, strlen(text));
    bool ok = (text || file_stream(path, take_piece, &p, err)) && take_pieces(o, &p, path, err);
    train_log_release(&p.log);
    str_release(&p.head);
    return ok;
}

bool import_file(struct options *o, const char *path, struct error *err)
{
    if (!*path)
        return fail(err, ERROR_INPUT, "the name of the plan is empty, expected a file");
    return import_pieces(o, path, NULL, err);
}

bool import_at_hand(struct options *o, const char *text, const char *name, struct error *err)
{
    o->at_hand = arena_string(o->mem, text);
    return import_pieces(o, name, o->at_hand, err);
}

bool import_log(struct options *o, struct train_log *log, const char *path, struct error *err)
{
    struct launch l;
    path = arena_string(o->mem, path);
    if (!train_log_launch(log, path, &l))
        return fail(err, ERROR_INPUT,
                    "%s: has no block of Megatron's arguments, which say what ran: a log of rank 0 "
                    "or of all ranks from its beginning is right",
                    path);
    return take_launch(o, &l, arena_alloc(o->mem, sizeof(struct imported)), err);
}

bool imported_options_count(const struct options *o, struct error *err)
{
    if (o->imported)
        return true;
    if (o->gpu)
        return fail(err, ERROR_INPUT,
                    "--gpu %s goes with a launch script or a log, which say how many GPUs there "
                    "are: give --cluster",
                    o->gpu->name);
    if (o->times[OPTION_args] > 0)
        return fail(err, ERROR_INPUT, "--args are those of a launch script, and none is read");
    return o->envs == 0 || fail(err, ERROR_INPUT,
                                "--env %s=... sets a variable of a launch script, and none is read",
                                o->env[0].name);
}

const char *const *imported_words(const struct options *o, size_t *count)
{
    *count = o->imported ? (size_t)o->imported->flags.count : 0;
    return o->imported ? o->imported->flags.word : NULL;
}

bool imported_name_place(const struct options *o, struct error *err)
{
    if (o->imported && err)
        launch_name_place(&o->imported->launch, &o->imported->flags, err);
    return false;
}

bool imported_read(const struct options *o, struct error *err)
{
    if (!o->imported || o->has_flags)
        return true;
    if (err)
        *err = o->imported->trouble;
    return false;
}

/* Of flags without a file, only what is planned otherwise than they say. */
static const struct plan_source *flags_source(const struct query *q, struct arena *mem)
{
    if (!q->flags || q->flags->notes.count == 0)
        return NULL;
    struct plan_source *s = arena_alloc(mem, sizeof *s);
    *s = (struct plan_source){.kind = "flags", .notes = q->flags->notes.count};
    s->note = arena_array(mem, (size_t)s->notes, sizeof *s->note);
    for (int n = 0; n < s->notes; n++)
        s->note[n] = q->flags->notes.text[n];
    words_tally(q->flags->words, &s->flags, &s->idle);
    return s;
}

/* The sequence follows from the model, once that is known. */
static void take_assumptions(const struct query *q, struct plan_source *s, struct arena *mem)
{
    struct flags_assumption *a = arena_array(mem, FLAGS_MAX_ASSUMPTIONS, sizeof *a);
    for (int k = 0; k < q->flags->assumptions; k++) {
        a[s->assumptions] = q->flags->assumption[k];
        if (q->terms.precision >= 0 && strcmp(a[s->assumptions].what, "precision") == 0)
            continue;
        if (!a[s->assumptions].value)
            a[s->assumptions].value = arena_format(mem, "%d", query_default_seq_len(q));
        s->assumptions++;
    }
    s->assumption = a;
}

static const char *assumption_words(const struct flags_assumption *a, struct arena *mem)
{
    const char *error =
        a->error > 0 ? arena_format(mem, "; adds ±%.0f %% to the error of the step", 100 * a->error)
                     : "";
    return arena_format(mem, "assumed: %s %s, because %s (%s states it)%s", a->what, a->value,
                        a->why, a->option, error);
}

const struct plan_source *imported_source(const struct query *q, struct arena *mem)
{
    const struct imported *i = q->given->imported;
    if (!i)
        return flags_source(q, mem);
    const struct flags_texts *read[] = {&i->launch.notes, &q->flags->notes};
    struct plan_source *s = arena_alloc(mem, sizeof *s);
    *s = (struct plan_source){.file = i->launch.path,
                              .kind = i->launch.kind,
                              .program = i->launch.program,
                              .line = i->launch.line};
    take_assumptions(q, s, mem);
    s->strangers = i->flags.strangers;
    s->stranger = i->flags.stranger;
    s->note = arena_array(mem, FLAGS_MAX_TEXTS * 2 + FLAGS_MAX_ASSUMPTIONS, sizeof *s->note);
    for (int k = 0; k < s->assumptions; k++)
        s->note[s->notes++] = assumption_words(&s->assumption[k], mem);
    for (size_t k = 0; k < sizeof read / sizeof *read; k++)
        for (int n = 0; n < read[k]->count; n++)
            s->note[s->notes++] = read[k]->text[n];
    words_tally(q->flags->words, &s->flags, &s->idle);
    for (int k = 0; k < i->flags.opens; k++) /* of those that are not known, none has an effect */
        if (!i->flags.open[k].doubled && !words_there(q->flags->words, i->flags.open[k].flag)) {
            s->flags++;
            s->idle++;
        }
    return s;
}

bool import_text(struct options *o, const char *text, size_t length, const char *path,
                 struct error *err)
{
    struct launch l;
    struct imported *i = arena_alloc(o->mem, sizeof *i);
    struct text t = {text, length};
    return read_launch(o, &t, path, &l, &i->assumed_call, &i->call_why, err) &&
           take_launch(o, &l, i, err);
}

const struct launch *imported_launch(const struct options *o)
{
    return o->imported ? &o->imported->launch : NULL;
}
