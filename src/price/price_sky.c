/* SkyPilot's catalogs of instances: CSV files with a header whose order differs from cloud to
 * cloud, one line per instance, region and zone, prices in USD per INSTANCE hour. Lines without an
 * accelerator are passed over, but for Google's, where the host has a line of its own. Accelerators
 * that Astra does not know, and parts of a GPU, are counted. One pass over the lines; Google's
 * hosts are joined with the accelerators in their zone, O(hosts * accelerators of one kind). */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"
#include "cluster/group.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *cloud, *accelerator, *instance, *gpu;
} NAMES[] = {
#define NAME(cloud, accelerator, instance, gpu) {cloud, accelerator, instance, gpu},
#include "price/price_names.def"
#undef NAME
};

static const struct host {
    const char *instance, *accelerator;
    int count;
} HOSTS[] = {
#define HOST(instance, accelerator, count) {instance, accelerator, count},
#include "price/price_hosts.def"
#undef HOST
};

enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES, HOST_COUNT = sizeof HOSTS / sizeof *HOSTS };

/* clang-format off */
enum { INSTANCE, ACCELERATOR, COUNT, PRICE, SPOT, REGION, NEEDED, ZONE = NEEDED, COLUMNS };
/* clang-format on */
static const char *const COLUMN[] = {
    [INSTANCE] = "InstanceType",  [ACCELERATOR] = "AcceleratorName",
    [COUNT] = "AcceleratorCount", [PRICE] = "Price",
    [SPOT] = "SpotPrice",         [REGION] = "Region",
    [ZONE] = "AvailabilityZone"};

struct sky_reader {
    struct price_list *list;
    const struct csv *csv;
    const char *name, *cloud;
    const struct price_reading *how;
    int column[COLUMNS];
    /* The latest accelerator and instance that were looked up: lines of one kind stand together. */
    const char *accelerator, *instance;
    const struct gpu *gpu;
    struct error *err;
};

bool prices_is_catalog(const struct csv *csv)
{
    return csv_column(csv, COLUMN[INSTANCE]) >= 0 || csv_column(csv, COLUMN[ACCELERATOR]) >= 0;
}

static bool find_columns(struct sky_reader *r)
{
    for (int c = 0; c < COLUMNS; c++) {
        r->column[c] = csv_column(r->csv, COLUMN[c]);
        if (r->column[c] < 0 && c < NEEDED)
            return fail(r->err, ERROR_INPUT,
                        "%s:1: the header of this catalog lacks the column %s; InstanceType, "
                        "AcceleratorName, AcceleratorCount, Price, SpotPrice and Region are read",
                        r->name, COLUMN[c]);
    }
    return true;
}

static const char *text_at(const struct sky_reader *r, int row, int column)
{
    return r->column[column] < 0 ? "" : csv_at(r->csv, row, r->column[column]);
}

static const struct gpu *look_up(const char *cloud, const char *accelerator, const char *instance)
{
    for (int i = 0; i < NAME_COUNT; i++)
        if (matches_pattern(NAMES[i].accelerator, accelerator) &&
            matches_pattern(NAMES[i].cloud, cloud) && matches_pattern(NAMES[i].instance, instance))
            return gpu_find(NAMES[i].gpu, NULL);
    return NULL;
}

static const struct gpu *gpu_of(struct sky_reader *r, const char *accelerator, const char *instance)
{
    if (!r->accelerator || strcmp(r->accelerator, accelerator) != 0 ||
        strcmp(r->instance, instance) != 0) {
        r->gpu = look_up(r->cloud, accelerator, instance);
        r->accelerator = accelerator;
        r->instance = instance;
    }
    return r->gpu;
}

/* A figure of a line, 0 where it is empty. */
static bool read_figure(const struct sky_reader *r, int row, const char *what, const char *text,
                        double *out)
{
    *out = 0;
    return !*text || (parse_real(text, out) && *out >= 0) ||
           fail(r->err, ERROR_INPUT, "%s:%d: %s is '%.63s', a number from 0 is right", r->name,
                r->csv->line[row], what, text);
}

/* An instance of some GPUs at a price per hour, or none where the text is empty. */
static bool add_offer(struct sky_reader *r, int row, struct price *p, enum figure f,
                      const char *text)
{
    double usd;
    text = overrides_apply(r->how->overrides, r->cloud, p->instance, f, text);
    if (!*text)
        return true;
    if (!read_figure(r, row, figure_name(f), text, &usd))
        return false;
    p->usd = usd / p->gpus;
    p->market = f == FIGURE_SPOT ? MARKET_SPOT : MARKET_ON_DEMAND;
    if (!price_in_range(p->usd))
        return fail(
            r->err, ERROR_INPUT,
            "%s:%d: %s of %.63s is '%.63s', %g USD per GPU-hour, %g to %g is right; to leave "
            "it out give --price-overrides a file with the columns cloud,instance,column,"
            "value,reason and the line %s,%.63s,%s,drop,wrong",
            r->name, r->csv->line[row], figure_name(f), p->instance, text, p->usd, PRICE_MIN,
            PRICE_MAX, r->cloud, p->instance, figure_name(f));
    prices_append(r->list, p);
    return true;
}

