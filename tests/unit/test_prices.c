/* Prices: the two formats, corrections, and the rule that makes one price of many offers. */
#include "price/prices.h"
#include "price/rent.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-12 * fabs(want))
        fail_msg("%.17g, expected %.17g", got, want);
}

/* Lists of prices from a text, "" as the cloud for Astra's own format. */
struct bench {
    struct arena mem;
    struct price_list list;
    struct rates rates;
    struct price_overrides overrides;
};

static void begin(struct bench *b)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->mem);
    prices_init(&b->list, &b->mem);
}

static bool read_text(struct bench *b, const char *cloud, const char *text, struct error *err)
{
    struct price_reading how = {&b->rates, &b->overrides};
    struct csv csv;
    b->list.name[b->list.tables++] = "t.csv";
    if (!csv_parse(&csv, text, strlen(text), "t.csv", &b->mem, err))
        return false;
    return *cloud ? prices_read_catalog(&b->list, &csv, "t.csv", cloud, &how, err)
                  : prices_read_own(&b->list, &csv, "t.csv", &how, err);
}

static void must_read(struct bench *b, const char *cloud, const char *text)
{
    struct error err = {0};
    must(read_text(b, cloud, text, &err), &err);
}

static void end(struct bench *b)
{
    arena_release(&b->mem);
}

/* Astra's own table */

/* The usual price of every GPU, worked out apart from the price lists of 2025-06 to 2026-09: the
 * median over providers of 8-GPU instances, of the largest where nobody rents 8. */
static void usual_prices_are_those_of_the_table(void **state)
{
    static const struct {
        const char *gpu;
        double usd;
    } cases[] = {
        {"A10", 2},
        {"A100-PCIe-40GB", 1.99},
        {"A100-PCIe-80GB", 1.39},
        {"A100-SXM4-40GB", 3.05},
        {"A100-SXM4-80GB", 3.4309},
        {"A10G", 2.036},
        {"A40", 0.44},
        {"B200-SXM", 7.875},
        {"B300-SXM", 12.826},
        {"GB200", 10.5}, /* of 4-GPU instances */
        {"GH200-96GB", 4.395},
        {"H100-NVL-94GB", 3.19},
        {"H100-PCIe-80GB", 2.89},
        {"H100-SXM5-80GB", (6.155 + 6.88) / 2}, /* eight providers: the middle two */
        {"H200-SXM-141GB", 6.305},
        {"L4", 1.0004},
        {"L40", 1.035},
        {"L40S", 2.25},
        {"MI300X", 2.39},
        {"RTX-A6000", 0.53},
        {"RTX-PRO-6000-Server", 2.5},
        {"RTX3090", 0.5},
        {"RTX4090", 0.74},
        {"RTX5090", 0.99},
        {"RTX6000-Ada", 0.84},
        {"T4", 0.978}, /* of 4-GPU instances */
        {"V100-PCIe-16GB", 3.365},
        {"V100-SXM2-16GB", 2.95},
        {"V100-SXM2-32GB", (2.754 + 3.9015) / 2},
    };
    size_t count, found = 0;
    const struct gpu *g = gpu_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        double want = 0;
        for (size_t k = 0; k < COUNT(cases); k++)
            if (strcmp(cases[k].gpu, g[i].name) == 0)
                want = cases[k].usd, found++;
        double got = gpu_usual_price(&g[i]);
        if (fabs(got - want) > 1e-12)
            fail_msg("%s: %.6f, expected %.6f", g[i].name, got, want);
    }
    assert_int_equal(found, COUNT(cases));
}

static void every_row_has_a_date_and_a_source(void **state)
{
    struct bench b;
    (void)state;
    begin(&b);
    prices_add_built_in(&b.list);
    assert_true(b.list.rows > 200);
    for (int i = 0; i < b.list.rows; i++) {
        const struct price *p = &b.list.row[i];
        if (strlen(p->date) != 10 || !*p->source || !*p->instance)
            fail_msg("row %d of %s lacks a date or a source", i, p->gpu->name);
        for (int k = 0; k < i; k++)
            if (p->gpu == b.list.row[k].gpu && p->market == b.list.row[k].market &&
                strcmp(p->provider, b.list.row[k].provider) == 0 &&
                strcmp(p->instance, b.list.row[k].instance) == 0)
                fail_msg("%s of %s is listed twice", p->instance, p->provider);
    }
    end(&b);
}

