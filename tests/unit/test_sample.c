/* Measured operators: work and bytes of an operation, the checks of the lists, and every reader of
 * operators on tables written here with samples worked out by hand. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include "learn/sample.h"

#include "base/arena.h"
#include "cluster/cluster.h"
#include "fit/readers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Work and bytes */

static void work_and_bytes_of_operations(void **state)
{
#define GEMM .family = FAMILY_GEMM, .m = 2, .n = 3, .k = 5, .count = 1
#define ATTENTION                                                                                  \
    .family = FAMILY_ATTENTION, .m = 8, .n = 8, .k = 4, .value_width = 2, .count = 3,              \
    .kv_share = 0.5
    static const struct {
        struct operation op;
        double flops, bytes;
    } cases[] = {
        /* x 2x5, w 3x5, y 2x3 */
        {{GEMM, .pass = PASS_FORWARD}, 60, 2 * 10 + 2 * 15 + 2 * 6},
        {{GEMM, .pass = PASS_DGRAD}, 60, 2 * 6 + 2 * 15 + 2 * 10},
        {{GEMM, .pass = PASS_WGRAD}, 60, 2 * 10 + 2 * 6 + 8 * 15},
        {{GEMM, .dtype = DTYPE_FP8}, 60, 10 + 15 + 2 * 6},
        {{GEMM, .dtype = DTYPE_FP8, .pass = PASS_WGRAD}, 60, 10 + 6 + 8 * 15},
        {{.family = FAMILY_GROUPED, .m = 2, .n = 3, .k = 5, .count = 4}, 240, 4 * 62},
        /* q and dq 8x4, o and do 8x2, half as many k and v */
        {{ATTENTION}, 2304, 2 * 3 * (32 + 16 + 24)},
        {{ATTENTION, .causal = true}, 1152, 432},
        {{ATTENTION, .causal = true, .pass = PASS_BACKWARD}, 2880, 864},
        {{ATTENTION, .causal = true, .window = 4}, 864, 432}, /* 3 keys on average */
        {{ATTENTION, .causal = true, .window = 8}, 1152, 432},
        {{ATTENTION, .window = 4}, 1152, 432},
        {{.family = FAMILY_MEMORY, .bytes = 77, .m = 5}, 0, 77},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double flops = operation_flops(&cases[i].op), bytes = operation_bytes(&cases[i].op);
        if (!same(flops, cases[i].flops) || !same(bytes, cases[i].bytes))
            fail_msg("case %zu: %g FLOPs and %g bytes", i, flops, bytes);
    }
#undef GEMM
#undef ATTENTION
}

static void numbers_of_fields_are_whole(void **state)
{
    static const char *const bad[] = {"", "nan", "NaN", "inf", "-inf", "1e999", "12us", " 1", "x"};
    (void)state;
    assert_true(same(sample_number("12.5"), 12.5));
    assert_true(same(sample_number("-3e2"), -300));
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!isnan(sample_number(bad[i])))
            fail_msg("'%s' is %g", bad[i], sample_number(bad[i]));
}

/* The lists */

struct fixture {
    char folder[64];
    struct arena mem;
    struct samples got;
    struct error err;
    const char *file[16]; /* written, to be removed */
    size_t files;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    snprintf(f->folder, sizeof f->folder, "%s/astra-XXXXXX", P_tmpdir);
    if (!mkdtemp(f->folder))
        return -1;
    arena_init(&f->mem);
    samples_init(&f->got, &f->mem);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->files; i++)
        unlink(f->file[i]);
    rmdir(f->folder);
    arena_release(&f->mem);
    free(f);
    return 0;
}

static const struct gpu *gpu(const char *name)
{
    const struct gpu *g = gpu_called(name);
    assert_non_null(g);
    return g;
}

