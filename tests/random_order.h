/* What decides between plans that are as good, at random. */
#pragma once

#include "random.h"
#include "search/results.h"

#include <string.h>

/* One of some texts of cautions, a resolution, and rows of either kind. */
static inline bool random_order(const char *const *texts, int count, struct limits *limits,
                                struct rules *cautions, struct arena *mem, struct error *err)
{
    static const double resolutions[] = {0, 0.01, 0.05, 0.3};
    const char *text = texts[pick(0, count - 1)];
    *limits = SPEED_ALONE;
    limits->resolution = resolutions[pick(0, 3)];
    limits->row = pick(0, 1) ? ROW_LAYOUT : ROW_KIND;
    rules_init(cautions);
    return rules_add(cautions, text, strlen(text), "test", mem, err);
}
