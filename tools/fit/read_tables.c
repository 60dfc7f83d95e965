/* What readers share: a folder of tables, and names and sizes as sources have them. */
#include "fit/readers.h"

#include "base/arena.h"
#include "base/file.h"
#include "cluster/cluster.h"

bool read_tables(const char *folder, const struct table_file *file, size_t count,
                 struct samples *to, struct error *err)
{
    struct arena mem;
    size_t found = 0;
    bool ok = true;
    arena_init(&mem);
    for (size_t i = 0; ok && i < count; i++) {
        const char *path = arena_format(&mem, "%s/%s", folder, file[i].name);
        if (!file_exists(path))
            continue;
        found++;
        ok = read_table(path, &file[i], to, err);
    }
    if (ok && found == 0)
        ok = fail(err, ERROR_INPUT, "%s: none of the files that are read from it is there (%s ...)",
                  folder, file[0].name);
    arena_release(&mem);
    return ok;
}

const struct gpu *gpu_called(const char *name)
{
    return gpu_find(name, NULL);
}

struct operation product_of_result(enum op_pass pass, enum dtype dtype, double m, double n,
                                   double k)
{
    switch (pass) {
    case PASS_DGRAD: /* tokens x k = (tokens x n) (n x k) */
        return product_op(pass, dtype, m, k, n);
    case PASS_WGRAD: /* n x k = (n x tokens) (tokens x k) */
        return product_op(pass, dtype, k, m, n);
    default:
        return product_op(pass, dtype, m, n, k);
    }
}