static void samples_are_checked(void **state)
{
    struct fixture *f = *state;
    const struct gpu *h200 = gpu("H200");
    /* 1024^3: 2.147 GFLOP, 2.171 us at 989.4 TFLOP/s; 4.8e6 bytes: 1 us of memory, a fourth from
     * the cache. A V100 has no bf16, an A100 no fp8. */
    const struct {
        struct sample s;
        enum skip want;
    } cases[] = {
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), h200, 0, 2.2e-6, 0}, SKIP_NONE},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), h200, 0, 2.14e-6, 0}, SKIP_NONE},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), h200, 0, 2.1e-6, 0},
         SKIP_ABOVE_PEAK},
        {{product_op(PASS_FORWARD, DTYPE_FP8, 1024, 1024, 1024), h200, 0, 2.1e-6, 0}, SKIP_NONE},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, NAN, 1024), h200, 0, 1, 0}, SKIP_NOT_A_NUMBER},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 0, 1024), h200, 0, 1, 0}, SKIP_NOT_POSITIVE},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), h200, 0, -1, 0},
         SKIP_NOT_POSITIVE},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), h200, 0, INFINITY, 0},
         SKIP_NOT_A_NUMBER},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 1024, 1024, 1024), NULL, 0, 1, 0}, SKIP_UNKNOWN_GPU},
        {{product_op(PASS_FORWARD, DTYPE_BF16, 64, 64, 64), gpu("V100"), 0, 1, 0}, SKIP_OTHER_KIND},
        {{product_op(PASS_FORWARD, DTYPE_FP8, 64, 64, 64), gpu("A100"), 0, 1, 0}, SKIP_OTHER_KIND},
        {{memory_op(PASS_FORWARD, MEMORY_COPY, 4.8e6), h200, 0, 0.26e-6, 0}, SKIP_NONE},
        {{memory_op(PASS_FORWARD, MEMORY_COPY, 4.8e6), h200, 0, 0.24e-6, 0}, SKIP_ABOVE_PEAK},
        {{attention_op(PASS_FORWARD, DTYPE_BF16, 1024, 8, 128), h200, 0, 1e-3, 0}, SKIP_NONE},
    };
    size_t want[SKIPS] = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum skip why = samples_add(&f->got, &cases[i].s);
        if (why != cases[i].want)
            fail_msg("case %zu: %d, expected %d", i, (int)why, (int)cases[i].want);
        want[why]++;
    }
    assert_memory_equal(f->got.skipped, want, sizeof want);
    assert_int_equal(f->got.ops, want[SKIP_NONE]);
}

static void collectives_are_checked(void **state)
{
    struct fixture *f = *state;
    struct comm_sample good = {.kind = COMM_ALL_REDUCE,
                               .bytes = 1e6,
                               .ranks = 8,
                               .per_node = 8,
                               .nodes = 1,
                               .gpu = gpu("H100"),
                               .link_bs = 450e9,
                               .time_s = 1e-4};
    struct comm_sample far = good, alone = good, unsized = good, nameless = good;
    far.nodes = 2; /* and no NIC */
    alone.ranks = 1;
    unsized.bytes = NAN;
    nameless.gpu = NULL;
    assert_int_equal(samples_add_comm(&f->got, &good), SKIP_NONE);
    assert_int_equal(samples_add_comm(&f->got, &far), SKIP_NOT_POSITIVE);
    assert_int_equal(samples_add_comm(&f->got, &alone), SKIP_NOT_POSITIVE);
    assert_int_equal(samples_add_comm(&f->got, &unsized), SKIP_NOT_A_NUMBER);
    assert_int_equal(samples_add_comm(&f->got, &nameless), SKIP_UNKNOWN_GPU);
    assert_int_equal(f->got.comms, 1);
    assert_int_equal(f->got.skipped[SKIP_NONE], 1);
}

static void lists_grow_in_order(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 5000 };
    for (int i = 1; i <= MANY; i++) {
        struct sample s = {memory_op(PASS_FORWARD, MEMORY_COPY, i), gpu("H100"), 0, 1, 0};
        samples_add(&f->got, &s);
    }
    assert_int_equal(f->got.ops, MANY);
    for (int i = 1; i <= MANY; i++)
        assert_true(same(f->got.op[i - 1].op.bytes, i));
}

/* Readers */

static void write_file(struct fixture *f, const char *name, const char *text)
{
    assert_true(f->files < COUNT(f->file));
    const char *path = arena_format(&f->mem, "%s/%s", f->folder, name);
    f->file[f->files++] = path;
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

struct want {
    const char *gpu;
    double time_us;
    struct operation op;
};

static bool same_operation(const struct operation *a, const struct operation *b)
{
    return a->family == b->family && a->pass == b->pass && a->dtype == b->dtype &&
           same(a->m, b->m) && same(a->n, b->n) && same(a->k, b->k) && same(a->count, b->count) &&
           same(a->value_width, b->value_width) && same(a->kv_share, b->kv_share) &&
           a->causal == b->causal && same(a->window, b->window) && a->kernel == b->kernel &&
           a->kind == b->kind && same(a->bytes, b->bytes);
}

static void expect(const struct fixture *f, const struct want *want, size_t count)
{
    assert_int_equal(f->got.ops, count);
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &f->got.op[i];
        const struct operation *o = &s->op;
        if (!same_operation(o, &want[i].op) || strcmp(s->gpu->name, want[i].gpu) != 0 ||
            !same(s->time_s * 1e6, want[i].time_us))
            fail_msg("sample %zu: %s %g us, family %d pass %d dtype %d, m %g n %g k %g count %g "
                     "v %g share %g causal %d window %g kernel %d kind %d bytes %g",
                     i, s->gpu->name, s->time_s * 1e6, (int)o->family, (int)o->pass, (int)o->dtype,
                     o->m, o->n, o->k, o->count, o->value_width, o->kv_share, o->causal, o->window,
                     o->kernel, o->kind, o->bytes);
    }
}

