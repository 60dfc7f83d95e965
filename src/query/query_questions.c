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
    "--max-position-embeddings";

enum { QUESTIONS = 256, ERROR_BYTES = 1700 }; /* of an error's text */

struct question {
    const char *what, *give;
    size_t rank;
};

struct questions {
    int count;
    struct question question[QUESTIONS];
};

static void ask(struct questions *q, const char *flag, const char *what, const char *give)
{
    size_t rank = 0, ranks = sizeof ORDER / sizeof *ORDER;
    while (rank < ranks && strcmp(flag, ORDER[rank]) != 0)
        rank++;
    for (int i = 0; i < q->count; i++)
        if (strcmp(q->question[i].what, what) == 0)
            return;
    if (q->count == QUESTIONS)
        return;
    int at = q->count++;
    for (; at > 0 && q->question[at - 1].rank > rank; at--)
        q->question[at] = q->question[at - 1];
    q->question[at] = (struct question){what, give, rank};
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
    for (size_t k = 0; k < sizeof NEEDED / sizeof *NEEDED; k++)
        if (!words_there(f->words, NEEDED[k]) && !is_open(i, NEEDED[k]) &&
            !(k == 0 && words_there(f->words, "--encoder-num-layers")))
            ask(q, NEEDED[k], arena_format(o->mem, "%s: %s is missing", i->launch.path, NEEDED[k]),
                arena_format(o->mem, "-- %s VALUE, or --model NAME", NEEDED[k]));
}

/* A line of the list: "line 12: --num-layers is $1, which is not set: --env 1=VALUE". The file was named above. */
static void add_question(const struct question *q, const char *path, struct str *s)
{
    const char *what = q->what;
    size_t n = strlen(path);
    if (strncmp(what, path, n) == 0 && what[n] == ':')
        what += n + 1;
    str_addf(s, "\n  %s%s%s%s", *what == ' ' ? "" : "line ", what + (*what == ' '),
             q->give ? ": give " : "", q->give ? q->give : "");
}

static bool asks_for_arguments(const struct questions *q)
{
    static const char env[] = "--env ";
    for (int i = 0; i < q->count; i++) {
        const char *give = q->question[i].give;
        if (give && strncmp(give, env, sizeof env - 1) == 0 &&
            strchr("123456789", give[sizeof env - 1]))
            return true;
    }
    return false;
}

/* One question is a line; several are a list. */
static bool answer(const struct options *o, const struct questions *q, struct error *err)
{
    const char *path = o->imported->launch.path;
    const struct question *one = &q->question[0];
    struct str s = {0};
    int said = 0;
    if (q->count == 0)
        return true;
    if (q->count == 1) {
        fail(err, ERROR_INPUT, "%s%s%s", one->what, one->give ? ": give " : "",
             one->give ? one->give : "");
        return error_in_file(err);
    }
    str_addf(&s, "%s: %d things are not known, those that matter most first:", path, q->count);
    for (; said < q->count && s.length < ERROR_BYTES; said++)
        add_question(&q->question[said], path, &s);
    if (said < q->count)
        str_addf(&s, "\n  and %d more", q->count - said);
    if (asks_for_arguments(q))
        str_add(&s, "\n  all arguments of the script at once: give --args \"...\"");
    fail(err, ERROR_INPUT, "%s", str_text(&s));
    str_release(&s);
    return error_in_file(err);
}

static bool ask_all(const struct options *o, const struct flags_result *f, struct error *err)
{
    const struct imported *i = o->imported;
    struct questions *q = arena_alloc(o->mem, sizeof *q);
    ask_model(q, o, f);
    for (int k = 0; k < i->flags.opens; k++)
        if (matters(f, &i->flags.open[k]))
            ask(q, i->flags.open[k].flag, i->flags.open[k].what, i->flags.open[k].give);
    return answer(o, q, err);
}

/* Names that speak of the tokenizer, best first: what its flags say, the program, the script. */
static void assume_vocab(const struct options *o, struct flags_result *f)
{
    static const char *const FLAGS[] = {"--tokenizer-model", "--tokenizer-name-or-path",
                                        "--patch-tokenizer-type", "--vocab-file",
                                        "--tokenizer-type"};
    const struct launch *l = &o->imported->launch;
    const char *name = NULL;
    int vocab = 0;
    for (size_t k = 0; k < sizeof FLAGS / sizeof *FLAGS && !vocab; k++)
        for (int i = 0; i + 1 < l->count && !vocab; i++)
            if (strcmp(l->word[i].text, FLAGS[k]) == 0)
                vocab = tokenizer_entries(launch_text(l, l->word[i + 1].text, o->mem), &name);
    if (!vocab)
        vocab = tokenizer_entries(l->path, &name);
    if (!vocab && l->program &&
        strncmp(l->program, "pretrain_gpt", 12) != 0) /* which trains any model */
        vocab = tokenizer_entries(l->program, &name);
    f->model.vocab = vocab ? vocab : 128256;
    f->vocab_missing = false;
    flags_assume(f, (struct flags_assumption){
                        "vocab", arena_format(o->mem, "%d", f->model.vocab), "-- --vocab-size",
                        vocab ? arena_format(o->mem, "a name has '%s' in it", name)
                              : "nothing says the vocabulary",
                        vocab ? 0.01 : 0.05});
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
    if (o->imported->named_model && o->has_model)
        flags_assume(f, (struct flags_assumption){"model", o->model.name, "--model",
                                                  o->imported->named_model, 0.01});
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
    return ask_all(o, f, err);
}
