/* SimuMax: training kernels of TransformerEngine in sustained loops, given as the share of a stated
 * peak. Products list the sizes of the pass's own call. */
#include "fit/readers.h"

/* Its B200 is slower than those of all other sources, kernels and steps alike, by as much as a chip
 * with fewer watts: what its rows say of shapes counts, their level does not (POWER in
 * cost/clock.c: 0.54 instead of 0.8). */
static const double B200_SITE = 0.8216;

/* Microseconds of `flops` at a share of the row's peak. */
static double time_us(const struct table_row *r, int gpu, double flops, double eta,
                      double peak_tflops)
{
    double site = row_says(r, gpu, "B200-SXM") ? B200_SITE : 1;
    return site * flops / (eta * peak_tflops * 1e12) * 1e6;
}

struct pass_name {
    const char *name;
    enum op_pass pass;
};

static bool find_pass(const struct table_row *r, int column, const struct pass_name names[3],
                      enum op_pass *pass)
{
    for (int i = 0; i < 3; i++)
        if (names[i].name && row_says(r, column, names[i].name)) {
            *pass = names[i].pass;
            return true;
        }
    row_skip(r, SKIP_OTHER_KIND);
    return false;
}

/* A wgrad that is added to a bf16 gradient moves half as much as ours and is left out. */
static void use_gemm(const struct table_row *r)
{
    enum { GPU, PASS, M, N, K, BATCH, OUT_DTYPE, PEAK, ETA };
    static const struct pass_name PASS_NAMES[3] = {
        {"fwd", PASS_FORWARD}, {"dgrad", PASS_DGRAD}, {"wgrad", PASS_WGRAD}};
    enum op_pass pass;
    if (!find_pass(r, PASS, PASS_NAMES, &pass))
        return;
    if (!row_says(r, BATCH, "1") || (pass == PASS_WGRAD && !row_says(r, OUT_DTYPE, "fp32"))) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op =
        product_of_result(pass, DTYPE_BF16, row_number(r, M), row_number(r, N), row_number(r, K));
    row_add(r, gpu_called(r->cell[GPU]), &op,
            time_us(r, GPU, operation_flops(&op), row_number(r, ETA), row_number(r, PEAK)));
}

/* All three stages list tokens of a group and the weight's N and K. Gradients of experts in bf16
 * stay in: few rows, and our own profile has no others. */
static void use_grouped(const struct table_row *r)
{
    enum { GPU, STAGE, GROUPS, M, N, K, DTYPE, PEAK, ETA };
    static const struct pass_name STAGES[3] = {
        {"fwd", PASS_FORWARD}, {"bwd_grad_act", PASS_DGRAD}, {"bwd_grad_w", PASS_WGRAD}};
    enum op_pass pass;
    if (!find_pass(r, STAGE, STAGES, &pass))
        return;
    if (!row_says(r, DTYPE, "bf16")) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op =
        product_op(pass, DTYPE_BF16, row_number(r, M), row_number(r, N), row_number(r, K));
    op.family = FAMILY_GROUPED;
    op.count = row_number(r, GROUPS);
    row_add(r, gpu_called(r->cell[GPU]), &op,
            time_us(r, GPU, operation_flops(&op), row_number(r, ETA), row_number(r, PEAK)));
}

/* The kernel is causal, but its share of the peak counts every pair, ours only those that are not
 * masked. TransformerEngine runs FlashAttention-2 on an A100, cuDNN on a B200. */
static void use_attention(const struct table_row *r)
{
    enum { GPU, PASS, BATCH, SEQ, HEADS, KV_HEADS, QK_DIM, V_DIM, PEAK, ETA };
    static const struct pass_name PASS_NAMES[3] = {
        {"fwd", PASS_FORWARD}, {"bwd", PASS_BACKWARD}, {NULL, PASSES}};
    enum op_pass pass;
    if (!find_pass(r, PASS, PASS_NAMES, &pass))
        return;
    double heads = row_number(r, HEADS);
    struct operation op = attention_op(pass, DTYPE_BF16, row_number(r, SEQ),
                                       row_number(r, BATCH) * heads, row_number(r, QK_DIM));
    op.value_width = row_number(r, V_DIM);
    op.heads = heads;
    op.kv_share = row_number(r, KV_HEADS) / heads;
    op.kernel =
        row_says(r, GPU, "A100-PCIe-80GB") ? ATTENTION_FLASH2_KERNEL : ATTENTION_CUDNN_KERNEL;
    double all_pairs = operation_flops(&op);
    op.causal = true;
    row_add(r, gpu_called(r->cell[GPU]), &op,
            time_us(r, GPU, all_pairs, row_number(r, ETA), row_number(r, PEAK)));
}

/* clang-format off */
static const struct table_file FILES[] = {
    {"gemm_train.csv", "gpu pass m n k batch out_dtype peak_tflops eta", use_gemm, NULL, NULL},
    {"grouped_gemm_train.csv", "gpu stage num_groups M N K dtype peak_tflops eta", use_grouped,
     NULL, NULL},
    {"attention_train.csv",
     "gpu pass batch seq_len head_num kv_head_num qk_head_dim v_head_dim peak_tflops eta",
     use_attention, NULL, NULL},
    {"membw_fit.csv", "efficient_factor", NULL, NULL, NULL}, /* fits, not measurements */
};
/* clang-format on */

bool read_simumax(const char *folder, struct samples *to, struct error *err)
{
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err) &&
           read_simumax_comm(folder, to, err);
}
