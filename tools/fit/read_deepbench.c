/* DeepBench: cuBLAS products of V100 and T4, fp16 into fp16 on tensor cores. Sizes are
 * column-major: an m x n result there is an n x m result in rows, so n counts tokens and the
 * transposes say which pass has this layout. Those of wgrad are left out: nothing is accumulated
 * here. */
#include "fit/readers.h"

enum { GPU, PRECISION, M, N, K, TRANS_A, TRANS_B, TIME_US };
#define COLUMNS "gpu precision m n k transA transB time_us"

/* Narrower ones are steps of recurrent networks. */
static const double NARROWEST = 64;

static const struct deepbench_layout {
    const char *a, *b;
    enum op_pass pass;
} LAYOUTS[] = {{"T", "N", PASS_FORWARD}, {"N", "N", PASS_DGRAD}};

static const struct deepbench_layout *layout_of(const struct table_row *r)
{
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++)
        if (row_says(r, TRANS_A, LAYOUTS[i].a) && row_says(r, TRANS_B, LAYOUTS[i].b))
            return &LAYOUTS[i];
    return NULL;
}

static void use_row(const struct table_row *r)
{
    const struct deepbench_layout *layout = layout_of(r);
    double m = row_number(r, N), n = row_number(r, M), k = row_number(r, K);
    bool narrow = (m > 0 && m < NARROWEST) || (n > 0 && n < NARROWEST);
    if (!layout || narrow || !row_says(r, PRECISION, "fp16_tc")) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op = product_of_result(layout->pass, DTYPE_FP16, m, n, k);
    row_add(r, gpu_called(r->cell[GPU]), &op, row_number(r, TIME_US));
}

bool read_deepbench(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {{"gemm.csv", COLUMNS, use_row, NULL, NULL}};
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err);
}
