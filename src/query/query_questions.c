/* What a file leaves open. Facts that have a likely value are assumed, and the stated error grows by what the guess may
 * be off; layers, sizes and parallelism are never guessed. What is left is asked in one message, what matters most
 * first. */
#include "query/query_file.h"

#include "base/str.h"
#include "import/megatron/tokenizers.h"
#include "import/megatron/words.h"
#include "query/query.h"
#include "query/query_read.h"

#include <string.h>

/* By effect on time and memory; flags that are not here come last. */
static const char *const ORDER[] = {
    "--num-layers",
    "--hidden-size",
    "--num-attention-heads",
    "--ffn-hidden-size",
    "--num-experts",
    "--moe-ffn-hidden-size",
    "--moe-router-topk",
    "--tensor-model-parallel-size",
    "--pipeline-model-parallel-size",
    "--context-parallel-size",
    "--expert-model-parallel-size",
    "--expert-tensor-parallel-size",
    "--micro-batch-size",
    "--global-batch-size",
    "--recompute-granularity",
    "--recompute-activations",
    "--use-distributed-optimizer",
};

/* Flags that are read and checked and change no figure, or one that is assumed. */
static const char IDLE[] =
    "--train-iters --train-samples --seq-length --encoder-seq-length --vocab-size "
    "--padded-vocab-size --bf16 --fp16 --attention-dropout --hidden-dropout "
    "--max-position-embeddings --ckpt-format";

enum { QUESTIONS = 256, ERROR_BYTES = 1700 }; /* of an error's text */

enum { NAMED = 6 }; /* flags that follow from one cause, by name */

struct question {
    const char *what, *give, *cause;
    size_t rank;
    int flags, more;
    const char *flag[NAMED]; /* that the cause decides */
};

struct questions {
    int count;
    struct question question[QUESTIONS];
};

static size_t rank_of(const char *flag)
{
    size_t rank = 0, ranks = sizeof ORDER / sizeof *ORDER;
    while (rank < ranks && strcmp(flag, ORDER[rank]) != 0)
        rank++;
    return rank;
}

/* One more flag that a cause decides, those that matter most first. */
static void add_flag(struct question *q, const char *flag)
{
    int at = q->flags;
    for (int i = 0; i < q->flags; i++)
        if (strcmp(q->flag[i], flag) == 0)
            return;
    if (q->flags == NAMED) {
        q->more++;
        at = NAMED - 1;
        if (rank_of(q->flag[at]) <= rank_of(flag))
            return;
    }
    q->flags += q->flags < NAMED;
    for (; at > 0 && rank_of(q->flag[at - 1]) > rank_of(flag); at--)
        q->flag[at] = q->flag[at - 1];
    q->flag[at] = flag;
}

static struct question *same_question(struct questions *q, const char *cause, const char *what)
{
    for (int i = 0; i < q->count; i++) {
        const char *other = q->question[i].cause;
        if (strcmp(q->question[i].what, what) == 0 || (cause && other && strcmp(cause, other) == 0))
            return &q->question[i];
    }
    return NULL;
}

static void ask(struct questions *q, const char *flag, const char *cause, const char *what,
                const char *give)
{
    struct question new = {.what = what, .give = give, .cause = cause, .rank = rank_of(flag)};
    struct question *old = same_question(q, cause, what);
    if (old) {
        new = *old;
        new.rank = rank_of(flag) < old->rank ? rank_of(flag) : old->rank;
        memmove(old, old + 1, (size_t)(q->question + q->count - old - 1) * sizeof *old);
        q->count--;
    }
    if (q->count == QUESTIONS)
        return;
    add_flag(&new, flag);
    int at = q->count++;
    for (; at > 0 && q->question[at - 1].rank > new.rank; at--)
        q->question[at] = q->question[at - 1];
    q->question[at] = new;
}

static bool matters(const struct flags_result *f, const struct launch_open *open)
{
    bool settled = words_there(f->words, open->flag) && !open->doubled;
    return !settled && words_asked(f->words, open->flag) && !is_one_of(open->flag, IDLE) &&
           !flags_only_noted(open->flag);
}

static bool is_open(const struct imported *i, const char *flag)
{
    for (int k = 0; k < i->flags.opens; k++)
        if (strcmp(i->flags.open[k].flag, flag) == 0)
            return true;
    return false;
}

