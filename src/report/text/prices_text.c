/* `astra prices`: offers by GPU, cheapest first, and what a search would use of them. Text shows an
 * instance once, in its cheapest region; JSON and CSV have all. The CSV is Astra's own format:
 * --prices reads it back. */
#include "report/report.h"

#include "astra.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "price/prices.h"
#include "report/csv/csv_out.h"
#include "report/text/table.h"
#include "report/text/typeset.h"

#include <stdlib.h>
#include <string.h>

static const char SCOPE[] =
    "Prices are USD per GPU-hour. Whole nodes are billed; network egress and "
    "storage are not counted.";

static bool is_listed(const struct price_report *r, const struct price *p)
{
    struct price_ask ask = *r->ask;
    if (!r->one_market)
        ask.market = p->market;
    return (!r->gpu || p->gpu == r->gpu) && price_matches(p, &ask);
}

static int compare_texts(const struct price *x, const struct price *y)
{
    int order = strcmp(x->provider, y->provider);
    order = order ? order : strcmp(x->instance, y->instance);
    order = order ? order : strcmp(x->region, y->region);
    return order ? order : strcmp(x->zone, y->zone);
}

static int cheapest_first(const void *a, const void *b)
{
    const struct price *x = *(const struct price *const *)a, *y = *(const struct price *const *)b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    if (x->usd != y->usd)
        return x->usd < y->usd ? -1 : 1;
    if (x->market != y->market)
        return x->market < y->market ? -1 : 1;
    int order = compare_texts(x, y);
    return order ? order : x < y ? -1 : x > y;
}

/* The offers that apply: of several tables, for each GPU and market those of the last that has
 * any. */
static const struct price **listed(const struct price_report *r, struct arena *mem, size_t *count)
{
    const struct price_list *l = r->list;
    const struct price **offer = arena_array(mem, (size_t)l->rows + 1, sizeof *offer);
    size_t gpus;
    const struct gpu *first = gpu_table(&gpus);
    int(*last)[MARKETS] = arena_array(mem, gpus, sizeof *last);
    for (int i = 0; i < l->rows; i++)
        if (is_listed(r, &l->row[i])) /* tables stand one behind the other */
            last[l->row[i].gpu - first][l->row[i].market] = l->row[i].table;
    *count = 0;
    for (int i = 0; i < l->rows; i++)
        if (is_listed(r, &l->row[i]) &&
            last[l->row[i].gpu - first][l->row[i].market] == l->row[i].table)
            offer[(*count)++] = &l->row[i];
    qsort(offer, *count, sizeof *offer, cheapest_first);
    return offer;
}

static bool same_instance(const struct price *x, const struct price *y)
{
    return x->gpu == y->gpu && x->market == y->market && x->gpus == y->gpus &&
           strcmp(x->provider, y->provider) == 0 && strcmp(x->instance, y->instance) == 0;
}

/* Whether a cheaper offer of the same instance stands before this one. Offers of a GPU are
 * together. */
static bool shown_before(const struct price **offer, size_t i)
{
    for (size_t k = i; k > 0 && offer[k - 1]->gpu == offer[i]->gpu; k--)
        if (same_instance(offer[k - 1], offer[i]))
            return true;
    return false;
}

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

static void print_offers(const struct price **offer, size_t count, const struct report_style *style,
                         struct str *out)
{
    static const struct table_column columns[] = {
        {"GPU", TABLE_LEFT, 0},      {"$/h", TABLE_RIGHT, 0},   {"market", TABLE_LEFT, 0},
        {"provider", TABLE_LEFT, 0}, {"region", TABLE_LEFT, 2}, {"instance", TABLE_LEFT, 3},
        {"GPUs", TABLE_RIGHT, 1},    {"date", TABLE_LEFT, 4}};
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const struct price *p = offer[i];
        if (shown_before(offer, i))
            continue;
        table_add(&t, "%s", p->gpu->name);
        table_add(&t, "%.4f", p->usd);
        table_add(&t, "%s", market_name(p->market));
        table_add(&t, "%s", p->provider);
        table_add(&t, "%s", or_dash(p->region));
        table_add(&t, "%s", or_dash(p->instance));
        table_add(&t, "%d", p->gpus);
        table_add(&t, "%s", or_dash(p->date));
    }
    table_print(&t, style, out);
}

/* GPUs that are asked about: the one, or those with any offer. */
static bool is_used(const struct price_report *r, const struct gpu *gpu)
{
    for (int i = 0; i < r->list->rows; i++)
        if (r->list->row[i].gpu == gpu && is_listed(r, &r->list->row[i]))
            return true;
    return r->gpu == gpu;
}

static void pick_words(const struct price_report *r, const struct gpu *gpu,
                       const struct price_pick *pick, struct str *out)
{
    if (pick->usd > 0)
        price_pick_words(pick, r->ask, gpu->per_node, out);
    else
        str_addf(out, "no %s price", market_name(r->ask->market));
}

