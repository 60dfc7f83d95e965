/* `astra gpus` and `astra models`: what Astra knows by name. A line of the tables below is a
 * column: JSON and CSV have all of them, text those with a head. */
#include "report/report.h"

#include "astra.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "cost/learned.h"
#include "model/model.h"
#include "price/prices.h"
#include "report/csv/csv_out.h"
#include "report/text/table.h"

#include <stddef.h>
#include <string.h>

enum gpu_kind { GPU_TEXT, GPU_WORDS, GPU_REAL, GPU_WHOLE, GPU_PRICE };

static const struct gpu_column {
    const char *name;
    enum gpu_kind kind;
    size_t offset;
    const char *head; /* in text; NULL = not shown */
    int drop;         /* as a table takes it */
} GPU_COLUMNS[] = {
#define COLUMN(field, kind, head, drop)                                                            \
    {                                                                                              \
#field, kind, offsetof(struct gpu, field), head, drop                                      \
    }
    COLUMN(name, GPU_TEXT, "GPU", 0),
    COLUMN(aliases, GPU_WORDS, "short", 1),
    COLUMN(vendor, GPU_TEXT, NULL, 0),
    COLUMN(arch, GPU_TEXT, "architecture", 5),
    COLUMN(bf16_tflops, GPU_REAL, "bf16 TFLOP/s", 0),
    COLUMN(fp16_tflops, GPU_REAL, NULL, 0),
    COLUMN(fp8_tflops, GPU_REAL, "fp8", 2),
    COLUMN(fp4_tflops, GPU_REAL, "fp4", 2),
    COLUMN(fp32_tflops, GPU_REAL, NULL, 0),
    COLUMN(memory_gb, GPU_REAL, NULL, 0),
    COLUMN(usable_gib, GPU_REAL, "usable GiB", 0),
    COLUMN(memory_gbs, GPU_REAL, "memory GB/s", 4),
    COLUMN(l2_mb, GPU_REAL, NULL, 0),
    COLUMN(sms, GPU_WHOLE, NULL, 0),
    COLUMN(boost_mhz, GPU_REAL, NULL, 0),
    COLUMN(link_gbs, GPU_REAL, "link GB/s", 3),
    COLUMN(domain, GPU_WHOLE, "joined", 9),
    COLUMN(per_node, GPU_WHOLE, NULL, 0),
    COLUMN(pcie_gbs, GPU_REAL, NULL, 0),
    COLUMN(nic_gbit, GPU_REAL, "NIC Gbit/s", 8),
    COLUMN(tdp_w, GPU_REAL, NULL, 0),
    {"usd_per_hour", GPU_PRICE, 0, "$/h", 0},
    COLUMN(source, GPU_TEXT, NULL, 0),
#undef COLUMN
};

enum { GPU_COLUMN_COUNT = sizeof GPU_COLUMNS / sizeof *GPU_COLUMNS };

static bool is_text(const struct gpu_column *c)
{
    return c->kind == GPU_TEXT || c->kind == GPU_WORDS;
}

static const char *text_of(const struct gpu *g, const struct gpu_column *c)
{
    return *(const char *const *)((const char *)g + c->offset);
}

static double number_of(const struct gpu *g, const struct gpu_column *c)
{
    const char *at = (const char *)g + c->offset;
    if (c->kind == GPU_PRICE)
        return gpu_usual_price(g);
    return c->kind == GPU_WHOLE ? *(const int *)at : *(const double *)at;
}

static void add_gpu_cell(struct table *t, const struct gpu *g, const struct gpu_column *c)
{
    const char *text = is_text(c) ? text_of(g, c) : "";
    if (c->kind == GPU_WORDS) /* the first is the one people use */
        table_add(t, "%.*s", (int)strcspn(text, " "), text);
    else if (is_text(c))
        table_add(t, "%s", text);
    else if (number_of(g, c) > 0)
        table_add(t, "%.4g", number_of(g, c));
    else
        table_add(t, "-");
}

static void add_coverage_cells(struct table *t, const struct learned *l, const struct gpu *g)
{
    for (int f = 0; f < FAMILIES; f++) {
        struct coverage c = learned_coverage(l, g, (enum family)f);
        if (f == FAMILY_GEMM || f == FAMILY_ATTENTION)
            table_add(t, "%s ±%.0f %%", provenance_name(c.provenance), 100 * c.error);
    }
}

static void gpus_text(const struct learned *l, const struct report_style *style, struct str *out)
{
    struct table t;
    size_t count;
    const struct gpu *g = gpu_table(&count);
    table_init(&t, NULL, 0);
    for (int c = 0; c < GPU_COLUMN_COUNT; c++)
        if (GPU_COLUMNS[c].head)
            table_column(&t, GPU_COLUMNS[c].head,
                         is_text(&GPU_COLUMNS[c]) ? TABLE_LEFT : TABLE_RIGHT, GPU_COLUMNS[c].drop);
    table_column(&t, "products", TABLE_LEFT, 6);
    table_column(&t, "attention", TABLE_LEFT, 7);
    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < GPU_COLUMN_COUNT; c++)
            if (GPU_COLUMNS[c].head)
                add_gpu_cell(&t, &g[i], &GPU_COLUMNS[c]);
        add_coverage_cells(&t, l, &g[i]);
    }
    table_print(&t, style, out);
}

