/* Whether a search could come upon a published plan: what rules refuse, and which values no search
 * tries. */
#include "experts.h"

#include "rules/rules.h"
#include "search/search.h"
#include "strategy/space.h"

#include <string.h>

static struct note **note_of(struct bench *b, const char *text)
{
    struct note **at = &b->notes, *n;
    while (*at && strcmp((*at)->text, text) < 0)
        at = &(*at)->next;
    if (!*at || strcmp((*at)->text, text) != 0) {
        n = arena_alloc(&b->mem, sizeof *n);
        *n = (struct note){.next = *at, .text = arena_string(&b->mem, text)};
        str_init(&n->ids);
        *at = n;
    }
    return at;
}

/* NVIDIA's rows are named, of the others there are too many. */
void add_note(struct bench *b, const struct expert *x, const char *text)
{
    enum { NAMED = 24 };
    struct note *n = *note_of(b, text);
    n->rows++;
    n->nvidia += x->nvidia;
    if (x->nvidia && n->nvidia <= NAMED)
        str_addf(&n->ids, " %s", x->id);
    else if (x->nvidia && n->nvidia == NAMED + 1)
        str_add(&n->ids, " ...");
}

bool rules_hold(struct bench *b, const struct rules *r, double *values, const struct expert *x,
                const char *otherwise)
{
    bool hold = true;
    slots_set_strategy(values, &x->strategy);
    for (int i = 0; i < r->count; i++)
        if (!rule_allows(&r->rule[i], values)) {
            hold = false;
            add_note(b, x, arena_format(&b->mem, "%s: %s", otherwise, r->rule[i].reason));
        }
    return hold;
}

static bool axis_has(const struct axis *a, const struct strategy *s)
{
    for (int i = 0; i < a->options; i++) {
        int same = 0;
        while (same < a->params &&
               a->value[i * a->params + same] == strategy_get(s, a->param[same]))
            same++;
        if (same == a->params)
            return true;
    }
    return false;
}

static void note_never_tried(struct bench *b, const struct axis *a, const struct expert *x)
{
    struct str words;
    str_init(&words);
    for (int i = 0; i < a->params; i++) {
        str_addf(&words, " %s=", param_info(a->param[i])->name);
        param_print(a->param[i], strategy_get(&x->strategy, a->param[i]), &words);
    }
    add_note(b, x, arena_format(&b->mem, "never tried:%s", str_text(&words)));
    str_release(&words);
}

bool is_inside(struct bench *b, const struct search_query *sq, const struct expert *x)
{
    struct space space;
    double values[SLOTS];
    bool inside = true;
    search_space(sq, &b->mem, &space);
    for (int i = 0; i < space.axes; i++)
        if (!axis_has(&space.axis[i], &x->strategy)) {
            inside = false;
            note_never_tried(b, &space.axis[i], x);
        }
    search_fixed(sq, values);
    return x->allowed && rules_hold(b, sq->rules, values, x, "passed over") && inside;
}
