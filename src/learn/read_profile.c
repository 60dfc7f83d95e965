/* Our own profile of a GPU (doc/evidence/profile.md): one CSV with every family in it. The table of
 * families says which function reads a row; memory-bound kinds come from layer/memory_kinds.def. */
#include "base/arena.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "learn/read_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
enum { FAMILY, VARIANT, PASS, DTYPE, M, N, K, COUNT, SEQ, HEADS, KV_HEADS, HEAD_DIM, V_DIM, CAUSAL,
       WINDOW, BYTES, TIME_US, GPU, SM_MHZ };
#define COLUMNS                                                                                    \
    "family variant pass dtype m n k count seq heads kv_heads head_dim v_dim causal window bytes " \
    "time_us gpu sm_mhz"
/* clang-format on */

enum { NO_NAME = -1, LEAST_MHZ = 100, MOST_MHZ = 10000 };

static int index_of(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return NO_NAME;
}

static int pass_of(const struct table_row *r)
{
    static const struct {
        const char *name;
        enum op_pass pass;
    } NAMES[] = {{"forward", PASS_FORWARD},
                 {"step", PASS_FORWARD},
                 {"backward", PASS_BACKWARD},
                 {"dgrad", PASS_DGRAD},
                 {"wgrad", PASS_WGRAD}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (row_says(r, PASS, NAMES[i].name))
            return (int)NAMES[i].pass;
    return NO_NAME;
}

static int dtype_of(const struct table_row *r)
{
    static const char *const NAMES[DTYPES] = {
        [DTYPE_BF16] = "bf16", [DTYPE_FP16] = "fp16", [DTYPE_FP8] = "fp8"};
    return index_of(r->cell[DTYPE], NAMES, DTYPES);
}

static void add(const struct table_row *r, const struct operation *op)
{
    size_t before = r->to->ops;
    const struct gpu *g = gpu_of_device(r->cell[GPU]);
    if (!g && !*r->to->unknown_gpu)
        snprintf(r->to->unknown_gpu, sizeof r->to->unknown_gpu, "%s", r->cell[GPU]);
    row_add(r, g, op, row_number(r, TIME_US));
    double mhz = row_number(r, SM_MHZ);
    if (r->to->ops > before && mhz >= LEAST_MHZ && mhz <= MOST_MHZ) /* else no clock of a GPU */
        r->to->op[before].mhz = mhz;
}

static void use_product(const struct table_row *r)
{
    int pass = pass_of(r), dtype = dtype_of(r);
    if (pass == NO_NAME || dtype == NO_NAME) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    struct operation op = product_op((enum op_pass)pass, (enum dtype)dtype, row_number(r, M),
                                     row_number(r, N), row_number(r, K));
    if (row_says(r, FAMILY, "grouped_gemm")) {
        op.family = FAMILY_GROUPED;
        op.count = row_number(r, COUNT);
    }
    add(r, &op);
}

/* `flash` behind PyTorch's attention is FlashAttention-2 on every GPU. */
static void use_attention(const struct table_row *r)
{
    int pass = pass_of(r), dtype = dtype_of(r);
    if (pass == NO_NAME || pass == PASS_WGRAD || dtype == NO_NAME) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    double heads = row_number(r, HEADS);
    struct operation op = attention_op((enum op_pass)pass, (enum dtype)dtype, row_number(r, SEQ),
                                       row_number(r, COUNT) * heads, row_number(r, HEAD_DIM));
    op.value_width = row_number(r, V_DIM);
    op.heads = heads;
    op.kv_share = row_number(r, KV_HEADS) / heads;
    op.causal = row_says(r, CAUSAL, "1");
    op.window = row_number(r, WINDOW);
    op.kernel = row_says(r, VARIANT, "flash") ? ATTENTION_FLASH2_KERNEL : ATTENTION_CUDNN_KERNEL;
    add(r, &op);
}

static int memory_kind_of(const struct table_row *r)
{
    static const char *const NAMES[MEMORY_KINDS][2] = {
#define MEMORY_KIND(id, family, variant) [MEMORY_##id] = {family, variant},
#include "layer/memory_kinds.def"
#undef MEMORY_KIND
    };
    for (int i = 0; i < MEMORY_KINDS; i++)
        if (row_says(r, FAMILY, NAMES[i][0]) && row_says(r, VARIANT, NAMES[i][1]))
            return i;
    return NO_NAME;
}

static void use_memory(const struct table_row *r)
{
    int kind = memory_kind_of(r), pass = pass_of(r);
    if (kind == NO_NAME || pass == NO_NAME || pass == PASS_WGRAD) {
        row_skip(r, SKIP_OTHER_KIND); /* unfused attention and launches among them */
        return;
    }
    struct operation op =
        memory_op((enum op_pass)pass, (enum memory_kind)kind, row_number(r, BYTES));
    double width = row_number(r, N), heads = row_number(r, HEADS);
    if (width > 0 || heads > 0) { /* else one long array */
        op.m = row_number(r, M);
        op.n = width > 0 ? width : heads * row_number(r, HEAD_DIM);
        op.k = fmax(row_number(r, K), 0); /* fmax: 0 for an empty cell */
    }
    add(r, &op);
}

/* Of tools/profile, or imported from nccl-tests: m nodes, count ranks, n bytes. NICs are taken to be
 * the usual ones of the GPU. */
static void use_collective(const struct table_row *r)
{
    struct comm_sample c = {.bytes = row_number(r, N), .time_s = 1e-6 * row_number(r, TIME_US)};
    const struct gpu *g = gpu_of_device(r->cell[GPU]);
    int ranks = whole_count(row_number(r, COUNT)), nodes = whole_count(row_number(r, M));
    if (!comm_kind_called(r->cell[VARIANT], &c.kind) || nodes < 1 || ranks % nodes != 0) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    comm_place_across(&c, g, ranks, nodes);
    c.nic_bs = c.nodes > 1 && g ? 1e9 / 8 * g->nic_gbit : 0;
    comm_add(r->to, &c, 0);
}

/* Every wgrad variant of a dense product counts, also the one of an older PyTorch that adds in a
 * second kernel: it is what that stack runs. Experts one after the other are dense products. */
static void use_row(const struct table_row *r)
{
    static const struct {
        const char *family, *variant; /* NULL: any */
        void (*use)(const struct table_row *);
    } FAMILY_READERS[] = {{"gemm", NULL, use_product},
                          {"fp8_gemm", NULL, use_product},
                          {"grouped_gemm", "grouped_mm", use_product},
                          {"collective", NULL, use_collective},
                          {"attention", "flash", use_attention},
                          {"attention", "cudnn", use_attention}};
    for (size_t i = 0; i < sizeof FAMILY_READERS / sizeof *FAMILY_READERS; i++)
        if (row_says(r, FAMILY, FAMILY_READERS[i].family) &&
            (!FAMILY_READERS[i].variant || row_says(r, VARIANT, FAMILY_READERS[i].variant))) {
            FAMILY_READERS[i].use(r);
            return;
        }
    use_memory(r);
}

/* How times follow the clock: points that were measured twice, in rounds of other clocks, changed
 * by this power of its ratio (H200: 803 pairs). Products follow it less than one would think: at
 * the power limit it is they who set it. */
static const double ELASTICITY[FAMILIES] = {
    [FAMILY_GEMM] = 0.5, [FAMILY_GROUPED] = 0.5, [FAMILY_ATTENTION] = 0.9, [FAMILY_MEMORY] = 0.4};

static double median_clock(const struct sample *s, size_t count, const struct gpu *g)
{
    double *mhz = memory_grow(NULL, (count + 1) * sizeof *mhz), middle = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (s[i].gpu == g && s[i].mhz > 0)
            mhz[known++] = s[i].mhz;
    sort_numbers(mhz, known);
    if (known > 0)
        middle = mhz[known / 2];
    free(mhz);
    return middle;
}

/* The clock of real training steps where we know it: middle of 14 ranks of Megatron-LM at the power
 * limit (data/measured/h200_ranks.csv, 1,515 to 1,725 MHz). 0: not known. */
static double step_clock(const struct gpu *g)
{
    return strcmp(g->name, "H200-SXM-141GB") == 0 ? 1620 : 0;
}

/* Brings every time to the clock of a training step, or where that is not known to the middle clock
 * of the GPU in this profile, which depends on how heavy its mix was. */
static void even_out_clock(struct sample *s, size_t count)
{
    size_t gpus;
    const struct gpu *g = gpu_table(&gpus);
    for (const struct gpu *end = g + gpus; g < end; g++) {
        double clock = step_clock(g) > 0 ? step_clock(g) : median_clock(s, count, g);
        for (size_t i = 0; i < count; i++)
            if (s[i].gpu == g && s[i].mhz > 0)
                s[i].time_s *= pow(s[i].mhz / clock, ELASTICITY[s[i].op.family]);
    }
}

bool read_profile(const char *path, struct samples *to, struct error *err)
{
    static const struct table_file FILE_OF_PROFILE = {.columns = COLUMNS, .use = use_row};
    size_t before = to->ops;
    if (!read_table(path, &FILE_OF_PROFILE, to, err))
        return false;
    if (to->ops > before)
        even_out_clock(to->op + before, to->ops - before);
    return true;
}