static void expect_skips(const struct fixture *f, size_t nan, size_t not_positive, size_t above,
                         size_t unknown, size_t other)
{
    const size_t want[SKIPS] = {[SKIP_NONE] = f->got.ops + f->got.comms,
                                [SKIP_NOT_A_NUMBER] = nan,
                                [SKIP_NOT_POSITIVE] = not_positive,
                                [SKIP_ABOVE_PEAK] = above,
                                [SKIP_UNKNOWN_GPU] = unknown,
                                [SKIP_OTHER_KIND] = other};
    for (int i = 0; i < SKIPS; i++)
        if (f->got.skipped[i] != want[i])
            fail_msg("%zu rows skipped for reason %d, expected %zu", f->got.skipped[i], i, want[i]);
}

static void read_all(struct fixture *f,
                     bool (*reader)(const char *, struct samples *, struct error *))
{
    if (!reader(f->folder, &f->got, &f->err))
        fail_msg("%s", f->err.text);
}

#define ONE .count = 1, .kv_share = 1
#define FORWARD_GEMM .family = FAMILY_GEMM, .pass = PASS_FORWARD, ONE
#define DGRAD_GEMM .family = FAMILY_GEMM, .pass = PASS_DGRAD, ONE
#define WGRAD_GEMM .family = FAMILY_GEMM, .pass = PASS_WGRAD, ONE
#define MEMORY .family = FAMILY_MEMORY, ONE
#define HEADS(seq, heads, width, out)                                                              \
    .family = FAMILY_ATTENTION, .m = (seq), .n = (seq), .count = (heads), .k = (width),            \
    .value_width = (out)

#define PROFILE_HEADER                                                                             \
    "family,variant,pass,dtype,m,n,k,count,seq,heads,kv_heads,head_dim,v_dim,causal,window,bytes," \
    "flops,time_us,spread,gpu,repeat,sm_mhz\n"

static void profile_is_read(void **state)
{
    struct fixture *f = *state;
    /* clang-format off */
    static const struct want want[] = {
        {"H200-SXM-141GB", 200, {FORWARD_GEMM, .m = 4096, .n = 4096, .k = 4096}},
        {"H200-SXM-141GB", 201, {FORWARD_GEMM, .m = 4096, .n = 4096, .k = 4096}}, /* repeated */
        {"H200-SXM-141GB", 250, {WGRAD_GEMM, .m = 4096, .n = 4096, .k = 4096}},
        {"H200-SXM-141GB", 150, {DGRAD_GEMM, .dtype = DTYPE_FP8, .m = 4096, .n = 2048, .k = 4096}},
        {"H200-SXM-141GB", 90, {.family = FAMILY_GROUPED, .count = 8, .kv_share = 1, .m = 512,
                                .n = 1024, .k = 2048}},
        {"H100-SXM5-80GB", 70, {HEADS(2048, 16, 192, 128), .kv_share = 0.25,
                                .causal = true, .window = 512, .kernel = ATTENTION_FLASH2_KERNEL}},
        {"H200-SXM-141GB", 99, {HEADS(2048, 16, 128, 128), .kv_share = 1, .pass = PASS_BACKWARD}},
        {"H200-SXM-141GB", 30, {MEMORY, .kind = MEMORY_RMS_NORM, .pass = PASS_BACKWARD,
                                .bytes = 1e8, .m = 4096, .n = 4096}},
        {"H200-SXM-141GB", 50, {MEMORY, .kind = MEMORY_ADAM, .bytes = 2e8}},
    };
    write_file(f, "profile.csv", PROFILE_HEADER
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,200,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,201,0,NVIDIA H200,1,\n"
        "gemm,addmm_fp32,wgrad,bf16,4096,4096,4096,,,,,,,,,1,1,250,0,NVIDIA H200,0,\n"
        "fp8_gemm,scaled_mm,dgrad,fp8,4096,2048,4096,,,,,,,,,1,1,150,0,NVIDIA H200,0,\n"
        "grouped_gemm,grouped_mm,forward,bf16,512,1024,2048,8,,,,,,,,1,1,90,0,NVIDIA H200,0,\n"
        "attention,flash,forward,bf16,,,,2,2048,8,2,192,128,1,512,1,1,70,0,"
        "NVIDIA H100 80GB HBM3,0,\n"
        "attention,cudnn,backward,bf16,,,,2,2048,8,8,128,128,0,0,1,1,99,0,NVIDIA H200,0,\n"
        "norm,rms,backward,bf16,4096,4096,,,,,,,,,,1e8,0,30,0,NVIDIA H200,0,\n"
        "adam,fused,step,fp32,1000,,,,,,,,,,,2e8,0,50,0,NVIDIA H200,0,\n"
        "collective,all_reduce,forward,fp32,2,1048576,,16,,,,,,,,1048576,0,100,0,"
        "NVIDIA H100 80GB HBM3,0,\n"
        "collective,all_reduce,forward,fp32,1,1048576,,2,,,,,,,,1048576,0,-1,0,NVIDIA H200,0,\n"
        /* other kinds */
        "collective,broadcast,forward,fp32,1,1048576,,2,,,,,,,,1048576,0,50,0,NVIDIA H200,0,\n"
        "grouped_gemm,loop,forward,bf16,512,1024,2048,8,,,,,,,,1,1,90,0,NVIDIA H200,0,\n"
        "unfused_attention,torch,forward,bf16,,,,2,2048,8,8,128,128,0,0,1,1,99,0,NVIDIA H200,0,\n"
        "launch,graph,forward,bf16,,,,,,,,,,,,0,0,2,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,fp64,4096,4096,4096,,,,,,,,,1,1,200,0,NVIDIA H200,0,\n"
        "gemm,mm,sideward,bf16,4096,4096,4096,,,,,,,,,1,1,200,0,NVIDIA H200,0,\n"
        /* broken */
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,NaN,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,fast,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,,4096,,,,,,,,,1,1,200,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,-200,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,0,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,100,0,NVIDIA H200,0,\n"
        "gemm,mm,forward,bf16,4096,4096,4096,,,,,,,,,1,1,200,0,NVIDIA Z1,0,\n");
    /* clang-format on */
    if (!read_profile(f->file[0], &f->got, &f->err))
        fail_msg("%s", f->err.text);
    expect(f, want, COUNT(want));
    expect_skips(f, 3, 3, 1, 1, 6);
    assert_int_equal(f->got.comms, 1);
    const struct comm_sample *c = f->got.comm;
    assert_true(c->kind == COMM_ALL_REDUCE && c->ranks == 16 && c->nodes == 2 && c->per_node == 8);
    assert_true(c->bytes == 1048576 && same(c->time_s, 1e-4) && same(c->nic_bs, 50e9));
}

