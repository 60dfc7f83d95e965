/* What the command line builds on: options whose values are listed, names that are known, messages
 * that show the place. */
#include "astra.h"
#include "base/error.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Every word of a|b|c is taken, and no other. */
static void listed_values_are_all_there_are(void **state)
{
    int listed = 0;
    (void)state;
    for (const struct astra_option *o = astra_options(); o->name; o++) {
        const char *at = o->argument;
        if (!strchr(at, '|'))
            continue;
        listed++;
        for (char word[64];; at++) {
            size_t length = strcspn(at, "|");
            struct astra *a = astra_new();
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (astra_set(a, o->name, word) != ASTRA_OK)
                fail_msg("--%s %s: %s", o->name, word, astra_message(a));
            snprintf(word, sizeof word, "%.*s-x", (int)length, at);
            assert_int_equal(astra_set(a, o->name, word), ASTRA_INPUT);
            astra_free(a);
            at += length;
            if (!*at)
                break;
        }
    }
    assert_true(listed >= 9);
}

/* Groups stand side by side, a switch takes nothing, and what lists words offers them. */
static void rows_of_options_are_sound(void **state)
{
    (void)state;
    for (const struct astra_option *o = astra_options(); o->name; o++) {
        bool begins = o == astra_options() || strcmp(o[-1].group, o->group) != 0;
        for (const struct astra_option *p = astra_options(); p < o; p++) {
            assert_string_not_equal(p->name, o->name);
            assert_false(begins && strcmp(p->group, o->group) == 0);
        }
        assert_true(*o->group && *o->commands && *o->help);
        assert_true((o->takes == ASTRA_TAKES_NOTHING) == !*o->argument);
        assert_true((o->takes == ASTRA_TAKES_WORD) == (strchr(o->argument, '|') != NULL));
    }
}

/* A default that is a value is one that the option takes. */
static void defaults_are_taken(void **state)
{
    int values = 0;
    (void)state;
    for (const struct astra_option *o = astra_options(); o->name; o++) {
        struct astra *a = astra_new();
        bool word = o->takes == ASTRA_TAKES_WORD && !strpbrk(o->usual, " ;");
        bool number = *o->usual >= '0' && *o->usual <= '9';
        if (*o->usual && (word || number)) {
            assert_int_equal(astra_set(a, o->name, o->usual), ASTRA_OK);
            values++;
        }
        astra_free(a);
    }
    assert_true(values >= 11);
}

/* What cannot be a value of its option is no name. */
static void known_names_are_taken(void **state)
{
    static const struct {
        const char *of, *option, *before;
        int least;
    } lists[] = {{"gpus", "cluster", "1x1:", 60}, {"models", "model", "", 20}};
    struct astra *names = astra_new(), *a = astra_new();
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        int count = 0;
        for (const char *at = astra_names(names, lists[i].of); *at; count++) {
            char name[64], value[96];
            size_t length = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            snprintf(value, sizeof value, "%s%s", lists[i].before, name);
            assert_int_equal(astra_set(a, lists[i].option, value), ASTRA_OK);
            at += length + (at[length] == ' ');
        }
        assert_true(count >= lists[i].least);
    }
    assert_non_null(strstr(astra_names(names, "parameters"), "tp "));
    assert_string_equal(astra_names(names, "nonsense"), "");
    astra_free(names);
    astra_free(a);
}

