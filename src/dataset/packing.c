/* First fit: each sample goes into the first pack with room for it, which a tree over the room that packs
 * have left finds in O(log packs). Megatron-Bridge's first_fit_shuffle (data/packing/algorithms.py) does
 * the same over a whole dataset; ms-swift packs a thousand samples at a time, best fit first
 * (dataset/packing.py), which leaves about as little. */
#include "dataset/packing.h"

#include "base/arena.h"
#include "dataset/lengths.h"

#include <math.h>

/* Enough packs that the last few, which nothing filled, weigh little. */
enum { PACKS_WANTED = 512, DRAWS_LEAST = LENGTHS_MOST, DRAWS_MOST = 1 << 18 };

/* SplitMix64: its sequence is fixed. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void shuffle(int32_t *of, int count, uint64_t *state)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(next_random(state) % (uint64_t)(i + 1));
        int32_t kept = of[i];
        of[i] = of[other];
        of[other] = kept;
    }
}

/* Room left in packs: a heap of `leaves` packs, each node with the most of those below it. */
struct tree {
    int leaves;
    int32_t *most;
};

static int first_with(const struct tree *t, int32_t length)
{
    int at = 1;
    while (at < t->leaves)
        at = t->most[2 * at] >= length ? 2 * at : 2 * at + 1;
    return at - t->leaves;
}

static void take(struct tree *t, int pack, int32_t length)
{
    int at = pack + t->leaves;
    t->most[at] -= length;
    for (at /= 2; at > 0; at /= 2)
        t->most[at] = t->most[2 * at] > t->most[2 * at + 1] ? t->most[2 * at] : t->most[2 * at + 1];
}

static int draws_of(const struct lengths *l, int room)
{
    double tokens = 0;
    for (int i = 0; i < l->count; i++)
        tokens += fmin(l->of[i], room);
    double wanted = (double)PACKS_WANTED * room / (tokens / l->count);
    double rounds = ceil(fmin(DRAWS_MOST, fmax(DRAWS_LEAST, wanted)) / l->count);
    return (int)(rounds * l->count); /* each length equally often */
}

void packs_make(const struct lengths *l, int room, struct arena *mem, struct packs *out)
{
    int draws = draws_of(l, room);
    struct tree t = {.leaves = 1};
    uint64_t state = 1;
    while (t.leaves < draws)
        t.leaves *= 2;
    t.most = arena_array(mem, 2 * (size_t)t.leaves, sizeof *t.most);
    for (int i = 1; i < 2 * t.leaves; i++)
        t.most[i] = room;
    int32_t *round = arena_array(mem, (size_t)l->count, sizeof *round);
    *out = (struct packs){.samples = draws};
    out->tokens = arena_array(mem, 2 * (size_t)draws, sizeof *out->tokens);
    out->pairs = out->tokens + draws;
    for (int i = 0; i < l->count; i++)
        round[i] = l->of[i] < room ? l->of[i] : room;
    for (int i = 0; i < draws; i++) {
        if (i % l->count == 0)
            shuffle(round, l->count, &state);
        int32_t length = round[i % l->count];
        int pack = first_with(&t, length);
        double share = (double)length / room;
        take(&t, pack, length);
        out->tokens[pack] += share;
        out->pairs[pack] += share * share;
        out->count = pack >= out->count ? pack + 1 : out->count;
    }
}
