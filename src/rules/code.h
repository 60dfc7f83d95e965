/* The compiled form of an expression: instructions for a stack of doubles. For this stage only.
 * An undefined value (division by zero) is NaN and stays NaN through every operation, except where
 * && and || never look at it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct lexer;

enum op {
    /* push: a number; values[arg] */
    OP_CONST,
    OP_LOAD,
    /* change the top; HAS: whether all bits of arg are in it */
    OP_NEG,
    OP_NOT,
    OP_BOOL,
    OP_CEIL,
    OP_FLOOR,
    OP_ABS,
    OP_HAS,
    /* pop one, change the new top */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_MIN,
    OP_MAX,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    /* jump to arg, or pop and go on */
    OP_AND,
    OP_OR
};

struct instruction {
    enum op op;
    int arg;
    double number;
};

enum { CODE_MAX = 512, CODE_STACK = 64 };

/* Code being written. */
struct code {
    int count;
    int depth; /* of the stack after the last instruction */
    struct instruction list[CODE_MAX];
};

struct rule_code {
    int count;
    struct instruction list[];
};

/* From the tokens of an expression to code (parse.c): reads one from the current token on and leaves
 * the first token behind it as the current one. `code` is overwritten. */
bool parse_expression(struct lexer *, struct code *);

/* Adds an instruction; false when the code or its stack would be too large. */
bool code_push(struct code *, enum op, int arg, double number);
/* If all that follows from `start` are constants and one operation, replaces them by the result. */
void code_fold(struct code *, int start);
/* Whether the code from `start` on is one constant. */
bool code_is_constant(const struct code *, int start);
/* Removes the code from `start` on, which computes one value. */
void code_drop(struct code *, int start);
/* Whether the last instruction leaves 0, 1 or NaN. */
bool code_is_truth(const struct code *);

/* Bits of enum param that must be bound before it can run. */
uint64_t code_depends(const struct code *);
const struct rule_code *code_keep(const struct code *, struct arena *);

/* The code must compute one value within CODE_STACK; `values` may be NULL if it loads nothing. */
double code_run(const struct instruction *, int count, const double *values);
