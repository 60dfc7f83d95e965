/* Any bytes as what the harness of verify says: refused with a message, or figures in range and
 * texts that may be printed. */
#include "verify/verify.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void is_figure(double x)
{
    assert(isnan(x) || (x >= 0 && x <= 1e12));
}

static void is_text(const char *text)
{
    assert(strlen(text) < RANK_TEXT);
    for (; *text; text++)
        assert((unsigned char)*text >= ' ' && *text != 127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rank_result r;
    struct rank_check c;
    struct error err = {0};
    if (rank_result_parse((const char *)data, size, &r, &err)) {
        is_text(r.status);
        is_figure(r.peak_mib);
        is_figure(r.compute_ms);
        is_figure(r.fill_ms);
        assert(isnan(r.spread) || r.spread >= 0);
        assert(r.iterations >= 0 && *r.status);
    } else {
        assert(*err.text);
    }
    err = (struct error){0};
    if (rank_check_parse((const char *)data, size, &c, &err)) {
        is_text(c.gpu);
        is_text(c.torch);
        is_figure(c.total_mib);
        assert(*c.python);
    } else {
        assert(*err.text);
    }
    return 0;
}
