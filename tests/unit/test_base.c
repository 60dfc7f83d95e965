/* The base: strings, units, arenas, files, CSV, JSON, YAML. */
#define _XOPEN_SOURCE 700 /* mkstemp, P_tmpdir */
#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "base/yaml.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Errors. The parentheses keep cmocka's macro of the same name away. */

static void errors_are_cut_not_overrun(void **state)
{
    struct error err = {0};
    char longer[sizeof err.text * 2];
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_false((fail)(&err, ERROR_INPUT, "%s", longer));
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false((fail)(NULL, ERROR_SYSTEM, "nobody listens"));
}

/* Strings */

static void strings_grow(void **state)
{
    struct str s;
    (void)state;
    str_init(&s);
    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 1000; i++)
        str_addf(&s, "%03d", i);
    assert_int_equal(s.length, 3000);
    assert_memory_equal(s.data + 2997, "999", 4);
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_add_bytes(&s, "a\0b", 3);
    assert_int_equal(s.length, 3);
    str_release(&s);
    assert_string_equal(str_text(&s), "");
}

static void padding_counts_from_the_line(void **state)
{
    struct str s;
    (void)state;
    str_init(&s);
    str_add(&s, "first\nab");
    str_pad(&s, 4);
    str_add(&s, "|");
    str_pad(&s, 2); /* already wider */
    assert_string_equal(str_text(&s), "first\nab  |");
    str_release(&s);
}