static void print_used(const struct price_report *r, const struct report_style *style,
                       struct str *out)
{
    static const struct table_column columns[] = {{"GPU", TABLE_LEFT, 0},
                                                  {"node", TABLE_RIGHT, 0},
                                                  {"$/h", TABLE_RIGHT, 0},
                                                  {"why", TABLE_LEFT, 0}};
    size_t count;
    const struct gpu *gpu = gpu_table(&count);
    struct table t;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        if (!is_used(r, &gpu[i]))
            continue;
        struct price_pick pick = price_pick(r->list, r->ask, &gpu[i], gpu[i].per_node);
        table_add(&t, "%s", gpu[i].name);
        table_add(&t, "%d", gpu[i].per_node);
        table_add(&t, pick.usd > 0 ? "%.4f" : "-", pick.usd);
        pick_words(r, &gpu[i], &pick, &t.text);
        table_take(&t);
    }
    table_print(&t, style, out);
}

static void print_skipped(int64_t lines, const struct report_style *style, struct str *out)
{
    struct str text = {0};
    str_addf(&text, "%lld lines of the catalogs were skipped: other accelerators, parts of a GPU.",
             (long long)lines);
    typeset_wrap(style, str_text(&text), 0, out);
    str_release(&text);
}

static void prices_text(const struct price_report *r, const struct report_style *style,
                        struct str *out)
{
    struct arena mem = {0};
    size_t count;
    const struct price **offer = listed(r, &mem, &count);
    print_offers(offer, count, style, out);
    typeset_heading(style, "What a search uses", out);
    print_used(r, style, out);
    str_add(out, "\n");
    typeset_wrap(style, SCOPE, 0, out);
    if (r->list->skipped > 0)
        print_skipped(r->list->skipped, style, out);
    arena_release(&mem);
}

static struct json *offer_value(const struct price *p)
{
    struct json *o = json_new_object();
    json_set(o, "gpu", json_new_string(p->gpu->name));
    json_set(o, "usd_per_gpu_hour", json_new_number(p->usd));
    json_set(o, "market", json_new_string(market_name(p->market)));
    json_set(o, "provider", json_new_string(p->provider));
    json_set(o, "region", json_text_or_null(p->region));
    json_set(o, "zone", json_text_or_null(p->zone));
    json_set(o, "instance", json_text_or_null(p->instance));
    json_set(o, "gpus", json_new_integer(p->gpus));
    json_set(o, "date", json_text_or_null(p->date));
    json_set(o, "source", json_text_or_null(p->source));
    return o;
}

static struct json *used_value(const struct price_report *r, const struct gpu *gpu)
{
    struct price_pick pick = price_pick(r->list, r->ask, gpu, gpu->per_node);
    struct json *o = json_new_object();
    struct str words = {0};
    pick_words(r, gpu, &pick, &words);
    json_set(o, "gpu", json_new_string(gpu->name));
    json_set(o, "gpus_per_node", json_new_integer(gpu->per_node));
    json_set(o, "usd_per_gpu_hour", json_number_or_null(pick.usd > 0, pick.usd));
    json_set(o, "why", json_new_string(str_text(&words)));
    str_release(&words);
    return o;
}

static void prices_json(const struct price_report *r, struct str *out)
{
    struct json *o = json_new_object(), *offers = json_new_array(), *used = json_new_array();
    struct arena mem = {0};
    size_t count, gpus;
    const struct gpu *gpu = gpu_table(&gpus);
    const struct price **offer = listed(r, &mem, &count);
    for (size_t i = 0; i < count; i++)
        json_append(offers, offer_value(offer[i]));
    for (size_t i = 0; i < gpus; i++)
        if (is_used(r, &gpu[i]))
            json_append(used, used_value(r, &gpu[i]));
    json_set(o, "prices", offers);
    json_set(o, "used", used);
    json_set(o, "skipped", json_new_integer(r->list->skipped));
    json_set(o, "note", json_new_string(SCOPE));
    json_dump_release(o, out);
    arena_release(&mem);
}

/* Zones of a region that cost the same are one line of CSV, which has no zones. */
static bool same_but_zone(const struct price *x, const struct price *y)
{
    return same_instance(x, y) && x->usd == y->usd && strcmp(x->region, y->region) == 0;
}

static void prices_csv(const struct price_report *r, struct str *out)
{
    struct csv_writer csv = {out, 0};
    struct arena mem = {0};
    size_t count;
    const struct price **offer = listed(r, &mem, &count);
    csv_heads(&csv, "provider,region,gpu,instance,gpus,market,usd_per_gpu_hour,date,source");
    csv_end(&csv);
    for (size_t i = 0; i < count; i++) {
        const struct price *p = offer[i];
        if (i > 0 && same_but_zone(offer[i - 1], p))
            continue;
        csv_text(&csv, p->provider);
        csv_text(&csv, p->region);
        csv_text(&csv, p->gpu->name);
        csv_text(&csv, p->instance);
        csv_number(&csv, p->gpus);
        csv_text(&csv, market_name(p->market));
        csv_number(&csv, p->usd);
        csv_text(&csv, p->date);
        csv_text(&csv, p->source);
        csv_end(&csv);
    }
    arena_release(&mem);
}

void report_prices(const struct price_report *r, int format, const struct report_style *style,
                   struct str *out)
{
    if (format == ASTRA_JSON)
        prices_json(r, out);
    else if (format == ASTRA_CSV)
        prices_csv(r, out);
    else
        prices_text(r, style, out);
}
