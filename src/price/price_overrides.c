/* Known defects of catalogs: a CSV file with the columns cloud, instance, column, value and reason.
 * What it says of a figure stands in for what the catalog says. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/str.h"

#include <string.h>

extern const char embedded_price_overrides_csv[];

enum { CLOUD, INSTANCE, COLUMN, VALUE, REASON, FIELDS };
static const char *const FIELD[] = {"cloud", "instance", "column", "value", "reason"};

static const char *const FIGURES[] = {
    [FIGURE_COUNT] = "AcceleratorCount", [FIGURE_PRICE] = "Price", [FIGURE_SPOT] = "SpotPrice"};

const char *figure_name(enum figure f)
{
    return FIGURES[f];
}

static bool find_fields(const struct csv *csv, const char *name, int column[FIELDS],
                        struct error *err)
{
    for (int i = 0; i < FIELDS; i++) {
        column[i] = csv_column(csv, FIELD[i]);
        if (column[i] < 0)
            return fail(err, ERROR_INPUT,
                        "%s:1: the header lacks the column %s; overrides have cloud, instance, "
                        "column, value and reason",
                        name, FIELD[i]);
    }
    return true;
}

static bool read_entry(const struct csv *csv, int row, const int column[FIELDS], const char *name,
                       struct price_override *e, struct error *err)
{
    const char *figure = csv_at(csv, row, column[COLUMN]);
    double number;
    *e = (struct price_override){.cloud = csv_at(csv, row, column[CLOUD]),
                                 .instance = csv_at(csv, row, column[INSTANCE]),
                                 .column = figure,
                                 .value = csv_at(csv, row, column[VALUE])};
    int f = 0;
    while (f < FIGURES_COUNT && strcmp(FIGURES[f], figure) != 0)
        f++;
    if (f == FIGURES_COUNT)
        return fail(err, ERROR_INPUT,
                    "%s:%d: column is '%.63s', AcceleratorCount, Price or SpotPrice is right%s",
                    name, csv->line[row], figure, did_you_mean(figure, FIGURES, FIGURES_COUNT));
    if (strcmp(e->value, "drop") == 0)
        e->value = NULL;
    return !e->value || (parse_real(e->value, &number) && number > 0) ||
           fail(err, ERROR_INPUT, "%s:%d: value is '%.63s', a number above 0 or drop is right",
                name, csv->line[row], e->value);
}

bool overrides_add(struct price_overrides *o, const char *text, size_t length, const char *name,
                   struct arena *mem, struct error *err)
{
    struct csv csv;
    int column[FIELDS];
    if (!csv_parse(&csv, text, length, name, mem, err) || !find_fields(&csv, name, column, err))
        return false;
    size_t count = (size_t)o->count + (size_t)csv.rows;
    struct price_override *all = arena_array(mem, count, sizeof *all);
    if (o->count > 0)
        memcpy(all, o->entry, (size_t)o->count * sizeof *all);
    for (int i = 0; i < csv.rows; i++)
        if (!read_entry(&csv, i, column, name, &all[o->count + i], err))
            return false;
    o->entry = all;
    o->count = (int)count;
    return true;
}

bool overrides_built_in(struct price_overrides *o, struct arena *mem, struct error *err)
{
    const char *text = embedded_price_overrides_csv;
    *o = (struct price_overrides){0};
    return overrides_add(o, text, strlen(text), "price_overrides.csv", mem, err);
}

const char *overrides_apply(const struct price_overrides *o, const char *cloud,
                            const char *instance, enum figure f, const char *text)
{
    for (int i = o ? o->count - 1 : -1; i >= 0; i--) {
        const struct price_override *e = &o->entry[i];
        if (strcmp(e->column, FIGURES[f]) == 0 && matches_pattern(e->cloud, cloud) &&
            matches_pattern(e->instance, instance))
            return e->value ? e->value : "";
    }
    return text;
}
