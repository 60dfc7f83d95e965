/* Words by their place: open addressing, at most half full. */
#include "report/page/page_parts.h"

#include "base/arena.h"
#include "base/json.h"

#include <string.h>

enum { FIRST_ROOM = 64 };

static uint32_t hash_of(const char *word) /* FNV-1a */
{
    uint32_t h = 2166136261u;
    for (; *word; word++)
        h = (h ^ (unsigned char)*word) * 16777619u;
    return h;
}

/* The slot of the word, or the free one where it belongs. */
static int *slot_of(const struct page_words *w, const char *word)
{
    uint32_t at = hash_of(word) % (uint32_t)w->slots;
    while (w->slot[at] >= 0 && strcmp(w->word[w->slot[at]], word) != 0)
        at = (at + 1) % (uint32_t)w->slots;
    return &w->slot[at];
}

static void grow(struct page_words *w)
{
    const char **old = w->word;
    w->room = w->room > 0 ? 2 * w->room : FIRST_ROOM;
    w->slots = 2 * w->room;
    w->word = arena_array(w->mem, (size_t)w->room, sizeof *w->word);
    w->slot = arena_array(w->mem, (size_t)w->slots, sizeof *w->slot);
    memset(w->slot, -1, (size_t)w->slots * sizeof *w->slot);
    for (int i = 0; i < w->count; i++) {
        w->word[i] = old[i];
        *slot_of(w, old[i]) = i;
    }
}

void page_words_init(struct page_words *w, struct arena *mem)
{
    *w = (struct page_words){.mem = mem};
    grow(w);
}

int page_words_add(struct page_words *w, const char *word)
{
    int *slot = slot_of(w, word);
    if (*slot >= 0)
        return *slot;
    if (w->count == w->room) {
        grow(w);
        slot = slot_of(w, word);
    }
    w->word[w->count] = arena_string(w->mem, word);
    return *slot = w->count++;
}

struct json *page_words_json(const struct page_words *w)
{
    return json_new_strings((const char *const *)w->word, (size_t)w->count);
}
