/* What variables hold while a script is read. Every assignment is written down, so that a branch
 * that may not have been taken can be taken back; where branches leave different values, what they
 * have in common stays and the rest is unknown. Values never change once they are made. */
#include "import/shell/script_parts.h"

#include <stdlib.h>
#include <string.h>

bool script_fail(struct script *s, int line, const char *message)
{
    if (!s->failed)
        fail(s->err, ERROR_INPUT, "%s:%d: %s", s->path, line, message);
    s->failed = true;
    return false;
}

bool script_spend(struct script *s, int64_t steps, size_t bytes)
{
    s->steps += steps;
    s->bytes += (int64_t)bytes;
    if (s->bytes > SCRIPT_BYTES)
        return script_fail(s, s->line, "the variables expand to more text than can be read");
    if (s->steps > SCRIPT_STEPS)
        return script_fail(s, s->line, "the script takes more steps than are followed");
    return !s->failed;
}

static struct variable **slot_of(const struct script *s, const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    struct variable **slot = &s->bucket[hash % s->buckets];
    while (*slot && (strncmp((*slot)->name, name, length) != 0 || (*slot)->name[length]))
        slot = &(*slot)->next;
    return slot;
}

/* Twice as many buckets, and at the beginning the first. */
static void grow_buckets(struct script *s)
{
    struct variable **old = s->bucket;
    size_t count = s->buckets;
    s->buckets = count ? 2 * count : SCRIPT_BUCKETS;
    s->bucket = arena_array(s->mem, s->buckets, sizeof *s->bucket);
    for (size_t i = 0; i < count; i++)
        for (struct variable *v = old[i], *next; v; v = next) {
            struct variable **slot = slot_of(s, v->name, strlen(v->name));
            next = v->next;
            v->next = NULL;
            *slot = v;
        }
}

struct variable *script_name(struct script *s, const char *name, size_t length)
{
    if (s->names == s->buckets)
        grow_buckets(s);
    struct variable **slot = slot_of(s, name, length);
    if (*slot)
        return *slot;
    s->names++;
    *slot = arena_alloc(s->mem, sizeof **slot);
    (*slot)->name = arena_copy(s->mem, name, length);
    return *slot;
}

struct variable *script_variable(struct script *s, const char *name, size_t length)
{
    struct variable *v = script_name(s, name, length);
    for (int i = 0; v->reference && i < SCRIPT_DEPTH; i++)
        v = v->reference;
    return v;
}

const struct value *script_arguments(struct script *s)
{
    return script_name(s, "@", 1)->value;
}

static void remember(struct script *s, struct variable *v)
{
    s->undo = arena_room(s->mem, s->undo, s->undos, &s->undo_capacity, sizeof *s->undo);
    s->undo[s->undos++] = (struct undo){v, v->value};
}

/* What --env could set, where the value itself is unknown and nothing better is known. */
static void name_unknown(struct script *s, const struct variable *v, const struct value *value)
{
    for (int i = 0; value && value->count == 1 && i < value->count; i++)
        for (const char *p = value->word[i].text; (p = strchr(p, LAUNCH_MARK)); p++) {
            long number = strtol(p + 1, NULL, 10);
            if (number >= 0 && number < s->unknowns && !s->unknown[number].name)
                s->unknown[number].name = v->name;
        }
}

void script_assign(struct script *s, struct variable *v, const struct value *value)
{
    if (v->fixed)
        return;
    remember(s, v);
    name_unknown(s, v, value);
    v->value = value;
}

void script_undo(struct script *s, int to)
{
    while (s->undos > to) {
        const struct undo *u = &s->undo[--s->undos];
        u->variable->value = u->value;
    }
}

void script_leave_shell(struct script *s, int to)
{
    struct undo *kept = NULL;
    int files = 0, capacity = 0;
    for (int i = to; i < s->undos; i++) {
        struct variable *v = s->undo[i].variable;
        if (*v->name != '>')
            continue;
        kept = arena_room(s->mem, kept, files, &capacity, sizeof *kept);
        kept[files++] = (struct undo){v, v->value};
    }
    script_undo(s, to);
    for (int i = 0; i < files; i++)
        script_assign(s, kept[i].variable, kept[i].value);
}

const struct value *value_of_text(struct script *s, const char *text, int line)
{
    struct value *v = arena_alloc(s->mem, sizeof *v);
    struct launch_word *w = arena_alloc(s->mem, sizeof *w);
    *w = (struct launch_word){text, line};
    *v = (struct value){.count = 1, .word = w};
    return v;
}

const struct value *value_of_fields(struct script *s, const struct fields *f)
{
    struct value *v = arena_alloc(s->mem, sizeof *v);
    struct launch_word *w = arena_array(s->mem, (size_t)f->count + 1, sizeof *w);
    if (f->count)
        memcpy(w, f->word, (size_t)f->count * sizeof *w);
    *v = (struct value){.array = true, .count = f->count, .word = w};
    script_spend(s, 0, (size_t)f->count * sizeof *w);
    return v;
}

const char *script_unknown(struct script *s, const char *text, const char *why, const char *name,
                           int line)
{
    s->unknown =
        arena_room(s->mem, s->unknown, s->unknowns, &s->unknown_capacity, sizeof *s->unknown);
    s->unknown[s->unknowns] = (struct launch_unknown){text, why, name, line, NULL};
    script_spend(s, 1, sizeof *s->unknown);
    return arena_format(s->mem, "%c%d%c", LAUNCH_MARK, s->unknowns++, LAUNCH_MARK_END);
}

