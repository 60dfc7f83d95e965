/* Readers of measurements that others published. A reader is a table of files, and for each of them a
 * function that makes samples of one row. Rows with wrong numbers are skipped and counted; a file
 * without the columns it must have is an error. Folders: fit/sources.def. */
#pragma once

#include "learn/read_table.h"

#define SOURCE(id, name, folder, reader, ...)                                                      \
    bool reader(const char *path, struct samples *, struct error *);
#include "fit/sources.def"
#undef SOURCE

/* The collectives of sources that have operators too; their readers call these at the end. */
bool read_aiconfigurator_comm(const char *folder, struct samples *, struct error *);
bool read_ett_comm(const char *folder, struct samples *, struct error *);
bool read_vidur_comm(const char *folder, struct samples *, struct error *);
bool read_sailor_comm(const char *folder, struct samples *, struct error *);
bool read_simumax_comm(const char *folder, struct samples *, struct error *);

/* A file that is not there is passed over; a folder with none of them is an error. */
bool read_tables(const char *folder, const struct table_file *, size_t count, struct samples *,
                 struct error *);

/* NULL when neither name nor alias is known. */
const struct gpu *gpu_called(const char *name);

/* From the sizes of the pass's own product, an m x n result summed over k, as BLAS calls list it:
 * back to tokens and an n x k weight. */
struct operation product_of_result(enum op_pass, enum dtype, double m, double n, double k);