static struct json *words_of(const char *words)
{
    struct json *list = json_new_array();
    while (*(words += strspn(words, " "))) {
        struct str word = {0};
        str_add_bytes(&word, words, strcspn(words, " "));
        words += word.length;
        json_append(list, json_new_string(str_text(&word)));
        str_release(&word);
    }
    return list;
}

static struct json *gpu_value(const struct gpu *g, const struct gpu_column *c)
{
    if (c->kind == GPU_WORDS)
        return words_of(text_of(g, c));
    if (c->kind == GPU_TEXT)
        return json_new_string(text_of(g, c));
    if (number_of(g, c) <= 0)
        return json_new_null();
    return c->kind == GPU_WHOLE ? json_new_integer((int64_t)number_of(g, c))
                                : json_new_number(number_of(g, c));
}

/* {"gpus": [...]} */
static void dump_list(const char *name, struct json *list, struct str *out)
{
    struct json *o = json_new_object();
    json_set(o, name, list);
    json_dump_release(o, out);
}

/* Where operator times of a family come from, and how far off they are expected to be. */
static struct json *coverage_value(const struct learned *l, const struct gpu *g)
{
    struct json *all = json_new_object();
    for (int f = 0; f < FAMILIES; f++) {
        struct coverage c = learned_coverage(l, g, (enum family)f);
        struct json *o = json_new_object();
        json_set(o, "provenance", json_new_string(provenance_name(c.provenance)));
        json_set(o, "measurements", json_new_integer((int64_t)c.rows));
        json_set(o, "expected_error", json_new_number(c.error));
        json_set(all, model_name(f), o);
    }
    return all;
}

static void gpus_json(const struct learned *l, struct str *out)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    struct json *list = json_new_array();
    for (size_t i = 0; i < count; i++) {
        struct json *o = json_new_object();
        for (int c = 0; c < GPU_COLUMN_COUNT; c++)
            json_set(o, GPU_COLUMNS[c].name, gpu_value(&g[i], &GPU_COLUMNS[c]));
        json_set(o, "operators", coverage_value(l, &g[i]));
        json_append(list, o);
    }
    dump_list("gpus", list, out);
}

static void add_coverage_heads(struct csv_writer *csv)
{
    static const char *const WHAT[] = {"provenance", "measurements", "expected_error"};
    for (int i = 0; i < FAMILIES * 3; i++) {
        struct str name = {0};
        str_addf(&name, "%s_%s", model_name(i / 3), WHAT[i % 3]);
        csv_text(csv, str_text(&name));
        str_release(&name);
    }
}

static void add_coverage_fields(struct csv_writer *csv, const struct learned *l,
                                const struct gpu *g)
{
    for (int f = 0; f < FAMILIES; f++) {
        struct coverage c = learned_coverage(l, g, (enum family)f);
        csv_text(csv, provenance_name(c.provenance));
        csv_number(csv, (double)c.rows);
        csv_number(csv, c.error);
    }
}

static void gpus_csv(const struct learned *l, struct str *out)
{
    size_t count;
    const struct gpu *g = gpu_table(&count);
    struct csv_writer csv = {out, 0};
    for (int c = 0; c < GPU_COLUMN_COUNT; c++)
        csv_text(&csv, GPU_COLUMNS[c].name);
    add_coverage_heads(&csv);
    csv_end(&csv);
    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < GPU_COLUMN_COUNT; c++)
            if (is_text(&GPU_COLUMNS[c]))
                csv_text(&csv, text_of(&g[i], &GPU_COLUMNS[c]));
            else
                csv_number_if(&csv, number_of(&g[i], &GPU_COLUMNS[c]) > 0,
                              number_of(&g[i], &GPU_COLUMNS[c]));
        add_coverage_fields(&csv, l, &g[i]);
        csv_end(&csv);
    }
}

/* A preset that does not load is left out: a unit test holds that none is. */
static bool load(const struct model_preset *preset, struct model *m)
{
    return model_from_hf(m, preset->config, strlen(preset->config), preset->name, NULL);
}

/* Fields that tell models apart at a glance; 0 means "has none". */
static const struct {
    enum model_field field;
    int drop; /* as a table takes it */
} SHOWN[] = {{MODEL_layers, 0},  {MODEL_hidden, 0},  {MODEL_ffn, 5},
             {MODEL_heads, 6},   {MODEL_kv, 9},      {MODEL_vocab, 3},
             {MODEL_max_seq, 7}, {MODEL_experts, 2}, {MODEL_topk, 8}};