#define OWN "provider,region,gpu,instance,gpus,market,usd_per_gpu_hour,date,source\n"

static void own_files_are_read(void **state)
{
    struct bench b;
    struct error err = {0};
    (void)state;
    begin(&b);
    must(rates_add(&b.rates, "EUR=1.1", &err), &err);
    must_read(&b, "",
              "\xEF\xBB\xBF" /* columns in another order, one more, CRLF, quotes */
              "gpu,market,usd_per_gpu_hour,gpus,provider,colour,currency,region\r\n"
              "h100,on-demand,2.5,8,\"Cloud, Inc.\",red,,eu\r\n"
              "A100,On_Demand,3,4,other,blue,EUR,\r\n"
              "A100,spot,1,8,other,,usd,\r\n");
    assert_int_equal(b.list.rows, 3);
    const struct price *p = b.list.row;
    assert_string_equal(p[0].gpu->name, "H100-SXM5-80GB");
    assert_string_equal(p[0].provider, "Cloud, Inc.");
    assert_string_equal(p[0].region, "eu");
    assert_string_equal(p[0].instance, "");
    assert_int_equal(p[0].gpus, 8);
    near(p[0].usd, 2.5);
    near(p[1].usd, 3.3);
    assert_int_equal(p[1].market, MARKET_ON_DEMAND);
    assert_int_equal(p[2].market, MARKET_SPOT);
    near(p[2].usd, 1);
    end(&b);
}

static void bad_own_files_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv: is empty, a header line was expected"},
        {OWN, "t.csv: there is no price in it"},
        {OWN "aws,,H100,p5,8,on-demand\n", "t.csv:2: 6 fields, the header has 9"},
        {OWN "aws,,H10O,p5,8,on-demand,2,,\n", "t.csv:2: unknown GPU 'H10O' (did you mean H100?)"},
        {OWN "\n,,H100,p5,8,on-demand,2,,\n", "t.csv:3: the provider is empty"},
        {OWN "aws,,H100,p5,0,on-demand,2,,\n",
         "t.csv:2: gpus is '0', GPUs of an instance from 1 to 1024 are right"},
        {OWN "aws,,H100,p5,8.5,on-demand,2,,\n",
         "t.csv:2: gpus is '8.5', GPUs of an instance from 1 to 1024 are right"},
        {OWN "aws,,H100,p5,8,sopt,2,,\n",
         "t.csv:2: market is 'sopt', on-demand, spot or reserved is right (did you mean spot?)"},
        {OWN "aws,,H100,p5,8,spot,-2,,\n",
         "t.csv:2: usd_per_gpu_hour is '-2', USD per GPU-hour from 0.01 to 1000 is right"},
        {OWN "aws,,H100,p5,8,spot,0.009,,\n",
         "t.csv:2: usd_per_gpu_hour is '0.009', USD per GPU-hour from 0.01 to 1000 is right"},
        {OWN "aws,,H100,p5,8,spot,1000.5,,\n",
         "t.csv:2: usd_per_gpu_hour is '1000.5', USD per GPU-hour from 0.01 to 1000 is right"},
        {OWN "aws,,H100,p5,8,spot,nan,,\n",
         "t.csv:2: usd_per_gpu_hour is 'nan', USD per GPU-hour from 0.01 to 1000 is right"},
        {OWN "aws,,H100,p5,8,spot,,,\n",
         "t.csv:2: usd_per_gpu_hour is '', USD per GPU-hour from 0.01 to 1000 is right"},
        {"provider,gpu,gpus,market,price\naws,H100,8,spot,2\n",
         "t.csv:1: the header lacks the column usd_per_gpu_hour; a table of prices has provider, "
         "gpu, gpus, market and usd_per_gpu_hour, a catalog of SkyPilot InstanceType and "
         "AcceleratorName"},
        {"provider,gpu,gpus,market,usd_per_gpu_hour,currency\naws,H100,8,spot,2,EUR\n",
         "t.csv:2: amounts are in USD and no rate is known for EUR: give one with --rate EUR=USD"},
        {"provider,gpu,gpus,market,usd_per_gpu_hour,currency\naws,H100,8,spot,2,euro\n",
         "t.csv:2: 'euro' is no currency, three letters as in EUR are right"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        struct error err = {0};
        begin(&b);
        if (read_text(&b, "", cases[i].text, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].message);
        end(&b);
    }
}

