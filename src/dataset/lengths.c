/* Lengths as a fixed sample of their distribution, so that the same question has the same answer. */
#include "dataset/lengths.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char EXPECTED[] =
    "expected a number of tokens, uniform:512..4096, lognormal:MEAN,SIGMA "
    "or a file with the token count of a sample on each line";

/* z with a share p of the normal distribution below it: P. J. Acklam's rational approximation, relative
 * error below 1.2e-9. */
static double normal_quantile(double p)
{
    static const double A[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00},
                        B[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01},
                        C[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00},
                        D[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    if (p > 0.5)
        return -normal_quantile(1 - p);
    if (p < 0.02425) {
        double q = sqrt(-2 * log(p));
        return (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5]) /
               ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1);
    }
    double q = p - 0.5, r = q * q;
    return (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q /
           (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1);
}

static int32_t whole(double tokens)
{
    return (int32_t)fmin(LENGTH_MAX, fmax(1, round(tokens)));
}

static void set_equal(int tokens, struct arena *mem, struct lengths *out)
{
    *out = (struct lengths){.count = 1, .of = arena_alloc(mem, sizeof *out->of), .longest = tokens};
    out->of[0] = tokens;
}

static bool parse_tokens(const char *text, double *out)
{
    return parse_length(text, out) && *out == floor(*out) && *out >= 1 && *out <= LENGTH_MAX;
}

/* "512..4096". */
static bool parse_uniform(const char *text, struct arena *mem, struct lengths *out)
{
    const char *dots = strstr(text, "..");
    double lo, hi;
    if (!dots || !parse_tokens(arena_copy(mem, text, (size_t)(dots - text)), &lo) ||
        !parse_tokens(dots + 2, &hi) || lo > hi)
        return false;
    double values = hi - lo + 1;
    out->count = values < LENGTHS_MOST ? (int)values : LENGTHS_MOST;
    out->longest = (int)hi;
    out->of = arena_array(mem, (size_t)out->count, sizeof *out->of);
    for (int i = 0; i < out->count; i++)
        out->of[i] = (int32_t)(lo + floor((i + 0.5) * values / out->count));
    return true;
}

