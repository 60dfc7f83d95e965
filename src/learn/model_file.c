/* The files of the models compiled in. Predictions have tables of their own (cost/trees.h): these are
 * for folders that begin with the same trees, and so lie packed (tools/lz). */
#include "learn/fit.h"

#include "base/arena.h"

#include <string.h>

#define MODEL_FILE(id, file) extern const char embedded_efficiency_##file##_ubj[];
#include "cost/models.def"
#undef MODEL_FILE

static const char *const PACKED[LEARNED_MODELS] = {
#define MODEL_FILE(id, file) [id] = embedded_efficiency_##file##_ubj,
#include "cost/models.def"
#undef MODEL_FILE
};

enum { LEAST = 4, NIBBLE = 15, MORE = 255 };

/* A length of four bits, and of the bytes that follow where these are full. */
static size_t length_of(int bits, const unsigned char **p)
{
    size_t n = (size_t)bits;
    if (bits < NIBBLE)
        return n;
    while (**p == MORE)
        n += *(*p)++;
    return n + *(*p)++;
}

/* The block format of LZ4: a token, literals, and a run that stood `offset` bytes before, which may
 * reach into itself. What is packed was made by this build, and tests hash all of it. */
static void unpack(const char *packed, char *to, size_t size)
{
    const unsigned char *p = (const unsigned char *)packed;
    size_t at = 0;
    while (at < size) {
        int token = *p++;
        size_t literals = length_of(token >> 4, &p);
        memcpy(to + at, p, literals);
        at += literals;
        p += literals;
        if (at >= size)
            return;
        size_t offset = p[0] + 256U * p[1];
        p += 2;
        for (size_t n = length_of(token & NIBBLE, &p) + LEAST; n > 0; n--, at++)
            to[at] = to[at - offset];
    }
}

struct text model_file(const struct learned_model *m, int model, struct arena *mem)
{
    if (m->bytes)
        return (struct text){m->bytes, m->size};
    char *file = arena_alloc(mem, m->size);
    unpack(PACKED[model], file, m->size);
    return (struct text){file, m->size};
}
