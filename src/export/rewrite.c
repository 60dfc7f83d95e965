/* Every change is an edit of the old text: a span and what takes its place. */
#include "export/rewrite.h"

#include "base/arena.h"
#include "base/str.h"
#include "export/rewrite_place.h"
#include "export/shell.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 64 };

static bool add_edit(struct rewrite *r, size_t start, size_t end, const char *text,
                     struct error *err)
{
    if (strlen(text) == end - start && strncmp(r->text + start, text, end - start) == 0)
        return true; /* it says so already */
    if (r->edits == REWRITE_EDITS)
        return fail(err, ERROR_INPUT, "too much changes");
    r->edit[r->edits++] = (struct text_edit){start, end, text};
    return true;
}

/* The word as it means itself at this place: quoted in a command, bare in quotes. */
static const char *word_at(const struct rewrite *r, size_t at, const char *word, struct error *err)
{
    struct str out = {0};
    if (r->state[at] == BYTE_CODE) {
        add_shell_word(&out, word);
        return str_keep(&out, r->mem);
    }
    if (strpbrk(word, "\"'$`\\ ")) {
        fail(err, ERROR_INPUT, "'%s' cannot be said inside quotes", word);
        return NULL;
    }
    return word;
}

/* A list that gets longer or shorter, if it stands there as it is. */
static bool set_list(struct rewrite *r, const struct flag_edit *e, const struct span *value,
                     struct error *err)
{
    struct str text = {0};
    struct span literal;
    bool ok = true;
    for (size_t i = 0; i < e->olds && ok; i++)
        ok = place_literal(r, value[i], e->name, e->old[i], &literal, err) &&
             ((literal.start >= value[i].start && literal.end <= value[i].end) ||
              fail(err, ERROR_INPUT, "%s: its list is in a variable", e->name));
    for (size_t i = 0; i < e->values && ok; i++) {
        const char *word = word_at(r, value[0].start, e->value[i], err);
        ok = word != NULL;
        str_addf(&text, "%s%s", i ? " " : "", ok ? word : "");
    }
    const char *kept = str_keep(&text, r->mem);
    return ok && add_edit(r, value[0].start, value[e->olds - 1].end, kept, err);
}

static bool set_value(struct rewrite *r, const struct flag_edit *e, struct error *err)
{
    struct span flag, value[MOST_VALUES], literal;
    if (e->olds == 0 || e->values == 0 || e->olds > MOST_VALUES)
        return fail(err, ERROR_INPUT, "%s gets another number of values", e->name);
    if (!place_flag(r, e->name, &flag, err) ||
        !place_values(r, e->name, &flag, e->olds, value, err))
        return false;
    if (e->olds != e->values)
        return set_list(r, e, value, err);
    for (size_t i = 0; i < e->olds; i++) {
        const char *word;
        if (strcmp(e->old[i], e->value[i]) == 0)
            continue;
        if (!place_literal(r, value[i], e->name, e->old[i], &literal, err))
            return false;
        bool quoted = literal.start > value[i].start && strchr("\"'", r->text[literal.start - 1]);
        word = quoted ? e->value[i] : word_at(r, literal.start, e->value[i], err);
        if (!word || !add_edit(r, literal.start, literal.end, word, err))
            return false;
    }
    return true;
}

/* Where a line that is the last of a command goes, the backslash before it goes too. */
static size_t backslash_before(const struct rewrite *r, size_t line_start)
{
    struct span before = place_line(r, line_start - 1);
    size_t at = before.end - 1;
    while (at > before.start && strchr(" \t", r->text[at - 1]))
        at--;
    return at;
}

/* A line with its end, or with the backslash before it where it is the last of a command. */
static struct span whole_line(const struct rewrite *r, struct span line, bool goes_on)
{
    struct span before = {0, 0};
    if (line.start > 0)
        before = place_line(r, line.start - 1);
    if (!goes_on && line.start > 0 && place_goes_on(r, &before))
        return (struct span){backslash_before(r, line.start), line.end};
    return (struct span){line.start, line.end + (line.end < r->length)};
}

static bool remove_span(struct rewrite *r, struct span s, struct error *err)
{
    struct span line = place_line(r, s.start);
    bool goes_on = place_goes_on(r, &line), alone = place_is_blank(r, line.start, s.start);
    bool ends = place_is_blank(r, s.end, line.end - goes_on);
    if (alone && ends) {
        struct span whole = whole_line(r, line, goes_on);
        return add_edit(r, whole.start, whole.end, "", err);
    }
    size_t start = s.start;
    while (start > line.start && strchr(" \t", r->text[start - 1]))
        start--;
    if (!alone && start < s.start)
        return add_edit(r, start, s.end, "", err);
    while (s.end < line.end && strchr(" \t", r->text[s.end]))
        s.end++;
    return add_edit(r, s.start, s.end, "", err);
}

