/* Astra's own format of prices: a CSV file with the columns of COLUMNS in any order, one offer a
 * line. Here unknown GPUs are errors, for the user wrote the names for Astra. The table that is
 * compiled in has the same format. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"
#include "cluster/group.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

extern const char embedded_prices_csv[];

/* clang-format off */
/*    column            must be there */
#define COLUMN_TABLE(X) \
    X(provider,         true) \
    X(region,           false) \
    X(gpu,              true) \
    X(instance,         false) \
    X(gpus,             true) \
    X(market,           true) \
    X(usd_per_gpu_hour, true) \
    X(date,             false) \
    X(source,           false) \
    X(currency,         false)

enum column {
#define X(name, needed) COLUMN_##name,
    COLUMN_TABLE(X)
#undef X
    COLUMNS
};
/* clang-format on */

static const struct {
    const char *name;
    bool needed;
} COLUMN[] = {
#define X(name, needed) {#name, needed},
    COLUMN_TABLE(X)
#undef X
};

static const char *const MARKET[] = {
    [MARKET_ON_DEMAND] = "on-demand", [MARKET_SPOT] = "spot", [MARKET_RESERVED] = "reserved"};

const char *market_name(enum market m)
{
    return MARKET[m];
}

bool market_parse(const char *name, enum market *out)
{
    for (int i = 0; i < MARKETS; i++)
        if (same_name(name, MARKET[i])) {
            *out = (enum market)i;
            return true;
        }
    return false;
}

bool price_in_range(double usd)
{
    return usd >= PRICE_MIN && usd <= PRICE_MAX;
}

void prices_init(struct price_list *l, struct arena *mem)
{
    memset(l, 0, sizeof *l);
    l->mem = mem;
}

void prices_append(struct price_list *l, const struct price *p)
{
    l->row = arena_room(l->mem, l->row, l->rows, &l->capacity, sizeof *l->row);
    l->row[l->rows++] = *p;
}

/* A row at hand. */
struct price_reader {
    const struct csv *csv;
    const char *name;
    const struct price_reading *how;
    int column[COLUMNS]; /* -1: not there */
    int row;
    struct error *err;
};

__attribute__((format(printf, 2, 3))) static bool wrong(const struct price_reader *r,
                                                        const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(r->err, ERROR_INPUT, "%s:%d: %s", r->name, r->csv->line[r->row], text);
}

static const char *text_of(const struct price_reader *r, enum column c)
{
    return r->column[c] < 0 ? "" : csv_at(r->csv, r->row, r->column[c]);
}

static bool find_columns(struct price_reader *r)
{
    for (int c = 0; c < COLUMNS; c++) {
        r->column[c] = csv_column(r->csv, COLUMN[c].name);
        if (r->column[c] < 0 && COLUMN[c].needed)
            return fail(
                r->err, ERROR_INPUT,
                "%s:1: the header lacks the column %s; a table of prices has provider, gpu, "
                "gpus, market and usd_per_gpu_hour, a catalog of SkyPilot InstanceType and "
                "AcceleratorName",
                r->name, COLUMN[c].name);
    }
    return true;
}

static bool read_amount(const struct price_reader *r, double *usd)
{
    struct error cause;
    const char *text = text_of(r, COLUMN_usd_per_gpu_hour);
    double rate;
    if (!rates_get(r->how->rates, text_of(r, COLUMN_currency), &rate, &cause))
        return wrong(r, "%s", cause.text);
    if (!parse_real(text, usd) || !price_in_range(*usd * rate))
        return wrong(r, "usd_per_gpu_hour is '%.63s', USD per GPU-hour from %g to %g is right",
                     text, PRICE_MIN, PRICE_MAX);
    *usd *= rate;
    return true;
}

/* Rows of one GPU stand together: what the row before found serves this one. */
static bool read_gpu(const struct price_reader *r, struct price *p)
{
    struct error cause;
    const char *name = text_of(r, COLUMN_gpu);
    if (p->gpu && strcmp(p->gpu->name, name) == 0)
        return true;
    p->gpu = gpu_find(name, &cause);
    return p->gpu || wrong(r, "%s", cause.text);
}

static bool read_size(const struct price_reader *r, int *gpus)
{
    int64_t n;
    const char *text = text_of(r, COLUMN_gpus);
    if (!parse_int(text, &n) || n < 1 || n > GROUP_MAX_PER_NODE)
        return wrong(r, "gpus is '%.63s', GPUs of an instance from 1 to %d are right", text,
                     GROUP_MAX_PER_NODE);
    *gpus = (int)n;
    return true;
}

static bool read_row(const struct price_reader *r, struct price *p)
{
    const char *market = text_of(r, COLUMN_market);
    p->provider = text_of(r, COLUMN_provider);
    p->region = text_of(r, COLUMN_region);
    p->instance = text_of(r, COLUMN_instance);
    p->date = text_of(r, COLUMN_date);
    p->source = text_of(r, COLUMN_source);
    if (!*p->provider)
        return wrong(r, "the provider is empty");
    if (!market_parse(market, &p->market))
        return wrong(r, "market is '%.63s', on-demand, spot or reserved is right%s", market,
                     did_you_mean(market, MARKET, MARKETS));
    return read_gpu(r, p) && read_size(r, &p->gpus) && read_amount(r, &p->usd);
}

bool prices_read_own(struct price_list *l, const struct csv *csv, const char *name,
                     const struct price_reading *how, struct error *err)
{
    struct price_reader r = {.csv = csv, .name = name, .how = how, .err = err};
    struct price p = {.zone = "", .table = l->tables - 1};
    if (!find_columns(&r))
        return false;
    for (r.row = 0; r.row < csv->rows; r.row++) {
        if (!read_row(&r, &p))
            return false;
        prices_append(l, &p);
    }
    return csv->rows > 0 || fail(err, ERROR_INPUT, "%s: there is no price in it", name);
}

/* A unit test holds that the table is right. */
void prices_add_built_in(struct price_list *l)
{
    static const struct price_reading plain = {0};
    struct csv csv;
    l->name[l->tables++] = "Astra's own table";
    bool right = csv_parse(&csv, embedded_prices_csv, strlen(embedded_prices_csv), "prices.csv",
                           l->mem, NULL) &&
                 prices_read_own(l, &csv, "prices.csv", &plain, NULL);
    assert(right);
    (void)right;
}
