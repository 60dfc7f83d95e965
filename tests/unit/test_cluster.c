/* The cluster stage: the table of GPUs, pool strings, cluster files, prices. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/group.h"
#include "price/rent.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* The table */

static void table_is_sorted_and_positive(void **state)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    assert_true(count >= 40);
    for (size_t i = 0; i < count; i++, g++) {
        if (i > 0 && strcmp(g[-1].name, g->name) >= 0)
            fail_msg("%s stands after %s", g->name, g[-1].name);
        const double positive[] = {g->fp16_tflops, g->fp32_tflops, g->memory_gb, g->usable_gib,
                                   g->memory_gbs,  g->l2_mb,       g->sms,       g->boost_mhz,
                                   g->link_gbs,    g->domain,      g->per_node,  g->pcie_gbs,
                                   g->nic_gbit,    g->tdp_w};
        for (size_t k = 0; k < COUNT(positive); k++)
            if (!(positive[k] > 0))
                fail_msg("%s: figure %zu is %g", g->name, k, positive[k]);
        if (g->bf16_tflops < 0 || g->fp8_tflops < 0)
            fail_msg("%s: a negative figure", g->name);
        if (!*g->vendor || !*g->arch || !*g->source)
            fail_msg("%s: vendor, arch or source is missing", g->name);
    }
}

/* Marketing gigabytes are 10^9 or 2^30 bytes, and the driver keeps a part. */
static void usable_memory_is_plausible(void **state)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++, g++)
        if (g->usable_gib > g->memory_gb || g->usable_gib < 0.9 * g->memory_gb)
            fail_msg("%s: %g GiB usable of %g GB", g->name, g->usable_gib, g->memory_gb);
}

static void peaks_agree_with_each_other(void **state)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++, g++) {
        if (g->bf16_tflops > 0 && g->bf16_tflops != g->fp16_tflops)
            fail_msg("%s: bf16 and fp16 peaks differ", g->name);
        bool doubled = strcmp(g->arch, "Rubin") != 0; /* its 16-bit units are fewer */
        if (doubled && g->fp8_tflops > 0 && fabs(g->fp8_tflops / g->fp16_tflops - 2) > 0.03)
            fail_msg("%s: fp8 is %g of fp16", g->name, g->fp8_tflops / g->fp16_tflops);
    }
}

/* Every name and alias leads to its own line: then none of them stands twice. */
static void every_alias_finds_its_line(void **state)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++, g++) {
        char words[512], *next = words;
        assert_true(snprintf(words, sizeof words, "%s %s", g->name, g->aliases) <
                    (int)sizeof words);
        while (*next) {
            char *word = next;
            next += strcspn(next, " ");
            if (*next)
                *next++ = 0;
            struct error err = {0};
            if (gpu_find(word, &err) != g)
                fail_msg("%s of %s: %s", word, g->name, err.text);
        }
    }
}

