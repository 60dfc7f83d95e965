/* An axis of a plot: from where to where, linear or logarithmic, its round ticks. */
#pragma once

#include <stdbool.h>

struct str;

enum front_quantity {
    FRONT_TOKENS_PER_S,
    FRONT_HOURS,
    FRONT_USD_PER_MTOKEN,
    FRONT_USD_TOTAL,
    FRONT_GPUS
};

enum { SCALE_TICKS = 16, SCALE_TEXT = 32 };

struct scale {
    enum front_quantity what;
    const char *title, *brief; /* "tokens per second", "tokens/s" */
    bool logarithmic;          /* the values span more than tenfold */
    double lo, hi;             /* with some room around the values */
    int ticks;
    struct scale_tick {
        double at;
        char text[SCALE_TEXT]; /* "1K", "$0.07", "10 d" */
    } tick[SCALE_TICKS];       /* smallest first */
};

/* An axis for values from `lo` to `hi`, with two to `most` (5 to SCALE_TICKS) round ticks. */
void scale_init(struct scale *, enum front_quantity, double lo, double hi, int most);
double scale_share(const struct scale *, double value); /* 0 at `lo`, 1 at `hi` */
/* One value as a person says it: "12.3 d", "$1.23M", "64 GPUs". */
void add_quantity(enum front_quantity, double value, struct str *out);