static void aiconfigurator_is_read(void **state)
{
    struct fixture *f = *state;
    static const struct want want[] = {
        {"L40S", 500, {FORWARD_GEMM, .m = 4096, .n = 2048, .k = 1024}},
        {"L40S",
         90,
         {FORWARD_GEMM, .dtype = DTYPE_FP8, .m = 4096, .n = 2048, .k = 1024, .kernel = 1}},
        {"H100-SXM5-80GB",
         400,
         {HEADS(4096, 64, 128, 128), .kv_share = 0.125, .causal = true,
          .kernel = ATTENTION_SERVER_KERNEL}},
        {"L40S",
         800,
         {HEADS(2048, 32, 64, 64), .kv_share = 1, .causal = true,
          .kernel = ATTENTION_FLASH2_KERNEL}},
        {"B200-SXM",
         300,
         {HEADS(4096, 32, 128, 128), .kv_share = 1, .kernel = ATTENTION_SERVER_KERNEL}},
    };
    write_file(f, "gemm_L40S.csv",
               "dtype,m,n,k,latency_us\n"
               "bf16,4096,2048,1024,500\n"
               "fp8,4096,2048,1024,90\n"
               "nvfp4,4096,2048,1024,90\n"
               "bf16,32,2048,1024,20\n"
               "bf16,4096,2048,1024,10\n"
               "bf16,-64,2048,1024,10\n");
    write_file(f, "attention_causal_fwd.csv",
               "gpu,kernel,batch,seqlen,num_heads,num_kv_heads,head_dim,latency_us\n"
               "H100-SXM5-80GB,fa3,2,4096,32,4,128,400\n"
               "L40S,fa2,1,2048,32,32,64,800\n"
               "Z1,fa2,1,2048,32,32,64,800\n");
    write_file(f, "attention_full_fwd.csv",
               "gpu,kernel,batch,seqlen,num_heads,head_dim,latency_us\n"
               "B200-SXM,fa4,1,4096,32,128,300\n"
               "B200-SXM,fa4,1,4096,32,128,nan\n");
    write_file(f, "moe_grouped_L40S.csv", "dtype,latency_us\nbf16,1\nbf16,2\n");
    write_file(f, "nccl_intranode.csv", "gpu,op,dtype,num_gpus,message_bytes,latency_us\n");
    read_all(f, read_aiconfigurator);
    expect(f, want, COUNT(want));
    expect_skips(f, 1, 1, 1, 1, 4);
}

