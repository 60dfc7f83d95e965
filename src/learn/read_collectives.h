/* The collectives of sources that have operators too; their readers call these at the end. Folder
 * and failures as in learn/sample.h. */
#ifndef ASTRA_READ_COLLECTIVES_H
#define ASTRA_READ_COLLECTIVES_H

#include "base/error.h"

struct samples;
struct table_row;
struct gpu;

bool read_aiconfigurator_comm(const char *folder, struct samples *, struct error *);
bool read_ett_comm(const char *folder, struct samples *, struct error *);
bool read_vidur_comm(const char *folder, struct samples *, struct error *);
bool read_sailor_comm(const char *folder, struct samples *, struct error *);
bool read_simumax_comm(const char *folder, struct samples *, struct error *);

/* A collective that tools/profile measured, or imported from nccl-tests: `ranks` over `nodes`,
 * whose NICs are taken to be the usual ones of the GPU. */
struct profiled_collective {
    const char *kind;
    const struct gpu *gpu;
    double ranks, nodes, bytes, time_s;
};
void add_profiled_collective(const struct table_row *, const struct profiled_collective *);

#endif
