/* How a script is called: the arguments that it takes, what it calls them, the words that it compares them with, and
 * the call that stands in a comment. */
#include "import/shell/script_parts.h"

#include <string.h>

void script_ask_argument(struct script *s, const char *name)
{
    int64_t n;
    if (parse_int(name, &n) && n <= SCRIPT_ARGUMENTS && n > s->arguments)
        s->arguments = (int)n;
}

/* The number in $1, ${1}, "${1:-x}"; 0 = it is no argument. */
static int argument_in(const char *p, const char *end)
{
    int n = 0;
    while (p < end && strchr("\"${", *p))
        p++;
    for (; p < end && *p >= '0' && *p <= '9' && n <= SCRIPT_ARGUMENTS; p++)
        n = 10 * n + (*p - '0');
    return p == end || strchr("\"}:-", *p) ? n : 0;
}

void script_name_argument(struct script *s, const char *name, const char *value, size_t length)
{
    const char *dollar = memchr(value, '$', length);
    int n = dollar ? argument_in(value, value + length) : 0;
    if (n < 1 || n > SCRIPT_ARGUMENTS || s->functions > 0 || s->argument[n - 1] ||
        dollar > value + 1)
        return;
    s->argument[n - 1] = name;
}

static struct launch_choice *choice_of(struct script *s, const char *name)
{
    for (int i = 0; i < s->choices; i++)
        if (strcmp(s->choice[i].name, name) == 0)
            return &s->choice[i];
    if (s->choices == SCRIPT_CHOICES)
        return NULL;
    s->choice[s->choices] = (struct launch_choice){.name = name};
    return &s->choice[s->choices++];
}

void script_add_choice(struct script *s, const char *unknown, const char *word)
{
    enum { CHOICES_MOST = 16, LONGEST = 40 };
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    const struct launch_unknown *u =
        *unknown == LAUNCH_MARK ? launch_unknown_of(&l, unknown) : NULL;
    const char *end = strchr(unknown, LAUNCH_MARK_END);
    bool unset = u && strncmp(u->why, "which is not set", 16) == 0;
    if (!unset || !u->name || !end || end[1] || !*word || !launch_is_known(word) ||
        strpbrk(word, "*?[") || strlen(word) > LONGEST)
        return;
    struct launch_choice *c = choice_of(s, u->name);
    for (int i = 0; c && i < c->count; i++)
        if (strcmp(c->word[i], word) == 0)
            return;
    if (!c || c->count == CHOICES_MOST)
        return;
    c->word = arena_room(s->mem, c->word, c->count, &c->capacity, sizeof *c->word);
    c->word[c->count++] = word;
}

/* The words of a comment behind a script's name, up to its end; -1 where one of them only stands for a word. */
static int words_of(const char *p, const char *end, struct script_call *c, struct arena *mem)
{
    int capacity = 0;
    while (p < end) {
        const char *from = p;
        while (p < end && !strchr(" \t\r", *p))
            p++;
        for (const char *k = from; k < p; k++)
            if (strchr("<>|&;$`\"'()[]{}\\", *k))
                return c->count = -1;
        if (p > from) {
            c->word = arena_room(mem, c->word, c->count, &capacity, sizeof *c->word);
            c->word[c->count++] = arena_copy(mem, from, (size_t)(p - from));
        }
        while (p < end && strchr(" \t\r", *p))
            p++;
    }
    return c->count;
}

/* The end of a script's name in a comment that calls one; NULL = it does not. */
static const char *call_in(const char *line, const char *end)
{
    const char *p = line;
    while (p < end && strchr("# \t", *p))
        p++;
    const char *first = p;
    while (p < end && !strchr(" \t", *p))
        p++;
    size_t n = (size_t)(p - first);
    bool shell = (n == 2 && memcmp(first, "sh", 2) == 0) ||
                 (n == 4 && memcmp(first, "bash", 4) == 0) ||
                 (n == 6 && memcmp(first, "sbatch", 6) == 0);
    if (!shell && !(n > 2 && memcmp(first, "./", 2) == 0))
        return NULL;
    while (shell && p < end && strchr(" \t", *p))
        p++;
    for (; shell && p < end && !strchr(" \t", *p); p++)
        continue;
    return p - line > 4 && p < end && memcmp(p - 3, ".sh", 3) == 0 ? p : NULL;
}

/* Comments outlive the names of files: of another script's call the number of words has to be right. */
static bool is_own(const char *path, const char *line, const char *end)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return (size_t)(end - line) > n && memcmp(end - n, name, n) == 0;
}

/* A line with those that it goes on with behind a backslash. */
static const char *whole_line(const char **at, const char *end, int *line, struct arena *mem)
{
    struct str s = {0};
    for (bool more = true; more && *at < end; ++*line) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at)), *last = stop ? stop : end;
        const char *next = last + (last < end);
        while (last > *at && strchr(" \t\r", last[-1]))
            last--;
        more = last > *at && last[-1] == '\\';
        str_add_bytes(&s, *at, (size_t)(last - *at) - more);
        *at = next;
    }
    return str_keep(&s, mem);
}

bool script_call_elsewhere(const char *path, const char *text, size_t length, int arguments,
                           struct script_call *out, struct arena *mem)
{
    const char *end = text + length, *p = text;
    for (int line = 1, first = line; p < end && arguments > 0; first = line) {
        const char *whole = whole_line(&p, end, &line, mem), *stop = whole + strlen(whole);
        const char *behind = *whole == '#' ? NULL : call_in(whole, stop);
        struct script_call c = {.line = first};
        if (behind && is_own(path, whole, behind) && words_of(behind, stop, &c, mem) >= arguments) {
            *out = c;
            return true;
        }
    }
    return false;
}

bool script_call(const char *path, const char *text, size_t length, int arguments,
                 struct script_call *out, struct arena *mem)
{
    const char *end = text + length;
    int line = 1;
    for (const char *p = text; p < end && arguments > 0; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        const char *behind = *p == '#' ? call_in(p, stop) : NULL;
        struct script_call c = {.line = line};
        int count = behind ? words_of(behind, stop, &c, mem) : 0;
        if (count > 0 && (count == arguments || is_own(path, p, behind))) {
            *out = c;
            return true;
        }
        p = stop + (stop < end);
    }
    return false;
}
