/* The page is data/page/page.html, whose styles, scripts and policy are there from the build
 * (tools/embed_page.sh), with two places filled in: {{title}}, the query's model and pool, and
 * {{data}}. Data and programs never mix: names from files are only in the title, escaped, and in
 * the data, which scripts show as text. */
#include "report/page/page.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "model/model.h"
#include "probe/differences.h"
#include "report/page/page_parts.h"
#include "report/report.h"

#include <assert.h>
#include <string.h>

extern const char embedded_page_html[];

static void add_escaped(const char *text, struct str *out)
{
    for (; *text; text++)
        if (strchr("<>&\"'", *text))
            str_addf(out, "&#%d;", *text);
        else
            str_add_bytes(out, text, 1);
}

static void add_title(const struct page *page, struct str *out)
{
    const struct search_report *r = page->report;
    add_escaped(r->model->name, out);
    str_add(out, " on ");
    add_escaped(r->cluster->text, out);
}

static void add_names(const struct compare_report *r, struct str *out)
{
    for (int i = 0; i < r->sides; i++) {
        str_add(out, i ? " vs. " : "");
        add_escaped(r->side[i].name, out);
    }
}

/* The template from `at` to the place; returns what is behind it. */
static const char *add_until(const char *at, const char *place, struct str *out)
{
    const char *end = strstr(at, place);
    assert(end);
    str_add_bytes(out, at, (size_t)(end - at));
    return end + strlen(place);
}

/* What is behind the title. */
static void add_rest(const char *at, struct json *data, struct str *out)
{
    at = add_until(at, "{{data}}", out);
    json_dump_script(data, out);
    json_release(data);
    str_add(out, at);
}

void page_print(const struct page *page, struct str *out)
{
    struct arena mem = {0};
    const char *at = add_until(embedded_page_html, "{{title}}", out);
    add_title(page, out);
    add_rest(at, page_data(page, &mem), out);
    arena_release(&mem);
}

static bool write_text(struct str *text, const char *path, struct error *err)
{
    bool ok = file_write(path, text->data, text->length, err);
    str_release(text);
    return ok;
}

bool page_write(const struct page *page, const char *path, struct error *err)
{
    struct str text = {0};
    page_print(page, &text);
    return write_text(&text, path, err);
}

bool page_write_compare(const struct compare_report *r, const char *path, struct error *err)
{
    struct str text = {0};
    const char *at = add_until(embedded_page_html, "{{title}}", &text);
    add_names(r, &text);
    add_rest(at, page_compare_data(r), &text);
    return write_text(&text, path, err);
}
