/* Collectives of public sources: what a reader makes of a row, and a model learned from invented
 * measurements with a known factor. */
#define _XOPEN_SOURCE 700 /* mkdtemp, P_tmpdir */
#include "base/arena.h"
#include "cluster/cluster.h"
#include "cost/comm.h"
#include "fit/fit_comm.h"
#include "fit/readers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef bool reader(const char *folder, struct samples *, struct error *);

struct fixture {
    struct arena mem;
    struct samples samples;
};

/* Reads one file of that name and text in a folder of its own. */
static void read_text(struct fixture *f, reader *read, const char *name, const char *text)
{
    char folder[] = P_tmpdir "/astra-XXXXXX", path[128];
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0 && fclose(out) == 0);
    arena_init(&f->mem);
    samples_init(&f->samples, &f->mem);
    bool ok = read(folder, &f->samples, &err);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
    if (!ok)
        print_error("%s\n", err.text);
    assert_true(ok);
}

static void release(struct fixture *f)
{
    arena_release(&f->mem);
}

static void nodes_of_a_domain_are_one(void **context)
{
    (void)context;
    struct fixture f;
    read_text(&f, read_internode, "nccl_multi_node.csv",
              "source,gpu,network,op,nodes,ranks,size_bytes,time_us,busbw_GBps,note\n"
              "a,GB200,2x NVL72 + IB,all_reduce,36,144,1000000000,4000,500,\n"
              "a,H100,IB 400Gb/GPU (inferred),alltoall,10,80,1000000000,21000,47,\n"
              "a,H200,NVLink4 NVLS off,all_reduce,1,8,1000000000,5000,350,\n"
              "a,H100,some network,all_reduce,2,16,1000000,100,1,\n"
              "a,H100,NVLink4,all_gather,1,8,1000000000,100,8750,\n");
    const struct comm_sample *c = f.samples.comm;
    assert_int_equal(f.samples.comms, 3);
    assert_int_equal(c[0].nodes, 2);
    assert_int_equal(c[0].per_node, 72);
    assert_true(c[0].in_switch && c[0].nic_bs == 50e9);
    assert_int_equal(c[1].kind, COMM_ALL_TO_ALL);
    assert_int_equal(c[1].per_node, 8);
    assert_true(!c[2].in_switch && c[2].nic_bs == 0);
    assert_int_equal(f.samples.skipped[SKIP_OTHER_KIND], 1);
    assert_int_equal(f.samples.skipped[SKIP_ABOVE_PEAK], 1);
    release(&f);
}

static void links_and_pcie(void **context)
{
    (void)context;
    struct fixture f;
    read_text(&f, read_vidur_comm, "collectives.csv",
              "topology,op,num_workers,devices_per_node,size_bytes,latency_us_min\n"
              "a100_pairwise_nvlink,all_reduce,2,2,400000000,2200\n"
              "a100_pairwise_nvlink,all_reduce,4,4,400000000,26000\n"
              "h100_dgx,send_recv,2,1,1000000,50\n"
              "a100_dgx,all_reduce,16,8,400000000,40000\n"
              "h100_dgx,all_reduce,8,8,1000,40\n");
    const struct comm_sample *c = f.samples.comm;
    assert_int_equal(f.samples.comms, 3);
    assert_true(c[0].link_bs == 300e9);
    assert_true(c[1].link_bs == 32e9);
    assert_true(c[2].nodes == 2 && c[2].nic_bs == 50e9);
    assert_int_equal(f.samples.skipped[SKIP_OTHER_KIND], 2);
    release(&f);
}

static void keys_of_json(void **context)
{
    (void)context;
    struct fixture f;
    read_text(&f, read_galvatron, "sp_time_1nodes_8gpus_per_node.json",
              "{\"allreduce_size_8_512MB_time\": 4.5, \"all2all_size_4_1024MB_time\": 4.0,\n"
              " \"allreduce_size_8_1MB_time\": 0.08, \"overlap\": 1.1}");
    const struct comm_sample *c = f.samples.comm;
    assert_int_equal(f.samples.comms, 2);
    assert_true(c[0].kind == COMM_ALL_REDUCE && c[0].ranks == 8 && c[0].bytes == 512.0 * 1048576);
    assert_true(c[1].kind == COMM_ALL_TO_ALL && c[1].ranks == 4 && c[1].time_s == 4.0e-3);
    assert_int_equal(f.samples.skipped[SKIP_OTHER_KIND], 2);
    release(&f);
}

