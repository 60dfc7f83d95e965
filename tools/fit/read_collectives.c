/* Measured collectives of other sources. Rows whose wire is not known, or that measure something
 * else as well, are skipped: a learned model has no column for "another network". What was left out
 * and why: doc/collectives.md. */
#include "fit/readers.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double MIB = 1024.0 * 1024.0;

/* Seconds of the analytic time below which a source's rows measure more of something else: 50 to
 * 100 us of calling from Python, up to 50 us of waiting for the other ranks in a trace. The bound
 * does not look at the measured time, so that it favours neither fast nor slow rows. */
static const double HOST_BOUND_S = 0.5e-3, TRACE_BOUND_S = 0.1e-3;

/* The collectives of a source that has operators too may be missing. */
static bool read_beside(const char *folder, const struct table_file *file, size_t count,
                        struct samples *to, struct error *err)
{
    struct arena mem;
    bool any = false;
    arena_init(&mem);
    for (size_t i = 0; i < count; i++)
        any = any || file_exists(arena_format(&mem, "%s/%s", folder, file[i].name));
    arena_release(&mem);
    return !any || read_tables(folder, file, count, to, err);
}

/* nccl-tests. One type of number is enough: the wire does not know it. The L40S nodes had no
 * peer-to-peer; two neighbours do not need it, more of them got 1 to 5 GB/s. */
static void use_aiconfigurator(const struct table_row *r)
{
    struct comm_sample c = {0};
    int ranks = whole_count(row_number(r, 3));
    bool crippled = row_says(r, 0, "L40S") && ranks > 2;
    if (!comm_kind_called(r->cell[1], &c.kind) || !row_says(r, 2, "half") || crippled) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    comm_place_inside(&c, gpu_called(r->cell[0]), ranks);
    c.bytes = row_number(r, 4);
    c.time_s = 1e-6 * row_number(r, 5);
    comm_add(r->to, &c, 0);
}

bool read_aiconfigurator_comm(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {{"nccl_intranode.csv",
                                               "gpu op dtype num_gpus message_bytes latency_us",
                                               use_aiconfigurator, NULL, NULL}};
    return read_beside(folder, FILES, 1, to, err);
}

/* `shape` counts 2-byte elements: read as bytes, the bus bandwidth would be half of what the same
 * GPUs reach in nccl-tests. */
static void use_ett(const struct table_row *r)
{
    struct comm_sample c = {.kind = COMM_ALL_REDUCE};
    if (row_number(r, 1) != 1) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    comm_place_inside(&c, gpu_called(r->file->gpu), whole_count(row_number(r, 2)));
    c.bytes = 2 * row_number(r, 0);
    c.time_s = 1e-6 * row_number(r, 3);
    comm_add(r->to, &c, 0);
}

bool read_ett_comm(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {{"A100-SXM4-80GB_nccl_allreduce_1x4.csv",
                                               "shape nodes GPUsPerNode dur(us)", use_ett,
                                               "A100-SXM4-80GB", NULL}};
    return read_beside(folder, FILES, 1, to, err);
}

/* What the topologies are made of. Across nodes only the H100 machines had a network worth the
 * name of their NICs; the A40 pair was not bridged and had no peer-to-peer. */
static const struct {
    const char *topology, *gpu;
    bool inside, across;
} VIDUR[] = {{"a100_dgx", "A100-SXM4-80GB", true, false},
             {"a100_pairwise_nvlink", "A100-PCIe-80GB", true, false},
             {"h100_dgx", "H100-SXM5-80GB", true, true},
             {"h100_pairwise_nvlink", "H100-PCIe-80GB", true, false},
             {"a40_pairwise_nvlink", "A40", false, false}};

static const char *vidur_gpu(const char *topology, bool across)
{
    for (size_t i = 0; i < sizeof VIDUR / sizeof *VIDUR; i++)
        if (strcmp(topology, VIDUR[i].topology) == 0)
            return (across ? VIDUR[i].across : VIDUR[i].inside) ? VIDUR[i].gpu : NULL;
    return NULL;
}