/* A variable that only the removed value spoke of would be left over: its line goes too, where it has that alone. */
static bool remove_variable(struct rewrite *r, struct span value, struct error *err)
{
    struct span line;
    if (!place_only_use(r, value, &line))
        return true;
    return add_edit(r, line.start, line.end + (line.end < r->length), "", err);
}

static bool remove_flag(struct rewrite *r, const struct flag_edit *e, struct error *err)
{
    struct span flag, value[MOST_VALUES];
    if (e->olds > MOST_VALUES)
        return fail(err, ERROR_INPUT, "%s has too many values", e->name);
    if (!place_flag(r, e->name, &flag, err) ||
        !place_values(r, e->name, &flag, e->olds, value, err))
        return false;
    for (size_t i = 0; i < e->olds; i++)
        if (!remove_variable(r, value[i], err))
            return false;
    return remove_span(r, (struct span){flag.start, e->olds ? value[e->olds - 1].end : flag.end},
                       err);
}

static bool is_removed(const struct flag_edit *edit, size_t count, const char *flag)
{
    for (size_t i = 0; i < count; i++)
        if (edit[i].kind == EDIT_REMOVE && strcmp(edit[i].name, flag) == 0)
            return true;
    return false;
}

/* The flag that new ones stand beside, with its value. */
static bool find_anchor(const struct rewrite *r, const struct flag_edit *edit, size_t count,
                        struct span *out, struct error *err)
{
    static const char *const flags[] = {"--tensor-model-parallel-size",
                                        "--pipeline-model-parallel-size",
                                        "--micro-batch-size",
                                        "--global-batch-size",
                                        "--seq-length",
                                        "--num-layers",
                                        "--hidden-size"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct span flag, value;
        if (is_removed(edit, count, flags[i]) || !place_flag(r, flags[i], &flag, NULL) ||
            !place_values(r, flags[i], &flag, 1, &value, NULL))
            continue;
        *out = (struct span){flag.start, value.end};
        return true;
    }
    return fail(err, ERROR_INPUT, "it has no flag beside which new ones could stand");
}

static bool add_words(const struct rewrite *r, const struct flag_edit *e, size_t at,
                      struct str *out, struct error *err)
{
    str_add(out, e->name);
    for (size_t i = 0; i < e->values; i++) {
        const char *word = word_at(r, at, e->value[i], err);
        if (!word)
            return false;
        str_addf(out, " %s", word);
    }
    return true;
}

/* How lines are added: where, what stands before and behind each. */
struct insertion {
    size_t at;
    const char *before, *behind;
};

/* Behind the anchor's line; before it where it is the last of a command. On its line where it shares
 * that with others. */
static struct insertion insertion_at(const struct rewrite *r, const struct span *anchor,
                                     bool inline_added)
{
    struct span line = place_line(r, anchor->start), before = {0, 0};
    bool goes_on = place_goes_on(r, &line), alone = place_is_blank(r, line.start, anchor->start);
    const char *indent = arena_copy(r->mem, r->text + line.start, anchor->start - line.start);
    if (line.start > 0)
        before = place_line(r, line.start - 1);
    if (!alone || inline_added || line.start == 0)
        return (struct insertion){anchor->end, " ", ""};
    if (goes_on && line.end < r->length)
        return (struct insertion){line.end + 1, indent, " \\\n"};
    if (place_goes_on(r, &before))
        return (struct insertion){line.start, indent, " \\\n"};
    if (line.end == r->length || !place_is_blank(r, anchor->end, line.end))
        return (struct insertion){line.start, indent, "\n"};
    return (struct insertion){line.end + 1, indent, "\n"};
}

static bool add_flags(struct rewrite *r, const struct flag_edit *edit, size_t count,
                      bool inline_added, struct error *err)
{
    struct span anchor = {0, 0};
    struct str text = {0};
    bool ok = find_anchor(r, edit, count, &anchor, err);
    struct insertion in = {0};
    if (ok)
        in = insertion_at(r, &anchor, inline_added);
    for (size_t i = 0; i < count && ok; i++)
        if (edit[i].kind == EDIT_ADD) {
            str_add(&text, in.before);
            ok = add_words(r, &edit[i], anchor.start, &text, err);
            str_add(&text, in.behind);
        }
    const char *kept = str_keep(&text, r->mem);
    return ok && add_edit(r, in.at, in.at, kept, err);
}

