/* estimate-train-time: fp16 operators of GPT-NeoX layers with hidden size `dim` and `mp`
 * tensor-parallel ways, forward and backward. Every row that is used has two times and is counted
 * twice.
 *
 * Left out, with the reason: backward of the linears (dgrad and wgrad in one time); RMSlayernorm,
 * RoPE, softmax (eager, several kernels: RMSlayernorm three to six times as slow as a fused norm);
 * embedding and the loss (vocabulary-parallel, masks and reductions among them); batched products
 * (bmm, baddbmm); optimizer steps (whole stages). */
#include "fit/readers.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

/* Columns that files share; the first five are in every file that is used. */
enum { B, L, FORWARD_US, BACKWARD_US, DIM, MP, H = MP + 1 };
#define TIMES "b l F_dur(us) B_dur(us) "

static const struct gpu *gpu_of(const struct table_row *r)
{
    return gpu_called(r->file->gpu);
}

/* A linear layer in hidden sizes; column-parallel layers split n, row-parallel ones k. */
struct ett_linear {
    double n, k; /* n = 0: the vocabulary */
    bool split_n;
};

/* GPT-2's vocabulary padded to 128 x mp as GPT-NeoX does; other paddings differ by less than 2 %,
 * and rates like those of the other linears say that it is neither much larger nor odd. */
static double vocabulary(double mp)
{
    double unit = 128 * mp;
    return ceil(50257 / unit) * unit;
}

static void use_linear(const struct table_row *r)
{
    const struct ett_linear *a = r->file->context;
    double dim = row_number(r, DIM), mp = row_number(r, MP);
    double n = a->n > 0 ? a->n * dim : vocabulary(mp), k = a->k * dim;
    struct operation op = product_op(PASS_FORWARD, DTYPE_FP16, row_number(r, B) * row_number(r, L),
                                     a->split_n ? n / mp : n, a->split_n ? k : k / mp);
    row_add(r, gpu_of(r), &op, row_number(r, FORWARD_US));
    row_skip(r, SKIP_OTHER_KIND);
}

/* FlashAttention-2, full: counted as causal, both GPUs would reach half of what the same kernel
 * does elsewhere. Backward times of the GH200 are shorter than forward ones, so not backward. */
static void use_flash(const struct table_row *r)
{
    static const enum op_pass PASS_OF[] = {PASS_FORWARD, PASS_BACKWARD};
    bool broken_backward = strcmp(r->file->gpu, "GH200-96GB") == 0;
    double heads = row_number(r, H);
    for (int i = 0; i < 2; i++) {
        struct operation op =
            attention_op(PASS_OF[i], DTYPE_FP16, row_number(r, L),
                         row_number(r, B) * heads / row_number(r, MP), row_number(r, DIM) / heads);
        op.heads = heads / row_number(r, MP);
        op.kernel = ATTENTION_FLASH2_KERNEL;
        if (PASS_OF[i] == PASS_BACKWARD && broken_backward)
            row_skip(r, SKIP_OTHER_KIND);
        else
            row_add(r, gpu_of(r), &op, row_number(r, FORWARD_US + i));
    }
}

/* Bytes of an element of the operator's input, read and written; 0 backward: no pass of its own. */
struct ett_pass {
    enum memory_kind kind;
    double forward, backward;
    double width; /* elements per token in hidden sizes */
};

static void add_passes(const struct table_row *r, double elements)
{
    const struct ett_pass *a = r->file->context;
    struct operation forward = memory_op(PASS_FORWARD, a->kind, a->forward * elements);
    struct operation backward = memory_op(PASS_BACKWARD, a->kind, a->backward * elements);
    row_add(r, gpu_of(r), &forward, row_number(r, FORWARD_US));
    if (a->backward > 0)
        row_add(r, gpu_of(r), &backward, row_number(r, BACKWARD_US));
    else
        row_skip(r, SKIP_OTHER_KIND);
}