/* Catalogs */

static const struct price *offer(const struct bench *b, const char *instance, const char *region,
                                 enum market m)
{
    const struct price *found = NULL;
    for (int i = 0; i < b->list.rows; i++) {
        const struct price *p = &b->list.row[i];
        if (strcmp(p->instance, instance) == 0 && strcmp(p->region, region) == 0 &&
            p->market == m) {
            assert_null(found);
            found = p;
        }
    }
    return found;
}

static void offers(const struct bench *b, const char *instance, const char *region, enum market m,
                   const char *gpu, int gpus, double usd)
{
    const struct price *p = offer(b, instance, region, m);
    if (!p)
        fail_msg("no %s of %s", market_name(m), instance);
    assert_string_equal(p->gpu->name, gpu);
    assert_int_equal(p->gpus, gpus);
    near(p->usd, usd);
}

static void names_lead_to_gpus(void **state)
{
    static const struct {
        const char *cloud, *accelerator, *instance, *gpu;
    } cases[] = {
        {"aws", "A100-80GB", "p4de.24xlarge", "A100-SXM4-80GB"},
        {"azure", "A100-80GB", "Standard_NC24ads_A100_v4", "A100-PCIe-80GB"},
        {"azure", "A100-80GB", "Standard_ND96amsr_A100_v4", "A100-SXM4-80GB"},
        {"azure", "H100", "Standard_NC40ads_H100_v5", "H100-NVL-94GB"},
        {"runpod", "H100", "8x_H100_SECURE", "H100-PCIe-80GB"},
        {"runpod", "H100-SXM", "8x_H100-SXM_SECURE", "H100-SXM5-80GB"},
        {"lambda", "A100", "gpu_1x_a100", "A100-PCIe-40GB"},
        {"lambda", "A100", "gpu_8x_a100", "A100-SXM4-40GB"},
        {"nebius", "RTX6000", "gpu-rtx6000_8gpu", "RTX-PRO-6000-Server"},
        {"lambda", "RTX6000", "gpu_1x_rtx6000", NULL}, /* a Quadro */
        {"newcloud", "L40S", "x", "L40S"},
        {"newcloud", "H100", "x", NULL}, /* SXM or PCIe */
        {"aws", "Trainium", "trn1.2xlarge", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        char text[512];
        begin(&b);
        snprintf(text, sizeof text,
                 "Region,Price,InstanceType,AcceleratorCount,SpotPrice,AcceleratorName\n"
                 "here,16,%s,8.0,4,%s\n",
                 cases[i].instance, cases[i].accelerator);
        must_read(&b, cases[i].cloud, text);
        assert_int_equal(b.list.skipped, cases[i].gpu ? 0 : 1);
        assert_int_equal(b.list.rows, cases[i].gpu ? 2 : 0);
        if (cases[i].gpu) {
            offers(&b, cases[i].instance, "here", MARKET_ON_DEMAND, cases[i].gpu, 8, 2);
            offers(&b, cases[i].instance, "here", MARKET_SPOT, cases[i].gpu, 8, 0.5);
        }
        end(&b);
    }
}

/* What no line of the tables should do: name a GPU that is not there. */
static void tables_name_known_gpus(void **state)
{
    static const char *const names[] = {
#define NAME(cloud, accelerator, instance, gpu) gpu,
#include "price/price_names.def"
#undef NAME
    };
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct gpu *g = gpu_find(names[i], NULL);
        if (!g || strcmp(g->name, names[i]) != 0)
            fail_msg("price_names.def: %s", names[i]);
    }
}