enum { SHOWN_COUNT = sizeof SHOWN / sizeof *SHOWN };

static void add_model_row(struct table *t, const struct model_preset *preset, const struct model *m)
{
    table_add(t, "%s", preset->name);
    table_add(t, "%s", m->family);
    table_count(t, (double)model_params_total(m));
    table_count(t, (double)model_params_active(m));
    for (int i = 0; i < SHOWN_COUNT; i++) {
        int value = model_field_get(m, SHOWN[i].field);
        table_add(t, value > 0 ? "%d" : "-", value);
    }
}

static void models_text(const struct report_style *style, struct str *out)
{
    static const struct table_column columns[] = {{"model", TABLE_LEFT, 0},
                                                  {"family", TABLE_LEFT, 4},
                                                  {"parameters", TABLE_RIGHT, 0},
                                                  {"active", TABLE_RIGHT, 1}};
    struct table t;
    struct model m;
    table_init(&t, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < SHOWN_COUNT; i++)
        table_column(&t, model_field_info(SHOWN[i].field)->name, TABLE_RIGHT, SHOWN[i].drop);
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (load(p, &m))
            add_model_row(&t, p, &m);
    table_print(&t, style, out);
}

static struct json *meaning_value(const struct model *m, enum model_meaning f)
{
    const struct model_meaning_info *info = model_meaning_info(f);
    double value = model_meaning_get(m, f);
    char text[40];
    model_meaning_print(f, value, text, sizeof text);
    return info->kind == MEANING_WORD    ? json_new_string(text)
           : info->kind == MEANING_FLAG  ? json_new_bool(value != 0)
           : info->kind == MEANING_COUNT ? json_new_integer((int64_t)value)
                                         : json_new_number(value);
}

static struct json *model_object(const struct model_preset *p, const struct model *m)
{
    struct json *o = json_new_object();
    json_set(o, "name", json_new_string(p->name));
    json_set(o, "family", json_new_string(m->family));
    json_set(o, "params_total", json_new_integer(model_params_total(m)));
    json_set(o, "params_active", json_new_integer(model_params_active(m)));
    json_set(o, "published_params",
             p->published_params > 0 ? json_new_integer((int64_t)p->published_params)
                                     : json_new_null());
    json_set(o, "source", json_new_string(p->source));
    for (int i = 0; i < MODEL_FIRST_TRAINED; i++) {
        const struct model_field_info *info = model_field_info((enum model_field)i);
        int value = model_field_get(m, (enum model_field)i);
        json_set(o, info->name, info->flag ? json_new_bool(value != 0) : json_new_integer(value));
    }
    for (int i = 0; i < MODEL_MEANINGS; i++)
        json_set(o, model_meaning_info((enum model_meaning)i)->name,
                 meaning_value(m, (enum model_meaning)i));
    return o;
}

static void models_json(struct str *out)
{
    struct json *list = json_new_array();
    struct model m;
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (load(p, &m))
            json_append(list, model_object(p, &m));
    dump_list("models", list, out);
}

static void models_csv(struct str *out)
{
    struct csv_writer csv = {out, 0};
    struct model m;
    csv_heads(&csv, "name,family,params_total,params_active,published_params,source");
    for (int i = 0; i < MODEL_FIRST_TRAINED; i++)
        csv_text(&csv, model_field_info((enum model_field)i)->name);
    for (int i = 0; i < MODEL_MEANINGS; i++)
        csv_text(&csv, model_meaning_info((enum model_meaning)i)->name);
    csv_end(&csv);
    for (const struct model_preset *p = model_presets(); p->name; p++) {
        if (!load(p, &m))
            continue;
        csv_text(&csv, p->name);
        csv_text(&csv, m.family);
        csv_number(&csv, (double)model_params_total(&m));
        csv_number(&csv, (double)model_params_active(&m));
        csv_number_if(&csv, p->published_params > 0, p->published_params);
        csv_text(&csv, p->source);
        for (int i = 0; i < MODEL_FIRST_TRAINED; i++)
            csv_number(&csv, model_field_get(&m, (enum model_field)i));
        for (int i = 0; i < MODEL_MEANINGS; i++) {
            char text[40];
            model_meaning_print((enum model_meaning)i, model_meaning_get(&m, (enum model_meaning)i),
                                text, sizeof text);
            csv_text(&csv, text);
        }
        csv_end(&csv);
    }
}

void report_gpus(int format, const struct learned *l, const struct report_style *style,
                 struct str *out)
{
    if (format == ASTRA_JSON)
        gpus_json(l, out);
    else if (format == ASTRA_CSV)
        gpus_csv(l, out);
    else
        gpus_text(l, style, out);
}

void report_models(int format, const struct report_style *style, struct str *out)
{
    if (format == ASTRA_JSON)
        models_json(out);
    else if (format == ASTRA_CSV)
        models_csv(out);
    else
        models_text(style, out);
}
