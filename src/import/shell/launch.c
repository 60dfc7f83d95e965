/* The words of a launch, for messages. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"

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

const struct launch_unknown *launch_unknown_of(const struct launch *l, const char *word)
{
    const char *mark = strchr(word, LAUNCH_MARK);
    long number = mark ? strtol(mark + 1, NULL, 10) : -1;
    return number >= 0 && number < l->unknowns ? &l->unknown[number] : NULL;
}

const char *launch_text(const struct launch *l, const char *word, struct arena *mem)
{
    struct str s = {0};
    for (const char *p = word; *p;) {
        const struct launch_unknown *u = *p == LAUNCH_MARK ? launch_unknown_of(l, p) : NULL;
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

const char *launch_asks(const struct launch *l, const char *what, const char *word,
                        struct arena *mem)
{
    const struct launch_unknown *u = launch_unknown_of(l, word);
    return arena_format(mem, "%s is %s, %s: %s", what, launch_text(l, word, mem),
                        u ? u->why : "which is not known",
                        u && u->name ? arena_format(mem, "give --env %s=VALUE", u->name)
                                     : "write the value in its place");
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