/* The three passes of a 4096-token product with a 1536 x 5120 weight. 2 * 4096 * 1536 * 5120 =
 * 64.42 GFLOP take 64.42e9 / (0.5 * 312e12) s at half of the peak. */
static void simumax_is_read(void **state)
{
    struct fixture *f = *state;
    const double half_us = 2.0 * 4096 * 1536 * 5120 / (0.5 * 312);
    /* Every pair counted: 2 * 4096^2 * 32 * (192 + 128); causal work is half of it. */
    const double pairs_us = 2.0 * 4096 * 4096 * 32 * (192 + 128) / 312;
    const struct want want[] = {
        {"A100-PCIe-80GB", half_us * 1e-6, {FORWARD_GEMM, .m = 4096, .n = 1536, .k = 5120}},
        {"A100-PCIe-80GB", half_us * 1e-6, {DGRAD_GEMM, .m = 4096, .n = 1536, .k = 5120}},
        {"A100-PCIe-80GB", half_us * 1e-6, {WGRAD_GEMM, .m = 4096, .n = 1536, .k = 5120}},
        {"A100-PCIe-80GB",
         40 * 2.0 * 616 * 3072 * 5120 / (0.5 * 312) * 1e-6,
         {.family = FAMILY_GROUPED,
          .pass = PASS_WGRAD,
          .m = 616,
          .n = 3072,
          .k = 5120,
          .count = 40,
          .kv_share = 1}},
        {"A100-PCIe-80GB",
         pairs_us * 1e-6,
         {HEADS(4096, 32, 192, 128), .kv_share = 0.5, .causal = true,
          .kernel = ATTENTION_FLASH2_KERNEL}},
        {"B200-SXM",
         0.8216 * 2.5 * 312 / 2250 * pairs_us * 1e-6, /* its site */
         {HEADS(4096, 32, 192, 128), .kv_share = 0.5, .causal = true, .pass = PASS_BACKWARD}},
    };
    write_file(f, "gemm_train.csv",
               "gpu,pass,layout,m,n,k,batch,accumulate,out_dtype,peak_tflops,eta\n"
               "A100-PCIe-80GB,fwd,TN,4096,1536,5120,1,0,bf16,312,0.5\n"
               "A100-PCIe-80GB,dgrad,NN,4096,5120,1536,1,0,bf16,312,0.5\n"
               "A100-PCIe-80GB,wgrad,NT,1536,5120,4096,1,1,fp32,312,0.5\n"
               "A100-PCIe-80GB,wgrad,NT,1536,5120,4096,1,1,bf16,312,0.5\n"
               "A100-PCIe-80GB,fwd,TN,4096,1536,5120,2,0,bf16,312,0.5\n"
               "A100-PCIe-80GB,fwd,TN,4096,1536,5120,1,0,bf16,312,1.1\n"
               "A100-PCIe-80GB,fwd,TN,4096,1536,5120,1,0,bf16,312,\n"
               "A100-PCIe-80GB,fwd,TN,4096,1536,5120,1,0,bf16,312,-0.5\n");
    write_file(f, "grouped_gemm_train.csv",
               "gpu,stage,num_groups,M,N,K,dtype,out_dtype,peak_tflops,eta\n"
               "A100-PCIe-80GB,bwd_grad_w,40,616,3072,5120,bf16,bf16,312,0.5\n"
               "A100-PCIe-80GB,bwd_grad_w,40,616,3072,5120,fp8,bf16,312,0.5\n");
    write_file(
        f, "attention_train.csv",
        "gpu,pass,batch,seq_len,head_num,kv_head_num,qk_head_dim,v_head_dim,peak_tflops,eta\n"
        "A100-PCIe-80GB,fwd,1,4096,32,16,192,128,312,1.0\n"
        "B200-SXM,bwd,1,4096,32,16,192,128,2250,1.0\n");
    write_file(f, "comm_fit.csv", "gpu,op,efficient_factor,latency_us\n");
    read_all(f, read_simumax);
    expect(f, want, COUNT(want));
    expect_skips(f, 1, 1, 1, 0, 3);
}