static void missing_files(void **context)
{
    (void)context;
    struct arena mem;
    struct samples s;
    struct error err = {0};
    arena_init(&mem);
    samples_init(&s, &mem);
    assert_true(read_ett_comm("/nonexistent", &s, &err));
    assert_false(read_internode("/nonexistent", &s, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false(fit_comm(&s, 1, &(struct text){0}, NULL, &mem, &err));
    arena_release(&mem);
}

/* How the invented machine differs from the analytic one. */
static double true_factor(const struct comm_sample *c)
{
    double small = 1 / (1 + c->bytes / c->ranks / 4e6);
    return (c->nodes > 1 ? 1.3 : 1.1) + 0.8 * small;
}

static void invent(struct samples *s, int source, int kind, int nodes, int per_node)
{
    struct comm_sample c = {.kind = (enum comm_kind)kind,
                            .ranks = nodes * per_node,
                            .per_node = per_node,
                            .nodes = nodes,
                            .gpu = gpu_find("H100", NULL),
                            .link_bs = 450e9,
                            .nic_bs = nodes > 1 ? 50e9 : 0,
                            .in_switch = true};
    struct comm_call call = {.kind = c.kind,
                             .ranks = c.ranks,
                             .per_node = per_node,
                             .nodes = nodes,
                             .gpu = c.gpu,
                             .link_bs = c.link_bs,
                             .nic_bs = c.nic_bs,
                             .in_switch = true};
    s->source = source;
    for (c.bytes = 1024; c.bytes < 2e10; c.bytes *= 2) {
        struct comm_base b = comm_base_of(&call, c.bytes);
        c.time_s = (b.latency_s + b.wire_s) * true_factor(&c);
        assert_int_equal(samples_add_comm(s, &c), SKIP_NONE);
    }
}

static void invent_all(struct samples *s)
{
    for (int kind = 0; kind <= COMM_SEND; kind++)
        for (int per_node = 1; per_node <= 8; per_node *= 2) {
            if (per_node > 1)
                invent(s, SOURCE_AICONFIGURATOR, kind, 1, per_node);
            invent(s, SOURCE_INTERNODE, kind, 2, per_node);
            invent(s, SOURCE_INTERNODE, kind, 8, per_node);
            invent(s, SOURCE_INTERNODE, kind, 32, per_node);
        }
}

static void learns_a_known_factor(void **context)
{
    (void)context;
    struct arena mem;
    struct samples s;
    struct error err = {0};
    struct text model;
    static struct comm_report r;
    arena_init(&mem);
    samples_init(&s, &mem);
    invent_all(&s);
    assert_true(fit_comm(&s, 2, &model, &r, &mem, &err));
    for (int split = COMM_LEFT_SIZES; split <= COMM_LEFT_RANKS; split++) {
        struct comm_score ours = r.score[SOURCE_INTERNODE][split][COMM_BY_MODEL];
        double worst = split == COMM_LEFT_SIZES ? 0.05 : 0.15;
        assert_true(ours.rows > 1000 && ours.median < worst);
        assert_true(ours.mean < r.score[SOURCE_INTERNODE][split][COMM_BY_CONSTANT].mean);
    }
    assert_int_equal(r.folds[COMM_LEFT_SOURCE], 2);
    arena_release(&mem);
}

static void same_answers_whatever_the_threads(void **context)
{
    (void)context;
    static struct comm_report report[2];
    struct arena mem;
    struct samples s;
    struct text file[2];
    arena_init(&mem);
    samples_init(&s, &mem);
    invent_all(&s);
    for (int i = 0; i < 2; i++)
        assert_true(fit_comm(&s, 1 + 3 * i, &file[i], &report[i], &mem, NULL));
    assert_memory_equal(&report[0], &report[1], sizeof report[0]);
    assert_int_equal(file[0].length, file[1].length);
    assert_memory_equal(file[0].data, file[1].data, file[0].length);
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_domain_are_one),
        cmocka_unit_test(links_and_pcie),
        cmocka_unit_test(keys_of_json),
        cmocka_unit_test(missing_files),
        cmocka_unit_test(learns_a_known_factor),
        cmocka_unit_test(same_answers_whatever_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
