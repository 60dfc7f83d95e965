/* A launch script: whatever it says, it is read or refused with a message that names a line, and
 * what is read can be split into known flags and open ones. */
#include "base/arena.h"
#include "import/megatron/overrides.h"
#include "import/shell/launch.h"
#include "import/shell/script.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct launch_flags *f)
{
    for (int i = 0; i < f->count; i++)
        if (!launch_is_known(f->word[i]))
            abort();
    for (int i = 0; i < f->opens; i++)
        if (!launch_is_known(f->open[i].flag) || !launch_is_known(f->open[i].what))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct script_env env[] = {{"TP", "8", false}, {"1", "first", false}};
    struct arena mem;
    struct launch l;
    struct launch_flags f;
    struct error err = {0};
    arena_init(&mem);
    const char *text = arena_copy(&mem, (const char *)data, size);
    struct script_call call;
    if (script_call("fuzz.sh", text, size, 2, &call, &mem) && call.count < 1)
        abort();
    if (script_call_elsewhere("fuzz.sh", text, size, 2, &call, &mem) && call.count < 2)
        abort();
    bool ok = script_read("fuzz.sh", text, size, env, (int)(size % 3), false, &l, &mem, &err) &&
              overrides_of_launch(&l, &mem, &err);
    if (ok) {
        launch_split(&l, &f, &mem);
        check(&f);
        if (l.train && !launch_is_known(l.train))
            abort();
    } else if (strncmp(err.text, "fuzz.sh:", 8) != 0) {
        abort();
    }
    arena_release(&mem);
    return 0;
}