static void short_names_mean_the_usual_part(void **state)
{
    static const struct {
        const char *alias, *name;
    } cases[] = {
        {"H100", "H100-SXM5-80GB"},
        {"h100-sxm", "H100-SXM5-80GB"},
        {"H100-80GB", "H100-SXM5-80GB"},
        {"H100_PCIe", "H100-PCIe-80GB"},
        {"A100", "A100-SXM4-80GB"},
        {"A100-80gb", "A100-SXM4-80GB"},
        {"A100-40GB", "A100-SXM4-40GB"},
        {"A800", "A800-SXM4-80GB"},
        {"H800", "H800-SXM5-80GB"},
        {"H20", "H20-96GB"},
        {"H200", "H200-SXM-141GB"},
        {"B200", "B200-SXM"},
        {"B300", "B300-SXM"},
        {"GB200", "GB200"},
        {"GB300", "GB300"},
        {"L40S", "L40S"},
        {"L4", "L4"},
        {"V100", "V100-SXM2-32GB"},
        {"V100-16GB", "V100-SXM2-16GB"},
        {"MI300X", "MI300X"},
        {"mi300x", "MI300X"},
        {"4090", "RTX4090"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct gpu *g = gpu_find(cases[i].alias, NULL);
        assert_non_null(g);
        assert_string_equal(g->name, cases[i].name);
    }
}

static void figures_are_those_of_the_data_sheets(void **state)
{
    (void)state;
    const struct gpu *h100 = gpu_find("H100", NULL), *h200 = gpu_find("H200", NULL);
    near(h100->bf16_tflops, 989.4);
    near(h100->pcie_gbs, 64);
    near(h100->link_gbs, 450);
    near(h200->usable_gib, 139.8);
    near(h200->memory_gbs, 4800);
    near(gpu_find("V100", NULL)->bf16_tflops, 0);
}

static void unknown_gpus_come_with_the_nearest(void **state)
{
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"H10O", "unknown GPU 'H10O' (did you mean H100?)"},
        {"H100-SXM5-80G", "unknown GPU 'H100-SXM5-80G' (did you mean H100-SXM5-80GB?)"},
        {"MI300", "unknown GPU 'MI300' (did you mean MI300X?)"},
        {"TPUv5litepod", "unknown GPU 'TPUv5litepod' (`astra gpus` lists those known)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        assert_null(gpu_find(cases[i].name, &err));
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

/* Pools */

static void pools_are_read(void **state)
{
    static const struct {
        const char *pool;
        int groups, group; /* and what this one has: */
        const char *gpu;
        int least, most, per_node, domain;
        double nic_gbit;
        int64_t max_gpus;
    } cases[] = {
        {"64x8:H100", 1, 0, "H100-SXM5-80GB", 64, 64, 8, 8, 400, 512},
        {"64X8:h100", 1, 0, "H100-SXM5-80GB", 64, 64, 8, 8, 400, 512},
        {"1..16x8:A100@50,8x8:H100", 2, 0, "A100-SXM4-80GB", 1, 16, 8, 8, 50, 192},
        {"1..16x8:A100@50,8x8:H100", 2, 1, "H100-SXM5-80GB", 8, 8, 8, 8, 400, 192},
        {" 4x8:A800 , 2x8:H100\t", 2, 1, "H100-SXM5-80GB", 2, 2, 8, 8, 400, 48},
        {"4x8:H100@12.5 ,4x8:H100", 2, 0, "H100-SXM5-80GB", 4, 4, 8, 8, 12.5, 64},
        {"2x4:H100", 1, 0, "H100-SXM5-80GB", 2, 2, 4, 4, 400, 8},
        {"2x16:H100", 1, 0, "H100-SXM5-80GB", 2, 2, 16, 8, 400, 32},
        {"1x2: RTX 4090 , 1x8:A100 80GB@50", 2, 0, "RTX4090", 1, 1, 2, 1, 12.5, 10},
        {"1x2: RTX 4090 , 1x8:A100 80GB@50", 2, 1, "A100-SXM4-80GB", 1, 1, 8, 8, 50, 10},
        {"1x4:GH200", 1, 0, "GH200-96GB", 1, 1, 4, 4, 200, 4},
        {"4x1:GH200", 1, 0, "GH200-96GB", 4, 4, 1, 1, 200, 4},
        {"18x4:GB200", 1, 0, "GB200", 18, 18, 4, 72, 400, 72},
        {"9x8:GB200", 1, 0, "GB200", 9, 9, 8, 72, 400, 72},
        {"2x5:GB200", 1, 0, "GB200", 2, 2, 5, 70, 400, 10},
        {"1x144:GB200", 1, 0, "GB200", 1, 1, 144, 72, 400, 144},
        {"4x8:H100-PCIe", 1, 0, "H100-PCIe-80GB", 4, 4, 8, 2, 100, 32},
        {"4x1:H100-PCIe", 1, 0, "H100-PCIe-80GB", 4, 4, 1, 1, 100, 4},
        {"4x8:L40S", 1, 0, "L40S", 4, 4, 8, 1, 100, 32},
        {"1000000x1024:T4", 1, 0, "T4", 1000000, 1000000, 1024, 1, 12.5, 1024000000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c;
        struct error err = {0};
        if (!cluster_from_pool(&c, cases[i].pool, &err))
            fail_msg("%s", err.text);
        const struct node_group *g = &c.group[cases[i].group];
        assert_int_equal(c.groups, cases[i].groups);
        assert_string_equal(g->gpu->name, cases[i].gpu);
        assert_int_equal(g->nodes_min, cases[i].least);
        assert_int_equal(g->nodes_max, cases[i].most);
        assert_int_equal(g->per_node, cases[i].per_node);
        assert_int_equal(g->domain, cases[i].domain);
        near(g->nic_bs, cases[i].nic_gbit * 1e9 / 8);
        near(g->link_bs, g->gpu->link_gbs * 1e9);
        near(g->usable_bytes, g->gpu->usable_gib * GIB);
        near(g->oversubscription, 1);
        near(g->host_speed, gpu_host_speed(g->gpu));
        assert_true(g->host_bytes == 0);
        assert_int_equal(cluster_max_gpus(&c), cases[i].max_gpus);
        assert_string_equal(c.text, cases[i].pool);
    }
}

static void bad_pools_are_refused(void **state)
{
    static const struct {
        const char *pool, *message;
    } cases[] = {
        {"4y8:H100",
         "pool '4y8:H100': expected x after the number of nodes, as in 64x8:H100, at column 2"},
        {"8:H100", "pool '8:H100': the form is NODESxGPUS:TYPE, write 1x8:H100, at column 1"},
        {"256xH20", "pool '256xH20': the form is NODESxGPUS:TYPE, write 32x8:H20, at column 1"},
        {"4x8:H100, A100:4",
         "pool '4x8:H100, A100:4': the form is NODESxGPUS:TYPE, write 1x4:A100, at column 11"},
        {"2x4090", "pool '2x4090': the form is NODESxGPUS:TYPE, write 1x2:4090, at column 1"},
        {"20xH100", "pool '20xH100': expected the number of GPUs per node, as in 64x8:H100, at "
                    "column 4"},
        {"4x8:H100+2x8:A100",
         "pool '4x8:H100+2x8:A100': expected a comma or the end of the pool, at column 9"},
        {"", "pool '': empty, write NODESxGPUS:TYPE as in 64x8:H100"},
        {"  ", "pool '  ': empty, write NODESxGPUS:TYPE as in 64x8:H100"},
        {"H100", "pool 'H100': the form is NODESxGPUS:TYPE, write 1x8:H100, at column 1"},
        {"-4x8:H100",
         "pool '-4x8:H100': expected the number of nodes, as in 64x8:H100, at column 1"},
        {"0x8:H100",
         "pool '0x8:H100': the number of nodes is 0, expected 1 to 1000000, at column 1"},
        {"1000001x8:H100", "pool '1000001x8:H100': the number of nodes is 1000001, expected 1 to "
                           "1000000, at column 1"},
        {"99999999999999999999999x8:H100",
         "pool '99999999999999999999999x8:H100': the number of nodes is 99999999999999999999, "
         "expected 1 to 1000000, at column 1"},
        {"1..x8:H100", "pool '1..x8:H100': expected the largest number of nodes, as in 64x8:H100, "
                       "at column 4"},
        {"1...4x8:H100", "pool '1...4x8:H100': expected the largest number of nodes, as in "
                         "64x8:H100, at column 4"},
        {"8..4x8:H100", "pool '8..4x8:H100': the range 8..4 ends before it begins, at column 1"},
        {"4x:H100",
         "pool '4x:H100': expected the number of GPUs per node, as in 64x8:H100, at column 3"},
        {"4x0:H100",
         "pool '4x0:H100': the number of GPUs per node is 0, expected 1 to 1024, at column 3"},
        {"4x1025:H100",
         "pool '4x1025:H100': the number of GPUs per node is 1025, expected 1 to 1024, "
         "at column 3"},
        {"4x8",
         "pool '4x8': expected : after the number of GPUs per node, as in 64x8:H100, at column 4"},
        {"4x8:", "pool '4x8:': expected a GPU type, at column 5"},
        {"4x8:@50", "pool '4x8:@50': expected a GPU type, at column 5"},
        {"4x8:H10O", "pool '4x8:H10O': unknown GPU 'H10O' (did you mean H100?); how to describe "
                     "one of your own: astra help gpu, at column 5"},
        {"4x8:H100,",
         "pool '4x8:H100,': expected the number of nodes, as in 64x8:H100, at column 10"},
        {"4x8:H100,,2x8:A100",
         "pool '4x8:H100,,2x8:A100': expected the number of nodes, as in 64x8:H100, at column 10"},
        {"4x8:H100 2x8:A100",
         "pool '4x8:H100 2x8:A100': expected a comma or the end of the pool, at column 10"},
        {"4 x8:H100",
         "pool '4 x8:H100': expected x after the number of nodes, as in 64x8:H100, at column 2"},
        {"4x8:H100@", "pool '4x8:H100@': the NIC speed is '', Gbit/s per GPU from 0.001 to 1000000 "
                      "is right, at column 10"},
        {"4x8:H100@-5", "pool '4x8:H100@-5': the NIC speed is '-5', Gbit/s per GPU from 0.001 to "
                        "1000000 is right, at column 10"},
        {"4x8:H100@1e300", "pool '4x8:H100@1e300': the NIC speed is '1e300', Gbit/s per GPU from "
                           "0.001 to 1000000 is right, at column 10"},
        {"4x8:H100@50@50",
         "pool '4x8:H100@50@50': expected a comma or the end of the pool, at column 12"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c;
        struct error err = {0};
        if (cluster_from_pool(&c, cases[i].pool, &err))
            fail_msg("%s was accepted", cases[i].pool);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

static void sixteen_groups_are_the_most(void **state)
{
    struct str pool;
    struct cluster c;
    struct error err = {0};
    (void)state;
    str_init(&pool);
    for (int i = 0; i < CLUSTER_MAX_GROUPS; i++)
        str_addf(&pool, "%s1..1000000x1024:RTX-PRO-6000-Server", i ? "," : "");
    assert_true(cluster_from_pool(&c, str_text(&pool), &err));
    assert_int_equal(c.groups, CLUSTER_MAX_GROUPS);
    assert_int_equal(cluster_max_gpus(&c), INT64_C(32768000000));
    assert_int_equal(strlen(c.text), sizeof c.text - 1); /* cut */
    assert_string_equal(c.text + sizeof c.text - 4, "...");
    str_add(&pool, ",1x8:H100");
    assert_false(cluster_from_pool(&c, str_text(&pool), &err));
    assert_non_null(strstr(err.text, "...': more than 32 groups, at column "));
    str_release(&pool);
}

/* Files */

static bool load_text(struct cluster *c, const char *text, struct error *err)
{
    struct arena mem;
    arena_init(&mem);
    bool ok = cluster_from_yaml(c, text, strlen(text), "c.yaml", &mem, err);
    arena_release(&mem);
    return ok;
}

static void a_file_says_what_a_pool_cannot(void **state)
{
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct cluster c;
    struct error err = {0};
    (void)state;
    if (!load_text(&c,
                   "groups:\n"
                   "  - gpu: a100\n"
                   "    nodes: 1..64\n"
                   "    nic_gbit: 100\n"
                   "    nics_per_node: 4\n"
                   "    scaleup_domain: 4\n"
                   "    scaleup_gbs: 250.5\n"
                   "    oversubscription: 1.5\n"
                   "    usable_gib: 70\n"
                   "    host_speed: 0.8\n"
                   "    host_gib: 1007.5\n"
                   "    price: 1.25\n"
                   "    mtbf_h: 50000\n"
                   "    interruptions_per_h: 0.03\n"
                   "  - {gpu: GB200, nodes: \"2\", gpus_per_node: 2}\n",
                   &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.groups, 2);
    const struct node_group *g = &c.group[0];
    assert_string_equal(g->gpu->name, "A100-SXM4-80GB");
    assert_int_equal(g->nodes_min, 1);
    assert_int_equal(g->nodes_max, 64);
    assert_int_equal(g->per_node, 8);
    assert_int_equal(g->domain, 4);
    near(g->nic_bs, 50e9 / 8);
    near(g->link_bs, 250.5e9);
    near(g->oversubscription, 1.5);
    near(g->usable_bytes, 70 * GIB);
    near(g->host_speed, 0.8);
    near(g->host_bytes, 1007.5 * GIB);
    near(c.said[0].price, 1.25);
    near(c.said[0].mtbf_h, 50000);
    near(c.said[0].interruptions_per_h, 0.03);
    rents_init(rent, &c, "c.yaml");
    near(rent[0].usd_per_hour, 1.25);
    near(rent[0].outages_per_h, 8 / 50000.0 + 0.03);
    assert_string_equal(rent[0].from, "c.yaml");
    g = &c.group[1];
    assert_true(rent[1].outages_per_h == 0 && !rent[1].given);
    assert_int_equal(g->nodes_min, 2);
    assert_int_equal(g->per_node, 2);
    assert_int_equal(g->domain, 72);
    near(g->nic_bs, 400e9 / 8);
    assert_string_equal(c.text, "c.yaml");
    assert_int_equal(cluster_max_gpus(&c), 64 * 8 + 2 * 2);
}

/* The same cluster, written both ways, is the same. */
static void files_and_pools_agree(void **state)
{
    struct cluster file, pool;
    (void)state;
    assert_true(
        load_text(&file, "groups: [{gpu: H100, nodes: 4}, {gpu: L40S, nodes: 1..2}]", NULL));
    assert_true(cluster_from_pool(&pool, "4x8:H100,1..2x8:L40S", NULL));
    for (int i = 0; i < 2; i++) {
        const struct node_group *a = &file.group[i], *b = &pool.group[i];
        assert_ptr_equal(a->gpu, b->gpu);
        assert_int_equal(a->nodes_min, b->nodes_min);
        assert_int_equal(a->nodes_max, b->nodes_max);
        assert_int_equal(a->per_node, b->per_node);
        assert_int_equal(a->domain, b->domain);
        near(a->link_bs, b->link_bs);
        near(a->nic_bs, b->nic_bs);
        near(a->usable_bytes, b->usable_bytes);
        near(file.said[i].price, pool.said[i].price);
        assert_int_equal(a->index, i);
        assert_int_equal(b->index, i);
    }
}

#define GROUP "groups:\n  - gpu: H100\n    nodes: 4\n"

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "c.yaml:1:1: nothing in it"},
        {"# only a comment\n", "c.yaml:2:1: nothing in it"},
        {"4x8:H100", "c.yaml:1:1: a cluster file is a map with the key groups"},
        {"{}", "c.yaml:1:1: this file lacks the key groups"},
        {"group: []", "c.yaml:1:1: unknown key 'group' (did you mean groups?)"},
        {"links: []", "c.yaml:1:1: this file lacks the key groups"},
        {"colours: []", "c.yaml:1:1: unknown key 'colours'; known are groups, links"},
        {GROUP "links: 4\n", "c.yaml:4:8: links is no list of links, each with a dash"},
        {GROUP "links: [{between: [1, 1], nic_gbit: 4}]\n",
         "c.yaml:4:23: this link is between group 1 and itself, two groups are right"},
        {GROUP "links: [{between: [1, [2]], nic_gbit: 4}]\n",
         "c.yaml:4:23: a group of between is a list, one value is expected"},
        {"groups:", "c.yaml:1:8: groups is no list of groups, each with a dash"},
        {"groups: []", "c.yaml:1:9: groups is no list of groups, each with a dash"},
        {"groups: 4x8:H100", "c.yaml:1:9: groups is no list of groups, each with a dash"},
        {"groups:\n  - 4x8:H100\n",
         "c.yaml:2:5: a group is a map with the keys gpu and nodes, as in "
         "{gpu: H100, nodes: 4}"},
        {"groups: [{nodes: 4}]", "c.yaml:1:10: this group lacks the key gpu"},
        {"groups: [{gpu: H100}]", "c.yaml:1:10: this group lacks the key nodes"},
        {"groups: [{}]", "c.yaml:1:10: this group lacks the key gpu"},
        {"groups:\n  - gpu: H10O\n    nodes: 4\n",
         "c.yaml:2:10: unknown GPU 'H10O' (did you mean H100?); one of your own needs like: H100 "
         "and what differs"},
        {"groups:\n  - gpu:\n    nodes: 4\n",
         "c.yaml:2:9: gpu is empty, a GPU type as in H100 is right"},
        {"groups:\n  - gpu: H100\n    nodes: 0\n",
         "c.yaml:3:12: nodes is '0': the number of nodes is 0, expected 1 to 1000000"},
        {"groups:\n  - gpu: H100\n    nodes: 9..2\n",
         "c.yaml:3:12: nodes is '9..2': the range 9..2 ends before it begins"},
        {"groups:\n  - gpu: H100\n    nodes: 4.5\n",
         "c.yaml:3:12: nodes is '4.5', a number or a range as in 1..64 is right"},
        {"groups:\n  - gpu: H100\n    nodes: [4]\n",
         "c.yaml:3:12: nodes is a list, one value is expected"},
        {"groups:\n  - gpu: {a: b}\n    nodes: 4\n",
         "c.yaml:2:10: gpu is a map, one value is expected"},
        {GROUP "    nic_gbits: 4\n",
         "c.yaml:4:5: unknown key 'nic_gbits' (did you mean nic_gbit?)"},
        {GROUP "    colour: red\n",
         "c.yaml:4:5: unknown key 'colour'; known are gpu, nodes, gpus_per_node, gpus, nic_gbit, "
         "nics_per_node, scaleup_domain, segment, scaleup_gbs, oversubscription, usable_gib, "
         "host_speed, host_gib, price, "
         "mtbf_h, interruptions_per_h, like, bf16_tflops, fp8_tflops, fp32_tflops, memory_gbs, "
         "l2_mb, pcie_gbs, watts"},
        {GROUP "    gpus_per_node: 4.5\n",
         "c.yaml:4:20: gpus_per_node is '4.5', a whole number from 1 to 1024 is right"},
        {GROUP "    gpus_per_node: 0\n",
         "c.yaml:4:20: gpus_per_node is '0', a whole number from 1 to 1024 is right"},
        {GROUP "    nic_gbit: fast\n",
         "c.yaml:4:15: nic_gbit is 'fast', a number from 0.001 to 1000000 is right"},
        {GROUP "    nic_gbit: .inf\n",
         "c.yaml:4:15: nic_gbit is '.inf', a number from 0.001 to 1000000 is right"},
        {GROUP "    oversubscription: 0.5\n",
         "c.yaml:4:23: oversubscription is '0.5', a number from 1 to 1000 is right"},
        {GROUP "    usable_gib: 85899345920\n",
         "c.yaml:4:17: usable_gib is '85899345920', a number from 1 to 4096 is right"},
        {GROUP "    price: 0\n", "c.yaml:4:12: price is '0', a number from 0.01 to 1000 is right"},
        {GROUP "    price:\n", "c.yaml:4:11: price is '', a number from 0.01 to 1000 is right"},
        {GROUP "    mtbf_h: 0\n",
         "c.yaml:4:13: mtbf_h is '0', a number from 1 to 1000000000 is right"},
        {GROUP "    mtbf_h: 50000h\n",
         "c.yaml:4:13: mtbf_h is '50000h', a number from 1 to 1000000000 is right"},
        {GROUP "    interruptions_per_h: -1\n",
         "c.yaml:4:26: interruptions_per_h is '-1', a number from 1e-06 to 60 is right"},
        {GROUP "    interruptions_per_h: 61\n",
         "c.yaml:4:26: interruptions_per_h is '61', a number from 1e-06 to 60 is right"},
        {GROUP "    scaleup_domain: 12\n",
         "c.yaml:4:21: scaleup_domain is 12, more than a node's 8 "
         "GPUs but no multiple of them"},
        {GROUP "    segment: 2\n", "c.yaml:4:14: segment is 2, a scale-up domain has 1 node"},
        {GROUP "    gpu: A100\n", "c.yaml:4:5: the key 'gpu' stands here twice"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c;
        struct error err = {0};
        if (load_text(&c, cases[i].text, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

/* However a good file is cut off, it is a good file or a clear error, never a crash. */
static void truncated_files_do_no_harm(void **state)
{
    static const char text[] = "groups: [{gpu: \"H100\", nodes: 1..4, price: 2.5}, "
                               "{gpu: 'L40S', nodes: 2}]\n";
    (void)state;
    for (size_t length = 0; length < sizeof text - 2; length++) {
        struct cluster c;
        struct error err = {0};
        struct arena mem;
        arena_init(&mem);
        assert_false(cluster_from_yaml(&c, text, length, "cut", &mem, &err));
        assert_memory_equal(err.text, "cut:", 4);
        arena_release(&mem);
    }
}

static void too_many_groups_in_a_file(void **state)
{
    struct str text;
    struct cluster c;
    struct error err = {0};
    (void)state;
    str_init(&text);
    str_add(&text, "groups:\n");
    for (int i = 0; i < 33; i++)
        str_add(&text, "  - {gpu: H100, nodes: 1}\n");
    assert_false(load_text(&c, str_text(&text), &err));
    assert_string_equal(err.text, "c.yaml:34:5: more than 32 groups");
    str_release(&text);
}

static void examples_load(void **state)
{
    static const struct {
        const char *path;
        int groups;
        int64_t max_gpus;
    } cases[] = {
        {"data/clusters/h100-dgx.yaml", 1, 128},
        {"data/clusters/mixed.yaml", 2, 192},
        {"data/clusters/rent.yaml", 3, 128 * 8 + 144 * 4 + 32 * 8},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c;
        struct error err = {0};
        struct arena mem;
        arena_init(&mem);
        if (!cluster_load(&c, cases[i].path, &mem, &err))
            fail_msg("%s", err.text);
        assert_int_equal(c.groups, cases[i].groups);
        assert_int_equal(cluster_max_gpus(&c), cases[i].max_gpus);
        assert_string_equal(c.text, cases[i].path);
        arena_release(&mem);
    }
}

static void load_tells_files_from_pools(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"4x8:H100", NULL},
        {"nowhere.yaml", "nowhere.yaml: No such file or directory"},
        {"nowhere.yml", "nowhere.yml: No such file or directory"},
        {"no/where", "no/where: No such file or directory"},
        {"data", "data: is a folder, a file was expected"},
        {"nowhere", "pool 'nowhere': expected the number of nodes, as in 64x8:H100, at column 1"},
        {"Makefile", "Makefile:"}, /* a file, though no cluster file */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cluster c;
        struct error err = {0};
        struct arena mem;
        arena_init(&mem);
        bool ok = cluster_load(&c, cases[i].text, &mem, &err);
        assert_int_equal(ok, cases[i].message == NULL);
        if (!ok)
            assert_memory_equal(err.text, cases[i].message, strlen(cases[i].message));
        arena_release(&mem);
    }
}

static void links_join_groups(void **state)
{
    struct cluster c;
    struct error err = {0};
    (void)state;
    if (!load_text(
            &c,
            "links: [{between: [3, 1], nic_gbit: 50}, {between: [1, 2], nic_gbit: 0.5}]\n"
            "groups: [{gpu: A100, nodes: 2}, {gpu: H100, nodes: 2}, {gpu: H100, nodes: 1}]\n",
            &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.links, 2);
    assert_true(cluster_between(&c, &c.group[0], &c.group[2]) == 50e9 / 8);
    assert_true(cluster_between(&c, &c.group[1], &c.group[0]) == 0.5e9 / 8);
    assert_true(cluster_between(&c, &c.group[1], &c.group[2]) == 0);
}

/* The schema lists exactly the keys that the reader knows. */
static void schema_has_the_keys_of_the_reader(void **state)
{
    struct arena mem;
    struct text file;
    struct error err = {0};
    size_t count;
    (void)state;
    arena_init(&mem);
    if (!file_read("data/schema/cluster.schema.json", &mem, &file, &err))
        fail_msg("%s", err.text);
    struct json *schema = json_parse(file.data, file.length, "schema", &err);
    assert_non_null(schema);
    const struct json *at = schema;
    static const char *const path[] = {"properties", "groups", "items", "properties"};
    for (size_t i = 0; i < COUNT(path); i++)
        at = json_get(at, path[i]);
    const char *const *keys = cluster_file_keys(&count);
    assert_int_equal(json_count(at), count);
    for (size_t i = 0; i < count; i++)
        if (!json_is_object(json_get(at, keys[i])))
            fail_msg("the schema lacks %s", keys[i]);
    json_release(schema);
    arena_release(&mem);
}

static void a_gpu_of_ones_own(void **state)
{
    static const char file[] = "groups:\n  - {gpu: X1, like: H100, nodes: 2, bf16_tflops: 1978.8, "
                               "usable_gib: 90, watts: 900, price: 3}\n";
    struct arena mem = {0}; /* where the GPU lives */
    struct cluster c;
    struct error err = {0};
    (void)state;
    if (!cluster_from_yaml(&c, file, strlen(file), "c.yaml", &mem, &err))
        fail_msg("%s", err.text);
    const struct gpu *own = c.group[0].gpu, *like = gpu_find("H100", NULL);
    assert_string_equal(own->name, "X1");
    assert_string_equal(own->like, like->name);
    near(own->bf16_tflops, 1978.8);
    near(own->fp8_tflops, like->fp8_tflops * 1978.8 / like->bf16_tflops); /* follows it */
    near(own->memory_gbs, like->memory_gbs);
    near(own->tdp_w, 900);
    near(c.group[0].usable_bytes, 90 * GIB);
    near(c.said[0].price, 3);
    arena_release(&mem);
    static const char *const wrong[][2] = {
        {"{gpu: H100, like: A100, nodes: 1}",
         "c.yaml:2:11: gpu is 'H100', which is known: a GPU of your own (like) needs another name"},
        {"{gpu: X1, like: A1000, nodes: 1}",
         "c.yaml:2:21: unknown GPU 'A1000' (did you mean A100?)"},
        {"{gpu: H100, watts: 1000, nodes: 1}",
         "c.yaml:2:11: watts is a figure of a GPU of your own: give it a name and add like: H100"},
        {"{gpu: 'my gpu', like: A100, nodes: 1}",
         "c.yaml:2:11: gpu is 'my gpu', letters, digits, dots and dashes are right"}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[256];
        snprintf(text, sizeof text, "groups:\n  - %s\n", wrong[i][0]);
        assert_false(load_text(&c, text, &err));
        assert_string_equal(err.text, wrong[i][1]);
    }
}

/* Prices */

static void prices_can_be_set(void **state)
{
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct cluster c;
    struct error err = {0};
    (void)state;
    assert_true(cluster_from_pool(&c, "4x8:H100,2x8:A100,1x4:H100", NULL));
    rents_init(rent, &c, "");
    double a100 = rent[1].usd_per_hour;
    if (!rents_give(rent, &c, "h100-sxm=2.5", NULL, &err))
        fail_msg("%s", err.text);
    near(rent[0].usd_per_hour, 2.5);
    near(rent[1].usd_per_hour, a100);
    near(rent[2].usd_per_hour, 2.5);
}

static void bad_prices_are_refused(void **state)
{
    static const struct {
        const char *price, *message;
    } cases[] = {
        {"H100", "price 'H100': write TYPE=USD per GPU-hour, as in H100=2.5"},
        {"=2.5", "price '=2.5': write TYPE=USD per GPU-hour, as in H100=2.5"},
        {"H100=", "price 'H100=': '' is no amount of money, as in 2.5, $2.5, 20K or 2.5 EUR"},
        {"H100=0", "price 'H100=0': '0' is no price, USD per GPU-hour from 0.01 to 1000 is right"},
        {"H100=-2",
         "price 'H100=-2': '-2' is no price, USD per GPU-hour from 0.01 to 1000 is right"},
        {"H100=2K",
         "price 'H100=2K': '2K' is no price, USD per GPU-hour from 0.01 to 1000 is right"},
        {"H100=2.5EUR", "price 'H100=2.5EUR': amounts are in USD and no rate is known for EUR: "
                        "give one with --rate EUR=USD"},
        {"H10O=2", "price 'H10O=2': unknown GPU 'H10O' (did you mean H100?)"},
        {"L40S=2", "price 'L40S=2': the cluster 4x8:H100 has no L40S"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rent rent[CLUSTER_MAX_GROUPS];
        struct cluster c;
        struct error err = {0};
        assert_true(cluster_from_pool(&c, "4x8:H100", NULL));
        rents_init(rent, &c, "");
        double before = rent[0].usd_per_hour;
        if (rents_give(rent, &c, cases[i].price, NULL, &err))
            fail_msg("accepted: %s", cases[i].price);
        assert_string_equal(err.text, cases[i].message);
        near(rent[0].usd_per_hour, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sorted_and_positive),
        cmocka_unit_test(usable_memory_is_plausible),
        cmocka_unit_test(peaks_agree_with_each_other),
        cmocka_unit_test(every_alias_finds_its_line),
        cmocka_unit_test(short_names_mean_the_usual_part),
        cmocka_unit_test(figures_are_those_of_the_data_sheets),
        cmocka_unit_test(unknown_gpus_come_with_the_nearest),
        cmocka_unit_test(pools_are_read),
        cmocka_unit_test(bad_pools_are_refused),
        cmocka_unit_test(sixteen_groups_are_the_most),
        cmocka_unit_test(a_file_says_what_a_pool_cannot),
        cmocka_unit_test(files_and_pools_agree),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(truncated_files_do_no_harm),
        cmocka_unit_test(too_many_groups_in_a_file),
        cmocka_unit_test(examples_load),
        cmocka_unit_test(load_tells_files_from_pools),
        cmocka_unit_test(links_join_groups),
        cmocka_unit_test(schema_has_the_keys_of_the_reader),
        cmocka_unit_test(a_gpu_of_ones_own),
        cmocka_unit_test(prices_can_be_set),
        cmocka_unit_test(bad_prices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