static void aws_catalogs_are_read(void **state)
{
    struct bench b;
    (void)state;
    begin(&b);
    must_read(&b, "aws",
              "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,"
              "SpotPrice,Region,AvailabilityZone\n"
              "a1.large,,,8.0,16.0,,0.25,0.2,r1,r1a\n"
              "p5.48xlarge,H100,8.0,192.0,2048.0,\"{'Gpus': [{'Name': 'H100'}]}\",55.04,20.8,r1,"
              "r1a\n"
              "p5.48xlarge,H100,8.0,192.0,2048.0,\"{'Gpus': [{'Name': 'H100'}]}\",,24,r2,r2a\n"
              "g6f.large,L4,0.125,2.0,8.0,,0.2,0.1,r1,r1a\n"
              "trn1.2xlarge,Trainium,1.0,8.0,32.0,,1.3,,r1,r1a\n");
    assert_int_equal(b.list.rows, 3);
    assert_int_equal(b.list.skipped, 2);
    offers(&b, "p5.48xlarge", "r1", MARKET_ON_DEMAND, "H100-SXM5-80GB", 8, 6.88);
    offers(&b, "p5.48xlarge", "r1", MARKET_SPOT, "H100-SXM5-80GB", 8, 2.6);
    assert_null(offer(&b, "p5.48xlarge", "r2", MARKET_ON_DEMAND));
    offers(&b, "p5.48xlarge", "r2", MARKET_SPOT, "H100-SXM5-80GB", 8, 3);
    end(&b);
}

/* Hosts and accelerators apart: of the same zone, of the host's number, both offered. */
static void google_hosts_are_added(void **state)
{
    struct bench b;
    (void)state;
    begin(&b);
    must_read(&b, "gcp",
              "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"
              "AvailabilityZone,Price,SpotPrice\n"
              "a2-highgpu-8g,96.0,680.0,,,,us,us-a,6,3\n"
              "a2-highgpu-8g,96.0,680.0,,,,us,us-b,5,\n"
              "a2-highgpu-8g,96.0,680.0,,,,eu,eu-a,5,3\n"
              "a4-highgpu-8g,224.0,3968.0,,,,us,us-a,0.0,0.0\n"
              "n2-standard-8,8,32,,,,us,us-a,1,1\n"
              ",,,A100,8,{},us,us-a,24,13\n"
              ",,,A100,8,{},us,us-b,25,13\n"
              ",,,A100,4,{},eu,eu-a,12,6\n"
              ",,,B200,8,{},us,us-a,88,40\n"
              ",,,tpu-v2-8,1,{},us,us-a,99999,40\n");
    offers(&b, "a4-highgpu-8g", "us", MARKET_ON_DEMAND, "B200-SXM", 8, 11);
    offers(&b, "a4-highgpu-8g", "us", MARKET_SPOT, "B200-SXM", 8, 5);
    offers(&b, "a2-highgpu-8g", "us", MARKET_SPOT, "A100-SXM4-40GB", 8, 2); /* of us-a alone */
    assert_int_equal(b.list.rows, 5);
    assert_int_equal(b.list.skipped, 1);
    for (int i = 0; i < b.list.rows; i++)
        if (strcmp(b.list.row[i].instance, "a2-highgpu-8g") == 0 &&
            b.list.row[i].market == MARKET_ON_DEMAND)
            near(b.list.row[i].usd, 30.0 / 8);
    end(&b);
}

#define SKY "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region\n"

static void known_defects_are_corrected(void **state)
{
    struct bench b;
    struct error err = {0};
    static const char more[] = "cloud,instance,column,value,reason\n"
                               "azure,Standard_ND*,SpotPrice,40,ours\n";
    static const char text[] = SKY "Standard_ND96isr_H100_v5,H100,12,96,96,east\n"
                                   "Standard_ND96amsr_A100_v4,A100-80GB,8,32,3.6,east\n";
    (void)state;
    begin(&b);
    must(overrides_built_in(&b.overrides, &b.mem, &err), &err);
    must_read(&b, "azure", text);
    assert_int_equal(b.list.rows, 2);
    offers(&b, "Standard_ND96isr_H100_v5", "east", MARKET_ON_DEMAND, "H100-SXM5-80GB", 8, 12);
    offers(&b, "Standard_ND96amsr_A100_v4", "east", MARKET_ON_DEMAND, "A100-SXM4-80GB", 8, 4);

    b.list.rows = 0;
    must(overrides_add(&b.overrides, more, strlen(more), "o.csv", &b.mem, &err), &err);
    must_read(&b, "azure", text);
    assert_int_equal(b.list.rows, 4);
    offers(&b, "Standard_ND96isr_H100_v5", "east", MARKET_SPOT, "H100-SXM5-80GB", 8, 5);
    end(&b);
}