/* Without a model beside the flags, these three describe it. */
static void ask_model(struct questions *q, const struct options *o, const struct flags_result *f)
{
    static const char *const NEEDED[] = {"--num-layers", "--hidden-size", "--num-attention-heads"};
    const struct imported *i = o->imported;
    if (o->has_model || f->has_model)
        return;
    if (i->unknown_model && f->model.layers == 0) {
        ask(q, NEEDED[0], NULL, arena_format(o->mem, "%s: %s", i->launch.path, i->unknown_model),
            "--model NAME or --model PATH/config.json");
        return;
    }
    for (size_t k = 0; k < sizeof NEEDED / sizeof *NEEDED; k++)
        if (!words_there(f->words, NEEDED[k]) && !is_open(i, NEEDED[k]) &&
            !(k == 0 && words_there(f->words, "--encoder-num-layers")))
            ask(q, NEEDED[k], NULL,
                arena_format(o->mem, "%s: %s is missing", i->launch.path, NEEDED[k]),
                arena_format(o->mem, "-- %s VALUE, or --model NAME", NEEDED[k]));
}

static bool is_argument(const char *cause)
{
    return cause && strchr("123456789", *cause);
}

/* --args "ENV SIZE ...", as the script calls them; NULL where no argument is asked for. */
static const char *arguments_template(const struct options *o, const struct questions *q)
{
    const struct launch *l = &o->imported->launch;
    struct str s = {0};
    bool asked = false;
    for (int i = 0; i < q->count; i++)
        asked |= is_argument(q->question[i].cause);
    for (int i = 0; i < l->arguments; i++)
        str_addf(&s, "%s%s", i ? " " : "",
                 l->argument[i] ? l->argument[i] : arena_format(o->mem, "ARGUMENT%d", i + 1));
    const char *words = str_keep(&s, o->mem);
    return asked && *words ? arena_format(o->mem, "--args \"%s\"", words) : NULL;
}

/* " (7B, 13B or 65B)": the words that the script compares a variable with; "" = none. */
static const char *choices_of(const struct options *o, const char *cause)
{
    const struct launch *l = &o->imported->launch;
    const struct launch_choice *c = NULL;
    struct str s = {0};
    for (int i = 0; i < l->choices && cause; i++)
        c = strcmp(l->choice[i].name, cause) == 0 ? &l->choice[i] : c;
    for (int i = 0; c && i < c->count; i++)
        str_addf(&s, "%s%s", i == 0 ? " (" : i + 1 < c->count ? ", " : " or ", c->word[i]);
    str_add(&s, s.length ? ")" : "");
    return str_keep(&s, o->mem);
}

/* "$2 MODEL_SIZE (7B or 13B) decides --num-layers and --hidden-size": one line for all that follows from a cause. */
static const char *cause_words(const struct options *o, const struct question *q)
{
    const struct launch *l = &o->imported->launch;
    struct str s = {0};
    int64_t n;
    if (is_argument(q->cause) && parse_int(q->cause, &n))
        str_addf(&s, "$%s %s", q->cause,
                 n <= l->arguments && l->argument[n - 1] ? l->argument[n - 1] : "");
    else
        str_add(&s, q->cause);
    str_addf(&s, "%s decides ", choices_of(o, q->cause));
    for (int i = 0; i < q->flags; i++)
        str_addf(&s, "%s%s", i == 0 ? "" : i + 1 < q->flags ? ", " : " and ", q->flag[i]);
    if (q->more)
        str_addf(&s, " and %d more", q->more);
    return str_keep(&s, o->mem);
}

/* A line of the list: "line 12: --num-layers is $1, which is not set: --env 1=VALUE". The file was named above. */
static void add_question(const struct options *o, const struct question *q, struct str *s)
{
    const char *what = q->what, *path = o->imported->launch.path;
    if (q->cause && (q->flags > 1 || is_argument(q->cause))) {
        str_addf(s, "\n  %s%s%s", cause_words(o, q), is_argument(q->cause) ? "" : ": give ",
                 is_argument(q->cause) ? "" : q->give);
        return;
    }
    size_t n = strlen(path);
    if (strncmp(what, path, n) == 0 && what[n] == ':')
        what += n + 1;
    str_addf(s, "\n  %s%s%s%s%s", *what == ' ' ? "" : "line ", what + (*what == ' '),
             q->give ? ": give " : "", q->give ? q->give : "", choices_of(o, q->cause));
}