/* Whole GPUs only: 0 for a part of one. */
static bool read_count(const struct sky_reader *r, int row, const char *instance, int *out)
{
    double n;
    const char *text = overrides_apply(r->how->overrides, r->cloud, instance, FIGURE_COUNT,
                                       text_at(r, row, COUNT));
    if (!read_figure(r, row, COLUMN[COUNT], text, &n))
        return false;
    if (n > GROUP_MAX_PER_NODE)
        return fail(r->err, ERROR_INPUT, "%s:%d: %s is '%.63s', at most %d are right", r->name,
                    r->csv->line[row], COLUMN[COUNT], text, GROUP_MAX_PER_NODE);
    *out = n == floor(n) ? (int)n : 0;
    return true;
}

static struct price offer_of(const struct sky_reader *r, int row, const char *instance,
                             const struct gpu *gpu, int gpus)
{
    return (struct price){.gpu = gpu,
                          .provider = r->cloud,
                          .region = text_at(r, row, REGION),
                          .zone = text_at(r, row, ZONE),
                          .instance = instance,
                          .date = "",
                          .source = r->name,
                          .gpus = gpus,
                          .table = r->list->tables - 1};
}

static bool read_row(struct sky_reader *r, int row)
{
    const char *instance = text_at(r, row, INSTANCE), *accelerator = text_at(r, row, ACCELERATOR);
    int gpus = 0;
    if (!*accelerator || !*instance)
        return true;
    const struct gpu *gpu = gpu_of(r, accelerator, instance);
    if (gpu && !read_count(r, row, instance, &gpus))
        return false;
    if (!gpu || gpus == 0) {
        r->list->skipped++;
        return true;
    }
    struct price p = offer_of(r, row, instance, gpu, gpus);
    return add_offer(r, row, &p, FIGURE_PRICE, text_at(r, row, PRICE)) &&
           add_offer(r, row, &p, FIGURE_SPOT, text_at(r, row, SPOT));
}

/* What host and accelerator cost together, nothing when one of them is not offered. */
static bool add_sum(struct sky_reader *r, int host, int accelerator, struct price *p, enum figure f)
{
    int column = f == FIGURE_SPOT ? SPOT : PRICE;
    const char *a = text_at(r, host, column), *b = text_at(r, accelerator, column);
    double usd, more;
    if (!read_figure(r, host, COLUMN[column], a, &usd) ||
        !read_figure(r, accelerator, COLUMN[column], b, &more))
        return false;
    return !*a || !*b ||
           add_offer(r, accelerator, p, f, arena_format(r->list->mem, "%.9g", usd + more));
}

static bool carries(const struct sky_reader *r, const struct host *h, int host, int accelerator)
{
    double count;
    return strcmp(text_at(r, accelerator, ZONE), text_at(r, host, ZONE)) == 0 &&
           strcmp(text_at(r, accelerator, REGION), text_at(r, host, REGION)) == 0 &&
           parse_real(text_at(r, accelerator, COUNT), &count) && count == h->count;
}

/* The lines of one kind of accelerator, which have no instance. */
static int *lines_of(const struct sky_reader *r, const char *accelerator, const int *line,
                     int lines, int *count)
{
    int *kept = arena_array(r->list->mem, (size_t)lines + 1, sizeof *kept);
    *count = 0;
    for (int i = 0; i < lines; i++)
        if (strcmp(text_at(r, line[i], ACCELERATOR), accelerator) == 0)
            kept[(*count)++] = line[i];
    return kept;
}

static bool join_host(struct sky_reader *r, const struct host *h, const int *line, int lines)
{
    int count;
    const int *part = lines_of(r, h->accelerator, line, lines, &count);
    const struct gpu *gpu = gpu_of(r, h->accelerator, h->instance);
    for (int row = 0; gpu && count > 0 && row < r->csv->rows; row++) {
        if (strcmp(text_at(r, row, INSTANCE), h->instance) != 0)
            continue;
        int i = 0;
        while (i < count && !carries(r, h, row, part[i]))
            i++;
        struct price p = offer_of(r, row, h->instance, gpu, h->count);
        if (i < count && (!add_sum(r, row, part[i], &p, FIGURE_PRICE) ||
                          !add_sum(r, row, part[i], &p, FIGURE_SPOT)))
            return false;
    }
    return true;
}

/* Lines of accelerators without an instance, as Google has them. */
static bool read_hosts(struct sky_reader *r)
{
    int *line = arena_array(r->list->mem, (size_t)r->csv->rows + 1, sizeof *line), lines = 0;
    for (int row = 0; row < r->csv->rows; row++)
        if (*text_at(r, row, ACCELERATOR) && !*text_at(r, row, INSTANCE))
            line[lines++] = row;
    for (int i = 0; lines > 0 && i < HOST_COUNT; i++)
        if (!join_host(r, &HOSTS[i], line, lines))
            return false;
    for (int i = 0; i < lines; i++)
        r->list->skipped += !gpu_of(r, text_at(r, line[i], ACCELERATOR), "");
    return true;
}

bool prices_read_catalog(struct price_list *l, const struct csv *csv, const char *name,
                         const char *cloud, const struct price_reading *how, struct error *err)
{
    struct sky_reader r = {.list = l,
                           .csv = csv,
                           .name = arena_string(l->mem, name),
                           .cloud = arena_string(l->mem, cloud),
                           .how = how,
                           .err = err};
    if (!find_columns(&r))
        return false;
    for (int row = 0; row < csv->rows; row++)
        if (!read_row(&r, row))
            return false;
    return csv->rows > 0 ? read_hosts(&r)
                         : fail(err, ERROR_INPUT, "%s: there is no instance in it", name);
}