static void ett_is_read(void **state)
{
    struct fixture *f = *state;
    /* 4 sequences of 1024; hidden 2048 over 2 ways; the vocabulary 50257 padded to 256 is 50432. */
    static const struct want want[] = {
        {"A100-SXM4-80GB",
         300,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 4096, .n = 3072, .k = 2048}},
        {"A100-SXM4-80GB",
         400,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 4096, .n = 2048, .k = 4096}},
        {"A100-SXM4-80GB",
         2000,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 4096, .n = 25216, .k = 2048}},
        {"A100-SXM4-80GB",
         250,
         {HEADS(1024, 32, 128, 128), .kv_share = 1, .dtype = DTYPE_FP16,
          .kernel = ATTENTION_FLASH2_KERNEL}},
        {"A100-SXM4-80GB",
         600,
         {HEADS(1024, 32, 128, 128), .kv_share = 1, .dtype = DTYPE_FP16, .pass = PASS_BACKWARD,
          .kernel = ATTENTION_FLASH2_KERNEL}},
        {"A100-SXM4-80GB", 50, {MEMORY, .kind = MEMORY_LAYER_NORM, .bytes = 4.0 * 4096 * 2048}},
        {"A100-SXM4-80GB",
         160,
         {MEMORY, .kind = MEMORY_LAYER_NORM, .pass = PASS_BACKWARD, .bytes = 6.0 * 4096 * 2048}},
        {"A100-SXM4-80GB", 60, {MEMORY, .kind = MEMORY_RESIDUAL, .bytes = 6.0 * 4096 * 2048}},
        {"GH200-96GB",
         150,
         {HEADS(1024, 32, 128, 128), .kv_share = 1, .dtype = DTYPE_FP16,
          .kernel = ATTENTION_FLASH2_KERNEL}},
        {"GH200-96GB", 70, {MEMORY, .kind = MEMORY_GELU, .bytes = 4.0 * 4096 * 4096}},
        {"GH200-96GB",
         90,
         {MEMORY, .kind = MEMORY_GELU, .pass = PASS_BACKWARD, .bytes = 6.0 * 4096 * 4096}},
        {"GH200-96GB", 80, {MEMORY, .kind = MEMORY_SOFTMAX, .bytes = 4.0 * 32 * 1024 * 1024}},
        {"GH200-96GB",
         95,
         {MEMORY, .kind = MEMORY_SOFTMAX, .pass = PASS_BACKWARD, .bytes = 6.0 * 32 * 1024 * 1024}},
    };
#define LINEAR "mp,b,l,dim,F_dur(us),B_dur(us)\n"
    write_file(f, "A100-SXM4-80GB_linear1_fp16.csv", LINEAR "2.0,4.0,1024.0,2048.0,300,700\n");
    write_file(f, "A100-SXM4-80GB_linear4_fp16.csv", LINEAR "2,4,1024,2048,400,700\n");
    write_file(f, "A100-SXM4-80GB_linear_final_fp16.csv", LINEAR "2,4,1024,2048,2000,700\n");
    write_file(f, "A100-SXM4-80GB_flash_atten_fp16.csv",
               "mp,b,h,l,dim,F_dur(us),B_dur(us)\n2,4,16,1024,2048,250,600\n");
    write_file(f, "A100-SXM4-80GB_layernorm_fp16.csv",
               "b,l,dim,F_dur(us),B_dur(us)\n4,1024,2048,50,160\n");
    write_file(f, "A100-SXM4-80GB_res_add_fp16.csv",
               "b,l,dim,F_dur(us),B_dur(us)\n4,1024,2048,60,60\n4,1024,2048,nan,60\n");
    write_file(f, "A100-SXM4-80GB_RoPE_fp16.csv", "mp,b\n1,2\n1,2\n");
    write_file(f, "GH200-96GB_flash_atten_fp16.csv",
               "mp,b,h,l,dim,F_dur(us),B_dur(us)\n2,4,16,1024,2048,150,20\n");
    write_file(f, "GH200-96GB_gelu_fp16.csv", LINEAR "2,4,1024,2048,70,90\n");
    write_file(f, "GH200-96GB_ScaledUpperTriangMaskedSoftmax_fp16.csv",
               "mp,b,h,l,F_dur(us),B_dur(us)\n1,2,16,1024,80,95\n1,2,0,1024,80,95\n");
    write_file(f, "A100-SXM4-80GB_nccl_allreduce_1x4.csv", "shape,nodes,GPUsPerNode,dur(us)\n");
#undef LINEAR
    read_all(f, read_ett);
    expect(f, want, COUNT(want));
    expect_skips(f, 1, 2, 0, 0, 3 + 2 + 2 + 1);
}

