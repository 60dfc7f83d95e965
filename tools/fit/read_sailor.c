/* Sailor: operators of Megatron GPT layers, sequence 2048, timed from Python by the Aceso profiler.
 * Every row has two times, so every row is counted twice.
 *
 * Only plain products can be told apart. The QKV product has its split and transposes in the time;
 * with tensor parallelism a row-parallel forward and a column-parallel backward end in an
 * all-reduce. Backward is dgrad alone. Short operators are as long as the host needs to launch
 * them: layer norms of any size take 42 to 100 us forward and 88 to 142 us backward. */
#include "fit/readers.h"

#include <math.h>
#include <string.h>

static const double SEQ_LEN = 2048, SHORTEST_US = 200, SHORTEST_BACKWARD_US = 300;

enum { GPU, DTYPE, MODEL, MBS, TP, OP, FORWARD_US, BACKWARD_US, INPUT_MB, OUTPUT_MB, WEIGHTS_MB };
#define COLUMNS "gpu dtype model mbs tp op fwd_us bwd_us input_MB output_MB weights_MB"

/* The two RTX cards clock above their data sheets: most products are faster than the stated peak,
 * and the slow rest would stand for all. */
static const struct card {
    const char *said, *name;
    bool above_peak;
} CARDS[] = {
    {"V100-16", "V100-SXM2-16GB", false}, {"A100-40", "A100-SXM4-40GB", false},
    {"GH-96", "GH200-96GB", false},       {"Titan-RTX", "TITAN-RTX", false},
    {"RTX-2080", "RTX2080Ti", true},      {"RTX-3090", "RTX3090", true},
};

static const struct card *card_of(const struct table_row *r)
{
    for (size_t i = 0; i < sizeof CARDS / sizeof *CARDS; i++)
        if (row_says(r, GPU, CARDS[i].said))
            return &CARDS[i];
    return NULL;
}

static double hidden_of(const struct table_row *r)
{
    static const struct {
        const char *model;
        double hidden;
    } MODELS[] = {{"OPT-350", 1024}, {"GPT-Neo-2.7", 2560}, {"LLAMA-3-8", 4096}, {"OPT-30", 7168}};
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++)
        if (row_says(r, MODEL, MODELS[i].model))
            return MODELS[i].hidden;
    return NAN;
}

/* Sizes of the weight in hidden sizes; column-parallel layers split n, row-parallel ones k. */
static const struct sailor_linear {
    const char *op;
    double n, k;
    bool split_n;
} LINEARS[] = {
    {"enc-attention-dense", 1, 1, false},
    {"enc-MLP-GEMM-1", 4, 1, true},
    {"enc-MLP-GEMM-2", 1, 4, false},
};

static const struct sailor_linear *linear_of(const struct table_row *r)
{
    for (size_t i = 0; i < sizeof LINEARS / sizeof *LINEARS; i++)
        if (row_says(r, OP, LINEARS[i].op))
            return &LINEARS[i];
    return NULL;
}

/* Does the size of the weight, and room for operand and result, agree with the columns in MiB? The
 * residual stream travels with input and output, so those are lower bounds. */
static bool agrees(const struct table_row *r, const struct operation *op)
{
    double half_mib = 2 / 1048576.0, slack = 0.01;
    return fabs(row_number(r, WEIGHTS_MB) - half_mib * op->n * op->k) < slack &&
           row_number(r, INPUT_MB) > half_mib * op->m * op->k - slack &&
           row_number(r, OUTPUT_MB) > half_mib * op->m * op->n - slack;
}

static void add_pass(const struct table_row *r, const struct card *card, struct operation op,
                     bool alone)
{
    bool forward = op.pass == PASS_FORWARD;
    double time_us = row_number(r, forward ? FORWARD_US : BACKWARD_US);
    if (!alone || (time_us > 0 && time_us < (forward ? SHORTEST_US : SHORTEST_BACKWARD_US)))
        row_skip(r, SKIP_OTHER_KIND);
    else if (card && card->above_peak)
        row_skip(r, SKIP_ABOVE_PEAK);
    else
        row_add(r, card ? gpu_called(card->name) : NULL, &op, time_us);
}

static void use_row(const struct table_row *r)
{
    const struct sailor_linear *a = linear_of(r);
    double tp = row_number(r, TP), hidden = hidden_of(r);
    struct operation op = product_op(PASS_FORWARD, DTYPE_FP16, row_number(r, MBS) * SEQ_LEN, 0, 0);
    if (a) {
        op.n = a->n * hidden / (a->split_n ? tp : 1);
        op.k = a->k * hidden / (a->split_n ? 1 : tp);
    }
    bool usable = a && row_says(r, DTYPE, "fp16") && agrees(r, &op);
    add_pass(r, card_of(r), op, usable && (tp == 1 || a->split_n));
    op.pass = PASS_DGRAD;
    add_pass(r, card_of(r), op, usable && (tp == 1 || !a->split_n));
}

static const struct table_file FILES[] = {
    {"aceso_op_times.csv", COLUMNS, use_row, NULL, NULL},
    {"layer_times.csv", "fwd_s bwd_s", NULL, NULL, NULL}, /* whole layers */
};

bool read_sailor(const char *folder, struct samples *to, struct error *err)
{
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err) &&
           read_sailor_comm(folder, to, err);
}
