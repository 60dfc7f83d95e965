/* An amount is read from left to right: an optional $, a number, an optional letter for thousands,
 * an optional currency. One letter behind the number is a factor, three are a currency, four are
 * both. */
#include "price/prices.h"

#include "base/str.h"
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { CODE = 3 }; /* letters of a currency */

static size_t letters_at(const char *text)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]))
        n++;
    return n;
}

static bool is_dollar(const char *code)
{
    return !*code || same_name(code, "USD");
}

/* 0 where there is no rate. */
static double rates_find(const struct rates *r, const char *code)
{
    if (is_dollar(code))
        return 1;
    for (int i = 0; r && i < r->count; i++)
        if (same_name(r->rate[i].code, code))
            return r->rate[i].usd;
    return 0;
}

bool rates_get(const struct rates *r, const char *code, double *usd, struct error *err)
{
    *usd = rates_find(r, code);
    if (*usd > 0)
        return true;
    if (strlen(code) != CODE || letters_at(code) != CODE)
        return fail(err, ERROR_INPUT, "'%.63s' is no currency, three letters as in EUR are right",
                    code);
    return fail(err, ERROR_INPUT,
                "amounts are in USD and no rate is known for %s: give one with --rate %s=USD", code,
                code);
}

static bool bad_rate(const char *assignment, struct error *err)
{
    return fail(err, ERROR_INPUT,
                "rate '%.200s': write CURRENCY=USD, what one unit is worth, as in EUR=1.08",
                assignment);
}

bool rates_add(struct rates *r, const char *assignment, struct error *err)
{
    struct rate rate = {0};
    if (letters_at(assignment) != CODE || assignment[CODE] != '=' ||
        !parse_real(assignment + CODE + 1, &rate.usd))
        return bad_rate(assignment, err);
    for (int i = 0; i < CODE; i++)
        rate.code[i] = (char)toupper((unsigned char)assignment[i]);
    if (is_dollar(rate.code))
        return fail(err, ERROR_INPUT, "rate '%.200s': a dollar is a dollar", assignment);
    if (rate.usd < 1e-9 || rate.usd > 1e9)
        return fail(err, ERROR_INPUT, "rate '%.200s': '%.63s' is no rate, 1e-9 to 1e9 is right",
                    assignment, assignment + CODE + 1);
    int at = 0;
    while (at < r->count && strcmp(r->rate[at].code, rate.code) != 0)
        at++;
    if (at == MONEY_RATES)
        return fail(err, ERROR_INPUT, "more than %d rates are given", MONEY_RATES);
    r->rate[at] = rate;
    r->count += at == r->count;
    return true;
}

/* Characters of the number at `text`. An E is part of it where digits follow: 2E3, but 2EUR. */
static size_t number_length(const char *text)
{
    static const char digits[] = "0123456789";
    size_t n = *text == '-' || *text == '+';
    n += strspn(text + n, "0123456789.");
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t power = strspn(text + n + 1 + sign, digits);
        n += power > 0 ? 1 + sign + power : 0;
    }
    return n;
}

/* What stands before the currency, which `number` and `factor` tell apart. */
static bool read_number(const char *number, size_t length, const char *factor, size_t letters,
                        double *out)
{
    char text[64];
    if (length == 0 || length + letters >= sizeof text)
        return false;
    memcpy(text, number, length);
    memcpy(text + length, factor, letters);
    text[length + letters] = 0;
    return parse_amount(text, out);
}

bool money_parse(const char *text, const struct rates *r, double *usd, struct error *err)
{
    bool dollars = *text == '$';
    const char *number = text + dollars;
    size_t digits = number_length(number);
    const char *word = number + digits + strspn(number + digits, " ");
    size_t letters = letters_at(word), factor = letters == 1 || letters == CODE + 1;
    const char *currency = word + factor + strspn(word + factor, " ");
    size_t code = letters_at(currency);
    double rate;
    if (currency[code] || (code != 0 && (code != CODE || dollars)) ||
        !read_number(number, digits, word, factor, usd))
        return fail(err, ERROR_INPUT,
                    "'%.63s' is no amount of money, as in 2.5, $2.5, 20K or 2.5 EUR", text);
    if (!rates_get(r, currency, &rate, err))
        return false;
    *usd *= rate;
    return isfinite(*usd) || fail(err, ERROR_INPUT, "'%.63s' is more money than there is", text);
}
