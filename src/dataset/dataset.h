/* What samples of many lengths make of the sequences that a model works on: padded, or packed. All is
 * found once from a fixed sample of the lengths. Figures are shares of the sequence length, so that
 * samples as long as the sequence give exactly 1 (doc/dataset.md). */
#pragma once

#include <stdbool.h>

struct arena;
struct lengths;

/* Without packing: to the longest of a micro-batch, or all to the sequence length. */
enum padding { PADDING_LONGEST, PADDING_SEQ_LEN };

/* A sequence as layers work on it, on average. */
struct sequence_work {
    double rows;    /* tokens of products, norms and all else, padding with them */
    double segment; /* length that attention works on: mean square over mean */
    bool packed;    /* of several samples */
};

/* How a figure differs from draw to draw, of its mean. */
struct spread {
    double deviation, skew, most; /* `most`: the largest there is */
};

/* Micro-batches of 1 to 16 samples, then of powers of two; packs by powers of two of cp. */
enum { DATASET_NODES = 36, RANK_NODES = 25 };

struct dataset {
    const char *lengths; /* as they were given */
    bool packing;
    enum padding padding; /* without packing */
    int seq_len;          /* that shares are of */
    double samples;       /* in a sequence: 1 unless they are packed */
    double tokens;        /* of samples in a sequence, without padding */
    double segment;       /* of samples alone, as in sequence_work */
    double cut;           /* tokens beyond the sequence length, of all: not trained on */
    struct sequence_work work[DATASET_NODES];
    struct spread rows[DATASET_NODES], pairs[DATASET_NODES]; /* squares of lengths: attention */
    double most_of[RANK_NODES]; /* expected largest of 2^i standard normal numbers */
};

void dataset_make(const struct lengths *, bool packing, enum padding, int seq_len, struct arena *,
                  struct dataset *out);

/* A sequence of a micro-batch of so many; each is divided over cp ranks, in 2 cp parts. */
struct sequence_work dataset_work(const struct dataset *, int micro_batch, int cp);

/* ", samples of 2304 tokens on average (uniform:512..4096) packed by 3.5 into 97.8 % of a sequence"; nothing
 * of full sequences, NULL. */
struct str;
void dataset_add_words(const struct dataset *, struct str *);

/* By how much the work of the rank with the longest samples exceeds that of an average one, of `ranks`
 * that each run so many micro-batches before they wait for each other. Shares of that work. */
struct lateness {
    double rows, pairs;
};
struct lateness dataset_late(const struct dataset *, int micro_batch, double ranks,
                             double micro_batches);