static void carets_stand_under_the_place(void **state)
{
    static const struct {
        const char *line;
        size_t at;
        const char *want;
    } cases[] = {
        {"4x8:H10O", 4, "4x8:H10O\n    ^"},
        {"", 0, "\n^"},
        {"ab", 2, "ab\n  ^"},
        {"a\tb\033[31m\xc3\xa9x  ", 9, "a b?[31m??x\n         ^"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        (fail)(&err, ERROR_INPUT, "wrong");
        assert_false(error_show(&err, cases[i].line, cases[i].at));
        assert_string_equal(err.place, cases[i].want);
        assert_string_equal(err.text, "wrong");
        (fail)(&err, ERROR_INPUT, "another");
        assert_string_equal(err.place, "");
    }
    assert_false(error_show(NULL, "x", 0));
}

static void lines_are_found_by_number(void **state)
{
    static const struct {
        const char *text;
        int line, column;
        const char *want;
    } cases[] = {
        {"a: 1\nb: x\n", 2, 4, "b: x\n   ^"},
        {"a: 1\r\nb: x\rc: y", 2, 4, "b: x\n   ^"},
        {"a: 1\r\nb: x\rc: y", 3, 1, "c: y\n^"},
        {"# \xe4\xb8\xad\xc2\x85m\xe2\x80\xa8n: x", 3, 4, "n: x\n   ^"},
        {"\xc3\xa9\xe4\xb8\xad: x", 1, 5, "?????: x\n       ^"}, /* characters, not bytes */
        {"\xef\xbb\xbf"
         "a: x",
         1, 4, "a: x\n   ^"},
        {"ab\ncd", 1, 9, "ab\n  ^"},
        {"ab\n", 2, 1, ""},
        {"ab\n", 7, 1, ""},
        {"", 1, 1, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error err = {0};
        (fail)(&err, ERROR_INPUT, "wrong");
        assert_false(error_show_line(&err, cases[i].text, strlen(cases[i].text), cases[i].line,
                                     cases[i].column));
        assert_string_equal(err.place, cases[i].want);
    }
    assert_false(error_show_line(NULL, "x", 1, 1, 1));
}

/* Of a long text the part around the place. */
static void long_texts_are_cut_around_the_place(void **state)
{
    char text[4001];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (size_t at = 0; at < sizeof text; at += 40) {
        struct error err = {0};
        char was = text[at];
        if (was)
            text[at] = '!';
        (fail)(&err, ERROR_INPUT, "wrong");
        error_show(&err, text, at);
        const char *newline = strchr(err.place, '\n');
        assert_non_null(newline);
        size_t caret = strspn(newline + 1, " ");
        assert_int_equal(newline[1 + caret], '^');
        if (was)
            assert_int_equal(err.place[caret], '!');
        text[at] = was;
    }
}

static void messages_end_with_the_place(void **state)
{
    static const struct {
        const char *option, *value, *end;
    } cases[] = {
        {"cluster", "64x8:H100,2x8:A10O", "at column 15\n64x8:H100,2x8:A10O\n              ^"},
        {"set", "tp=2,four", "\ntp=2,four\n     ^"},
        {"model", "layers=32,hiden=64", "(did you mean hidden?)\nlayers=32,hiden=64\n          ^"},
        {"what-if", "globl-batch=4", "\nglobl-batch=4\n^"},
        {"precision", "fp9", "bf16 fp16 fp8 mxfp8 fp8_blockwise nvfp4"},
    };
    struct astra *a = astra_new();
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(astra_set(a, cases[i].option, cases[i].value), ASTRA_INPUT);
        const char *message = astra_message(a);
        assert_true(strlen(message) > strlen(cases[i].end));
        assert_string_equal(message + strlen(message) - strlen(cases[i].end), cases[i].end);
    }
    astra_free(a);
}

/* Progress of a search with changed inputs never goes back and ends at the whole. */
static void watch(void *context, double done)
{
    double *last = context;
    assert_true(done >= *last && done <= 1 + 1e-9);
    *last = done;
}

static void progress_is_of_the_whole(void **state)
{
    struct astra *a = astra_new();
    double last = 0;
    (void)state;
    astra_set(a, "model", "llama3.2-1b");
    astra_set(a, "cluster", "1x8:H100,1x8:A100");
    astra_set(a, "what-if", "gpus=8");
    astra_on_progress(a, watch, &last);
    assert_int_equal(astra_search(a), ASTRA_OK);
    assert_true(last > 0.5);
    astra_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_values_are_all_there_are),
        cmocka_unit_test(rows_of_options_are_sound),
        cmocka_unit_test(defaults_are_taken),
        cmocka_unit_test(known_names_are_taken),
        cmocka_unit_test(carets_stand_under_the_place),
        cmocka_unit_test(lines_are_found_by_number),
        cmocka_unit_test(long_texts_are_cut_around_the_place),
        cmocka_unit_test(messages_end_with_the_place),
        cmocka_unit_test(progress_is_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
