/* Loops. Rounds whose number is known are gone through one by one. Where it is not, the body may
 * have run or not; it is gone through twice, so that what one round leaves to the next is seen. A
 * loop over known words that starts a training in each of its rounds starts that of the first; any
 * other is one training with an unknown variable. */
#include "import/shell/script_parts.h"

#include <string.h>

enum { ROUNDS = 1024 };

struct loop {
    const struct node *node;
    int mark, launches, round;
    enum leave perhaps;
    struct raw first, condition, step; /* of for ((...)) */
};

static void begin(struct loop *l, struct script *s, const struct node *n)
{
    *l = (struct loop){.node = n, .mark = s->undos, .launches = s->launches, .perhaps = s->perhaps};
    s->perhaps = LEAVE_NOT;
    s->loops++;
}

/* Whether there may be another round. */
static bool round_ends(struct loop *l, struct script *s)
{
    l->round++;
    if (s->perhaps == LEAVE_ROUND)
        s->perhaps = LEAVE_NOT;
    if (s->leaves == LEAVE_ROUND)
        s->leaves = LEAVE_NOT;
    if (s->leaves != LEAVE_LOOP)
        return !s->leaves && !s->failed;
    if (--s->levels < 1)
        s->leaves = LEAVE_NOT;
    return false;
}

static enum answer end(struct loop *l, struct script *s)
{
    s->loops--;
    if (s->perhaps <= LEAVE_LOOP)
        s->perhaps = LEAVE_NOT;
    script_leave_perhaps(s, l->perhaps);
    s->assumed = true;
    return ANSWER_MAYBE;
}

/* Back to the beginning, as if no round had been gone through. */
static void start_over(struct loop *l, struct script *s)
{
    script_undo(s, l->mark);
    s->launches = l->launches;
    s->leaves = s->perhaps = LEAVE_NOT;
}

static enum answer doubtful(struct loop *l, struct script *s, const char *variable)
{
    for (int i = 0; i < 2 && !s->failed; i++) {
        s->doubt = variable ? variable : s->doubt;
        script_either(s, l->node->body, NULL, l->node->line);
        s->perhaps = s->perhaps <= LEAVE_LOOP ? LEAVE_NOT : s->perhaps;
    }
    return end(l, s);
}

/* Words that a shell would not turn into others: no names of files, no braces. */
static bool all_known(const struct fields *list)
{
    for (int i = 0; i < list->count; i++)
        if (!launch_is_known(list->word[i].text) || strpbrk(list->word[i].text, "*?[{"))
            return false;
    return list->count <= ROUNDS;
}

/* The trainings of the first round stand for those of all. */
static void take_first(struct loop *l, struct script *s, const struct variable *v,
                       const struct fields *list)
{
    const char *note =
        arena_format(s->mem,
                     "line %d: the loop starts a training for each of %d values of %s: that of the "
                     "first, %.60s, is planned (--env %s=VALUE)",
                     l->node->line, list->count, v->name, list->word[0].text, v->name);
    for (int i = l->launches; i < s->launches; i++) {
        s->launch[i].others += list->count - 1;
        launch_note(&s->launch[i], note);
    }
}

/* False where the rounds have to be gone through in doubt. */
static bool run_rounds(struct loop *l, struct script *s, struct variable *v,
                       const struct fields *list)
{
    for (int i = 0; i < list->count; i++) {
        script_assign(s, v, value_of_text(s, list->word[i].text, l->node->line));
        script_run(s, l->node->body);
        bool last = v->fixed || !round_ends(l, s) || i + 1 == list->count;
        bool trains = s->launches > l->launches && list->count > 1 && !v->fixed;
        if (s->perhaps && (trains || !last))
            return false;
        if (trains) {
            take_first(l, s, v, list);
            break;
        }
        if (last)
            break;
    }
    return true;
}

enum answer script_for(struct script *s, const struct node *n)
{
    struct fields list = {0};
    struct loop l;
    for (int i = 1; i < n->count; i++)
        script_expand(s, &n->word[i], &list);
    struct variable *v = script_variable(s, n->word[0].text, n->word[0].length);
    if (list.count == 0)
        return ANSWER_YES;
    begin(&l, s, n);
    if (all_known(&list) || v->fixed) {
        if (run_rounds(&l, s, v, &list))
            return end(&l, s);
        start_over(&l, s);
    }
    script_forget(s, n->word[0].text, n->word[0].length,
                  arena_format(s->mem, "which the loop in line %d sets", n->line));
    return doubtful(&l, s, v->name);
}

static enum answer ask(struct loop *l, struct script *s)
{
    const struct node *n = l->node;
    int64_t value;
    if (n->kind == NODE_WHILE) {
        enum answer a = script_condition(s, n->condition);
        return n->until ? answer_not(a) : a;
    }
    if (l->condition.length == 0)
        return ANSWER_YES;
    const char *text = script_arithmetic(s, l->condition.text, l->condition.length);
    return !parse_int(text, &value) ? ANSWER_MAYBE : value ? ANSWER_YES : ANSWER_NO;
}

static enum answer run_while(struct loop *l, struct script *s)
{
    enum answer a;
    while ((a = ask(l, s)) == ANSWER_YES && !s->leaves) {
        script_run(s, l->node->body);
        bool goes_on = round_ends(l, s);
        bool trains = s->launches > l->launches;
        if (!goes_on)
            return end(l, s);
        if (l->round == ROUNDS || trains || s->perhaps) {
            start_over(l, s);
            a = ANSWER_MAYBE;
            break;
        }
        if (l->step.length > 0)
            script_arithmetic(s, l->step.text, l->step.length);
    }
    if (a == ANSWER_NO || s->leaves || s->failed)
        return end(l, s);
    if (l->node->kind == NODE_COUNT)
        script_forget_assigned(s, l->node->word[0].text, l->node->word[0].length);
    return doubtful(l, s, NULL);
}

enum answer script_while(struct script *s, const struct node *n)
{
    struct loop l;
    begin(&l, s, n);
    return run_while(&l, s);
}

/* The part of FIRST; CONDITION; STEP that begins at `p`. */
static const char *part(const char *p, const char *end, struct raw *out)
{
    const char *stop = memchr(p, ';', (size_t)(end - p));
    stop = stop ? stop : end;
    while (p < stop && strchr(" \t\n", *p))
        p++;
    *out = (struct raw){.text = p, .length = (size_t)(stop - p)};
    return stop < end ? stop + 1 : end;
}

enum answer script_count(struct script *s, const struct node *n)
{
    struct loop l;
    const char *p = n->word[0].text, *stop = p + n->word[0].length;
    begin(&l, s, n);
    p = part(p, stop, &l.first);
    p = part(p, stop, &l.condition);
    part(p, stop, &l.step);
    if (l.first.length > 0)
        script_arithmetic(s, l.first.text, l.first.length);
    return run_while(&l, s);
}