/* "800,0.9": the mean in tokens, and the standard deviation of the natural logarithm. */
static bool parse_lognormal(const char *text, struct arena *mem, struct lengths *out)
{
    static const double most_sigma = 3;
    const char *comma = strchr(text, ',');
    double mean, sigma;
    if (!comma || !parse_length(arena_copy(mem, text, (size_t)(comma - text)), &mean) ||
        !parse_real(comma + 1, &sigma) || !(mean >= 1 && mean <= LENGTH_MAX) ||
        !(sigma >= 0 && sigma <= most_sigma))
        return false;
    out->count = LENGTHS_MOST;
    out->of = arena_array(mem, LENGTHS_MOST, sizeof *out->of);
    for (int i = 0; i < LENGTHS_MOST; i++) {
        double z = normal_quantile((i + 0.5) / LENGTHS_MOST);
        out->of[i] = whole(mean * exp(sigma * z - sigma * sigma / 2));
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* All counts of a file in any order, which this sorts. */
static void sample(int32_t *all, size_t count, struct arena *mem, struct lengths *out)
{
    qsort(all, count, sizeof *all, by_size);
    out->samples = (double)count;
    out->longest = all[count - 1];
    out->count = count < LENGTHS_MOST ? (int)count : LENGTHS_MOST;
    out->of = arena_array(mem, (size_t)out->count, sizeof *out->of);
    for (int i = 0; i < out->count; i++)
        out->of[i] = all[(size_t)((i + 0.5) * (double)count / out->count)];
}

/* A line of a file, without the blanks around it. */
struct length_line {
    const char *name, *at, *next; /* `next` is where the one behind it begins */
    size_t number, length;
};

static bool bad_line(const struct length_line *l, struct error *err)
{
    int shown = l->length < 60 ? (int)l->length : 60;
    return fail(err, ERROR_INPUT,
                "%s:%zu: '%.*s' is no length of a sample, expected a whole number of tokens from 1 "
                "to %d, or {\"length\": N} or {\"tokens\": N}",
                l->name, l->number, shown, l->at, LENGTH_MAX);
}

static int64_t count_in_object(const struct length_line *l)
{
    struct json *o = json_parse(l->at, l->length, l->name, NULL);
    const struct json *n = o && json_get(o, "length") ? json_get(o, "length")
                           : o                        ? json_get(o, "tokens")
                                                      : NULL;
    int64_t count = json_is_integer(n) ? json_integer_of(n) : 0;
    if (o)
        json_release(o);
    return count;
}

static int64_t count_of_digits(const struct length_line *l)
{
    int64_t n = 0;
    for (size_t i = 0; i < l->length; i++) {
        if (l->at[i] < '0' || l->at[i] > '9' || n > LENGTH_MAX)
            return 0;
        n = 10 * n + (l->at[i] - '0');
    }
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next line that says something; false at the end. */
static bool next_line(struct length_line *l, const char *end)
{
    do {
        if (l->next == end)
            return false;
        const char *stop = memchr(l->next, '\n', (size_t)(end - l->next));
        const char *last = stop ? stop : end;
        l->at = l->next;
        l->next = stop ? stop + 1 : end;
        l->number++;
        while (l->at < last && is_blank(*l->at))
            l->at++;
        while (last > l->at && is_blank(last[-1]))
            last--;
        l->length = (size_t)(last - l->at);
    } while (l->length == 0);
    return true;
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

static bool read_lines(struct length_line *l, const char *end, int32_t *all, size_t *count,
                       struct error *err)
{
    while (next_line(l, end)) {
        int64_t tokens = *l->at == '{' ? count_in_object(l) : count_of_digits(l);
        if (tokens < 1 || tokens > LENGTH_MAX)
            return bad_line(l, err);
        all[(*count)++] = (int32_t)tokens;
    }
    return *count > 0 || fail(err, ERROR_INPUT, "%s: no line has a length, %s", l->name, EXPECTED);
}

bool lengths_read(const char *text, size_t size, const char *name, struct arena *mem,
                  struct lengths *out, struct error *err)
{
    struct length_line l = {.name = name, .at = text, .next = text};
    int32_t *all = memory_grow(NULL, count_lines(text, size) * sizeof *all);
    size_t count = 0;
    bool ok = read_lines(&l, text + size, all, &count, err);
    *out = (struct lengths){0};
    if (ok)
        sample(all, count, mem, out);
    free(all);
    return ok;
}

static bool starts(const char *text, const char *with, const char **rest)
{
    size_t n = strlen(with);
    *rest = text + n;
    return strncmp(text, with, n) == 0;
}

static bool parse(const char *text, struct arena *mem, struct lengths *out, struct error *err)
{
    const char *rest;
    struct text file;
    double tokens;
    if (parse_tokens(text, &tokens)) {
        set_equal((int)tokens, mem, out);
        return true;
    }
    if (starts(text, "uniform:", &rest))
        return parse_uniform(rest, mem, out) ||
               fail(err, ERROR_INPUT,
                    "--lengths is '%.200s', expected the shortest and the longest sample, as in "
                    "uniform:512..4096",
                    text);
    if (starts(text, "lognormal:", &rest))
        return parse_lognormal(rest, mem, out) ||
               fail(err, ERROR_INPUT,
                    "--lengths is '%.200s', expected the mean in tokens and the standard deviation "
                    "of the logarithm (0 to 3), as in lognormal:800,0.9",
                    text);
    if (!strpbrk(text, "./") && !file_exists(text))
        return fail(err, ERROR_INPUT, "--lengths is '%.200s', %s", text, EXPECTED);
    return file_read(text, mem, &file, err) &&
           lengths_read(file.data, file.length, arena_string(mem, text), mem, out, err);
}

bool lengths_parse(const char *text, struct arena *mem, struct lengths *out, struct error *err)
{
    *out = (struct lengths){0};
    bool ok = parse(text, mem, out, err);
    out->text = arena_string(mem, text);
    return ok;
}
