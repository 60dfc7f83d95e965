/* AMD aiter: the fastest of many kernels for each product, forward layout. A name of two cards is
 * one chip; it stands for the first of the two that our table has. */
#include "fit/readers.h"

#include <string.h>

enum { GPU, DTYPE, M, N, K, LATENCY_US, LIB };
#define COLUMNS "gpu dtype m n k latency_us lib"

static const struct gpu *gpu_of(const struct table_row *r)
{
    static const struct {
        const char *said, *name;
    } NAMES[] = {{"MI300X/MI325X", "MI300X"}, {"MI350X/MI355X", "MI355X"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (row_says(r, GPU, NAMES[i].said))
            return gpu_called(NAMES[i].name);
    return gpu_called(r->cell[GPU]);
}

/* Rows of the MI300X without a library stay near 2 % of the peak at every size, where the others
 * reach 30 %: whatever ran there, it was no tuned kernel. */
static bool is_untuned(const struct table_row *r)
{
    return row_says(r, GPU, "MI300X/MI325X") && row_says(r, LIB, "");
}

static void use_row(const struct table_row *r)
{
    bool bf16 = row_says(r, DTYPE, "bf16"), fp8 = strncmp(r->cell[DTYPE], "fp8", 3) == 0;
    if ((!bf16 && !fp8) || is_untuned(r)) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op = product_op(PASS_FORWARD, bf16 ? DTYPE_BF16 : DTYPE_FP8, row_number(r, M),
                                     row_number(r, N), row_number(r, K));
    row_add(r, gpu_of(r), &op, row_number(r, LATENCY_US));
}

bool read_aiter(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {{"gemm_tuned.csv", COLUMNS, use_row, NULL, NULL}};
    return read_tables(folder, FILES, sizeof FILES / sizeof *FILES, to, err);
}
