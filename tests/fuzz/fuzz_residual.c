/* Any bytes as a profile of residual factors: refused with a message that names it, or factors in
 * their ranges that read back the same when they are written. */
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cost/residual_file.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct profile_entry *e, const struct profile_entry *again)
{
    assert(e->gpu && e->gpu == again->gpu && e->stack == again->stack);
    const struct residual_runs *runs = &e->residual.runs, *same = &again->residual.runs;
    assert(runs->models < 4 && runs->models == same->models);
    assert(runs->precisions < 8 && runs->precisions == same->precisions);
    assert(runs->configurations >= 0 && runs->configurations == same->configurations);
    for (int f = 0; f < RESIDUALS; f++) {
        double value = e->residual.value[f];
        assert(value >= PROFILE_LEAST_FACTOR && value <= PROFILE_MOST_FACTOR);
        assert(e->residual.fitted[f] || value == 1);
        assert(again->residual.value[f] == value);
        assert(again->residual.error[f] == e->residual.error[f]);
        assert(again->observations[f] == e->observations[f]);
    }
}

static void check_profile(const struct profile *p, struct arena *mem)
{
    struct profile again = {0};
    struct str text;
    struct json *root = json_of_profile(p, NULL, 0);
    str_init(&text);
    json_dump(root, &text);
    json_release(root);
    assert(profile_read(&again, str_text(&text), text.length, "again", mem, NULL));
    assert(again.entries == p->entries);
    for (int i = 0; i < p->entries; i++)
        check_entry(&p->entry[i], &again.entry[i]);
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct profile p = {0};
    struct error err = {0};
    arena_init(&mem);
    if (profile_read(&p, (const char *)data, size, "fuzz", &mem, &err))
        check_profile(&p, &mem);
    else
        assert(err.kind == ERROR_INPUT && strncmp(err.text, "fuzz", 4) == 0);
    arena_release(&mem);
    return 0;
}