static void bad_overrides_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"cloud,instance,column,value\naws,x,Price,1\n",
         "o.csv:1: the header lacks the column reason; overrides have cloud, instance, column, "
         "value and reason"},
        {"cloud,instance,column,value,reason\naws,x,price,1,y\n",
         "o.csv:2: column is 'price', AcceleratorCount, Price or SpotPrice is right (did you mean "
         "Price?)"},
        {"cloud,instance,column,value,reason\naws,x,Price,gone,y\n",
         "o.csv:2: value is 'gone', a number above 0 or drop is right"},
        {"cloud,instance,column,value,reason\naws,x,Price,0,y\n",
         "o.csv:2: value is '0', a number above 0 or drop is right"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        struct error err = {0};
        begin(&b);
        if (overrides_add(&b.overrides, cases[i].text, strlen(cases[i].text), "o.csv", &b.mem,
                          &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(b.overrides.count, 0);
        end(&b);
    }
}

static void bad_catalogs_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"InstanceType,AcceleratorName,Count,Price,SpotPrice,Region\n",
         "t.csv:1: the header of this catalog lacks the column AcceleratorCount; InstanceType, "
         "AcceleratorName, AcceleratorCount, Price, SpotPrice and Region are read"},
        {SKY, "t.csv: there is no instance in it"},
        {SKY "p5.48xlarge,H100,8,cheap,,here\n",
         "t.csv:2: Price is 'cheap', a number from 0 is right"},
        {SKY "p5.48xlarge,H100,8,-3,,here\n", "t.csv:2: Price is '-3', a number from 0 is right"},
        {SKY "p5.48xlarge,H100,many,3,,here\n",
         "t.csv:2: AcceleratorCount is 'many', a number from 0 is right"},
        {SKY "p5.48xlarge,H100,5000,3,,here\n",
         "t.csv:2: AcceleratorCount is '5000', at most 1024 are right"},
        {SKY "a,,,1,,here\np5.48xlarge,H100,8,16,0.04,here\n",
         "t.csv:3: SpotPrice of p5.48xlarge is '0.04', 0.005 USD per GPU-hour, 0.01 to 1000 is "
         "right; to leave it out give --price-overrides a file with the columns cloud,instance,"
         "column,value,reason and the line aws,p5.48xlarge,SpotPrice,drop,wrong"},
        {SKY "p5.48xlarge,H100,8,16\n", "t.csv:2: 4 fields, the header has 6"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        struct error err = {0};
        begin(&b);
        if (read_text(&b, "aws", cases[i].text, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].message);
        end(&b);
    }
}

/* The rule */

#define OFFERS                                                                                     \
    "provider,region,gpu,instance,gpus,market,usd_per_gpu_hour,date\n"                             \
    "a,east,H100,a8,8,on-demand,5,2026-01-01\n"                                                    \
    "a,west,H100,a8w,8,on-demand,4,2026-01-01\n"                                                   \
    "a,east,H100,a4,4,on-demand,9,2026-01-01\n"                                                    \
    "b,east,H100,b8,8,on-demand,2,2026-01-02\n"                                                    \
    "c,east,H100,c8,8,on-demand,7,2026-01-03\n"                                                    \
    "d,north,H100,d8,8,on-demand,6.5,2026-01-03\n"                                                 \
    "e,east,H100,e1,1,on-demand,0.5,2026-01-03\n"                                                  \
    "b,east,H100,b8,8,spot,1.25,2026-01-02\n"                                                      \
    "b,east,A100,b2,2,spot,0.75,2026-01-02\n"                                                      \
    "b,east,A100,b1,1,spot,0.25,2026-01-02\n"