bool rewrite_flags(struct rewrite *r, const struct flag_edit *edit, size_t count, bool inline_added,
                   struct error *err)
{
    bool adds = false;
    for (size_t i = 0; i < count; i++) {
        adds |= edit[i].kind == EDIT_ADD;
        if ((edit[i].kind == EDIT_SET && !set_value(r, &edit[i], err)) ||
            (edit[i].kind == EDIT_REMOVE && !remove_flag(r, &edit[i], err)))
            return false;
    }
    return !adds || add_flags(r, edit, count, inline_added, err);
}

/* Behind the comments that a script begins with. */
static size_t first_command(const struct rewrite *r)
{
    size_t at = 0;
    while (at < r->length) {
        struct span line = place_line(r, at);
        size_t text = line.start + strspn(r->text + line.start, " \t");
        if (text < line.end && r->text[text] != '#')
            return line.start;
        at = line.end + 1;
    }
    return 0;
}

/* The whole command of an assignment that stands alone on its line. */
static bool unset_there(struct rewrite *r, const char *name, const struct span *value,
                        struct error *err)
{
    struct span line = place_line(r, value->start);
    size_t start = line.start + strspn(r->text + line.start, " \t");
    size_t text = start;
    if (strncmp(r->text + text, "export ", 7) == 0)
        text += 7;
    if (strncmp(r->text + text, name, strlen(name)) != 0 ||
        !place_is_blank(r, value->end, line.end))
        return fail(err, ERROR_INPUT, "%s is set within another command", name);
    return add_edit(r, start, value->end, arena_format(r->mem, "unset %s", name), err);
}

bool rewrite_environment(struct rewrite *r, const char *setting, struct error *err)
{
    struct span value;
    int count;
    size_t length = strcspn(setting, "=");
    const char *name = arena_copy(r->mem, setting, length), *wanted = setting + length;
    bool found = place_assignment(r, name, length, &value, &count);
    if (count > 1)
        return fail(err, ERROR_INPUT, "%s is set %d times", name, count);
    if (found && *wanted)
        return add_edit(r, value.start, value.end, wanted + 1, err);
    if (found)
        return unset_there(r, name, &value, err);
    size_t at = first_command(r);
    return add_edit(r, at, at,
                    arena_format(r->mem, "%s %s\n", *wanted ? "export" : "unset", setting), err);
}

static int by_place(const void *a, const void *b)
{
    const struct text_edit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static bool meets_another(const struct rewrite *r, const struct text_edit *one, struct span s)
{
    for (int i = 0; i < r->edits; i++)
        if (&r->edit[i] != one && r->edit[i].start <= s.end && r->edit[i].end >= s.start)
            return true;
    return false;
}

/* A line of which nothing is left goes too. */
static void drop_empty_line(struct rewrite *r, struct text_edit *e)
{
    struct span line = place_line(r, e->start);
    bool goes_on = place_goes_on(r, &line);
    if (*e->text || e->end > line.end || !place_is_blank(r, line.start, e->start) ||
        !place_is_blank(r, e->end, line.end - goes_on))
        return;
    struct span whole = whole_line(r, line, goes_on);
    if (!meets_another(r, e, whole)) {
        e->start = whole.start;
        e->end = whole.end;
    }
}

/* What two flags say in one variable is one edit, and so is what goes side by side. */
bool rewrite_sort(struct rewrite *r, struct error *err)
{
    int kept = 0;
    qsort(r->edit, (size_t)r->edits, sizeof *r->edit, by_place);
    for (int i = 0; i < r->edits; i++) {
        const struct text_edit *x = &r->edit[i];
        struct text_edit *last = kept ? &r->edit[kept - 1] : NULL;
        if (last && !*last->text && !*x->text && x->start <= last->end) {
            last->end = x->end > last->end ? x->end : last->end;
            continue;
        }
        bool same = last && last->start == x->start && last->end == x->end && x->end > x->start &&
                    strcmp(last->text, x->text) == 0;
        if (last && !same &&
            (x->start < last->end || (x->start == last->start && last->end > x->start)))
            return fail(err, ERROR_INPUT, "two changes meet at one place");
        if (!same)
            r->edit[kept++] = *x;
    }
    r->edits = kept;
    for (int i = 0; i < r->edits; i++)
        drop_empty_line(r, &r->edit[i]);
    return true;
}

void rewrite_apply(const struct rewrite *r, struct str *out)
{
    size_t at = 0;
    for (int i = 0; i < r->edits; i++) {
        str_add_bytes(out, r->text + at, r->edit[i].start - at);
        str_add(out, r->edit[i].text);
        at = r->edit[i].end;
    }
    str_add_bytes(out, r->text + at, r->length - at);
}