/* Kernel time on one rank includes waiting for the others; the fastest of three is closest to the
 * collective alone. */
static void use_vidur(const struct table_row *r)
{
    struct comm_sample c = {0};
    int ranks = whole_count(row_number(r, 2)), per_node = whole_count(row_number(r, 3));
    const char *gpu = vidur_gpu(r->cell[0], per_node < ranks);
    if (!gpu || per_node < 1 || !comm_kind_called(r->cell[1], &c.kind)) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    const struct gpu *g = gpu_called(gpu);
    comm_place_inside(&c, g, per_node);
    c.ranks = ranks;
    c.nodes = ranks / per_node;
    if (c.nodes > 1) {
        c.link_bs = 1e9 * g->link_gbs;
        c.nic_bs = 1e9 * g->nic_gbit / 8;
    }
    c.bytes = row_number(r, 4);
    c.time_s = 1e-6 * row_number(r, 5);
    comm_add(r->to, &c, c.kind == COMM_SEND ? 0 : TRACE_BOUND_S);
}

bool read_vidur_comm(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {
        {"collectives.csv", "topology op num_workers devices_per_node size_bytes latency_us_min",
         use_vidur, NULL, NULL}};
    return read_beside(folder, FILES, 1, to, err);
}

/* The machines of Sailor. `peer_gbs`: GB/s between two of them where GPUs are joined pair by pair
 * rather than by a switch, 0 = the link of gpus.def; `bridged`: GPUs that a bridge joins; `most`:
 * ranks that are used. Eight 3090 without peer-to-peer got 1.3 GB/s, a quarter of what older cards
 * on half the PCIe bandwidth got: a matter of that machine. */
static const struct {
    const char *name, *gpu;
    double peer_gbs;
    int bridged, most;
} SAILOR[] = {{"A100-40", "A100-SXM4-40GB", 0, 8, 8}, {"GH-96", "GH200-96GB", 150, 4, 4},
              {"RTX-2080", "RTX2080Ti", 0, 1, 8},     {"RTX-3090", "RTX3090", 0, 2, 2},
              {"Titan-RTX", "TITAN-RTX", 0, 1, 8},    {"V100-16", "V100-SXM2-16GB", 0, 8, 8}};

static bool place_sailor(struct comm_sample *c, const char *name, int ranks)
{
    for (size_t i = 0; i < sizeof SAILOR / sizeof *SAILOR; i++) {
        const struct gpu *g = gpu_called(SAILOR[i].gpu);
        if (strcmp(name, SAILOR[i].name) != 0 || !g || ranks > SAILOR[i].most)
            continue;
        comm_place_inside(c, g, ranks);
        c->link_bs = 1e9 * (ranks <= SAILOR[i].bridged ? g->link_gbs : g->pcie_gbs);
        if (SAILOR[i].peer_gbs > 0)
            c->link_bs = fmin(c->link_bs, 1e9 * SAILOR[i].peer_gbs * (ranks - 1));
        return true;
    }
    return false;
}

/* Gather and scatter were measured through lists of tensors, copies included: at half the bus
 * bandwidth of the all-reduce on the same GPUs. 1e9 ms stands for "did not fit". */
static void use_sailor(const struct table_row *r)
{
    struct comm_sample c = {0};
    double ms = row_number(r, 4);
    bool known = comm_kind_called(r->cell[1], &c.kind) &&
                 place_sailor(&c, r->cell[0], whole_count(row_number(r, 2)));
    if (!known || c.kind == COMM_ALL_GATHER || c.kind == COMM_REDUCE_SCATTER || ms >= 1e8) {
        row_skip(r, ms >= 1e8 ? SKIP_NOT_A_NUMBER : SKIP_OTHER_KIND);
        return;
    }
    c.bytes = MIB * row_number(r, 3);
    c.time_s = 1e-3 * ms;
    comm_add(r->to, &c, HOST_BOUND_S);
}