static void use_pass(const struct table_row *r)
{
    const struct ett_pass *a = r->file->context;
    double ways = r->cell[MP] ? row_number(r, MP) : 1;
    add_passes(r, a->width * row_number(r, B) * row_number(r, L) * row_number(r, DIM) / ways);
}

/* The whole score matrix, as the planner counts it, although the fused kernel passes over the
 * masked half of what it reads. */
static void use_scores(const struct table_row *r)
{
    enum { HEADS = DIM };
    double l = row_number(r, L);
    add_passes(r, row_number(r, B) * row_number(r, HEADS) / row_number(r, MP) * l * l);
}

static const struct ett_linear QKV = {3, 1, true}, PROJECTION = {1, 1, false},
                               MLP_UP = {4, 1, true}, MLP_DOWN = {1, 4, false},
                               LOGITS = {0, 1, true};
/* Norm and GELU: x in, y out; x and dy in, dx out. Softmax: y instead of x. */
static const struct ett_pass NORM = {MEMORY_LAYER_NORM, 4, 6, 1}, GELU = {MEMORY_GELU, 4, 6, 4},
                             ADD = {MEMORY_RESIDUAL, 6, 0, 1}, SOFTMAX = {MEMORY_SOFTMAX, 4, 6, 0};

/* Names stand between the GPU's and "_fp16.csv". */
/* clang-format off */
static const struct table_file OPERATORS[] = {
    {"linear1",      TIMES "dim mp",   use_linear, NULL, &QKV},
    {"linear2",      TIMES "dim mp",   use_linear, NULL, &PROJECTION},
    {"linear3",      TIMES "dim mp",   use_linear, NULL, &MLP_UP},
    {"linear4",      TIMES "dim mp",   use_linear, NULL, &MLP_DOWN},
    {"linear_final", TIMES "dim mp",   use_linear, NULL, &LOGITS},
    {"flash_atten",  TIMES "dim mp h", use_flash,  NULL, NULL},
    {"layernorm",    TIMES "dim",      use_pass,   NULL, &NORM},
    {"gelu",         TIMES "dim mp",   use_pass,   NULL, &GELU},
    {"res_add",      TIMES "dim",      use_pass,   NULL, &ADD},
    {"ScaledUpperTriangMaskedSoftmax", TIMES "h mp", use_scores, NULL, &SOFTMAX},
    {"RMSlayernorm", "", NULL, NULL, NULL},
    {"RoPE",         "", NULL, NULL, NULL},
    {"softmax",      "", NULL, NULL, NULL},
    {"embedding",    "", NULL, NULL, NULL},
    {"bmm",          "", NULL, NULL, NULL},
    {"baddbmm",      "", NULL, NULL, NULL},
    {"parallel_cross_entropy_128", "", NULL, NULL, NULL},
    {"optimizer",             "", NULL, NULL, NULL},
    {"firstStage_optimizer",  "", NULL, NULL, NULL},
    {"middleStage_optimizer", "", NULL, NULL, NULL},
    {"lastStage_optimizer",   "", NULL, NULL, NULL},
};
/* clang-format on */

bool read_ett(const char *folder, struct samples *to, struct error *err)
{
    static const char *const GPUS[] = {"A100-SXM4-80GB", "GH200-96GB"};
    enum { GPU_COUNT = sizeof GPUS / sizeof *GPUS, COUNT = sizeof OPERATORS / sizeof *OPERATORS };
    struct table_file file[GPU_COUNT * COUNT];
    struct arena mem;
    arena_init(&mem);
    for (int i = 0; i < GPU_COUNT * COUNT; i++) {
        file[i] = OPERATORS[i % COUNT];
        file[i].gpu = GPUS[i / COUNT];
        file[i].name = arena_format(&mem, "%s_%s_fp16.csv", file[i].gpu, file[i].name);
    }
    bool ok = read_tables(folder, file, GPU_COUNT * COUNT, to, err);
    arena_release(&mem);
    return ok && read_ett_comm(folder, to, err);
}
