/* Goes through the commands of a script the way a shell would, without doing anything: only
 * variables change. A condition that cannot be answered takes every way and keeps what these have
 * in common. A way that ends the script is not the one that trains, unless training starts there.
 * A way that leaves a loop or a function leaves the commands up to its end in doubt. */
#include "import/shell/script_parts.h"

#include <string.h>

static enum answer run_one(struct script *, const struct node *);
static enum answer run_list(struct script *, const struct node *, enum answer);

/* Whether a way goes on to the end, or starts a training. */
static bool goes_on(struct script *s, int launches)
{
    bool stops = s->leaves == LEAVE_SCRIPT && s->launches == launches;
    if (stops)
        s->leaves = LEAVE_NOT;
    return !stops;
}

/* A way that is taken; false, with nothing changed, when it leads out. */
static bool run_branch(struct script *s, const struct node *n, enum answer *a)
{
    int mark = s->undos, launches = s->launches;
    *a = script_run(s, n);
    if (goes_on(s, launches))
        return true;
    script_undo(s, mark);
    return false;
}

void script_leave_perhaps(struct script *s, enum leave leave)
{
    if (leave > s->perhaps)
        s->perhaps = leave;
}

/* Ends one way; `launches`: how many there were at its beginning. */
static void end_way(struct script *s, struct ways *w, int launches)
{
    bool counts = goes_on(s, launches);
    enum leave left = s->leaves == LEAVE_SCRIPT ? LEAVE_NOT : s->leaves; /* another way goes on */
    s->leaves = LEAVE_NOT;
    if (left) {
        w->least = w->left == 0 || left < w->least ? left : w->least;
        w->most = left > w->most ? left : w->most;
        w->left++;
    }
    ways_end_one(w, s, counts);
}

/* A way that may have been taken; NULL does nothing. */
static void maybe(struct script *s, struct ways *w, const struct node *n)
{
    int launches = s->launches;
    s->open++;
    if (n)
        run_list(s, n, ANSWER_MAYBE);
    s->open--;
    end_way(s, w, launches);
}

/* One of the ways has been taken: what they have in common stays. */
static void settle(struct script *s, struct ways *w)
{
    ways_merge(w, s);
    if (w->left == 0)
        return;
    s->status = ANSWER_MAYBE;
    if (w->left < w->count || w->least < w->most)
        script_leave_perhaps(s, w->most);
    if (w->left == w->count)
        s->leaves = w->least;
}

enum answer script_either(struct script *s, const struct node *n, const struct node *other,
                          int line)
{
    struct ways w;
    ways_begin(&w, s, line);
    maybe(s, &w, n);
    maybe(s, &w, other);
    settle(s, &w);
    return ANSWER_MAYBE;
}

enum answer script_condition(struct script *s, const struct node *n)
{
    s->assumed = false;
    s->doubt = NULL;
    enum answer a = script_run(s, n);
    return s->assumed ? ANSWER_MAYBE : a;
}

static enum answer run_if(struct script *s, const struct node *n)
{
    enum answer a = script_condition(s, n->condition), b;
    if (s->leaves)
        return a;
    if (a == ANSWER_MAYBE)
        return script_either(s, n->body, n->other, n->line);
    if (a == ANSWER_YES && run_branch(s, n->body, &b))
        return b;
    s->assumed = false;
    return n->other && run_branch(s, n->other, &b) ? b : ANSWER_YES;
}

static enum answer arm_matches(struct script *s, const struct arm *arm, const char *subject)
{
    enum answer a = ANSWER_NO;
    for (int i = 0; i < arm->patterns && a != ANSWER_YES; i++) {
        const char *pattern = script_expand_pattern(s, &arm->pattern[i]);
        enum answer b = script_matches(s, pattern, subject);
        a = b == ANSWER_NO ? a : b;
    }
    return a;
}

/* The body of an arm, and of those behind it that it falls into. */
static enum answer run_arm(struct script *s, const struct arm *arm)
{
    enum answer a = script_run(s, arm->body);
    for (; arm->falls && arm->next && !s->leaves && !s->failed; arm = arm->next)
        a = script_run(s, arm->next->body);
    return a;
}

/* An arm that is taken; one that leads out has changed nothing. */
static enum answer take_arm(struct script *s, const struct arm *arm)
{
    int mark = s->undos, launches = s->launches;
    enum answer a = run_arm(s, arm);
    if (!goes_on(s, launches))
        script_undo(s, mark);
    return a;
}

static void maybe_arm(struct script *s, struct ways *w, const struct arm *arm)
{
    int launches = s->launches;
    s->open++;
    run_arm(s, arm);
    s->open--;
    end_way(s, w, launches);
    if (arm->tests)
        script_fail(s, w->line,
                    "a case that goes on with ;;& behind a pattern that may or may not "
                    "match is not followed: set its variable with --env");
}

static enum answer run_case(struct script *s, const struct node *n)
{
    const char *subject = script_expand_one(s, n->word[0].text, n->word[0].length);
    struct ways w = {0};
    bool open = false, done = false;
    enum answer last = ANSWER_YES;
    s->doubt = NULL;
    s->assumed = false;
    for (const struct arm *arm = n->arm; arm && !done && !s->failed && !s->leaves;
         arm = arm->next) {
        enum answer a = arm_matches(s, arm, subject);
        if (a == ANSWER_NO)
            continue;
        done = a == ANSWER_YES && !arm->tests;
        if (a == ANSWER_YES && !open) {
            last = take_arm(s, arm);
            continue;
        }
        if (!open)
            ways_begin(&w, s, n->line);
        open = true;
        maybe_arm(s, &w, arm);
    }
    if (open && !done)
        maybe(s, &w, NULL);
    if (open)
        settle(s, &w);
    return open ? ANSWER_MAYBE : last;
}