static void vidur_is_read(void **state)
{
    struct fixture *f = *state;
    static const struct want want[] = {
        {"A40", 900, {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 2048, .n = 4096, .k = 4096}},
        {"A100-SXM4-80GB", 50, {MEMORY, .kind = MEMORY_RMS_NORM, .bytes = 4.0 * 2048 * 4096}},
        {"A100-SXM4-80GB", 60, {MEMORY, .kind = MEMORY_RESIDUAL, .bytes = 6.0 * 2048 * 4096}},
        {"H100-SXM5-80GB", 40, {MEMORY, .kind = MEMORY_SWIGLU_FUSED, .bytes = 6.0 * 2048 * 5504}},
        {"H100-SXM5-80GB", 30, {MEMORY, .kind = MEMORY_GELU, .bytes = 4.0 * 2048 * 10240}},
        {"H100-SXM5-80GB", 20, {MEMORY, .kind = MEMORY_LAYER_NORM, .bytes = 4.0 * 2048 * 2560}},
    };
    write_file(f, "gemm_fwd.csv",
               "gpu,model,op,tp,m,n,k,latency_us_median\n"
               "a40,x,mlp_up_proj,1,2048,4096,4096,900\n"
               "a40,x,mlp_up_proj,1,64,4096,4096,19\n"
               "a40,x,mlp_up_proj,1,64,4096,4096,0\n"
               "b9,x,mlp_up_proj,1,2048,4096,4096,900\n");
    write_file(f, "elementwise_fwd.csv",
               "gpu,model,op,tp,num_tokens,n_embd,n_expanded_embd,gated,latency_us_median\n"
               "a100,x,input_layernorm,1,2048,4096,11008,1,50\n"
               "a100,x,add,1,2048,4096,11008,1,60\n"
               "h100,x,mlp_act,2,2048,4096,11008,1,40\n"
               "h100,phi-2,mlp_act,1,2048,2560,10240,0,30\n"
               "h100,phi-2,input_layernorm,1,2048,2560,10240,0,20\n"
               "h100,phi-2,add,1,2048,2560,10240,0,30\n"
               "a100,x,attn_rope,1,2048,4096,11008,1,50\n"
               "a100,x,emb,1,2048,4096,11008,1,50\n");
    write_file(f, "collectives.csv",
               "topology,op,num_workers,devices_per_node,size_bytes,latency_us_min\n");
    read_all(f, read_vidur);
    expect(f, want, COUNT(want));
    expect_skips(f, 0, 1, 0, 1, 4);
}

/* GPT-Neo 2.7B, hidden 2560: 50 MiB of fp16 weights in an MLP product, 25 at two ways. */
static void sailor_is_read(void **state)
{
    struct fixture *f = *state;
    static const struct want want[] = {
        {"A100-SXM4-40GB",
         402,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 2048, .n = 10240, .k = 2560}},
        {"A100-SXM4-40GB",
         425,
         {DGRAD_GEMM, .dtype = DTYPE_FP16, .m = 2048, .n = 10240, .k = 2560}},
        /* column-parallel at two ways: backward ends in an all-reduce */
        {"A100-SXM4-40GB",
         479,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 4096, .n = 5120, .k = 2560}},
        /* row-parallel: forward does */
        {"GH200-96GB", 400, {DGRAD_GEMM, .dtype = DTYPE_FP16, .m = 4096, .n = 2560, .k = 5120}},
    };
    write_file(f, "aceso_op_times.csv",
               "gpu,dtype,model,mbs,tp,algo,op,fwd_us,bwd_us,input_MB,output_MB,weights_MB\n"
               "A100-40,fp16,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,402,425,20.000,50.020,50.000\n"
               "A100-40,fp16,GPT-Neo-2.7,2,2,0,enc-MLP-GEMM-1,479,780,40.000,60.010,25.000\n"
               "GH-96,fp16,GPT-Neo-2.7,2,2,0,enc-MLP-GEMM-2,706,400,60.000,40.005,25.000\n"
               /* a weight of another size, fp32, other operators, short times */
               "A100-40,fp16,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,402,425,20.000,50.020,48.000\n"
               "A100-40,fp32,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,402,425,20.000,50.020,50.000\n"
               "A100-40,fp16,GPT-Neo-2.7,1,1,0,enc-attention-qkv,515,426,20.000,40.000,37.500\n"
               "A100-40,fp16,GPT-Neo-2.7,1,1,0,enc-attention-dense,130,131,20.000,20.005,12.500\n"
               /* clocks above the data sheet; a card that is not known; no number */
               "RTX-3090,fp16,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,1500,1500,20.000,50.020,50.000\n"
               "Z-1,fp16,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,1500,1500,20.000,50.020,50.000\n"
               "V100-16,fp16,GPT-Neo-2.7,1,1,0,enc-MLP-GEMM-1,nan,-1,20.000,50.020,50.000\n");
    write_file(f, "aceso_collectives.csv", "gpu,op,num_gpus,size_MB,time_ms\n");
    read_all(f, read_sailor);
    expect(f, want, COUNT(want));
    expect_skips(f, 1, 1, 2, 2, 1 + 1 + 2 + 2 + 2 + 2);
}

