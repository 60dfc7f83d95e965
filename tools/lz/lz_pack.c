/* lz_pack FILE: prints the file's bytes packed, in the block format of LZ4, for src/learn/model_file.c
 * to unpack. The build packs what few runs of the program need. */
#include "base/arena.h"
#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Last literals of a block are not looked at for matches: the format wants five of them. */
enum { LEAST = 4, WINDOW = 65535, SLOTS = 1 << 16, TRIES = 64, TAIL = 12, NIBBLE = 15, MORE = 255 };

struct packer {
    const unsigned char *data;
    size_t size, *before; /* [size]: the place with the same hash before this one, plus one */
    size_t last[SLOTS];   /* the last place of a hash, plus one */
};

static size_t slot_of(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return (word * 2654435761U) >> 16;
}

static void note(struct packer *k, size_t at)
{
    size_t slot = slot_of(k->data + at);
    k->before[at] = k->last[slot];
    k->last[slot] = at + 1;
}

static size_t same_bytes(const struct packer *k, size_t a, size_t b)
{
    size_t n = 0;
    while (b + n < k->size - TAIL / 2 && k->data[a + n] == k->data[b + n])
        n++;
    return n;
}

/* The longest run of bytes before `at` that goes on as it does. */
static size_t longest(const struct packer *k, size_t at, size_t *from)
{
    size_t best = 0, place = k->last[slot_of(k->data + at)];
    for (int i = 0; i < TRIES && place && at - (place - 1) <= WINDOW; i++) {
        size_t n = same_bytes(k, place - 1, at);
        if (n > best) {
            best = n;
            *from = place - 1;
        }
        place = k->before[place - 1];
    }
    return best;
}

/* What does not fit into the four bits of a token. */
static void put_more(size_t n)
{
    if (n < NIBBLE)
        return;
    for (n -= NIBBLE; n >= MORE; n -= MORE)
        putchar(MORE);
    putchar((int)n);
}

/* Literals, then a match of `length` bytes, or none at the end. */
static void put_sequence(const unsigned char *literal, size_t literals, size_t length,
                         size_t offset)
{
    size_t more = length ? length - LEAST : 0;
    size_t high = literals < NIBBLE ? literals : NIBBLE, low = more < NIBBLE ? more : NIBBLE;
    putchar((int)(high << 4 | low));
    put_more(literals);
    fwrite(literal, 1, literals, stdout);
    if (!length)
        return;
    putchar((int)(offset & MORE));
    putchar((int)(offset >> 8));
    put_more(more);
}

static void pack(struct packer *k)
{
    size_t at = 0, begin = 0, from = 0;
    while (at + TAIL < k->size) {
        size_t length = longest(k, at, &from);
        size_t step = length >= LEAST ? length : 1;
        if (length >= LEAST) {
            put_sequence(k->data + begin, at - begin, length, at - from);
            begin = at + length;
        }
        for (size_t end = at + step; at < end; at++)
            if (at + LEAST <= k->size)
                note(k, at);
    }
    put_sequence(k->data + begin, k->size - begin, 0, 0);
}

int main(int count, char **word)
{
    static struct packer k;
    struct arena mem = {0};
    struct error err = {0};
    struct text file;
    if (count != 2)
        return fputs("lz_pack FILE\n", stderr), 2;
    if (!file_read(word[1], &mem, &file, &err))
        return fprintf(stderr, "lz_pack: %s\n", err.text), 2;
    k.data = (const unsigned char *)file.data;
    k.size = file.length;
    k.before = arena_array(&mem, file.length + 1, sizeof *k.before);
    pack(&k);
    arena_release(&mem);
    return ferror(stdout) || fflush(stdout) != 0 ? 3 : 0;
}
