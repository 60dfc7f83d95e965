/* Sequences of padded or packed samples, and how unequal their work is. */
#include "dataset/dataset.h"

#include "base/arena.h"
#include "base/str.h"
#include "dataset/lengths.h"
#include "dataset/packing.h"

#include <assert.h>
#include <math.h>

enum { EACH_BATCH = 16 }; /* nodes 0 to 15 are micro-batches of 1 to 16 */

static double node_of(int micro_batch)
{
    return micro_batch <= EACH_BATCH ? micro_batch - 1 : EACH_BATCH - 5 + log2(micro_batch);
}

static double batch_of(int node)
{
    return node < EACH_BATCH ? node + 1 : ldexp(1, node - EACH_BATCH + 5);
}

static double share_of(const struct dataset *d, const struct lengths *l, int i)
{
    return fmin(l->of[i], d->seq_len) / d->seq_len;
}

/* Sums of powers of a draw. */
struct moments {
    double sum[4], most;
};

static void add_draw(struct moments *m, double x, double weight)
{
    double power = weight;
    for (int i = 0; i < 4; i++, power *= x)
        m->sum[i] += power;
    m->most = fmax(m->most, x);
}

static double mean_of(const struct moments *m)
{
    return m->sum[1] / m->sum[0];
}

static struct spread spread_of(const struct moments *m)
{
    double mean = mean_of(m), square = m->sum[2] / m->sum[0], cube = m->sum[3] / m->sum[0];
    double variance = fmax(0, square - mean * mean), deviation = sqrt(variance);
    struct spread s = {.deviation = deviation / mean, .most = m->most / mean};
    if (s.deviation < 1e-6) /* rounding of equal draws */
        return (struct spread){0, 0, 1};
    s.skew = (cube - 3 * mean * variance - mean * mean * mean) / (variance * deviation);
    return s;
}

/* The longest of `batch` samples: sample i of n is it with probability ((i+1)/n)^b - (i/n)^b. */
static void set_longest(const struct lengths *l, int node, struct dataset *d)
{
    struct moments rows = {{0}, 0}, pairs = {{0}, 0};
    double below = 0, batch = batch_of(node);
    for (int i = 0; i < l->count; i++) {
        double x = share_of(d, l, i), reached = pow((i + 1.0) / l->count, batch);
        add_draw(&rows, x, reached - below);
        add_draw(&pairs, x * x, reached - below);
        below = reached;
    }
    double row = mean_of(&rows);
    d->work[node] = (struct sequence_work){row, mean_of(&pairs) / row, false};
    d->rows[node] = spread_of(&rows);
    d->pairs[node] = spread_of(&pairs);
}

static void set_padded(const struct lengths *l, struct dataset *d)
{
    for (int node = 0; node < DATASET_NODES; node++) {
        d->work[node] = (struct sequence_work){1, 1, false};
        d->rows[node] = d->pairs[node] = (struct spread){0, 0, 1};
        if (d->padding == PADDING_LONGEST)
            set_longest(l, node, d);
    }
}

/* A pack is as wide as its samples. Each is divided in 2 cp equal parts, and padded to a multiple; the packs
 * hold as many samples for any cp, and what padding adds counts as a longer pack. */
static void set_parts(const struct lengths *l, int node, struct dataset *d)
{
    double parts = node > 0 ? ldexp(2, node) : 1, plain = 0, sum = 0, squares = 0;
    for (int i = 0; i < l->count; i++) {
        double tokens = fmin(l->of[i], d->seq_len), padded = ceil(tokens / parts) * parts;
        plain += tokens / d->seq_len;
        sum += padded / d->seq_len;
        squares += padded / d->seq_len * (padded / d->seq_len);
    }
    double rows = sum / plain * d->tokens;
    d->work[node] = (struct sequence_work){rows, squares / sum, true};
}

static void set_packs(const struct lengths *l, struct arena *mem, struct dataset *d)
{
    struct packs p;
    struct moments tokens = {{0}, 0}, pairs = {{0}, 0};
    packs_make(l, d->seq_len, mem, &p);
    for (int i = 0; i < p.count; i++) {
        add_draw(&tokens, p.tokens[i], 1);
        add_draw(&pairs, p.pairs[i], 1);
    }
    d->samples = p.samples / p.count;
    d->tokens = mean_of(&tokens);
    for (int node = 0; node < DATASET_NODES; node++) {
        set_parts(l, node, d);
        d->rows[node] = spread_of(&tokens);
        d->pairs[node] = spread_of(&pairs);
    }
}

