/* What is trained on: samples of many lengths, padded or packed, and how many of them. */
#include "query/query.h"

#include "base/str.h"
#include "base/units.h"
#include "query/query_parts.h"

#include <math.h>

bool option_lengths(struct options *o, const char *v, struct error *err)
{
    if (!*v)
        return fail(err, ERROR_INPUT,
                    "--lengths is empty, expected tokens of a sample, as in 800, "
                    "uniform:512..4096 or lengths.jsonl");
    return lengths_parse(v, o->mem, &o->dataset.lengths, err);
}

static bool has_lengths(const struct query *q)
{
    return q->given->dataset.lengths.count > 0;
}

/* What is asked for, otherwise what the file says. */
static bool is_packed(const struct query *q)
{
    const struct options *o = q->given;
    bool says = q->flags && q->flags->filling == FILLING_PACKED && !o->times[OPTION_padding];
    return o->times[OPTION_packing] ? o->dataset.packing : says;
}

static double epochs_of(const struct query *q)
{
    const struct options *o = q->given;
    bool says = q->flags && q->flags->epochs > 0 && !o->times[OPTION_epochs];
    return says ? q->flags->epochs : o->dataset.epochs;
}

/* Options that say nothing without another one. */
static bool alone(const struct query *q, struct error *err)
{
    const int *times = q->given->times;
    const struct run_terms *run = &q->given->run;
    bool file = q->given->dataset.lengths.samples > 0;
    if (!has_lengths(q) && (times[OPTION_packing] || times[OPTION_padding]))
        return fail(err, ERROR_INPUT,
                    "--%s is of samples that are shorter than the sequence: add --lengths, as in "
                    "--lengths uniform:512..4096 or --lengths lengths.jsonl",
                    times[OPTION_packing] ? "packing" : "padding");
    if (is_packed(q) && times[OPTION_padding])
        return fail(err, ERROR_INPUT,
                    "--padding is of samples that are not packed: leave it out, "
                    "or say --packing off");
    if (run->tokens > 0 && (run->samples > 0 || times[OPTION_epochs]))
        return fail(err, ERROR_INPUT, "--tokens and --%s both say how long the run is: give one",
                    run->samples > 0 ? "samples" : "epochs");
    if (times[OPTION_epochs] && !(run->samples > 0) && !file)
        return fail(err, ERROR_INPUT,
                    "--epochs needs the number of samples of the dataset: add --samples, as in "
                    "--samples 50K, or --lengths with a file of their token counts");
    return true;
}

/* Samples of the dataset: those that are asked for, or the file's. */
static void set_run(struct query *q)
{
    const struct options *o = q->given;
    struct step_content one = step_content_of(q->dataset, q->task, 1, query_asked_seq_len(q));
    q->run.epoch = o->run.samples > 0 ? o->run.samples : o->dataset.lengths.samples;
    if (q->run.epoch <= 0 || o->run.tokens > 0)
        return;
    q->run.samples = q->run.epoch * epochs_of(q);
    q->run.tokens = q->run.samples / one.samples * one.tokens;
}

bool query_set_dataset(struct query *q, struct arena *mem, struct error *err)
{
    const struct dataset_options *o = &q->given->dataset;
    int seq_len = query_asked_seq_len(q);
    if (!alone(q, err))
        return false;
    if (has_lengths(q) && !(q->dataset && q->dataset->seq_len == seq_len)) {
        struct dataset *d = arena_alloc(mem, sizeof *d);
        dataset_make(&o->lengths, is_packed(q), (enum padding)o->padding, seq_len, mem, d);
        q->dataset = d;
    }
    set_run(q);
    return true;
}

/* Padded samples need no more than the longest has; a pack is as long as a sequence would be. */
int query_default_seq_len(const struct query *q)
{
    enum { MULTIPLE = 128 };
    int usual = default_seq_len(&q->model), longest = q->given->dataset.lengths.longest;
    int64_t whole = ((int64_t)longest + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    if (longest == 0 || (is_packed(q) && longest <= usual))
        return usual;
    return whole < q->model.max_seq ? (int)whole : q->model.max_seq;
}

int query_asked_seq_len(const struct query *q)
{
    return q->flags && q->flags->given[PARAM_seq_len] ? q->flags->strategy.seq_len
                                                      : query_seq_len(q);
}

const char *query_cut_note(const struct query *q, struct arena *mem)
{
    const struct dataset *d = q->dataset;
    if (!d || d->cut < 5e-4)
        return NULL;
    return arena_format(mem,
                        "samples longer than the sequence of %d tokens are cut: %.1f %% of all "
                        "tokens are not trained on",
                        d->seq_len, 100 * d->cut);
}
