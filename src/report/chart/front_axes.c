/* Ticks are 1, 2 and 5 times a power of ten, of times in the unit that suits the longest; no more
 * than there is room for. */
#include "report/chart/front_axes.h"

#include "base/str.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOGARITHMIC_SPAN 10.0 /* beyond, a linear axis crowds the small values */
#define ROOM 0.06             /* of the span, left free at both ends */
#define LEAST_SPAN 1e-3       /* of the value: nearer ones are drawn as one */

static const struct {
    const char *title, *brief;
    const char *before; /* the number */
} QUANTITY[] = {
    [FRONT_TOKENS_PER_S] = {"tokens per second", "tokens/s", ""},
    [FRONT_HOURS] = {"time of the run", "time", ""},
    [FRONT_USD_PER_MTOKEN] = {"US dollars per million tokens", "$/Mtoken", "$"},
    [FRONT_USD_TOTAL] = {"US dollars of the run", "USD", "$"},
    [FRONT_GPUS] = {"GPUs", "GPUs", ""},
};

/* What a number is counted in: the largest unit that is not above it. */
struct time_unit {
    double size;
    const char *text;
};

static const struct time_unit THOUSANDS[] = {
    {1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}, {1, ""}};
static const struct time_unit TIMES[] = {{24, " d"}, {1, " h"}, {1.0 / 60, " min"}};

/* Of a whole axis, which is two of it or longer: days and hours do not stand side by side. */
static struct time_unit time_unit(double most_hours)
{
    size_t i = 0, last = sizeof TIMES / sizeof *TIMES - 1;
    while (i < last && most_hours < 2 * TIMES[i].size)
        i++;
    return TIMES[i];
}

/* What ticks are round in. */
static double round_unit(const struct scale *a)
{
    return a->what == FRONT_HOURS ? time_unit(a->hi).size : 1;
}

static struct time_unit unit_of(const struct scale *a, double value)
{
    size_t i = 0, last = sizeof THOUSANDS / sizeof *THOUSANDS - 1;
    if (a->what == FRONT_HOURS)
        return time_unit(a->hi);
    while (i < last && value < THOUSANDS[i].size * (1 - 1e-9))
        i++;
    return THOUSANDS[i];
}

/* As many digits as tell values apart that differ by `step`, no zeros at the end. */
static void add_tick(struct scale *a, double at, double step)
{
    struct scale_tick *t = &a->tick[a->ticks++];
    struct time_unit u = unit_of(a, at);
    char number[SCALE_TEXT];
    int digits = (int)fmax(0, ceil(-log10(step / u.size) - 1e-6));
    snprintf(number, sizeof number, "%.*f", digits, at / u.size);
    for (size_t end = strlen(number); digits > 0 && strchr("0.", number[end - 1]); end--) {
        digits = number[end - 1] == '.' ? 0 : digits;
        number[end - 1] = 0;
    }
    t->at = at;
    snprintf(t->text, sizeof t->text, "%s%.24s%s", QUANTITY[a->what].before, number, u.text);
}

static void linear_ticks(struct scale *a, int most)
{
    static const double round[] = {1, 2, 5};
    double unit = round_unit(a);
    double lo = a->lo / unit, hi = a->hi / unit, step = 0;
    int k = 3 * (int)floor(log10((hi - lo) / most)); /* no larger than the step */
    do {
        step = round[(k % 3 + 3) % 3] * pow(10, floor(k / 3.0));
        k++;
    } while (floor(hi / step) - ceil(lo / step) + 1 > most);
    for (double i = ceil(lo / step); i <= floor(hi / step); i++)
        add_tick(a, i * step * unit, step * unit);
}

/* The first `each` of 1, 2, 5 times every power of ten, or every second one ... (`leap`). Returns
 * how many there are, of which `most` are added. */
static int decade_ticks(struct scale *a, int each, int leap, int most)
{
    static const double mantissa[] = {1, 2, 5};
    double unit = round_unit(a);
    int from = leap * (int)floor(log10(a->lo / unit) / leap), to = (int)ceil(log10(a->hi / unit));
    int count = 0;
    a->ticks = 0;
    for (int k = from; k <= to; k += leap)
        for (int m = 0; m < each; m++) {
            double at = mantissa[m] * pow(10, k) * unit;
            if (at < a->lo * (1 - 1e-9) || at > a->hi * (1 + 1e-9))
                continue;
            if (count++ < most)
                add_tick(a, at, pow(10, k) * unit);
        }
    return count;
}

static void logarithmic_ticks(struct scale *a, int most)
{
    int leap = 1;
    if (decade_ticks(a, 3, 1, most) <= most)
        return;
    while (decade_ticks(a, 1, leap, most) > most)
        leap++;
}

/* Logarithmic axes have room by ratio, linear ones by difference, but never below zero. */
static void widen(struct scale *a)
{
    double middle = (a->lo + a->hi) / 2;
    if (a->hi - a->lo < LEAST_SPAN * middle) {
        a->lo = middle * (1 - LEAST_SPAN / 2);
        a->hi = middle * (1 + LEAST_SPAN / 2);
    }
    if (a->logarithmic) {
        double ratio = pow(a->hi / a->lo, ROOM);
        a->lo /= ratio;
        a->hi *= ratio;
    } else {
        double room = (a->hi - a->lo) * ROOM;
        a->lo = fmax(0, a->lo - room);
        a->hi += room;
    }
}

void scale_init(struct scale *a, enum front_quantity what, double lo, double hi, int most)
{
    assert(lo > 0 && lo <= hi && most >= 5 && most <= SCALE_TICKS);
    *a = (struct scale){.what = what,
                        .title = QUANTITY[what].title,
                        .brief = QUANTITY[what].brief,
                        .logarithmic = hi > LOGARITHMIC_SPAN * lo,
                        .lo = lo,
                        .hi = hi};
    widen(a);
    if (a->logarithmic)
        logarithmic_ticks(a, most);
    else
        linear_ticks(a, most);
}

double scale_share(const struct scale *a, double value)
{
    if (a->logarithmic)
        return log(value / a->lo) / log(a->hi / a->lo);
    return (value - a->lo) / (a->hi - a->lo);
}

void add_quantity(enum front_quantity what, double value, struct str *out)
{
    str_add(out, QUANTITY[what].before);
    if (what == FRONT_HOURS)
        add_seconds(out, value * 3600);
    else if (what == FRONT_USD_PER_MTOKEN)
        str_addf(out, "%.3f per million tokens", value);
    else if (what == FRONT_USD_TOTAL && value < 1000)
        str_addf(out, "%.2f", value);
    else
        add_count(out, value);
    if (what == FRONT_TOKENS_PER_S || what == FRONT_GPUS)
        str_addf(out, " %s", QUANTITY[what].brief);
}