/* One question is a line; several are a list. */
static bool answer(const struct options *o, const struct questions *q, struct error *err)
{
    const char *path = o->imported->launch.path;
    const struct question *one = &q->question[0];
    const char *arguments = arguments_template(o, q);
    struct str s = {0};
    int said = 0;
    if (q->count == 0)
        return true;
    if (q->count == 1 && one->flags < 2 && !is_argument(one->cause)) {
        fail(err, ERROR_INPUT, "%s%s%s%s", one->what, one->give ? ": give " : "",
             one->give ? one->give : "", choices_of(o, one->cause));
        return error_in_file(err);
    }
    str_addf(&s,
             q->count == 1 ? "%s: %d thing is not known:"
                           : "%s: %d things are not known, those that matter most first:",
             path, q->count);
    for (; said < q->count && s.length < ERROR_BYTES; said++)
        add_question(o, &q->question[said], &s);
    if (said < q->count)
        str_addf(&s, "\n  and %d more", q->count - said);
    if (arguments)
        str_addf(&s, "\n  give the arguments of the script: %s", arguments);
    fail(err, ERROR_INPUT, "%s", str_text(&s));
    str_release(&s);
    return error_in_file(err);
}

static struct questions *all_questions(const struct options *o, const struct flags_result *f)
{
    struct questions *q = arena_alloc(o->mem, sizeof *q);
    ask_model(q, o, f);
    for (int k = 0; k < o->imported->flags.opens; k++) {
        const struct launch_open *open = &o->imported->flags.open[k];
        if (matters(f, open))
            ask(q, open->flag, open->cause, open->what, open->give);
    }
    return q;
}

static bool ask_all(const struct options *o, const struct flags_result *f, struct error *err)
{
    return answer(o, all_questions(o, f), err);
}

int imported_asks(const struct options *o)
{
    return all_questions(o, &o->flags)->count;
}

/* What stands behind a flag, in the next word or behind "=" (where part of it is not known); NULL = another flag. */
static const char *behind_flag(const struct launch *l, int i, const char *flag)
{
    const char *word = l->word[i].text, *sign = strchr(word, '=');
    if (!launch_names_flag(word, flag))
        return NULL;
    return sign ? sign + 1 : i + 1 < l->count ? l->word[i + 1].text : NULL;
}

/* A file with a name of its own, which "tokenizer.model" is not. */
static bool is_own_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return *name && launch_is_known(name) && strncmp(name, "tokenizer", 9) != 0;
}

int imported_vocab(const struct options *o, const char **name, bool *other)
{
    static const char *const FLAGS[] = {"--tokenizer-model", "--tokenizer-name-or-path",
                                        "--patch-tokenizer-type", "--vocab-file"};
    const struct launch *l = &o->imported->launch;
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS; k++)
        for (int i = l->count - 1; i >= 0; i--) { /* the last mention counts */
            const char *value = behind_flag(l, i, FLAGS[k]);
            int vocab = value ? tokenizer_entries(launch_text(l, value, o->mem), name) : 0;
            *other |= value && k < 2 && is_own_file(value);
            if (vocab)
                return vocab;
        }
    return 0;
}

/* Without a type pretrain_gpt.py takes GPT-2's (args_defaults), which has a file of merges. */
static int vocab_of_type(const struct options *o, const char **name)
{
    const struct launch *l = &o->imported->launch;
    const char *type = launch_written(l, "--tokenizer-type");
    if (!type && launch_written(l, "--merge-file") && !launch_written(l, "--tokenizer-model"))
        type = "GPT2BPETokenizer";
    return type ? tokenizer_entries(launch_text(&o->imported->launch, type, o->mem), name) : 0;
}

/* The size that a file of the tokenizer has in its name: "bpe_131072/vocab.json". */
static int vocab_in_name(const struct options *o)
{
    static const char *const FLAGS[] = {"--tokenizer-model", "--tokenizer-name-or-path",
                                        "--vocab-file", "--tokenizer-file"};
    const struct launch *l = &o->imported->launch;
    int vocab = 0;
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS && !vocab; k++) {
        const char *value = launch_written(l, FLAGS[k]);
        vocab = value ? tokenizer_size(launch_text(l, value, o->mem)) : 0;
    }
    return vocab;
}