static void one_price_of_many(void **state)
{
    static const char *b_and_c[] = {"B", "c"};
    static const struct {
        const char *gpu;
        int per_node;
        struct price_ask ask;
        double usd;
        const char *words;
    } cases[] = {
        /* 4 (the cheaper region of a), 2, 7, 6.5: the mean of 4 and 6.5 */
        {"H100", 8, {0}, 5.25, "median of 4 providers ($2 to $7), on-demand, 8-GPU instances"},
        {"H100",
         8,
         {.cheapest = true},
         2,
         "cheapest of 4 providers: b east b8, on-demand, 2026-01-02"},
        {"H100",
         8,
         {.region = "east"},
         5,
         "median of 3 providers ($2 to $7), on-demand, 8-GPU instances"},
        {"H100", 8, {.region = "NORTH"}, 6.5, "d north d8, on-demand, 2026-01-03"},
        {"H100",
         8,
         {.providers = 2, .provider = b_and_c},
         4.5,
         "median of 2 providers ($2 to $7), on-demand, 8-GPU instances"},
        {"H100", 8, {.market = MARKET_SPOT}, 1.25, "b east b8, spot, 2026-01-02"},
        {"H100", 4, {0}, 9, "a east a4, on-demand, 2026-01-01"},
        {"H100", 1, {0}, 0.5, "e east e1, on-demand, 2026-01-03"},
        {"H100",
         2,
         {0},
         5.25,
         "median of 4 providers ($2 to $7), on-demand, 8-GPU instances (none has 2 GPUs)"},
        {"A100", 8, {.market = MARKET_SPOT}, 0.75, "b east b2, spot, 2026-01-02 (none has 8 GPUs)"},
        {"A100", 8, {0}, 0, ""},
        {"H100", 8, {.market = MARKET_RESERVED}, 0, ""},
    };
    struct bench b;
    struct str words;
    (void)state;
    begin(&b);
    str_init(&words);
    must_read(&b, "", OFFERS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct gpu *g = gpu_find(cases[i].gpu, NULL);
        struct price_pick pick = price_pick(&b.list, &cases[i].ask, g, cases[i].per_node);
        if (fabs(pick.usd - cases[i].usd) > 1e-12)
            fail_msg("case %zu: %g, expected %g", i, pick.usd, cases[i].usd);
        str_clear(&words);
        if (pick.usd > 0)
            price_pick_words(&pick, &cases[i].ask, cases[i].per_node, &words);
        assert_string_equal(str_text(&words), cases[i].words);
    }
    str_release(&words);
    end(&b);
}

/* Of several tables the last that has an offer counts, GPU by GPU. */
static void later_tables_win(void **state)
{
    const struct price_ask usual = {0}, spot = {.market = MARKET_SPOT};
    struct bench b;
    (void)state;
    begin(&b);
    must_read(&b, "", OFFERS);
    must_read(&b, "", OWN "mine,,H100,x,8,on-demand,3.5,,\n");
    const struct gpu *g = gpu_find("H100", NULL);
    near(price_pick(&b.list, &usual, g, 8).usd, 3.5);
    near(price_pick(&b.list, &spot, g, 8).usd, 1.25);
    end(&b);
}

static void clusters_get_prices(void **state)
{
    const struct price_ask usual = {0}, spot = {.market = MARKET_SPOT};
    struct rates rates = {0};
    struct error err = {0};
    struct rent rent[CLUSTER_MAX_GROUPS];
    struct cluster c;
    struct bench b;
    static const char file[] = "groups: [{gpu: H100, nodes: 1, price: 9}, {gpu: H100, nodes: 1}, "
                               "{gpu: A100, nodes: 2}]";
    (void)state;
    begin(&b);
    must_read(&b, "", OFFERS);
    must(cluster_from_yaml(&c, file, strlen(file), "c.yaml", &b.mem, &err), &err);
    rents_init(rent, &c, "cluster file");
    near(rent[0].usd_per_hour, 9);
    assert_string_equal(rent[0].from, "cluster file");
    near(rent[1].usd_per_hour, 6.5175);
    assert_string_equal(rent[1].from,
                        "median of 8 providers ($3.29 to $12.29), on-demand, 8-GPU instances");
    must(rents_apply(rent, &c, &b.list, &spot, true, &err), &err);
    near(rent[0].usd_per_hour, 9);
    near(rent[1].usd_per_hour, 1.25);
    near(rent[2].usd_per_hour, 0.75);
    assert_string_equal(rent[2].from, "b east b2, spot, 2026-01-02 (none has 8 GPUs)");

    assert_false(rents_apply(rent, &c, &b.list, &usual, true, &err));
    assert_string_equal(err.text, "no on-demand price of A100-SXM4-80GB is in t.csv: there is spot "
                                  "of b (--price A100=USD gives one)");
    must(rates_add(&rates, "EUR=1.1", &err), &err);
    must(rents_give(rent, &c, "A100=2EUR", &rates, &err), &err);
    must(rents_apply(rent, &c, &b.list, &usual, true, &err), &err);
    near(rent[2].usd_per_hour, 2.2);
    assert_string_equal(rent[2].from, "--price");
    end(&b);
}