static enum answer run_test(struct script *s, const struct node *n)
{
    struct fields f = {0};
    for (int i = 0; i < n->count; i++) {
        const struct raw *r = &n->word[i];
        bool pattern = i > 0 && (raw_is(r - 1, "==") || raw_is(r - 1, "=") || raw_is(r - 1, "!="));
        fields_add(&f,
                   pattern ? script_expand_pattern(s, r) : script_expand_one(s, r->text, r->length),
                   r->line, s);
    }
    s->assumed = false;
    return script_test(s, f.count, f.word, true);
}

static enum answer run_arithmetic(struct script *s, const struct node *n)
{
    const char *text = script_arithmetic(s, n->word[0].text, n->word[0].length);
    int64_t value;
    s->assumed = false;
    if (!launch_is_known(text) || !parse_int(text, &value))
        return ANSWER_MAYBE;
    return value ? ANSWER_YES : ANSWER_NO;
}

/* What happens in a shell of its own has no effect on this one, but for a training. */
static enum answer in_subshell(struct script *s, const struct node *n,
                               enum answer (*run)(struct script *, const struct node *))
{
    int mark = s->undos;
    enum leave perhaps = s->perhaps;
    enum answer a = run(s, n);
    script_leave_shell(s, mark);
    s->leaves = LEAVE_NOT;
    s->perhaps = perhaps;
    return a;
}

static enum answer run_group(struct script *s, const struct node *n)
{
    return script_run(s, n->body);
}

static enum answer run_subshell(struct script *s, const struct node *n)
{
    return in_subshell(s, n, run_group);
}

static enum answer run_function(struct script *s, const struct node *n)
{
    script_name(s, n->word[0].text, n->word[0].length)->function = n->body;
    return ANSWER_YES;
}

static enum answer run_kind(struct script *s, const struct node *n)
{
    static enum answer (*const runs[])(struct script *, const struct node *) = {
        [NODE_SIMPLE] = script_simple,
        [NODE_IF] = run_if,
        [NODE_FOR] = script_for,
        [NODE_COUNT] = script_count,
        [NODE_WHILE] = script_while,
        [NODE_CASE] = run_case,
        [NODE_FUNCTION] = run_function,
        [NODE_GROUP] = run_group,
        [NODE_SUBSHELL] = run_subshell,
        [NODE_TEST] = run_test,
        [NODE_ARITHMETIC] = run_arithmetic,
    };
    return runs[n->kind](s, n);
}

static enum answer run_redirected(struct script *s, const struct node *n)
{
    return script_redirect(s, n, run_kind);
}

static enum answer run_one(struct script *s, const struct node *n)
{
    if (!n || !script_spend(s, 1, 0))
        return ANSWER_MAYBE;
    s->line = n->line;
    enum answer a = n->apart ? in_subshell(s, n, run_redirected) : run_redirected(s, n);
    return n->negated ? answer_not(a) : a;
}

/* A command behind && or || that may or may not be reached; `a` is the answer so far. */
static enum answer run_doubtful(struct script *s, const struct node *n, enum answer a)
{
    struct ways w;
    int launches = s->launches;
    ways_begin(&w, s, n->line);
    s->open++;
    enum answer b = run_one(s, n);
    s->open--;
    end_way(s, &w, launches);
    maybe(s, &w, NULL);
    settle(s, &w);
    bool decides = n->link == LINK_AND ? b == ANSWER_NO : b == ANSWER_YES && !s->assumed;
    return decides ? b : a;
}

/* One that is reached. What leads out is not the way that trains. */
static enum answer run_linked(struct script *s, const struct node *n)
{
    int mark = s->undos, launches = s->launches;
    enum answer a = run_one(s, n);
    if (goes_on(s, launches))
        return a;
    script_undo(s, mark);
    return ANSWER_YES;
}

/* What stands behind a command that may have left the loop or the function. */
static enum answer run_rest(struct script *s, const struct node *n)
{
    enum leave before = s->perhaps;
    s->perhaps = LEAVE_NOT;
    script_either(s, n, NULL, n->line);
    script_leave_perhaps(s, before);
    return ANSWER_MAYBE;
}

/* A command of a pipeline: what it prints is what the next one reads. */
static enum answer run_piped(struct script *s, const struct node *n, const char **flow)
{
    bool reads = n->link == LINK_PIPE, writes = n->next && n->next->link == LINK_PIPE;
    struct capture own = {0}, *before = s->capture;
    const char *input = s->input;
    s->input = reads ? *flow : input;
    s->capture = writes ? &own : before;
    enum answer a = run_one(s, n);
    s->capture = before;
    s->input = reads || writes ? input : s->input;
    *flow = writes && !own.unknown ? arena_string(s->mem, str_text(&own.text)) : NULL;
    str_release(&own.text);
    return a;
}

/* `a`: the answer of what stands before. */
static enum answer run_list(struct script *s, const struct node *first, enum answer a)
{
    bool skipped = false;
    const char *flow = NULL;
    for (const struct node *n = first; n && !s->failed && !s->leaves; n = n->next) {
        if (s->perhaps)
            return run_rest(s, n);
        skipped = (n->link == LINK_AND && a == ANSWER_NO) ||
                  (n->link == LINK_OR && a == ANSWER_YES) || (n->link == LINK_PIPE && skipped);
        if (skipped)
            continue;
        if (n->link == LINK_NEXT || n->link == LINK_PIPE)
            a = run_piped(s, n, &flow);
        else
            a = a == ANSWER_MAYBE ? run_doubtful(s, n, a) : run_linked(s, n);
    }
    return a;
}

enum answer script_run(struct script *s, const struct node *first)
{
    return run_list(s, first, ANSWER_YES);
}