/* Names that speak of the tokenizer, best first: what its flags say, the program, the script. */
static void assume_vocab(const struct options *o, struct flags_result *f)
{
    const struct launch *l = &o->imported->launch;
    const char *name = NULL;
    bool other = false, sure = true;
    int vocab = imported_vocab(o, &name, &other), said = vocab ? 0 : vocab_in_name(o);
    if (!vocab && !other)
        vocab = vocab_of_type(o, &name);
    if (!vocab)
        vocab = tokenizer_entries(l->path, &name);
    if (vocab && other && name && strncmp(name, "gpt", 3) == 0 && !name[3 + (name[3] == '3')])
        vocab = 0; /* of pretrain_gpt.py, with another tokenizer */
    vocab = said ? said : vocab;
    if (!vocab && l->program &&
        strncmp(l->program, "pretrain_gpt", 12) != 0) /* which trains any model */
        vocab = tokenizer_entries(l->program, &name);
    if (!vocab && other) {
        vocab = vocab_of_type(o, &name);
        sure = false;
    }
    f->model.vocab = vocab ? vocab : 128256;
    f->vocab_missing = false;
    flags_assume(f, (struct flags_assumption){
                        "vocab", arena_format(o->mem, "%d", f->model.vocab), "-- --vocab-size",
                        !vocab ? "nothing says the vocabulary"
                        : said ? "the tokenizer's name says so many entries"
                        : sure ? arena_format(o->mem, "a name has '%s' in it", name)
                               : arena_format(o->mem,
                                              "the type of the tokenizer has '%s' in it, while its "
                                              "file is another",
                                              name),
                        vocab && sure ? 0.01 : 0.05});
}

static void assume_sequence(const struct options *o, struct flags_result *f)
{
    if (!f->given[PARAM_seq_len] && o->terms.seq_len == 0)
        flags_assume(f, (struct flags_assumption){"seq_len", NULL, "--seq-len",
                                                  "nothing says the sequence length", 0.5});
}

bool imported_settle(const struct options *o, struct flags_result *f, struct error *err)
{
    if (!o->imported)
        return true;
    if (!ask_all(o, f, err))
        return false;
    if (f->vocab_missing && !o->has_model)
        assume_vocab(o, f);
    assume_sequence(o, f);
    f->model_named = o->imported->named_model != NULL;
    f->accumulation = o->imported->launch.accumulation;
    f->filling = o->imported->launch.filling ? o->imported->launch.filling : f->filling;
    f->epochs = o->imported->launch.epochs > 0 ? o->imported->launch.epochs : f->epochs;
    if (o->imported->named_model && o->has_model)
        flags_assume(f, (struct flags_assumption){"model", o->imported->named_preset, "--model",
                                                  o->imported->named_model, 0.01});
    if (o->imported->assumed_call)
        flags_assume(f, (struct flags_assumption){"arguments", o->imported->assumed_call, "--args",
                                                  o->imported->call_why, 0});
    if (o->imported->assumed_nodes)
        flags_assume(f,
                     (struct flags_assumption){"cluster", o->imported->assumed_nodes, "--cluster",
                                               "the file does not say all of it", 0});
    return true;
}

static bool goes_into(const struct flags_result *f, int64_t gpus)
{
    const struct strategy *s = &f->strategy;
    int64_t replica = (int64_t)s->tp * s->cp * s->pp, dp = gpus / replica;
    bool batch =
        !f->given[PARAM_global_batch] || (dp > 0 && s->global_batch % (s->micro_batch * dp) == 0);
    bool experts = f->model.experts == 0 || dp * s->tp * s->cp % ((int64_t)s->ep * s->etp) == 0;
    return gpus % replica == 0 && dp > 0 && batch && experts;
}

int64_t imported_world(const struct options *o, int64_t cluster)
{
    int64_t own = o->imported ? o->imported->launch.gpus : 0;
    bool log = own && strcmp(o->imported->launch.kind, "training log") == 0;
    if (own == 0 || own >= cluster || log || goes_into(&o->flags, cluster))
        return cluster;
    return goes_into(&o->flags, own) ? own : cluster;
}

/* A log tells what ran, and on how much. Of what may run, options count more than the file: the cluster that was named
 * is planned, or as much of it as the file can use. */
bool imported_holds(const struct options *o, struct flags_result *f, int64_t world,
                    struct error *err)
{
    const struct launch *l = o->imported ? &o->imported->launch : NULL;
    if (!l)
        return true;
    bool other = l->gpus && l->gpus != world && !o->terms.gpus;
    if (other && strcmp(l->kind, "training log") == 0)
        return fail(err, ERROR_INPUT,
                    "%s:%d: runs on %lld GPUs, the cluster has %lld: give the cluster that it runs "
                    "on, or --gpus %lld to count all of them",
                    l->path, l->line, (long long)l->gpus, (long long)world, (long long)world) ||
               error_in_file(err);
    if (other && f->notes.count < FLAGS_MAX_TEXTS)
        f->notes.text[f->notes.count++] =
            arena_format(o->mem,
                         "line %d: runs on %lld GPUs; the %lld of the cluster are planned (--gpus "
                         "%lld plans its own)",
                         l->line, (long long)l->gpus, (long long)world, (long long)l->gpus);
    imported_doubts(o, f);
    return ask_all(o, f, err);
}