/* Rows across nodes are polynomials, not measurements. */
static void use_sailor_send(const struct table_row *r)
{
    struct comm_sample c = {0};
    if (!row_says(r, 1, "intra_node") || !place_sailor(&c, r->cell[0], 2)) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    c.kind = COMM_SEND;
    c.bytes = MIB * row_number(r, 2);
    c.time_s = c.bytes / (1e9 * row_number(r, 3));
    comm_add(r->to, &c, HOST_BOUND_S);
}

bool read_sailor_comm(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {
        {"aceso_collectives.csv", "gpu op num_gpus size_MB time_ms", use_sailor, NULL, NULL},
        {"p2p_bandwidth.csv", "gpu scope size_MB bandwidth_GBps", use_sailor_send, NULL, NULL}};
    return read_beside(folder, FILES, 2, to, err);
}

/* Fitted efficiencies without their messages, half of them defaults: counted, not used. */
bool read_simumax_comm(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {
        {"comm_fit.csv", "gpu op efficient_factor latency_us", NULL, NULL, NULL}};
    return read_beside(folder, FILES, 1, to, err);
}

/* GB/s per GPU of the networks in the logs; those that are not listed do not say, or are slower
 * than what they are said to have by a factor. */
static const struct {
    const char *network;
    double nic_gbs;
} NETWORK[] = {{"IB 400Gb/GPU (inferred)", 50},
               {"EFAv2 3200Gb/node", 50},
               {"IB NDR 400Gb/GPU; SHARP job", 50},
               {"Nebius IB (2 nodes)", 50},
               {"AWS p6-b200 EFAv4 8x400Gb", 50},
               {"NVL72 single rack", 50},
               {"2x NVL72 + IB", 50},
               {"20x NVL72 + IB", 50},
               {"NVLink4", 0},
               {"NVLink4 NVLS on", 0},
               {"NVLink4 NVLS off", 0},
               {"NVLink5", 0}};

static double network_gbs(const char *network)
{
    for (size_t i = 0; i < sizeof NETWORK / sizeof *NETWORK; i++)
        if (strcmp(network, NETWORK[i].network) == 0)
            return NETWORK[i].nic_gbs;
    return NAN;
}

/* The first cluster's pairs ran at 13 GB/s over a network that is not stated. A time that was
 * derived from one digit of a bandwidth is no measurement. */
static bool internode_usable(const struct table_row *r)
{
    bool slow = strstr(r->cell[0], "example-cluster00") != NULL;
    bool coarse = strstr(r->cell[9], "derived from busbw") && row_number(r, 8) < 1;
    return !slow && !coarse && !isnan(network_gbs(r->cell[2]));
}

static void use_internode(const struct table_row *r)
{
    struct comm_sample c = {0};
    if (!internode_usable(r) || !comm_kind_called(r->cell[3], &c.kind)) {
        row_skip(r, SKIP_OTHER_KIND);
        return;
    }
    comm_place_across(&c, gpu_called(r->cell[1]), whole_count(row_number(r, 5)),
                      whole_count(row_number(r, 4)));
    c.nic_bs = c.nodes > 1 ? 1e9 * network_gbs(r->cell[2]) : 0;
    c.in_switch = c.in_switch && !strstr(r->cell[2], "NVLS off");
    c.bytes = row_number(r, 6);
    c.time_s = 1e-6 * row_number(r, 7);
    comm_add(r->to, &c, 0);
}

bool read_internode(const char *folder, struct samples *to, struct error *err)
{
    static const struct table_file FILES[] = {
        {"nccl_multi_node.csv",
         "source gpu network op nodes ranks size_bytes time_us busbw_GBps note", use_internode,
         NULL, NULL}};
    return read_tables(folder, FILES, 1, to, err);
}

/* "allreduce_size_8_128MB_time": kind, ranks and message in the key, milliseconds. The GPU is not
 * stated: 231 GB/s of bus bandwidth are more than an A800's link has and fit an A100. The other
 * files have one bandwidth for no stated message. */
