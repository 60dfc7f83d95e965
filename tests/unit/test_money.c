/* Amounts of money and their currencies; patterns of names. */
#include "price/prices.h"

#include "base/str.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-12 * fabs(want))
        fail_msg("%.17g, expected %.17g", got, want);
}

static void amounts_are_read(void **state)
{
    static const struct {
        const char *text;
        double usd;
    } cases[] = {{"2.5", 2.5},        {"$2.5", 2.5},     {"20K", 20e3},     {"2M", 2e6},
                 {"1.5B", 1.5e9},     {"2MUSD", 2e6},    {"2.5 EUR", 2.7},  {"2.5EUR", 2.7},
                 {"2 M eur", 2.16e6}, {"2Meur", 2.16e6}, {"1e3", 1000},     {"1E3EUR", 1080},
                 {"20K EUR", 21.6e3}, {"$2K", 2000},     {"100 JPY", 0.65}, {"-2", -2},
                 {"2.5 usd", 2.5},    {"0.1KUSD", 100},  {"2.5 ", 2.5}};
    struct rates rates = {0};
    struct error err = {0};
    (void)state;
    must(rates_add(&rates, "eur=1.2", &err), &err);
    must(rates_add(&rates, "EUR=1.08", &err), &err); /* the later one counts */
    must(rates_add(&rates, "JPY=0.0065", &err), &err);
    assert_int_equal(rates.count, 2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        double usd;
        if (!money_parse(cases[i].text, &rates, &usd, &err))
            fail_msg("%s", err.text);
        near(usd, cases[i].usd);
    }
}

static void bad_amounts_are_refused(void **state)
{
    static const char none[] = " is no amount of money, as in 2.5, $2.5, 20K or 2.5 EUR";
    static const struct {
        const char *text, *message;
    } cases[] = {{"", "''"},
                 {"$", "'$'"},
                 {"EUR", "'EUR'"},
                 {"2.5 EU", "'2.5 EU'"},
                 {"2Q", "'2Q'"},
                 {"nan", "'nan'"},
                 {"2,5", "'2,5'"},
                 {"$2 EUR", "'$2 EUR'"},
                 {"2.5.1", "'2.5.1'"},
                 {"1e999", "'1e999'"},
                 {"2EURO!", "'2EURO!'"},
                 {"2E EUR", "'2E EUR'"},
                 {"2K M", "'2K M'"},
                 {"2 EUR K", "'2 EUR K'"}};
    struct error err = {0};
    double usd;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char want[128];
        snprintf(want, sizeof want, "%s%s", cases[i].message, none);
        if (money_parse(cases[i].text, NULL, &usd, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.text, want);
    }
    assert_false(money_parse("3 CHF", NULL, &usd, &err));
    assert_string_equal(err.text, "amounts are in USD and no rate is known for CHF: give one with "
                                  "--rate CHF=USD");
}

static void bad_rates_are_refused(void **state)
{
    static const char *const cases[] = {"EUR",     "EUR=",  "EURO=1", "=1",      "EUR=x",
                                        "USD=1.1", "EUR=0", "EUR=-1", "EUR=1e10"};
    struct rates rates = {0};
    struct error err = {0};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (rates_add(&rates, cases[i], &err))
            fail_msg("accepted: %s", cases[i]);
        assert_non_null(strstr(err.text, cases[i]));
    }
    assert_int_equal(rates.count, 0);
    for (int i = 0; i < MONEY_RATES; i++) {
        char text[] = {(char)('A' + i % 26), (char)('A' + i / 26), 'X', '=', '2', 0};
        must(rates_add(&rates, text, &err), &err);
    }
    assert_false(rates_add(&rates, "EUR=1", &err));
}

static void patterns_match(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool match;
    } cases[] = {{"*", "", true},         {"*", "abc", true},
                 {"a*c", "abbc", true},   {"a*c", "abcd", false},
                 {"*bc", "abcbc", true},  {"", "", true},
                 {"", "a", false},        {"a", "", false},
                 {"a**", "a", true},      {"*a*b*", "xxaxxbx", true},
                 {"*a*b*", "bbba", false}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (matches_pattern(cases[i].pattern, cases[i].text) != cases[i].match)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_read),
        cmocka_unit_test(bad_amounts_are_refused),
        cmocka_unit_test(bad_rates_are_refused),
        cmocka_unit_test(patterns_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
