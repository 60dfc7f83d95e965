/* Rules of one search, in which most values never change: those of the model, the cluster and of
 * parameters without a choice. Their loads become constants and are folded as the parser does it, what
 * && and || then never look at goes. What is left is shorter, looks at fewer parameters, and can be
 * judged earlier. */
#include "rules/code.h"
#include "rules/rules.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct rewriter {
    const struct instruction *from;
    const bool *known;
    const double *values;
    struct code to;
    int operands, start[CODE_STACK]; /* where the code of each value on the stack begins */
    int jumps;
    struct jump {
        int start;   /* of the left side */
        int at, end; /* the instruction that jumps; where to, in the code that is read */
    } jump[CODE_MAX];
};

static void copy(struct rewriter *w, const struct instruction *in)
{
    bool ok = code_push(&w->to, in->op, in->arg, in->number);
    assert(ok); /* never longer than what it is made from */
    (void)ok;
}

static void push_operand(struct rewriter *w, const struct instruction *in)
{
    struct instruction number = {OP_CONST, 0, 0};
    bool known = in->op == OP_LOAD && w->known[in->arg];
    if (known)
        number.number = w->values[in->arg];
    w->start[w->operands++] = w->to.count;
    copy(w, known ? &number : in);
}

static void operate(struct rewriter *w, const struct instruction *in)
{
    w->operands -= in->op > OP_HAS; /* of two values one is left */
    copy(w, in);
    code_fold(&w->to, w->start[w->operands - 1]);
}

/* The next instruction to read: behind the right side where the left one decides. */
static int decide(struct rewriter *w, int i)
{
    const struct instruction *in = &w->from[i];
    int start = w->start[w->operands - 1];
    if (!code_is_constant(&w->to, start)) {
        w->jump[w->jumps++] = (struct jump){start, w->to.count, in->arg};
        copy(w, in);
        w->operands--;
        return i + 1;
    }
    double left = w->to.list[start].number;
    w->operands--;
    code_drop(&w->to, start);
    if (!isnan(left) && (left != 0) == (in->op == OP_AND))
        return i + 1; /* the right side decides */
    push_operand(w, &(struct instruction){OP_CONST, 0, isnan(left) ? NAN : left != 0});
    return in->arg;
}

/* Right sides that end here: the value is that of both. */
static void land(struct rewriter *w, int i)
{
    while (w->jumps > 0 && w->jump[w->jumps - 1].end == i) {
        const struct jump *j = &w->jump[--w->jumps];
        w->to.list[j->at].arg = w->to.count;
        w->start[w->operands - 1] = j->start;
    }
}

static void rewrite(struct rewriter *w, int count)
{
    for (int i = 0; i < count;) {
        const struct instruction *in = &w->from[i];
        if (in->op >= OP_AND) {
            i = decide(w, i);
        } else {
            if (in->op <= OP_LOAD)
                push_operand(w, in);
            else
                operate(w, in);
            i++;
        }
        land(w, i);
    }
    assert(w->jumps == 0 && w->operands == 1 && w->to.depth == 1);
}

/* Rewrites one rule; `w` is as large as the longest of them may need: only counts are cleared. */
static void rewrite_rule(struct rewriter *w, const struct rule *r, const bool known[SLOTS],
                         const double values[SLOTS])
{
    w->from = r->code->list;
    w->known = known;
    w->values = values;
    w->to.count = w->to.depth = w->operands = w->jumps = 0;
    rewrite(w, r->code->count);
}

size_t rule_residue(const struct rule *r, const bool known[SLOTS], const double values[SLOTS],
                    void *out)
{
    struct rewriter w; /* large: only what is used is filled */
    rewrite_rule(&w, r, known, values);
    size_t bytes = (size_t)w.to.count * sizeof *w.to.list;
    assert(bytes <= RULE_RESIDUE_MAX);
    memcpy(out, w.to.list, bytes);
    return bytes;
}

void rules_known(const struct rules *r, const bool known[SLOTS], const double values[SLOTS],
                 struct arena *mem, struct rules *out)
{
    struct rewriter *w = arena_alloc(mem, sizeof *w);
    rules_init(out);
    rules_append(out, r, mem);
    for (int i = 0; i < r->count; i++) {
        rewrite_rule(w, &r->rule[i], known, values);
        out->rule[i].code = code_keep(&w->to, mem);
        out->rule[i].depends = code_depends(&w->to);
    }
}

void rules_drop_idle(struct rules *r)
{
    int count = r->count;
    r->count = 0;
    for (int i = 0; i < count; i++)
        if (!rule_is_idle(&r->rule[i]))
            r->rule[r->count++] = r->rule[i];
}
