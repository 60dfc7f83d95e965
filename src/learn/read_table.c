/* Opens a file and hands out its rows. The file has an arena of its own: what stays are the
 * samples. */
#include "learn/read_table.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "cluster/cluster.h"

#include <assert.h>
#include <string.h>

/* Indices of the blank-separated names; -1 when one is missing, which `err` then tells. */
static int find_columns(const struct csv *c, const char *names, int at[TABLE_COLUMNS],
                        const char *path, struct arena *mem, struct error *err)
{
    int count = 0;
    for (names += strspn(names, " "); *names; names += strspn(names, " ")) {
        size_t length = strcspn(names, " ");
        const char *name = arena_copy(mem, names, length);
        assert(count < TABLE_COLUMNS);
        at[count] = csv_column(c, name);
        if (at[count++] < 0) {
            fail(err, ERROR_INPUT, "%s:1: no column '%s'", path, name);
            return -1;
        }
        names += length;
    }
    return count;
}

static void use_rows(const struct csv *c, const int at[TABLE_COLUMNS], int columns,
                     struct table_row *row)
{
    for (int i = 0; i < c->rows; i++) {
        if (!row->file->use) {
            row_skip(row, SKIP_OTHER_KIND);
            continue;
        }
        for (int j = 0; j < columns; j++)
            row->cell[j] = csv_at(c, i, at[j]);
        row->file->use(row);
    }
}

static bool read_with(struct arena *mem, const char *path, struct table_row *row, struct error *err)
{
    struct text text;
    struct csv csv;
    int at[TABLE_COLUMNS];
    if (!file_read(path, mem, &text, err) ||
        !csv_parse(&csv, text.data, text.length, path, mem, err))
        return false;
    int columns = find_columns(&csv, row->file->columns, at, path, mem, err);
    if (columns < 0)
        return false;
    use_rows(&csv, at, columns, row);
    return true;
}

bool read_table(const char *path, const struct table_file *file, struct samples *to,
                struct error *err)
{
    struct arena mem = {0};
    struct table_row row = {.file = file, .to = to};
    bool ok = read_with(&mem, path, &row, err);
    arena_release(&mem);
    return ok;
}

double row_number(const struct table_row *r, int column)
{
    return sample_number(r->cell[column]);
}

bool row_says(const struct table_row *r, int column, const char *text)
{
    return strcmp(r->cell[column], text) == 0;
}

void row_skip(const struct table_row *r, enum skip why)
{
    samples_skip(r->to, why);
}

void row_add(const struct table_row *r, const struct gpu *gpu, const struct operation *op,
             double time_us)
{
    struct sample one = {.op = *op, .gpu = gpu, .time_s = time_us * 1e-6};
    samples_add(r->to, &one);
}

struct operation product_op(enum op_pass pass, enum dtype dtype, double m, double n, double k)
{
    return (struct operation){.family = FAMILY_GEMM,
                              .pass = pass,
                              .dtype = dtype,
                              .m = m,
                              .n = n,
                              .k = k,
                              .count = 1,
                              .kv_share = 1};
}

struct operation attention_op(enum op_pass pass, enum dtype dtype, double seq, double heads,
                              double width)
{
    return (struct operation){.family = FAMILY_ATTENTION,
                              .pass = pass,
                              .dtype = dtype,
                              .m = seq,
                              .n = seq,
                              .k = width,
                              .count = heads,
                              .value_width = width,
                              .kv_share = 1};
}

struct operation memory_op(enum op_pass pass, enum memory_kind kind, double bytes)
{
    return (struct operation){.family = FAMILY_MEMORY,
                              .pass = pass,
                              .kind = (int)kind,
                              .count = 1,
                              .kv_share = 1,
                              .bytes = bytes};
}
