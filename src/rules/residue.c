#include "rules/residue.h"

#include "base/arena.h"
#include "rules/code.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMO = 256, UNKNOWN = -1 }; /* a power of two */

static void note_slot(struct rule_residues *r, int slot)
{
    for (int i = 0; i < r->slots; i++)
        if (r->slot[i] == slot)
            return;
    if (r->slots >= 0 && r->slots < RESIDUE_SLOTS)
        r->slot[r->slots++] = slot;
    else
        r->slots = -1;
}

void rule_residues_init(struct rule_residues *r, const struct rule *rule, const bool known[SLOTS])
{
    *r = (struct rule_residues){.rule = rule, .known = known};
    for (int i = 0; i < rule->code->count; i++) {
        const struct instruction *in = &rule->code->list[i];
        if (in->op == OP_LOAD && known[in->arg])
            note_slot(r, in->arg);
    }
}

void rule_residues_release(struct rule_residues *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->text[i].text);
    free(r->text);
    free(r->memo);
}

static int find_number(struct rule_residues *r, const double values[SLOTS])
{
    char text[RULE_RESIDUE_MAX];
    size_t bytes = rule_residue(r->rule, r->known, values, text);
    for (int i = 0; i < r->count; i++)
        if (r->text[i].bytes == bytes && memcmp(r->text[i].text, text, bytes) == 0)
            return i;
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 4;
        r->text = memory_grow(r->text, (size_t)r->capacity * sizeof *r->text);
    }
    r->text[r->count] = (struct residue_text){bytes, memory_grow(NULL, bytes + 1)};
    memcpy(r->text[r->count].text, text, bytes);
    return r->count++;
}

static void begin_memo(struct rule_residues *r)
{
    int width = r->slots + 1;
    r->memo = memory_grow(NULL, MEMO * (size_t)width * sizeof *r->memo);
    for (int i = 0; i < MEMO; i++)
        r->memo[i * width + r->slots] = UNKNOWN;
}

int rule_residues_get(struct rule_residues *r, const double values[SLOTS])
{
    uint64_t hash = UINT64_C(1469598103934665603), x;
    double own[RESIDUE_SLOTS];
    if (r->slots < 0)
        return find_number(r, values);
    for (int i = 0; i < r->slots; i++) {
        own[i] = values[r->slot[i]];
        memcpy(&x, &own[i], sizeof x);
        hash = (hash ^ (x >> 32 ^ x)) * UINT64_C(1099511628211); /* FNV-1a */
    }
    if (!r->memo)
        begin_memo(r);
    double *memo = &r->memo[(hash ^ hash >> 24) % MEMO * (uint64_t)(r->slots + 1)];
    if (memo[r->slots] < 0 || memcmp(memo, own, (size_t)r->slots * sizeof *own) != 0) {
        memo[r->slots] = find_number(r, values);
        memcpy(memo, own, (size_t)r->slots * sizeof *own);
    }
    return (int)memo[r->slots];
}
