/* NVIDIA aiconfigurator: inference kernels in short bursts at locked clocks. Products in the
 * forward layout (fp8 with the quantisation of the activations inside), attention forward. The
 * expert blocks are two grouped products, activation and permutation in one time, which no model
 * covers. */
#include "fit/readers.h"

/* Fewer rows are decoding, which training never does. */
static const double FEWEST_TOKENS = 64;

static void use_gemm(const struct table_row *r)
{
    enum { DTYPE, M, N, K, LATENCY_US };
    bool fp8 = row_says(r, DTYPE, "fp8");
    double m = row_number(r, M);
    if ((!fp8 && !row_says(r, DTYPE, "bf16")) || (m > 0 && m < FEWEST_TOKENS)) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op = product_op(PASS_FORWARD, fp8 ? DTYPE_FP8 : DTYPE_BF16, m,
                                     row_number(r, N), row_number(r, K));
    op.kernel = fp8; /* inside the timed region the activations are quantised too */
    row_add(r, gpu_called(r->file->gpu), &op, row_number(r, LATENCY_US));
}

enum { A_GPU, A_KERNEL, A_BATCH, A_SEQLEN, A_HEADS, A_WIDTH, A_LATENCY_US, A_KV_HEADS };

static struct operation attention(const struct table_row *r)
{
    struct operation op =
        attention_op(PASS_FORWARD, DTYPE_BF16, row_number(r, A_SEQLEN),
                     row_number(r, A_BATCH) * row_number(r, A_HEADS), row_number(r, A_WIDTH));
    op.heads = row_number(r, A_HEADS);
    op.kernel = row_says(r, A_KERNEL, "fa2") ? ATTENTION_FLASH2_KERNEL : ATTENTION_SERVER_KERNEL;
    return op;
}

static void use_causal(const struct table_row *r)
{
    struct operation op = attention(r);
    op.causal = true;
    op.kv_share = row_number(r, A_KV_HEADS) / row_number(r, A_HEADS);
    row_add(r, gpu_called(r->cell[A_GPU]), &op, row_number(r, A_LATENCY_US));
}

/* Encoders: as many key-value heads as query heads. */
static void use_full(const struct table_row *r)
{
    struct operation op = attention(r);
    row_add(r, gpu_called(r->cell[A_GPU]), &op, row_number(r, A_LATENCY_US));
}

/* clang-format off */
#define GEMM(file, name) {file, "dtype m n k latency_us", use_gemm, name, NULL}
#define EXPERTS(name) {"moe_grouped_" name ".csv", "latency_us", NULL, name, NULL}
#define ATTENTION "gpu kernel batch seqlen num_heads head_dim latency_us"

static const struct table_file FILES[] = {
    GEMM("gemm_A100-SXM4-80GB_sglang0.5.10.csv", "A100-SXM4-80GB"),
    GEMM("gemm_A100-SXM4-80GB_trtllm1.0.0.csv",  "A100-SXM4-80GB"),
    GEMM("gemm_B200-SXM.csv",                    "B200-SXM"),
    GEMM("gemm_B300-SXM.csv",                    "B300-SXM"),
    GEMM("gemm_GB200.csv",                       "GB200"),
    GEMM("gemm_GB300.csv",                       "GB300"),
    GEMM("gemm_H100-SXM5-80GB.csv",              "H100-SXM5-80GB"),
    GEMM("gemm_H200-SXM-141GB.csv",              "H200-SXM-141GB"),
    GEMM("gemm_L40S.csv",                        "L40S"),
    GEMM("gemm_RTX-PRO-6000-Server.csv",         "RTX-PRO-6000-Server"),
    {"attention_causal_fwd.csv", ATTENTION " num_kv_heads", use_causal, NULL, NULL},
    {"attention_full_fwd.csv",   ATTENTION,                 use_full,   NULL, NULL},
    EXPERTS("A100-SXM4-80GB"),
    EXPERTS("B200-SXM"),
    EXPERTS("B300-SXM"),
    EXPERTS("GB200"),
    EXPERTS("GB300"),
    EXPERTS("H100-SXM5-80GB"),
    EXPERTS("H200-SXM-141GB"),
    EXPERTS("L40S"),
    EXPERTS("RTX-PRO-6000-Server"),
};
/* clang-format on */

bool read_aiconfigurator(const char *folder, struct samples *to, struct error *err)
{
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err) &&
           read_aiconfigurator_comm(folder, to, err);
}
