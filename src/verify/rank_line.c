/* Reading the line of the harness. Python writes NaN and Infinity as bare words, which are no JSON:
 * they are read as texts. */
#include "verify/verify.h"

#include "base/json.h"
#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1000, WARM_UP = 2 }; /* as in tools/rank/watch.py */

static const double MOST = 1e12; /* of any figure: beyond it there is no sense */

/* The length of a bare word of Python's at `text`, 0 when there is none. */
static size_t bare_word(const char *text, size_t length)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (n <= length && memcmp(text, words[i], n) == 0)
            return n;
    }
    return 0;
}

static void quote_bare_words(const char *text, size_t length, struct str *out)
{
    bool inside = false;
    for (size_t i = 0, n; i < length; i += n) {
        n = inside ? 0 : bare_word(text + i, length - i);
        if (n > 0) {
            str_addf(out, "\"%.*s\"", (int)n, text + i);
            continue;
        }
        n = inside && text[i] == '\\' && i + 1 < length ? 2 : 1;
        inside = n == 1 && text[i] == '"' ? !inside : inside;
        str_add_bytes(out, text + i, n);
    }
}

static struct json *parse(const char *text, size_t length, struct error *err)
{
    struct str quoted = {0};
    quote_bare_words(text, length, &quoted);
    struct json *o = json_parse(str_text(&quoted), quoted.length, "RANK", err);
    str_release(&quoted);
    if (o && !json_is_object(o)) {
        fail(err, ERROR_SYSTEM, "RANK: is no object");
        json_release(o);
        return NULL;
    }
    return o;
}

/* Control characters must not reach a terminal. */
static void take_text(const struct json *o, const char *key, char out[RANK_TEXT])
{
    const char *text = json_text(json_get(o, key));
    size_t n = strlen(text);
    n = n < RANK_TEXT - 1 ? n : RANK_TEXT - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    while (n > 0 && n == RANK_TEXT - 1 && (text[n] & 0xC0) == 0x80) /* no half of a character */
        n--;
    out[n] = 0;
}

static double figure(const struct json *value)
{
    double x = json_is_number(value) ? json_number_of(value) : NAN;
    return x >= 0 && x <= MOST ? x : NAN;
}

static double number(const struct json *o, const char *key)
{
    return figure(json_get(o, key));
}

/* Figures that others are computed from. More, or less and yet more than 0, no GPU measures. */
static bool is_believable(const struct json *o, struct error *err)
{
    static const struct {
        const char *key;
        double least, most;
    } figures[] = {{"compute_ms", 1e-3, 1e8}, {"peak_mib", 1e-3, 1e8}, {"reserved_mib", 1e-3, 1e8}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double x = json_number_of(json_get(o, figures[i].key));
        if (x > figures[i].most || (x > 0 && x < figures[i].least))
            return fail(err, ERROR_SYSTEM, "RANK: %s is %g, %g to %g is right", figures[i].key, x,
                        figures[i].least, figures[i].most);
    }
    return true;
}

static size_t count_of(const struct json *list)
{
    size_t n = json_is_array(list) ? json_count(list) : 0;
    return n < MOST_STEPS ? n : MOST_STEPS;
}

static double median(const struct json *list)
{
    double x[MOST_STEPS];
    size_t n = 0;
    for (size_t i = 0; i < count_of(list); i++)
        if (!isnan(figure(json_at(list, i))))
            x[n++] = figure(json_at(list, i));
    return n > 0 ? median_of(x, n) : NAN;
}

static double spread(const struct json *o)
{
    const struct json *step = json_get(o, "iteration_ms"), *fill = json_get(o, "fill_ms");
    double least = INFINITY, most = -INFINITY;
    size_t n = count_of(step);
    for (size_t i = WARM_UP; i < n; i++) {
        double filled = i < count_of(fill) ? figure(json_at(fill, i)) : 0;
        double own = figure(json_at(step, i)) - (isnan(filled) ? 0 : filled);
        if (!(own > 0))
            return NAN;
        least = fmin(least, own);
        most = fmax(most, own);
    }
    return n < WARM_UP + 2 ? NAN : most / least - 1;
}

/* Of a loss that is a number in JSON, all is well; bare words became texts. */
static bool loss_not_finite(const struct json *loss)
{
    for (size_t i = 0; i < count_of(loss); i++)
        if (json_is_string(json_at(loss, i)))
            return true;
    return json_is_string(loss);
}

bool rank_check_parse(const char *text, size_t length, struct rank_check *out, struct error *err)
{
    struct json *o = parse(text, length, err);
    memset(out, 0, sizeof *out);
    if (!o)
        return false;
    take_text(o, "python", out->python);
    take_text(o, "torch", out->torch);
    take_text(o, "te", out->te);
    take_text(o, "megatron", out->megatron);
    take_text(o, "gpu", out->gpu);
    out->cuda = json_bool_of(json_get(o, "cuda"));
    out->fake_process_group = json_bool_of(json_get(o, "fake_process_group"));
    out->total_mib = number(o, "total_mib");
    out->free_mib = number(o, "free_mib");
    json_release(o);
    return *out->python || fail(err, ERROR_SYSTEM, "RANK: python is missing");
}

bool rank_result_parse(const char *text, size_t length, struct rank_result *out, struct error *err)
{
    struct json *o = parse(text, length, err);
    memset(out, 0, sizeof *out);
    if (!o)
        return false;
    double steps = number(o, "iterations");
    take_text(o, "status", out->status);
    out->iterations = steps <= 1e6 ? (int)steps : 0;
    out->peak_mib = number(o, "peak_mib");
    out->reserved_mib = number(o, "reserved_mib");
    out->total_mib = number(o, "total_mib");
    out->compute_ms = number(o, "compute_ms");
    out->fill_ms = median(json_get(o, "fill_ms"));
    out->spread = spread(o);
    out->sm_mhz = number(o, "sm_mhz");
    out->watts = number(o, "watts");
    out->watt_limit = number(o, "watt_limit");
    out->loss_not_finite = loss_not_finite(json_get(o, "loss"));
    bool good = is_believable(o, err) &&
                (*out->status || fail(err, ERROR_SYSTEM, "RANK: status is missing"));
    json_release(o);
    return good;
}
