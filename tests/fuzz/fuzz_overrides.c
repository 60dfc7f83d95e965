/* A list of overrides: read as flags, or refused with a message that names a line. */
#include "base/arena.h"
#include "import/megatron/overrides.h"
#include "import/shell/launch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct launch l;
    struct launch_flags f;
    struct error err = {0};
    arena_init(&mem);
    const char *text = arena_copy(&mem, (const char *)data, size);
    overrides_are(text, size);
    if (overrides_read("fuzz.txt", text, size, &l, &mem, &err))
        launch_split(&l, &f, &mem);
    else if (strncmp(err.text, "fuzz.txt:", 9) != 0)
        abort();
    arena_release(&mem);
    return 0;
}