static void integers_are_strict(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-12", true, -12},
        {"+7", true, 7},
        {"", false, 0},
        {"-", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
        {"--1", false, 0},
        {"1e3", false, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t v = 0;
        if (parse_int(cases[i].text, &v) != cases[i].ok || v != cases[i].value)
            fail_msg("'%s' gives %lld", cases[i].text, (long long)v);
    }
}

static void reals_are_strict(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        double value;
    } cases[] = {
        {"0", true, 0},      {"2.5", true, 2.5}, {"-1e-3", true, -1e-3}, {".5", true, 0.5},
        {"", false, 0},      {"nan", false, 0},  {"inf", false, 0},      {"0x1p3", false, 0},
        {"1e999", false, 0}, {"1,5", false, 0},  {" 1", false, 0},       {"1.2.3", false, 0},
        {"e", false, 0},     {"1e", false, 0},   {"--1", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = 0;
        if (parse_real(cases[i].text, &v) != cases[i].ok || v != cases[i].value)
            fail_msg("'%s' gives %g", cases[i].text, v);
    }
}

static void names_ignore_case_and_dashes(void **state)
{
    (void)state;
    assert_true(same_name("H100-SXM5", "h100_sxm5"));
    assert_true(same_name("", ""));
    assert_false(same_name("H100", "H10"));
    assert_false(same_name("H10", "H100"));
    assert_false(same_name("H100", ""));
}

static void near_names_are_suggested(void **state)
{
    static const char *const names[] = {"tensor", "pipeline", "data"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {
        {"tensor", "tensor"}, {"TENSER", "tensor"}, {"pipline", "pipeline"},
        {"daat", "data"},     {"sequence", NULL},   {"a-very-different-word", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = nearest_name(cases[i].word, names, COUNT(names));
        assert_int_equal(got == NULL, cases[i].nearest == NULL);
        if (got)
            assert_string_equal(got, cases[i].nearest);
    }
    assert_string_equal(did_you_mean("dat", names, COUNT(names)), " (did you mean data?)");
    assert_string_equal(did_you_mean("sequence", names, COUNT(names)), "");
    assert_null(nearest_name("data", names, 0));
}

/* Units */

static void amounts_and_durations(void **state)
{
    static const struct {
        bool (*parse)(const char *, double *);
        const char *text;
        bool ok;
        double value;
    } cases[] = {
        {parse_amount, "512", true, 512},     {parse_amount, "1.5M", true, 1.5e6},
        {parse_amount, "2T", true, 2e12},     {parse_amount, "3b", true, 3e9},
        {parse_amount, "3G", true, 3e9},      {parse_amount, "4k", true, 4e3},
        {parse_amount, "", false, 0},         {parse_amount, "K", false, 0},
        {parse_amount, "1KK", false, 0},      {parse_amount, "1 K", false, 0},
        {parse_amount, "2X", false, 0},       {parse_amount, "$3M", false, 0},
        {parse_length, "128k", true, 131072}, {parse_length, "1M", true, 1048576},
        {parse_length, "8192", true, 8192},   {parse_length, "100k", true, 1e5},
        {parse_length, "96K", true, 96e3},    {parse_length, "0", true, 0},
        {parse_length, "4kk", false, 0},      {parse_amount, "1e308T", false, 0},
        {parse_duration, "90s", true, 90},    {parse_duration, "15m", true, 900},
        {parse_duration, "12H", true, 43200}, {parse_duration, "1.5d", true, 129600},
        {parse_duration, "0s", true, 0},      {parse_duration, "45", false, 0},
        {parse_duration, "1w", false, 0},     {parse_duration, "d", false, 0},
        {parse_duration, "", false, 0},       {parse_duration, "1hs", false, 0},
        {parse_duration, "1 h", false, 0},    {parse_duration, "1e308d", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = 0;
        bool ok = cases[i].parse(cases[i].text, &v);
        if (ok != cases[i].ok || (ok && v != cases[i].value))
            fail_msg("'%s' gives %g", cases[i].text, v);
    }
}

static void amounts_are_printed_for_people(void **state)
{
    static const struct {
        void (*add)(struct str *, double);
        double value;
        const char *text;
    } cases[] = {
        {add_count, 0, "0"},
        {add_count, 999, "999"},
        {add_count, 1234567, "1.23M"},
        {add_count, 12e9, "12.0B"},
        {add_count, 405e9, "405B"},
        {add_bytes, 71.3 * GIB, "71.3 GiB"},
        {add_bytes, 512.0 * 1024 * 1024, "512.0 MiB"},
        {add_seconds, 12.3e-3, "12.3 ms"},
        {add_seconds, 4.56, "4.56 s"},
        {add_seconds, 5e-6, "5.0 us"},
        {add_seconds, 600, "10.0 min"},
        {add_seconds, 153.4, "2.56 min"},
        {add_seconds, 7000, "117 min"},
        {add_seconds, 2.1 * 3600, "2.10 h"},
        {add_seconds, 30 * 86400.0, "30.0 d"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str s;
        str_init(&s);
        cases[i].add(&s, cases[i].value);
        assert_string_equal(str_text(&s), cases[i].text);
        str_release(&s);
    }
}

/* Arenas */

static void arenas_give_zeroed_aligned_memory(void **state)
{
    struct arena mem;
    (void)state;
    arena_init(&mem);
    for (size_t size = 0; size < 200000; size = size * 2 + 1) {
        unsigned char *p = arena_alloc(&mem, size);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, size);
    }
    assert_string_equal(arena_copy(&mem, "abcdef", 3), "abc");
    assert_string_equal(arena_string(&mem, "abc"), "abc");
    assert_string_equal(arena_format(&mem, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(arena_format(&mem, "%s", ""), "");
    arena_release(&mem);
    assert_null(mem.blocks);
    arena_release(&mem);
}

static jmp_buf no_memory;

static void jump_out_of_memory(size_t bytes)
{
    (void)bytes;
    longjmp(no_memory, 1);
}

static void overflowing_arrays_call_the_handler(void **state)
{
    static struct arena mem;
    void (*usual)(size_t) = arena_out_of_memory;
    (void)state;
    arena_init(&mem);
    arena_out_of_memory = jump_out_of_memory;
    if (setjmp(no_memory) == 0) {
        arena_array(&mem, SIZE_MAX / 4, 8);
        fail_msg("an array of twice the address space was given");
    }
    arena_out_of_memory = usual;
    arena_release(&mem);
}

/* Files */

static void write_file(const char *path, const char *data, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

static void files_are_read(void **state)
{
    static const char data[] = "one\0two\n";
    struct arena mem;
    struct text text;
    struct error err = {0};
    char path[] = P_tmpdir "/astra-XXXXXX";
    int handle = mkstemp(path);
    (void)state;
    assert_true(handle >= 0 && close(handle) == 0);
    arena_init(&mem);
    write_file(path, data, sizeof data - 1);
    if (!file_read(path, &mem, &text, &err))
        fail_msg("%s", err.text);
    assert_int_equal(text.length, sizeof data - 1);
    assert_memory_equal(text.data, data, sizeof data);
    assert_true(file_exists(path));
    write_file(path, "", 0);
    assert_true(file_read(path, &mem, &text, &err));
    assert_int_equal(text.length, 0);
    assert_string_equal(text.data, "");
    assert_int_equal(remove(path), 0);
    assert_false(file_exists(path));
    arena_release(&mem);
}

static void file_errors_name_the_path(void **state)
{
    struct arena mem;
    struct text text;
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    assert_false(file_read("no/such/file", &mem, &text, &err));
    assert_string_equal(err.text, "no/such/file: No such file or directory");
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false(file_read("tests", &mem, &text, &err));
    assert_string_equal(err.text, "tests: is a folder, a file was expected");
    assert_false(file_read("/dev/zero", &mem, &text, &err));
    assert_string_equal(err.text, "/dev/zero: larger than 16 MiB, which no input of Astra needs");
    arena_release(&mem);
}

/* A folder with a file, a link that leads out, a pipe, and a neighbour whose name begins alike. */
static void confined_readers_see_allowed_folders_alone(void **state)
{
    static const char *const NOT_READ[] = {"out/secret", "in/link", "in/../out/secret", "in/pipe",
                                           "in",         "in/none", "inner/secret",     "-"};
    char folder[] = P_tmpdir "/astra-XXXXXX";
    struct arena mem;
    struct text text;
    struct error err = {0};
    const char *const *names;
    (void)state;
    assert_non_null(mkdtemp(folder));
    int before = open(".", O_RDONLY);
    assert_true(before >= 0 && chdir(folder) == 0);
    assert_true(mkdir("in", 0700) == 0 && mkdir("out", 0700) == 0 && mkdir("inner", 0700) == 0);
    write_file("in/a", "a", 1);
    write_file("out/secret", "s", 1);
    write_file("inner/secret", "s", 1);
    assert_true(symlink("../out/secret", "in/link") == 0 && mkfifo("in/pipe", 0600) == 0);
    assert_true(symlink("a", "in/alias") == 0);
    char *allowed = realpath("in", NULL);
    const char *const list[] = {allowed, NULL};
    arena_init(&mem);
    files_confine(list);
    assert_true(file_read("in/a", &mem, &text, &err) && file_read("in/alias", &mem, &text, &err));
    assert_true(file_exists("in/a") && folder_exists("in") &&
                folder_names("in", &mem, &names, &err));
    for (size_t i = 0; i < COUNT(NOT_READ); i++)
        assert_false(file_read(NOT_READ[i], &mem, &text, &err));
    assert_string_equal(err.text, "-: cannot be read: it is no plain file below an allowed folder");
    assert_false(file_exists("out/secret") || file_exists("in/link") || folder_exists("out"));
    assert_false(folder_names("out", &mem, &names, &err));
    assert_false(file_write("in/new", "x", 1, &err) || folder_make("in/made", &err));
    assert_false(file_writable("in/a", &err));
    assert_string_equal(err.text, "in/a: cannot be written: nothing is written here");
    files_confine(NULL);
    assert_true(file_read("out/secret", &mem, &text, &err) && !file_exists("in/new"));
    const char *const made[] = {"in/a",     "out/secret", "inner/secret", "in/link", "in/pipe",
                                "in/alias", "in",         "out",          "inner"};
    for (size_t i = 0; i < COUNT(made); i++)
        assert_int_equal(remove(made[i]), 0);
    assert_true(fchdir(before) == 0 && close(before) == 0 && rmdir(folder) == 0);
    free(allowed);
    arena_release(&mem);
}

/* CSV */

static void tables_are_read(void **state)
{
    static const char text[] = "a,b\r\n\n1,\"x, \"\"y\"\"\nz\"\n,last";
    struct arena mem;
    struct csv c;
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    if (!csv_parse(&c, text, sizeof text - 1, "t.csv", &mem, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.columns, 2);
    assert_int_equal(c.rows, 2);
    assert_int_equal(csv_column(&c, "b"), 1);
    assert_int_equal(csv_column(&c, "c"), -1);
    assert_string_equal(csv_at(&c, 0, 0), "1");
    assert_string_equal(csv_at(&c, 0, 1), "x, \"y\"\nz");
    assert_string_equal(csv_at(&c, 1, 0), "");
    assert_string_equal(csv_at(&c, 1, 1), "last");
    assert_int_equal(c.line[0], 3);
    assert_int_equal(c.line[1], 5);
    arena_release(&mem);
}

static void broken_tables_name_the_line(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv: is empty, a header line was expected"},
        {"a,b\n1\n", "t.csv:2: 1 fields, the header has 2"},
        {"a\n1,2\n", "t.csv:2: 2 fields, the header has 1"},
        {"a\n\"1", "t.csv:2: a quoted field is not closed"},
        {"a\n\"1\"2", "t.csv:2: expected a comma or the end of the line behind a quoted field"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena mem;
        struct csv c;
        struct error err = {0};
        arena_init(&mem);
        assert_false(csv_parse(&c, cases[i].text, strlen(cases[i].text), "t.csv", &mem, &err));
        assert_string_equal(err.text, cases[i].message);
        arena_release(&mem);
    }
}

/* JSON */

static void visit_keys(void *context, const char *key, const struct json *value)
{
    str_addf(context, "%s=%lld ", key, (long long)json_integer_of(value));
}

static void json_is_read(void **state)
{
    static const char text[] = "{\"b\": 1, \"a\": 2, \"list\": [1.5, true, null, \"x\"]}";
    struct error err = {0};
    struct str keys;
    (void)state;
    struct json *v = json_parse(text, sizeof text - 1, "t.json", &err);
    if (!v)
        fail_msg("%s", err.text);
    const struct json *list = json_get(v, "list");
    assert_true(json_is_object(v) && json_is_array(list) && json_is_null(json_get(v, "none")));
    assert_int_equal(json_integer_of(json_get(v, "a")), 2);
    assert_true(json_number_of(json_at(list, 0)) == 1.5 && !json_is_integer(json_at(list, 0)));
    assert_true(json_is_bool(json_at(list, 1)) && json_bool_of(json_at(list, 1)));
    assert_true(json_is_null(json_at(list, 2)) && json_is_null(json_at(list, 9)));
    assert_string_equal(json_text(json_at(list, 3)), "x");
    assert_string_equal(json_text(json_at(list, 0)), "");
    assert_int_equal(json_count(list), 4);
    assert_int_equal(json_count(v), 3);
    str_init(&keys);
    json_each(v, visit_keys, &keys);
    assert_string_equal(str_text(&keys), "b=1 a=2 list=0 ");
    str_release(&keys);
    json_release(v);
}

static void json_errors_have_a_place(void **state)
{
    static const char *const cases[] = {
        "",         "{",       "{\"a\": 1,}",          "[1 2]",    "{\"a\": 1, \"a\": 2}",
        "{} trail", "[1e999]", "99999999999999999999", "\"\xff\"",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        if (json_parse(cases[i], strlen(cases[i]), "t.json", &err))
            fail_msg("accepted: %s", cases[i]);
        assert_memory_equal(err.text, "t.json:", 7);
        assert_int_equal(err.kind, ERROR_INPUT);
    }
}

static void deep_json_is_refused(void **state)
{
    enum { DEPTH = 100000 };
    static char text[DEPTH];
    struct error err = {0};
    (void)state;
    memset(text, '[', sizeof text);
    assert_null(json_parse(text, sizeof text, "t.json", &err));
    assert_memory_equal(err.text, "t.json:1:", 9);
}

static void json_is_written_in_order(void **state)
{
    struct str out;
    (void)state;
    struct json *v = json_new_object(), *list = json_new_array();
    json_set(v, "z", json_new_integer(INT64_MAX));
    json_append(list, json_new_number(0.1));
    json_append(list, json_new_number((double)NAN));
    json_append(list, json_new_bool(false));
    json_append(list, json_new_string("a\"b"));
    json_append(list, json_new_string("\xff\xc3\xa9\xc3")); /* in part not UTF-8 */
    json_set(v, "a", list);
    str_init(&out);
    json_dump(v, &out);
    assert_string_equal(str_text(&out),
                        "{\n  \"z\": 9223372036854775807,\n  \"a\": [\n    0.1,\n"
                        "    null,\n    false,\n    \"a\\\"b\",\n    \"?\xc3\xa9?\"\n  ]\n}\n");
    str_clear(&out);
    json_dump_line(v, &out);
    assert_string_equal(str_text(&out), "{\"z\":9223372036854775807,\"a\":[0.1,null,false,"
                                        "\"a\\\"b\",\"?\xc3\xa9?\"]}");
    str_release(&out);
    json_release(v);
}

/* YAML */

/* A tree as one line: scalars quoted, lists in [], maps in {}, each key with its place. */
static void flatten(const struct yaml *v, struct str *out)
{
    if (v->key)
        str_addf(out, "%s@%d:%d=", v->key, v->key_line, v->key_column);
    if (v->kind == YAML_SCALAR)
        str_addf(out, "'%s'", v->text);
    else
        str_add(out, v->kind == YAML_LIST ? "[" : "{");
    for (const struct yaml *m = v->item; m; m = m->next) {
        flatten(m, out);
        str_add(out, m->next ? " " : "");
    }
    if (v->kind != YAML_SCALAR)
        str_add(out, v->kind == YAML_LIST ? "]" : "}");
    str_addf(out, "@%d:%d", v->line, v->column);
}

static void yaml_is_read_with_places(void **state)
{
    static const struct {
        const char *text, *tree;
    } cases[] = {
        {"word", "'word'@1:1"},
        {"- a\n- 2\n", "['a'@1:3 '2'@2:3]@1:1"},
        {"a: 1\nb:\n  - x\n  - {c: d}\n",
         "{a@1:1='1'@1:4 b@2:1=['x'@3:5 {c@4:6='d'@4:9}@4:5]@3:3}@1:1"},
        {"a: \"q\\tq\" # comment\n", "{a@1:1='q\tq'@1:4}@1:1"},
        {"a:\n", "{a@1:1=''@1:3}@1:1"},
        {"%YAML 1.1\n---\n[]\n...\n", "[]@3:1"},
        {"\xEF\xBB\xBF"
         "a: b",
         "{a@1:1='b'@1:4}@1:1"}, /* a byte order mark */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena mem;
        struct str tree;
        struct error err = {0};
        arena_init(&mem);
        str_init(&tree);
        const struct yaml *v = yaml_parse(cases[i].text, strlen(cases[i].text), "t", &mem, &err);
        if (!v)
            fail_msg("%s: %s", cases[i].text, err.text);
        flatten(v, &tree);
        assert_string_equal(str_text(&tree), cases[i].tree);
        str_release(&tree);
        arena_release(&mem);
    }
}

static void yaml_surprises_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t:1:1: nothing in it"},
        {"a: &x 1\n", "t:1:4: an anchor (&) is not supported here"},
        {"&x a: 1\n", "t:1:1: an anchor (&) is not supported here"},
        {"a: &x [1]\n", "t:1:4: an anchor (&) is not supported here"},
        {"a: &x {b: 1}\n", "t:1:4: an anchor (&) is not supported here"},
        {"a: *x\n", "t:1:4: an alias (*) is not supported here"},
        {"a: !!str 1\n", "t:1:4: a tag (!) is not supported here"},
        {"a: ! 1\n", "t:1:4: a tag (!) is not supported here"},
        {"a: !!seq [1]\n", "t:1:4: a tag (!) is not supported here"},
        {"a: 1\nb: 2\na: 3\n", "t:3:1: the key 'a' stands here twice"},
        {"[1]: 2\n", "t:1:1: a key must be a word"},
        {"*x : 2\n", "t:1:1: a key must be a word"},
        {"a: \"\\0\"\n", "t:1:4: a text with a 0 byte in it"},
        {"a: 1\n---\nb: 2\n", "t:2:1: a second document begins; one is expected"},
        {"a: [1, 2\n",
         "t:2:1: not YAML: while parsing a flow sequence, did not find expected ',' or "
         "']'"},
        {"a: b: c\n", "t:1:5: not YAML: mapping values are not allowed in this context"},
        {"a: 'open\n", "t:2:1: not YAML: while scanning a quoted scalar, found unexpected end of "
                       "stream"},
        {"\ta: 1\n",
         "t:1:1: not YAML: while scanning for the next token, found character that cannot "
         "start any token"},
        {"a: \xff\n", "t: not YAML: invalid leading UTF-8 octet at byte 3"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena mem;
        struct error err = {0};
        arena_init(&mem);
        if (yaml_parse(cases[i].text, strlen(cases[i].text), "t", &mem, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERROR_INPUT);
        arena_release(&mem);
    }
}

static void yaml_depth_is_limited(void **state)
{
    enum { LIMIT = 32, DEEP = 100000 };
    static char text[DEEP];
    struct arena mem;
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    memset(text, '[', LIMIT);
    memset(text + LIMIT, ']', LIMIT);
    assert_non_null(yaml_parse(text, 2 * LIMIT, "t", &mem, &err));
    memset(text, '[', DEEP);
    assert_null(yaml_parse(text, DEEP, "t", &mem, &err));
    assert_string_equal(err.text, "t:1:33: nested deeper than 32 levels");
    for (int i = 0; i < DEEP; i++)
        text[i] = i % 2 ? ' ' : '-';
    assert_null(yaml_parse(text, DEEP, "t", &mem, &err));
    assert_string_equal(err.text, "t:1:65: nested deeper than 32 levels");
    arena_release(&mem);
}

static void yaml_maps_are_bounded(void **state)
{
    struct arena mem;
    struct str text;
    struct error err = {0};
    (void)state;
    arena_init(&mem);
    str_init(&text);
    for (int i = 0; i < 1000; i++)
        str_addf(&text, "k%d: v\n", i);
    assert_non_null(yaml_parse(str_text(&text), text.length, "t", &mem, &err));
    str_add(&text, "one: more\n");
    assert_null(yaml_parse(str_text(&text), text.length, "t", &mem, &err));
    assert_string_equal(err.text, "t:1001:1: more than 1000 keys in one map");
    str_release(&text);
    arena_release(&mem);
}

/* Files of others: replaced members are marked !, documents have --- between them. */
static void flatten_all(const struct yaml *v, struct str *out)
{
    str_addf(out, "%s%s%s", v->replaced ? "!" : "", v->key ? v->key : "", v->key ? "=" : "");
    if (v->kind == YAML_SCALAR)
        str_addf(out, v->plain ? "%s" : "'%s'", v->text);
    else
        str_add(out, v->kind == YAML_LIST ? "[" : "{");
    for (const struct yaml *m = v->item; m; m = m->next) {
        flatten_all(m, out);
        str_add(out, m->next ? " " : "");
    }
    if (v->kind != YAML_SCALAR)
        str_add(out, v->kind == YAML_LIST ? "]" : "}");
}

static void yaml_of_others_is_read(void **state)
{
    static const struct {
        const char *text, *tree; /* or the message */
    } cases[] = {
        {"a: &x {b: 1, c: 2}\nd: *x\ne:\n  <<: *x\n  c: 3\n",
         "{a={b=1 c=2} d={b=1 c=2} e={!<<={b=1 c=2} c=3 b=1}}"},
        {"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y]}\n",
         "{a={b=1} c={b=2 d=3} e={!<<=[{b=1} {b=2 d=3}] b=1 d=3}}"},
        {"a: 1\nb: 2\na: 3\n", "{!a=1 b=2 a=3}"},
        {"a: !!str 1\nb: !ENV '2'\n", "{a=1 b='2'}"},
        {"a: 1\n---\nb: 2\n---\n", "{a=1}---{b=2}"},
        {"&x a: *x\n", "t:1:7: the alias *x has no anchor before it"},
        {"a: &x [*x]\n", "t:1:8: the alias *x has no anchor before it"},
        {"---\n---\n", "t:3:1: nothing in it"},
        {"[1]: 2\n", "t:1:1: a key must be a word"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena mem;
        struct str tree = {0};
        struct error err = {0};
        arena_init(&mem);
        const struct yaml *v =
            yaml_parse_all(cases[i].text, strlen(cases[i].text), "t", &mem, &err);
        for (const struct yaml *d = v; d; d = d->next) {
            str_add(&tree, d == v ? "" : "---");
            flatten_all(d, &tree);
        }
        assert_string_equal(v ? str_text(&tree) : err.text, cases[i].tree);
        str_release(&tree);
        arena_release(&mem);
    }
}

/* Ten of tens of tens, and a block of text, whose lines begin below its sign. */
static void yaml_aliases_are_bounded(void **state)
{
    struct arena mem;
    struct error err = {0};
    struct str text = {0};
    (void)state;
    arena_init(&mem);
    str_add(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 30; i++)
        str_addf(&text, "a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1, i - 1);
    assert_null(yaml_parse_all(str_text(&text), text.length, "t", &mem, &err));
    assert_string_equal(err.text,
                        "t:12:28: more than 500000 values when aliases (*) are written out");
    str_release(&text);
    const struct yaml *v = yaml_parse_all("run: |\n  x\n", 11, "t", &mem, &err);
    assert_int_equal(yaml_get(v, "run")->text_line, 2);
    arena_release(&mem);
}

static void yaml_members_are_found(void **state)
{
    struct arena mem;
    (void)state;
    arena_init(&mem);
    const struct yaml *v = yaml_parse("a: 1\nb: [x]\n", 12, "t", &mem, NULL);
    assert_non_null(v);
    assert_string_equal(yaml_get(v, "a")->text, "1");
    assert_int_equal(yaml_get(v, "b")->kind, YAML_LIST);
    assert_null(yaml_get(v, "c"));
    assert_null(yaml_get(yaml_get(v, "b"), "x")); /* a list has no keys */
    arena_release(&mem);
}

static void medians_lie_in_the_middle(void **state)
{
    double odd[] = {3, -1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};
    (void)state;
    assert_true(median_of(odd, 3) == 2 && odd[0] == -1 && odd[2] == 3);
    assert_true(median_of(even, 4) == 2.5);
    assert_true(median_of(one, 1) == 7 && median_of(one, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_cut_not_overrun),
        cmocka_unit_test(strings_grow),
        cmocka_unit_test(padding_counts_from_the_line),
        cmocka_unit_test(integers_are_strict),
        cmocka_unit_test(reals_are_strict),
        cmocka_unit_test(names_ignore_case_and_dashes),
        cmocka_unit_test(near_names_are_suggested),
        cmocka_unit_test(amounts_and_durations),
        cmocka_unit_test(amounts_are_printed_for_people),
        cmocka_unit_test(arenas_give_zeroed_aligned_memory),
        cmocka_unit_test(overflowing_arrays_call_the_handler),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(file_errors_name_the_path),
        cmocka_unit_test(confined_readers_see_allowed_folders_alone),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(broken_tables_name_the_line),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(json_errors_have_a_place),
        cmocka_unit_test(deep_json_is_refused),
        cmocka_unit_test(json_is_written_in_order),
        cmocka_unit_test(yaml_is_read_with_places),
        cmocka_unit_test(yaml_surprises_are_refused),
        cmocka_unit_test(yaml_depth_is_limited),
        cmocka_unit_test(yaml_maps_are_bounded),
        cmocka_unit_test(yaml_of_others_is_read),
        cmocka_unit_test(yaml_aliases_are_bounded),
        cmocka_unit_test(yaml_members_are_found),
        cmocka_unit_test(medians_lie_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