static void use_galvatron(void *context, const char *key, const struct json *value)
{
    struct samples *to = context;
    struct comm_sample c = {0};
    char name[16] = "";
    int ranks = 0, mb = 0, length = 0;
    sscanf(key, "%15[a-z2]_size_%3d_%5dMB_time%n", name, &ranks, &mb, &length);
    if (!comm_kind_called(name, &c.kind) || length == 0 || key[length] != 0) {
        samples_skip(to, SKIP_OTHER_KIND);
        return;
    }
    comm_place_inside(&c, gpu_called("A100-SXM4-80GB"), ranks);
    c.bytes = MIB * mb;
    c.time_s = 1e-3 * json_number_of(value);
    comm_add(to, &c, HOST_BOUND_S);
}

static bool read_json(const char *path, struct arena *mem, struct samples *to, struct error *err)
{
    struct text text;
    if (!file_read(path, mem, &text, err))
        return false;
    struct json *root = json_parse(text.data, text.length, path, err);
    if (!root)
        return false;
    json_each(root, use_galvatron, to);
    json_release(root);
    return true;
}

bool read_galvatron(const char *folder, struct samples *to, struct error *err)
{
    struct arena mem;
    arena_init(&mem);
    const char *path = arena_format(&mem, "%s/sp_time_1nodes_8gpus_per_node.json", folder);
    bool ok = read_json(path, &mem, to, err);
    arena_release(&mem);
    return ok;
}

/* Columns of SimAI's table of ring collectives: nodes and ranks of a node. The last one does not
 * say how many, the first one repeats what other sources measured. */
static const struct {
    int nodes, per_node;
} SIMAI[] = {{0, 0},  {2, 8},   {4, 8},  {8, 8},  {16, 8}, {32, 8},
             {64, 8}, {128, 8}, {16, 1}, {32, 1}, {64, 1}};

/* Fractions of a nominal bandwidth that is not stated. The table's fractions on one node are those
 * of 8 H100 (all-gather, 16 MiB to 16 GiB, within 0.02), whose nodes have 8 x 400 Gbit/s. */
static void add_simai(struct samples *to, enum comm_kind kind, double bytes, double ratio,
                      int nodes, int per_node)
{
    const struct gpu *g = gpu_called("H100-SXM5-80GB");
    struct comm_sample c = {.kind = kind};
    comm_place_inside(&c, g, per_node);
    c.link_bs = g ? 1e9 * g->link_gbs : 0;
    c.nic_bs = 50e9;
    c.nodes = nodes;
    c.ranks = nodes * per_node;
    c.bytes = bytes;
    c.time_s = bytes * (c.ranks - 1) / c.ranks / (ratio * c.nic_bs * per_node);
    comm_add(to, &c, 0);
}

/* The table is for rings of any kind; an all-reduce has better ways. */
static void use_simai_cell(struct samples *to, const char *size, const char *ratio, int column)
{
    static const enum comm_kind RINGS[] = {COMM_ALL_GATHER, COMM_REDUCE_SCATTER};
    size_t at = (size_t)column - 1;
    if (at >= sizeof SIMAI / sizeof *SIMAI || SIMAI[at].nodes == 0)
        samples_skip(to, SKIP_OTHER_KIND);
    else if (*ratio)
        for (size_t i = 0; i < sizeof RINGS / sizeof *RINGS; i++)
            add_simai(to, RINGS[i], sample_number(size), sample_number(ratio), SIMAI[at].nodes,
                      SIMAI[at].per_node);
}

bool read_simai(const char *folder, struct samples *to, struct error *err)
{
    struct arena mem;
    struct text text;
    struct csv csv;
    arena_init(&mem);
    const char *path = arena_format(&mem, "%s/nic_ratio.csv", folder);
    bool ok = file_read(path, &mem, &text, err) &&
              csv_parse(&csv, text.data, text.length, path, &mem, err);
    for (int row = 0; ok && row < csv.rows; row++)
        for (int column = 1; column < csv.columns; column++)
            use_simai_cell(to, csv_at(&csv, row, 0), csv_at(&csv, row, column), column);
    arena_release(&mem);
    return ok;
}