static void unknown_names_are_refused(void **state)
{
    static const char *bb[] = {"b", "f"}, *aw[] = {"lambda"};
    static const struct {
        struct price_ask ask;
        const char *message;
    } cases[] = {
        {{.providers = 2, .provider = bb},
         "--provider is 'f', which is not in t.csv (did you mean a?)"},
        {{.providers = 1, .provider = aw},
         "--provider is 'lambda', which is not in t.csv; there are "
         "a, b, c, d, e"},
        {{.region = "nort"}, "--region is 'nort', which is not in t.csv (did you mean north?)"},
        {{.region = "north", .providers = 1, .provider = bb},
         "--region is 'north', which is not in t.csv; there are east"},
    };
    struct bench b;
    struct error err = {0};
    (void)state;
    begin(&b);
    must_read(&b, "", OFFERS);
    must(prices_know(&b.list, &(struct price_ask){.region = "EAST"}, &err), &err);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_false(prices_know(&b.list, &cases[i].ask, &err));
        assert_string_equal(err.text, cases[i].message);
    }
    end(&b);
}

/* 24 names are listed, of more the number is said; a name that comes twice counts once. */
static void long_lists_are_cut(void **state)
{
    static const struct {
        int providers;
        const char *end;
    } cases[] = {{1, "there are p01"},
                 {23, "p22, p23"},
                 {24, "p23, p24"},
                 {25, "p23, p24 and 1 more"},
                 {60, "p23, p24 and 36 more"}};
    static const char *asked[] = {"qqqqqqqq"};
    const struct price_ask ask = {.providers = 1, .provider = asked};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct error err = {0};
        struct str text = {0};
        begin(&b);
        str_add(&text, "provider,region,gpu,instance,gpus,market,usd_per_gpu_hour,date,source\n");
        for (int k = 0; k < 2 * cases[i].providers; k++)
            str_addf(&text, "p%02d,x,H100,i,8,on-demand,2,2026-01-01,s\n", k / 2 + 1);
        must_read(&b, "", str_text(&text));
        assert_false(prices_know(&b.list, &ask, &err));
        size_t all = strlen(err.text), end_at = strlen(cases[i].end);
        if (all < end_at || strcmp(err.text + all - end_at, cases[i].end) != 0)
            fail_msg("'%s' does not end in '%s'", err.text, cases[i].end);
        str_release(&text);
        end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_prices_are_those_of_the_table),
        cmocka_unit_test(every_row_has_a_date_and_a_source),
        cmocka_unit_test(own_files_are_read),
        cmocka_unit_test(bad_own_files_are_refused),
        cmocka_unit_test(names_lead_to_gpus),
        cmocka_unit_test(tables_name_known_gpus),
        cmocka_unit_test(aws_catalogs_are_read),
        cmocka_unit_test(google_hosts_are_added),
        cmocka_unit_test(known_defects_are_corrected),
        cmocka_unit_test(bad_overrides_are_refused),
        cmocka_unit_test(bad_catalogs_are_refused),
        cmocka_unit_test(one_price_of_many),
        cmocka_unit_test(later_tables_win),
        cmocka_unit_test(clusters_get_prices),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(long_lists_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