static void deepbench_is_read(void **state)
{
    struct fixture *f = *state;
    static const struct want want[] = {
        {"V100-SXM2-16GB",
         500,
         {FORWARD_GEMM, .dtype = DTYPE_FP16, .m = 7000, .n = 1760, .k = 2048}},
        {"V100-SXM2-16GB", 510, {DGRAD_GEMM, .dtype = DTYPE_FP16, .m = 7000, .n = 2048, .k = 1760}},
    };
    write_file(f, "gemm.csv",
               "gpu,precision,workload,m,n,k,transA,transB,time_us,tflops\n"
               "V100-SXM2-16GB,fp16_tc,x,1760,7000,2048,T,N,500,1\n"
               "V100-SXM2-16GB,fp16_tc,x,1760,7000,2048,N,N,510,1\n"
               "T4,fp16_tc,x,1760,7133,2048,N,T,2500,1\n"
               "T4,fp32,x,1760,7133,2048,N,T,2500,1\n"
               "T4,fp16_tc,x,1760,16,2048,N,N,25,1\n"
               "T4,fp16_tc,x,1760,7000,2048,T,T,2500,1\n"
               "T4,fp16_tc,x,1760,7000,2048,T,N,25,1\n"
               "T4,fp16_tc,x,1760,0,2048,T,N,25,1\n");
    read_all(f, read_deepbench);
    expect(f, want, COUNT(want));
    expect_skips(f, 0, 1, 1, 0, 4);
}

static void aiter_is_read(void **state)
{
    struct fixture *f = *state;
    static const struct want want[] = {
        {"MI355X", 100, {FORWARD_GEMM, .m = 4096, .n = 4096, .k = 4096}},
        {"MI300X", 150, {FORWARD_GEMM, .dtype = DTYPE_FP8, .m = 4096, .n = 4096, .k = 4096}},
        {"MI355X", 110, {FORWARD_GEMM, .dtype = DTYPE_FP8, .m = 4096, .n = 4096, .k = 4096}},
    };
    write_file(f, "gemm_tuned.csv",
               "gpu,dtype,m,n,k,latency_us,tflops,lib\n"
               "MI350X/MI355X,bf16,4096,4096,4096,100,1,asm\n"
               "MI300X/MI325X,fp8_block,4096,4096,4096,150,1,ck\n"
               "MI350X/MI355X,fp8_rowwise,4096,4096,4096,110,1,\n"
               "MI300X/MI325X,bf16,4096,4096,4096,4000,1,\n"
               "MI350X/MI355X,int8_rowwise,4096,4096,4096,110,1,ck\n"
               "MI308X,bf16,4096,4096,4096,900,1,asm\n"
               "MI350X/MI355X,bf16,4096,4096,4096,inf,1,asm\n");
    read_all(f, read_aiter);
    expect(f, want, COUNT(want));
    expect_skips(f, 1, 0, 0, 1, 2);
}

/* What is wrong with a file stands in the message, with its name. */
static void messages_name_file_and_column(void **state)
{
    struct fixture *f = *state;
    write_file(f, "gemm.csv", "gpu,precision,m,n,transA,transB,time_us\n");
    assert_false(read_deepbench(f->folder, &f->got, &f->err));
    assert_int_equal(f->err.kind, ERROR_INPUT);
    assert_non_null(strstr(f->err.text, "gemm.csv:1: no column 'k'"));

    write_file(f, "gemm_tuned.csv", "gpu,dtype\nMI308X\n");
    assert_false(read_aiter(f->folder, &f->got, &f->err));
    assert_non_null(strstr(f->err.text, "gemm_tuned.csv:2: 1 fields, the header has 2"));

    assert_false(read_vidur(f->folder, &f->got, &f->err)); /* nothing of it here */
    assert_non_null(strstr(f->err.text, f->folder));
    assert_non_null(strstr(f->err.text, "gemm_fwd.csv"));

    assert_false(read_profile("/no/such/profile.csv", &f->got, &f->err));
    assert_non_null(strstr(f->err.text, "/no/such/profile.csv"));
    assert_int_equal(f->got.ops, 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_and_bytes_of_operations),
        cmocka_unit_test(numbers_of_fields_are_whole),
        IN_FOLDER(samples_are_checked),
        IN_FOLDER(collectives_are_checked),
        IN_FOLDER(lists_grow_in_order),
        IN_FOLDER(profile_is_read),
        IN_FOLDER(aiconfigurator_is_read),
        IN_FOLDER(simumax_is_read),
        IN_FOLDER(ett_is_read),
        IN_FOLDER(vidur_is_read),
        IN_FOLDER(sailor_is_read),
        IN_FOLDER(deepbench_is_read),
        IN_FOLDER(aiter_is_read),
        IN_FOLDER(messages_name_file_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
