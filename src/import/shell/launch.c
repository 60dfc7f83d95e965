/* What of a launch can be read as Megatron's flags. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool launch_is_known(const char *word)
{
    return !strchr(word, LAUNCH_MARK);
}

void launch_note(struct launch *l, const char *text)
{
    for (int i = 0; i < l->notes.count; i++)
        if (strcmp(l->notes.text[i], text) == 0)
            return;
    if (l->notes.count < FLAGS_MAX_TEXTS)
        l->notes.text[l->notes.count++] = text;
}

/* The first unknown part of a word. */
static const struct launch_unknown *unknown_of(const struct launch *l, const char *word)
{
    const char *mark = strchr(word, LAUNCH_MARK);
    long number = mark ? strtol(mark + 1, NULL, 10) : -1;
    return number >= 0 && number < l->unknowns ? &l->unknown[number] : NULL;
}

const char *launch_text(const struct launch *l, const char *word, struct arena *mem)
{
    struct str s = {0};
    for (const char *p = word; *p;) {
        const struct launch_unknown *u = *p == LAUNCH_MARK ? unknown_of(l, p) : NULL;
        size_t n = strcspn(p + 1, "\001") + 1;
        if (*p != LAUNCH_MARK) {
            str_add_bytes(&s, p, n);
            p += n;
            continue;
        }
        str_add(&s, u ? u->text : "?");
        p += strcspn(p, "\002");
        p += *p == LAUNCH_MARK_END;
    }
    return str_keep(&s, mem);
}

static const char *place(const struct launch *l, int line, struct arena *mem)
{
    return line ? arena_format(mem, "%s:%d", l->path, line) : l->path;
}

static const char *hint(const struct launch_unknown *u, const char *flag, struct arena *mem)
{
    if (u->name)
        return arena_format(mem, "give --env %s=VALUE", u->name);
    return arena_format(mem, "give it behind the file, as in -- %s VALUE", flag);
}

/* A flag one of whose values is not known. */
static void add_open(struct launch *l, struct launch_flags *f, const char *flag, const char *value,
                     int line, struct arena *mem)
{
    const struct launch_unknown *u = unknown_of(l, value);
    const char *name = arena_copy(mem, flag, strcspn(flag, "="));
    f->open = arena_room(mem, f->open, f->opens, &f->open_capacity, sizeof *f->open);
    f->open[f->opens++] = (struct launch_open){
        .flag = name,
        .message =
            u ? arena_format(mem, "%s: %s is %s, %s: %s", place(l, line, mem), name,
                             launch_text(l, value, mem), u->why, hint(u, name, mem))
              : arena_format(mem, "%s: the value of %s is not known", place(l, line, mem), name)};
}

/* A word that may stand for flags. */
static void note_stray(struct launch *l, const struct launch_word *w, struct arena *mem)
{
    const struct launch_unknown *u = unknown_of(l, w->text);
    launch_note(l, arena_format(mem, "line %d: left out: what is not known of %s, %s", w->line,
                                launch_text(l, w->text, mem), u ? u->why : "which is not known"));
}

/* The flags that may stand there count as open: whether they have an effect is seen later. */
static void open_stray(struct launch *l, struct launch_flags *f, const struct launch_word *w,
                       struct arena *mem)
{
    const struct launch_unknown *u = unknown_of(l, w->text);
    note_stray(l, w, mem);
    for (const char *p = u ? u->may_hold : NULL; p && (p = strstr(p, "--")); p += 2) {
        size_t n = strcspn(p, " \t\n=\"'\001");
        const char *flag = arena_copy(mem, p, n);
        if (words_most_values(flag) < 0)
            continue;
        f->open = arena_room(mem, f->open, f->opens, &f->open_capacity, sizeof *f->open);
        f->open[f->opens++] = (struct launch_open){
            .flag = flag,
            .doubled = true,
            .message = arena_format(mem, "%s: %s may be in %s, %s: %s", place(l, w->line, mem),
                                    flag, launch_text(l, w->text, mem), u->why,
                                    u->name ? hint(u, flag, mem)
                                            : "write what it stands for into the file")};
    }
}

/* A flag of a program that only looks like Megatron's; a slip has a flag that is near. Looking for
 * that one takes a millisecond: a script with many flags of its own is no slip. */
static bool is_foreign(struct launch_flags *f, const char *name)
{
    enum { LOOKED_AT = 8 };
    return words_most_values(name) < 0 && (++f->strangers > LOOKED_AT || !words_nearest(name));
}

static int skip_foreign(struct launch *l, int i, struct arena *mem)
{
    const struct launch_word *w = &l->word[i];
    int n = 1;
    while (i + n < l->count && !words_is_flag(w[n].text))
        n++;
    launch_note(l, arena_format(mem, "line %d: %s is no flag of Megatron and is left out", w->line,
                                launch_text(l, w->text, mem)));
    return n;
}

static void keep(struct launch_flags *f, const struct launch_word *w, int count)
{
    for (int i = 0; i < count; i++) {
        f->word[f->count] = w[i].text;
        f->line[f->count++] = w[i].line;
    }
}

/* The flag at `i` with the values it takes; returns how many words that are. */
static int take_flag(struct launch *l, int i, struct launch_flags *f, struct arena *mem)
{
    const struct launch_word *w = &l->word[i];
    const char *name = arena_copy(mem, w->text, strcspn(w->text, "="));
    int most = strchr(w->text, '=') ? 0 : words_most_values(name), n = 1, open = -1;
    if (!launch_is_known(w->text) && !launch_is_known(name)) {
        open_stray(l, f, w, mem);
        return 1;
    }
    if (is_foreign(f, name))
        return skip_foreign(l, i, mem);
    if (!launch_is_known(w->text))
        open = 0;
    for (; i + n < l->count && n <= most && !words_is_flag(w[n].text); n++)
        if (open < 0 && !launch_is_known(w[n].text))
            open = n;
    if (open >= 0)
        add_open(l, f, w->text, open ? w[open].text : strchr(w->text, '=') + 1, w->line, mem);
    else
        keep(f, w, n);
    return n;
}

void launch_split(struct launch *l, struct launch_flags *f, struct arena *mem)
{
    size_t most = (size_t)l->count + 1;
    *f = (struct launch_flags){.word = arena_array(mem, most, sizeof *f->word),
                               .line = arena_array(mem, most, sizeof *f->line)};
    for (int i = 0; i < l->count;) {
        const struct launch_word *w = &l->word[i];
        if (words_is_flag(w->text)) {
            i += take_flag(l, i, f, mem);
            continue;
        }
        if (launch_is_known(w->text))
            keep(f, w, 1);
        else
            open_stray(l, f, w, mem);
        i++;
    }
}

/* The line of the first flag that a text names; 0 = of none. */
static int line_named(const struct launch_flags *f, const char *text)
{
    for (const char *at = text; (at = strstr(at, "--")); at += 2) {
        size_t n = 2;
        while (isalnum((unsigned char)at[n]) || at[n] == '-' || at[n] == '_')
            n++;
        for (int i = f->count - 1; i >= 0; i--) /* the last mention counts */
            if (strcspn(f->word[i], "=") == n && memcmp(f->word[i], at, n) == 0)
                return f->line[i];
    }
    return 0;
}

void launch_name_place(const struct launch *l, const struct launch_flags *f, struct error *err)
{
    struct error inner = *err;
    int line = line_named(f, inner.text);
    if (line)
        fail(err, inner.kind, "%s:%d: %s", l->path, line, inner.text);
    else
        fail(err, inner.kind, "%s: %s", l->path, inner.text);
    error_in_file(err);
}
