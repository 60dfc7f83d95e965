#include "strategy/precision.h"

static const struct precision_info INFO[PRECISIONS] = {
#define PRECISION(format, word, least, product, saved, copies, gather, quantised, experts)         \
    {word, least, product, saved, copies, gather, {quantised, experts}},
#include "strategy/precisions.def"
};

const struct precision_info *precision_info(int precision)
{
    return &INFO[precision];
}

bool precision_is_narrow(int precision)
{
    return precision >= PRECISION_FP8;
}

int layer_precision(int precision, bool wide)
{
    return wide && precision_is_narrow(precision) ? PRECISION_BF16 : precision;
}
