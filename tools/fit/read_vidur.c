/* Vidur: layers of an inference engine, fp16, forward, one kernel at a time. Times are whole
 * microseconds, so short ones say little and are left out. */
#include "fit/readers.h"

#include <string.h>

static const double SHORTEST_US = 20;

static const struct gpu *gpu_of(const char *said)
{
    static const struct {
        const char *said, *name;
    } NAMES[] = {{"a100", "A100-SXM4-80GB"}, {"h100", "H100-SXM5-80GB"}, {"a40", "A40"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(said, NAMES[i].said) == 0)
            return gpu_called(NAMES[i].name);
    return NULL;
}

/* A time of 0 or less is a broken row and counted as such by the list of samples. */
static void add(const struct table_row *r, int gpu, const struct operation *op, double time_us)
{
    if (time_us > 0 && time_us < SHORTEST_US)
        row_skip(r, SKIP_OTHER_KIND);
    else
        row_add(r, gpu_of(r->cell[gpu]), op, time_us);
}

static void use_gemm(const struct table_row *r)
{
    enum { GPU, M, N, K, US };
    struct operation op =
        product_op(PASS_FORWARD, DTYPE_FP16, row_number(r, M), row_number(r, N), row_number(r, K));
    add(r, GPU, &op, row_number(r, US));
}

enum { E_GPU, E_OP, E_TP, E_TOKENS, E_HIDDEN, E_EXPANDED, E_GATED, E_US };

/* fp16 in, fp16 out; the gated activation reads two inputs for each output. Plain models have
 * LayerNorm and GELU, the others RMSNorm and SwiGLU, each in one kernel. */
static const struct vidur_pass {
    const char *op, *gated;
    enum memory_kind kind;
    double bytes;  /* of an element of the output, read and written */
    bool expanded; /* as wide as the MLP, which tensor parallelism splits */
} PASSES_OVER[] = {
    {"input_layernorm", "1", MEMORY_RMS_NORM, 4, false},
    {"post_attention_layernorm", "1", MEMORY_RMS_NORM, 4, false},
    {"input_layernorm", "0", MEMORY_LAYER_NORM, 4, false},
    {"add", "1", MEMORY_RESIDUAL, 6, false},
    {"mlp_act", "1", MEMORY_SWIGLU_FUSED, 6, true},
    {"mlp_act", "0", MEMORY_GELU, 4, true},
};

/* Not in the table: the rotary kernel and the embedding of the engine are other kernels than those
 * of training stacks (rotary six times as fast, embedding a fifth), and the plain model adds
 * attention, MLP and input in two passes. */
static void use_elementwise(const struct table_row *r)
{
    for (size_t i = 0; i < sizeof PASSES_OVER / sizeof *PASSES_OVER; i++) {
        const struct vidur_pass *p = &PASSES_OVER[i];
        if (!row_says(r, E_OP, p->op) || !row_says(r, E_GATED, p->gated))
            continue;
        double width =
            p->expanded ? row_number(r, E_EXPANDED) / row_number(r, E_TP) : row_number(r, E_HIDDEN);
        struct operation op =
            memory_op(PASS_FORWARD, p->kind, p->bytes * row_number(r, E_TOKENS) * width);
        add(r, E_GPU, &op, row_number(r, E_US));
        return;
    }
    row_skip(r, SKIP_OTHER_KIND);
}

/* clang-format off */
static const struct table_file FILES[] = {
    {"gemm_fwd.csv", "gpu m n k latency_us_median", use_gemm, NULL, NULL},
    {"elementwise_fwd.csv",
     "gpu op tp num_tokens n_embd n_expanded_embd gated latency_us_median", use_elementwise,
     NULL, NULL},
};
/* clang-format on */

bool read_vidur(const char *folder, struct samples *to, struct error *err)
{
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err) &&
           read_vidur_comm(folder, to, err);
}
