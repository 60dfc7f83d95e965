/* The page is its template with five places filled in:
 *
 *     {{policy}}  what a browser may run and load: this style, this script, nothing else
 *     {{title}}   the query's model and pool
 *     {{style}} {{data}} {{script}}
 *
 * Data and programs never mix: names from files are only in the title, escaped, and in the data,
 * which scripts show as text. */
#include "report/page/page.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "model/model.h"
#include "report/page/page_parts.h"
#include "report/report.h"

#include <string.h>

extern const char embedded_page_page_html[];
#define STYLE(name) extern const char embedded_page_##name##_css[];
#define SCRIPT(name) extern const char embedded_page_##name##_js[];
#include "report/page/page_files.def"
#undef STYLE
#undef SCRIPT

static const char *const STYLES[] = {
#define STYLE(name) embedded_page_##name##_css,
#define SCRIPT(name)
#include "report/page/page_files.def"
#undef STYLE
#undef SCRIPT
};
static const char *const SCRIPTS[] = {
#define STYLE(name)
#define SCRIPT(name) embedded_page_##name##_js,
#include "report/page/page_files.def"
#undef STYLE
#undef SCRIPT
};

struct filling {
    const struct page *page;
    struct str style, script;
};

static void add_hash(const struct str *text, struct str *out)
{
    unsigned char hash[SHA256_BYTES];
    sha256(text->data, text->length, hash);
    str_add(out, "'sha256-");
    add_base64(out, hash, sizeof hash);
    str_add(out, "'");
}

static void add_policy(const struct filling *f, struct str *out)
{
    str_add(out, "default-src 'none'; base-uri 'none'; form-action 'none'; style-src ");
    add_hash(&f->style, out);
    str_add(out, "; script-src ");
    add_hash(&f->script, out);
}

static void add_escaped(const char *text, struct str *out)
{
    for (; *text; text++)
        if (strchr("<>&\"'", *text))
            str_addf(out, "&#%d;", *text);
        else
            str_add_bytes(out, text, 1);
}

static void add_title(const struct filling *f, struct str *out)
{
    const struct search_report *r = f->page->report;
    add_escaped(r->model->name, out);
    str_add(out, " on ");
    add_escaped(r->cluster->text, out);
}

static void add_style(const struct filling *f, struct str *out)
{
    str_add_bytes(out, f->style.data, f->style.length);
}

static void add_data(const struct filling *f, struct str *out)
{
    struct arena mem;
    arena_init(&mem);
    struct json *data = page_data(f->page, &mem);
    json_dump_script(data, out);
    json_release(data);
    arena_release(&mem);
}

static void add_script(const struct filling *f, struct str *out)
{
    str_add_bytes(out, f->script.data, f->script.length);
}

static const struct {
    const char *place;
    void (*add)(const struct filling *, struct str *);
} PLACES[] = {
    {"{{policy}}", add_policy}, {"{{title}}", add_title},   {"{{style}}", add_style},
    {"{{data}}", add_data},     {"{{script}}", add_script},
};

/* Fills in the place that begins at `at`; returns what is behind it. */
static const char *fill_place(const struct filling *f, const char *at, struct str *out)
{
    for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
        size_t length = strlen(PLACES[i].place);
        if (strncmp(at, PLACES[i].place, length) == 0) {
            PLACES[i].add(f, out);
            return at + length;
        }
    }
    str_add_bytes(out, at, 1);
    return at + 1;
}

/* Without indents, which are a fifth of it. No text of a script goes over the end of a line. */
static void add_lines(const char *text, struct str *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        size_t indent = strspn(text, " ");
        str_add_bytes(out, text + indent, length - indent);
        text += length;
    }
}

void page_print(const struct page *page, struct str *out)
{
    struct filling f = {.page = page};
    str_init(&f.style);
    str_init(&f.script);
    for (size_t i = 0; i < sizeof STYLES / sizeof *STYLES; i++)
        add_lines(STYLES[i], &f.style);
    str_add(&f.script, "\"use strict\";\n");
    for (size_t i = 0; i < sizeof SCRIPTS / sizeof *SCRIPTS; i++)
        add_lines(SCRIPTS[i], &f.script);
    for (const char *at = embedded_page_page_html; *at;) {
        size_t plain = strcspn(at, "{");
        str_add_bytes(out, at, plain);
        at += plain;
        if (*at)
            at = fill_place(&f, at, out);
    }
    str_release(&f.style);
    str_release(&f.script);
}

bool page_write(const struct page *page, const char *path, struct error *err)
{
    struct str text;
    str_init(&text);
    page_print(page, &text);
    bool ok = file_write(path, text.data, text.length, err);
    str_release(&text);
    return ok;
}
