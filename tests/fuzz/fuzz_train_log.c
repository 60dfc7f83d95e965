/* The log of a training, in pieces of any length: where it is cut must not matter. */
#include "base/arena.h"
#include "import/log/train_log.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_in(const uint8_t *data, size_t size, size_t piece, struct launch *out,
                    struct arena *mem)
{
    struct train_log log;
    train_log_init(&log, mem);
    for (size_t at = 0; at < size; at += piece)
        train_log_feed(&log, (const char *)data + at, size - at < piece ? size - at : piece);
    bool found = train_log_launch(&log, "fuzz.log", out);
    train_log_release(&log);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena mem;
    struct launch whole, pieces;
    struct launch_flags f;
    arena_init(&mem);
    bool a = read_in(data, size, size + 1, &whole, &mem);
    bool b = read_in(data, size, 1 + size % 7, &pieces, &mem);
    if (a != b || (a && whole.count != pieces.count))
        abort();
    for (int i = 0; a && i < whole.count; i++)
        if (strcmp(whole.word[i].text, pieces.word[i].text) != 0)
            abort();
    if (a)
        launch_split(&whole, &f, &mem);
    arena_release(&mem);
    return 0;
}
