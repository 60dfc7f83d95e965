/* Measured collectives, brought to one meaning of bytes (cost/comm.h) and to the nominal bandwidths of
 * the wires they ran over. */
#include "learn/read_table.h"

#include "cluster/cluster.h"
#include "cost/comm_features.h"

#include <string.h>

static const struct {
    const char *name;
    enum comm_kind kind;
} KIND[] = {
    {"all_gather", COMM_ALL_GATHER}, {"all_reduce", COMM_ALL_REDUCE},
    {"all_to_all", COMM_ALL_TO_ALL}, {"alltoall", COMM_ALL_TO_ALL},
    {"allreduce", COMM_ALL_REDUCE},  {"all2all", COMM_ALL_TO_ALL},
    {"sendrecv", COMM_SEND},         {"reduce_scatter", COMM_REDUCE_SCATTER},
    {"send_recv", COMM_SEND},
};

bool comm_kind_called(const char *name, enum comm_kind *out)
{
    for (size_t i = 0; i < sizeof KIND / sizeof *KIND; i++)
        if (strcmp(name, KIND[i].name) == 0) {
            *out = KIND[i].kind;
            return true;
        }
    return false;
}

void comm_place_inside(struct comm_sample *c, const struct gpu *g, int ranks)
{
    bool linked = g && ranks <= g->domain;
    c->gpu = g;
    c->ranks = c->per_node = ranks;
    c->nodes = 1;
    c->link_bs = g ? 1e9 * (linked ? g->link_gbs : g->pcie_gbs) : 0;
    c->in_switch = linked && gpu_reduces_in_switch(g);
}

static struct comm_base base_of(const struct comm_sample *c)
{
    struct comm_call call = {.kind = c->kind,
                             .ranks = c->ranks,
                             .per_node = c->per_node,
                             .nodes = c->nodes,
                             .gpu = c->gpu,
                             .link_bs = c->link_bs,
                             .nic_bs = c->nic_bs,
                             .in_switch = c->in_switch};
    return comm_base_of(&call, c->bytes);
}

int whole_count(double value)
{
    return value >= 1 && value <= 1e6 ? (int)value : 0;
}

void comm_place_across(struct comm_sample *c, const struct gpu *g, int ranks, int nodes)
{
    if (g && g->domain > g->per_node)
        nodes = (ranks + g->domain - 1) / g->domain;
    comm_place_inside(c, g, nodes > 0 ? ranks / nodes : 0);
    c->ranks = ranks;
    c->nodes = nodes;
}

void comm_add(struct samples *to, const struct comm_sample *c, double least_s)
{
    bool whole_row = c->bytes > 0 && c->ranks > 1 && c->link_bs > 0 && c->gpu;
    struct comm_base b = {0};
    if (whole_row)
        b = base_of(c);
    if (whole_row && b.latency_s + b.wire_s < least_s)
        samples_skip(to, SKIP_OTHER_KIND);
    else if (c->time_s > 0 && c->time_s < 0.97 * b.floor_s) /* times are rounded */
        samples_skip(to, SKIP_ABOVE_PEAK);
    else
        samples_add_comm(to, c);
}
