/* A list of blocks, each at least 64 KiB; allocation moves a mark forward. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

static void abort_out_of_memory(size_t bytes)
{
    fprintf(stderr, "astra: out of memory (%zu bytes)\n", bytes);
    abort();
}

void (*arena_out_of_memory)(size_t bytes) = abort_out_of_memory;

void *memory_grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        arena_out_of_memory(bytes);
    return p;
}

void arena_init(struct arena *a)
{
    a->blocks = NULL;
}

void arena_release(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *b = a->blocks;
        a->blocks = b->next;
        free(b);
    }
}

void arena_clear(struct arena *a)
{
    struct arena_block *keep = a->blocks;
    for (struct arena_block *b = a->blocks; b; b = b->next)
        if (b->size > keep->size)
            keep = b;
    while (a->blocks) {
        struct arena_block *b = a->blocks;
        a->blocks = b->next;
        if (b != keep)
            free(b);
    }
    if (keep) {
        keep->next = NULL;
        keep->used = 0;
        a->blocks = keep;
    }
}

static struct arena_block *block_new(size_t bytes)
{
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    struct arena_block *b = memory_grow(NULL, sizeof *b + size);
    b->used = 0;
    b->size = size;
    return b;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        arena_out_of_memory(bytes);
    bytes = (bytes + align - 1) / align * align;
    struct arena_block *b = a->blocks;
    if (!b || b->size - b->used < bytes) {
        b = block_new(bytes);
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return memset(p, 0, bytes);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size)
        arena_out_of_memory(SIZE_MAX);
    return arena_alloc(a, count * size);
}

void *arena_room(struct arena *a, void *list, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return list;
    *capacity = *capacity > 0 ? 2 * *capacity : 16;
    void *larger = arena_array(a, (size_t)*capacity, size);
    if (count > 0)
        memcpy(larger, list, (size_t)count * size);
    return larger;
}

char *arena_copy(struct arena *a, const char *text, size_t length)
{
    char *p = arena_alloc(a, length + 1);
    memcpy(p, text, length);
    return p;
}

char *arena_string(struct arena *a, const char *text)
{
    return arena_copy(a, text, strlen(text));
}

char *arena_format(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *p = arena_alloc(a, n > 0 ? (size_t)n + 1 : 1);
    if (n > 0)
        vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    return p;
}
