/* Writing code. Constants are folded as soon as an operation has only constant operands, by running
 * the very instructions that it replaces: folding cannot disagree with evaluation. */
#include "rules/code.h"

#include "base/arena.h"
#include "strategy/names.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* What an instruction does to the depth of the stack. */
static int effect(enum op op)
{
    if (op <= OP_LOAD)
        return 1;
    return op <= OP_HAS ? 0 : -1;
}

bool code_push(struct code *c, enum op op, int arg, double number)
{
    if (c->count == CODE_MAX || c->depth + effect(op) > CODE_STACK)
        return false;
    c->list[c->count++] = (struct instruction){op, arg, number};
    c->depth += effect(op);
    assert(c->depth >= 0);
    return true;
}

bool code_is_constant(const struct code *c, int start)
{
    return c->count == start + 1 && c->list[start].op == OP_CONST;
}

void code_fold(struct code *c, int start)
{
    assert(start >= 0 && start < c->count);
    for (int i = start; i < c->count - 1; i++)
        if (c->list[i].op != OP_CONST)
            return;
    double value = code_run(c->list + start, c->count - start, NULL);
    c->list[start] = (struct instruction){OP_CONST, 0, value};
    c->count = start + 1;
}

void code_drop(struct code *c, int start)
{
    assert(c->count > start && c->depth > 0);
    c->count = start;
    c->depth--;
}

bool code_is_truth(const struct code *c)
{
    assert(c->count > 0);
    enum op op = c->list[c->count - 1].op;
    return op == OP_NOT || op == OP_BOOL || op == OP_HAS || (op >= OP_EQ && op <= OP_GE);
}

uint64_t code_depends(const struct code *code)
{
    uint64_t depends = 0;
    for (int i = 0; i < code->count; i++)
        if (code->list[i].op == OP_LOAD)
            depends |= slot_info(code->list[i].arg)->depends;
    return depends;
}

const struct rule_code *code_keep(const struct code *code, struct arena *mem)
{
    size_t bytes = (size_t)code->count * sizeof *code->list;
    assert(code->count > 0 && code->count <= CODE_MAX && code->depth == 1);
    struct rule_code *kept = arena_alloc(mem, sizeof *kept + bytes);
    kept->count = code->count;
    memcpy(kept->list, code->list, bytes);
    return kept;
}
