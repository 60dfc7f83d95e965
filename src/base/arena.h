/* Memory by lifetime: everything taken from an arena is freed together. Allocation cannot fail:
 * when memory runs out a replaceable handler is called, which aborts by default. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* owned, newest first */
};

/* As `= {0}` does. */
void arena_init(struct arena *);
void arena_release(struct arena *);
/* Makes it empty and reusable; keeps its largest block, so that a steady state allocates
 * nothing. */
void arena_clear(struct arena *);

/* Zeroed, aligned for any type, valid until the arena is released. */
void *arena_alloc(struct arena *, size_t bytes);
/* Zeroed array; aborts through the handler when count * size overflows. */
void *arena_array(struct arena *, size_t count, size_t size);
/* A growing list with room for one more: itself, or a copy twice as large where all `capacity` entries
 * are taken. The old one stays in the arena. */
void *arena_room(struct arena *, void *list, int count, int *capacity, size_t size);
char *arena_copy(struct arena *, const char *text, size_t length); /* adds the final 0 */
char *arena_string(struct arena *, const char *text);
char *arena_format(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Called when memory runs out; must not return. */
extern void (*arena_out_of_memory)(size_t bytes);

/* malloc and realloc under the same rule, for the few growable buffers outside arenas. */
void *memory_grow(void *old, size_t bytes);