/* Only flags matter, and unknown parts of the text may hold some of their own. */
void script_may_hold(struct script *s, int unknown, const char *text)
{
    struct launch_unknown *u = &s->unknown[unknown];
    for (const char *p = text; (p = strchr(p, LAUNCH_MARK)); p++) {
        long number = strtol(p + 1, NULL, 10);
        if (number >= 0 && number < unknown && s->unknown[number].may_hold)
            script_may_hold(s, unknown, s->unknown[number].may_hold);
    }
    if (!strstr(text, "--") || (u->may_hold && strstr(u->may_hold, text)))
        return;
    if (script_spend(s, 1, strlen(text) + (u->may_hold ? strlen(u->may_hold) : 0)))
        u->may_hold = arena_format(s->mem, "%s%s%s", u->may_hold ? u->may_hold : "",
                                   u->may_hold ? " " : "", text);
}

/* What a value holds behind the beginning that it shares with another. */
static void may_hold_end(struct script *s, const char *mark, const struct value *v,
                         const struct value *shared)
{
    long number = strtol(mark + 1, NULL, 10);
    int from = shared && shared->array ? shared->count - 1 : 0;
    for (int i = from; v && i < v->count; i++) {
        const char *text = v->word[i].text, *same = shared ? shared->word[0].text : "";
        size_t n = v->array ? 0 : strcspn(same, "\001");
        n -= n > 0; /* the blank before the end */
        bool begins = strncmp(text, same, n) == 0;
        script_may_hold(s, (int)number, begins ? text + n : text);
    }
}

static bool same_value(const struct value *a, const struct value *b)
{
    if (!a || !b || a == b)
        return a == b;
    if (a->array != b->array || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->word[i].text, b->word[i].text) != 0)
            return false;
    return true;
}

void ways_begin(struct ways *w, struct script *s, int line)
{
    *w = (struct ways){.mark = s->undos,
                       .line = line,
                       .doubt = s->doubt,
                       .printed = s->capture ? s->capture->text.length : 0};
    s->doubt = NULL;
}

static struct way_change *change_of(struct ways *w, struct script *s, struct variable *v)
{
    for (int i = 0; i < w->changes; i++)
        if (w->change[i].variable == v)
            return &w->change[i];
    w->change = arena_room(s->mem, w->change, w->changes, &w->capacity, sizeof *w->change);
    w->change[w->changes] = (struct way_change){.variable = v, .last = -1};
    return &w->change[w->changes++];
}

/* The words or the text that two values begin with, and an unknown end. */
static const struct value *common(struct script *s, const struct value *a, const struct value *b,
                                  const char *unknown, int line)
{
    struct fields f = {0};
    int n = 0;
    if (!a || !b || a->array != b->array)
        return value_of_text(s, unknown, line);
    if (a->array) {
        for (; n < a->count && n < b->count && strcmp(a->word[n].text, b->word[n].text) == 0; n++)
            fields_add(&f, a->word[n].text, a->word[n].line, s);
        fields_add(&f, unknown, line, s);
        return value_of_fields(s, &f);
    }
    const char *x = a->word[0].text, *y = b->word[0].text;
    size_t same = 0, cut = 0;
    for (; x[same] && x[same] == y[same]; same++)
        if (x[same] == ' ' || x[same] == '\n')
            cut = same + 1;
    if (same > 0 && (!x[same] || x[same] == ' ') && (!y[same] || y[same] == ' '))
        cut = same; /* one is the beginning of the other */
    if (cut == 0)
        return value_of_text(s, unknown, line);
    script_spend(s, 1, cut);
    return value_of_text(s, arena_format(s->mem, "%.*s %s", (int)cut, x, unknown), a->word[0].line);
}

static void agree(struct ways *w, struct script *s, struct way_change *c, const struct value *value)
{
    if (c->touched == 0 && !c->unknown) {
        c->value = value;
        return;
    }
    if (same_value(c->value, value))
        return;
    if (!c->unknown)
        c->unknown = script_unknown(
            s, arena_format(s->mem, "${%s}", c->variable->name),
            arena_format(s->mem, "which depends on the condition in line %d", w->line),
            w->doubt                            ? w->doubt
            : is_name_start(*c->variable->name) ? c->variable->name
                                                : NULL,
            w->line);
    const struct value *shared = common(s, c->value, value, c->unknown, w->line);
    may_hold_end(s, c->unknown, c->value, shared);
    may_hold_end(s, c->unknown, value, shared);
    c->value = shared;
}

void ways_end_one(struct ways *w, struct script *s, bool counts)
{
    if (s->capture && s->capture->text.length != w->printed)
        s->capture->unknown = true;
    for (int i = w->mark; counts && i < s->undos && script_spend(s, 1 + w->changes, 0); i++) {
        struct way_change *c = change_of(w, s, s->undo[i].variable);
        if (c->last == w->count)
            continue;
        agree(w, s, c, c->variable->value);
        c->last = w->count;
        c->touched++;
    }
    w->count += counts;
    script_undo(s, w->mark);
}

void ways_merge(struct ways *w, struct script *s)
{
    for (int i = 0; i < w->changes && script_spend(s, 1, 0); i++) {
        struct way_change *c = &w->change[i];
        if (c->touched < w->count)
            agree(w, s, c, c->variable->value);
        script_assign(s, c->variable, c->value);
    }
}
