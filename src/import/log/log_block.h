/* Whether the blocks of arguments in a log, one for each start of the run, say the same. Constant
 * memory: of an argument only hashes are kept. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { BLOCK_ARGUMENTS = 2048, BLOCK_NAME = 64 };

struct block_argument {
    uint64_t name, value;
    int block; /* the latest that has it */
};

struct log_block {
    struct block_argument *argument; /* of the arena; those of the first block */
    int count;
    int blocks;             /* that began */
    int found;              /* arguments of the first that this block has */
    char other[BLOCK_NAME]; /* the first argument of this block that differs; "" = none */
};

struct arena;

void log_block_begin(struct log_block *, struct arena *);
void log_block_line(struct log_block *, const char *line);
/* Whether it says what the first block says, but for paths, lengths and the like. */
bool log_block_same(const struct log_block *);