/* Integral of the chance that some of `ranks` normal numbers is above x, less that none is below 0. */
static double most_of_normal(double ranks)
{
    static const double step = 1.0 / 64, far = 8;
    double sum = 0;
    for (double x = -far + step / 2; x < far; x += step)
        sum += (x > 0) - pow(erfc(-x / sqrt(2)) / 2, ranks);
    return sum * step;
}

void dataset_make(const struct lengths *l, bool packing, enum padding padding, int seq_len,
                  struct arena *mem, struct dataset *d)
{
    double all = 0, kept = 0, squares = 0;
    *d = (struct dataset){.lengths = l->text,
                          .packing = packing,
                          .padding = padding,
                          .seq_len = seq_len,
                          .samples = 1};
    assert(l->count >= 1 && seq_len >= 1);
    for (int i = 0; i < l->count; i++) {
        double share = share_of(d, l, i);
        all += (double)l->of[i] / seq_len;
        kept += share;
        squares += share * share;
    }
    d->tokens = kept / l->count;
    d->segment = squares / kept;
    d->cut = 1 - kept / all;
    for (int i = 1; i < RANK_NODES; i++)
        d->most_of[i] = most_of_normal(ldexp(1, i));
    if (packing)
        set_packs(l, mem, d);
    else
        set_padded(l, d);
}

static double between(double a, double b, double share)
{
    return share > 0 ? a + share * (b - a) : a;
}

struct sequence_work dataset_work(const struct dataset *d, int micro_batch, int cp)
{
    double at = d->packing ? log2(cp) : node_of(micro_batch);
    int node = (int)fmin(at, DATASET_NODES - 2);
    const struct sequence_work *a = &d->work[node], *b = a + 1;
    double rest = fmin(1, at - node);
    struct sequence_work w = {between(a->rows, b->rows, rest),
                              between(a->segment, b->segment, rest), d->packing};
    if (!d->packing && cp > 1) { /* a multiple of 2 cp: half a part each more */
        w.rows = fmin(1, w.rows + (2.0 * cp - 1) / 2 / d->seq_len);
    }
    assert(w.rows > 0 && w.segment > 0);
    return w;
}

/* The expected largest of so many sums of `draws` each: normal numbers with the first term of Cornish and
 * Fisher for their skew, or, where that is too far from them, lognormal ones (Fenton and Wilkinson), with
 * about 1 / (1 + z^2) as the variance of the largest; no more than the largest draw every time. */
static double late_of(const struct spread *s, double largest, double draws)
{
    double one = s->deviation / sqrt(draws), skew = s->skew / sqrt(draws);
    double late = one * (largest + skew * (largest * largest - 1) / 6);
    double variance = log(1 + one * one);
    double fixed = largest * largest / (1 + largest * largest);
    double lognormal = exp(sqrt(variance) * largest - fixed * variance / 2) - 1;
    if (skew > 1)
        late = fmin(late, lognormal);
    return fmin(s->most - 1, fmax(0, late));
}

struct lateness dataset_late(const struct dataset *d, int micro_batch, double ranks,
                             double micro_batches)
{
    double at = log2(fmax(1, ranks));
    int i = (int)fmin(at, RANK_NODES - 2);
    double largest = between(d->most_of[i], d->most_of[i + 1], fmin(1, at - i));
    int node = d->packing ? 0 : (int)fmin(node_of(micro_batch), DATASET_NODES - 1);
    double draws = micro_batches * (d->packing ? micro_batch : 1);
    if (ranks <= 1)
        return (struct lateness){0, 0};
    return (struct lateness){late_of(&d->rows[node], largest, draws),
                             late_of(&d->pairs[node], largest, draws)};
}

void dataset_add_words(const struct dataset *d, struct str *s)
{
    if (!d)
        return;
    str_addf(s, ", samples of %.0f tokens on average (%s) ", d->tokens / d->samples * d->seq_len,
             d->lengths);
    if (d->packing)
        str_addf(s, "packed by %.3g into %.1f %% of a sequence", d->samples, 100 * d->tokens);
    else if (d->padding == PADDING_SEQ_LEN)
        str_addf(s, "padded to the sequence, of which they are %.1f %%", 100 * d->tokens);
    else
        str_add(s, "padded to the longest of a micro-batch");
}
