#include "base/units.h"

#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suffix {
    char letter;
    double factor;
};

static const struct suffix AMOUNTS[] = {
    {'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'G', 1e9}, {'T', 1e12}};
static const struct suffix DURATIONS[] = {{'S', 1}, {'M', 60}, {'H', 3600}, {'D', 86400}};

/* A number with at most one unit letter behind it. */
static bool parse_with_unit(const char *text, const struct suffix *units, size_t count, double *out)
{
    char number[64];
    size_t n = strlen(text);
    double factor = 1;
    if (n == 0 || n >= sizeof number)
        return false;
    if (isalpha((unsigned char)text[n - 1])) {
        size_t i = 0;
        while (i < count && units[i].letter != toupper((unsigned char)text[n - 1]))
            i++;
        if (i == count)
            return false;
        factor = units[i].factor;
        n--;
    }
    memcpy(number, text, n);
    number[n] = 0;
    if (!parse_real(number, out))
        return false;
    *out *= factor;
    return isfinite(*out);
}

bool parse_amount(const char *text, double *out)
{
    return parse_with_unit(text, AMOUNTS, sizeof AMOUNTS / sizeof *AMOUNTS, out);
}

bool parse_length(const char *text, double *out)
{
    static const struct suffix lengths[] = {{'K', 1024}, {'M', 1024 * 1024}};
    double amount;
    int exponent;
    if (!parse_amount(text, &amount))
        return false;
    if (!parse_with_unit(text, lengths, sizeof lengths / sizeof *lengths, out) ||
        frexp(*out, &exponent) != 0.5)
        *out = amount;
    return true;
}

bool parse_duration(const char *text, double *out_s)
{
    size_t n = strlen(text);
    return n > 0 && isalpha((unsigned char)text[n - 1]) &&
           parse_with_unit(text, DURATIONS, sizeof DURATIONS / sizeof *DURATIONS, out_s);
}

bool parse_factor(const char *text, double *out)
{
    char number[64];
    size_t n = strlen(text);
    bool percent = n > 0 && text[n - 1] == '%';
    if (n < 2 || n >= sizeof number || !strchr(percent ? "+-" : "x", text[0]) ||
        !strchr("0123456789.", text[1]))
        return false;
    memcpy(number, text + 1, n);
    number[n - 1 - percent] = 0;
    if (!parse_real(number, out))
        return false;
    if (percent)
        *out = 1 + (text[0] == '-' ? -*out : *out) / 100;
    return *out > 0;
}

bool parse_share(const char *text, double *out)
{
    char number[64];
    size_t n = strlen(text);
    bool percent = n > 0 && text[n - 1] == '%';
    if (n >= sizeof number)
        return false;
    memcpy(number, text, n + 1);
    number[n - percent] = 0;
    if (!parse_real(number, out))
        return false;
    *out /= percent ? 100 : 1;
    return true;
}

void add_count(struct str *s, double v)
{
    static const struct suffix scale[] = {{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'K', 1e3}};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++)
        if (v >= 0.9995 * scale[i].factor) { /* 999,999 is 1.00M, not 1000K */
            v /= scale[i].factor;
            str_addf(s, "%.*f%c", v < 10 ? 2 : v < 100 ? 1 : 0, v, scale[i].letter);
            return;
        }
    str_addf(s, "%.0f", v);
}

/* With commas. Amounts beyond all budgets are short. */
static void add_dollars(struct str *s, double usd, int decimals)
{
    char digits[64];
    if (!(usd < 1e15)) {
        str_addf(s, "$%.3g", usd);
        return;
    }
    int n = snprintf(digits, sizeof digits, "%.*f", decimals, usd);
    int whole = n - (decimals ? decimals + 1 : 0);
    str_add(s, "$");
    for (int i = 0; i < n; i++)
        str_addf(s, "%s%c", i > 0 && i < whole && (whole - i) % 3 == 0 ? "," : "", digits[i]);
}

void add_usd(struct str *s, double usd)
{
    if (usd < 1000)
        str_addf(s, "$%.2f", usd);
    else
        add_dollars(s, usd, 0);
}

double usd_shown(double usd)
{
    char digits[512];
    snprintf(digits, sizeof digits, "%.*f", usd < 1000 ? 2 : 0, usd);
    return strtod(digits, NULL);
}

void add_cents(struct str *s, double usd)
{
    add_dollars(s, usd, 2);
}

void add_bytes(struct str *s, double bytes)
{
    double gib = bytes / GIB;
    if (gib >= 1)
        str_addf(s, "%.1f GiB", gib);
    else
        str_addf(s, "%.1f MiB", gib * 1024);
}

/* Three digits of what is at least 1. */
static void add_three(struct str *s, double v, const char *unit)
{
    str_addf(s, "%.*f %s", v < 10 ? 2 : v < 100 ? 1 : 0, v, unit);
}

void add_seconds(struct str *s, double v)
{
    if (v < 1e-3)
        str_addf(s, "%.1f us", v * 1e6);
    else if (v < 1)
        str_addf(s, "%.1f ms", v * 1e3);
    else if (v < 120)
        str_addf(s, "%.2f s", v);
    else if (v < 7200)
        add_three(s, v / 60, "min");
    else if (v < 48 * 3600)
        add_three(s, v / 3600, "h");
    else
        add_three(s, v / 86400, "d");
}

int64_t common_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_numbers(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
}

double median_of(double *value, size_t count)
{
    if (count == 0)
        return 0;
    sort_numbers(value, count);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}
