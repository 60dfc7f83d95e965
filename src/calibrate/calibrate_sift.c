/* Figures that cannot be are no observations: they are refused with what is wrong with them, so that
 * a fit only has to weigh those that may be true. */
#include "calibrate/calibrate_input.h"

#include "base/str.h"
#include "base/units.h"

static const double FARTHEST = 20; /* times the prediction, or a part of it */

static const char *what_of(const struct observation *o, struct arena *mem)
{
    if (o->stage < 0)
        return "its step";
    return arena_format(mem, "stage %d: its %s", o->stage, o->memory ? "memory" : "compute");
}

static const char *figure_text(const struct observation *o, double value, struct arena *mem)
{
    struct str text = {0};
    if (o->memory)
        add_bytes(&text, value);
    else
        add_seconds(&text, value);
    return str_keep(&text, mem);
}

/* NULL = it may be. */
static const char *why_not(const struct calibrate_input *in, const struct observation *o,
                           struct arena *mem)
{
    double predicted = calibrate_predict(in, o, NULL), device_bytes = in->gpu->usable_gib * GIB;
    const char *what = what_of(o, mem), *measured = figure_text(o, o->measured, mem);
    if (!(predicted > 0))
        return arena_format(mem, "%s cannot be predicted: astra explain says why", what);
    if (o->memory && o->measured > device_bytes)
        return arena_format(mem, "%s is %s, and %s has %s", what, measured, in->gpu->name,
                            figure_text(o, device_bytes, mem));
    if (o->measured > FARTHEST * predicted || o->measured < predicted / FARTHEST)
        return arena_format(mem,
                            "%s is %s, %s is predicted: beyond a factor of %g no figure is "
                            "believed",
                            what, measured, figure_text(o, predicted, mem), FARTHEST);
    return NULL;
}

void calibrate_sift(struct calibrate_input *in, struct arena *mem)
{
    int kept = 0;
    for (int i = 0; i < in->observations; i++) {
        const char *why = why_not(in, &in->observation[i], mem);
        if (why)
            calibrate_refuse(in, mem, why);
        else
            in->observation[kept++] = in->observation[i];
    }
    in->observations = kept;
}
