/* Reading a command line the way argparse does, without abbreviations: every word that starts
 * with "--" is a flag, the words behind it are its values as far as its arity takes them, and the
 * last mention of a flag wins. Values are checked against the type in the table, so that a slip
 * in a flag without effect is found too. A flag is found by bisection in the sorted table. */
#include "import/megatron/words.h"

#include "base/arena.h"
#include "base/str.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum arity { SWITCH, VALUE, THREE, LIST, ANY };
enum type { NONE, INT, REAL, TEXT, WORD };
enum word_treatment { RENAMED, IGNORED, REFUSED };

struct flag {
    const char *name;
    enum arity arity;
    enum type type;
    const char *choices; /* blank-separated */
};

struct old_flag {
    const char *name;
    enum arity arity;
    enum word_treatment treatment;
    const char *text;
};

static const struct flag FLAGS[] = {
#define FLAG(name, arity, type, choices) {name, arity, type, choices},
#include "import/megatron/megatron_flags.def"
#undef FLAG
};

static const char *const NAMES[] = {
#define FLAG(name, arity, type, choices) name,
#include "import/megatron/megatron_flags.def"
#undef FLAG
};

static const struct old_flag OLD_FLAGS[] = {
#define OLD(name, arity, treatment, text) {name, arity, treatment, text},
#include "import/megatron/old_flags.def"
#undef OLD
};

enum {
    FLAG_COUNT = sizeof FLAGS / sizeof *FLAGS,
    OLD_COUNT = sizeof OLD_FLAGS / sizeof *OLD_FLAGS
};

/* One mention of a flag. */
struct mention {
    bool there;
    const char *joined;       /* value of --flag=value, else NULL */
    const char *const *value; /* the words behind the flag */
    int count;
};

struct words {
    struct mention of[FLAG_COUNT];
    bool *asked; /* [FLAG_COUNT] someone wanted to know about the flag */
    bool noted[OLD_COUNT];
    const char *note[OLD_COUNT + 1]; /* in order of appearance */
    int notes;
};

static int compare_name(const void *key, const void *flag)
{
    return strcmp(key, ((const struct flag *)flag)->name);
}

static const struct flag *find_flag(const char *name)
{
    return bsearch(name, FLAGS, FLAG_COUNT, sizeof *FLAGS, compare_name);
}

static int compare_old(const void *key, const void *flag)
{
    return strcmp(key, ((const struct old_flag *)flag)->name);
}

static const struct old_flag *find_old(const char *name)
{
    return bsearch(name, OLD_FLAGS, OLD_COUNT, sizeof *OLD_FLAGS, compare_old);
}

static const struct mention *mention_of(const struct words *w, const char *flag)
{
    const struct flag *f = find_flag(flag);
    assert(f);
    w->asked[f - FLAGS] = true;
    return &w->of[f - FLAGS];
}

bool words_is_flag(const char *word)
{
    return word[0] == '-' && word[1] && word[1] != '.' && !isdigit((unsigned char)word[1]);
}

static int least_values(enum arity arity)
{
    static const int least[] = {[SWITCH] = 0, [VALUE] = 1, [THREE] = 3, [LIST] = 1, [ANY] = 0};
    return least[arity];
}

static int most_values(enum arity arity)
{
    static const int most[] = {
        [SWITCH] = 0, [VALUE] = 1, [THREE] = 3, [LIST] = INT_MAX, [ANY] = INT_MAX};
    return most[arity];
}

/* Python's float also takes these. */
static bool is_real(const char *word)
{
    double ignored;
    const char *plain = word + (*word == '-' || *word == '+');
    return parse_real(word, &ignored) || same_name(plain, "inf") || same_name(plain, "infinity") ||
           same_name(plain, "nan");
}

/* Python's numbers may have single underscores between digits: 220_000_000. */
const char *words_plain(const char *word, struct arena *mem)
{
    bool plain = isdigit((unsigned char)*word) && strchr(word, '_');
    for (const char *p = word; plain && *p; p++)
        plain = isdigit((unsigned char)*p) || (*p == '_' && p[-1] != '_' && p[1]);
    if (!plain)
        return word;
    struct str s = {0};
    for (const char *p = word; *p; p++)
        if (*p != '_')
            str_add_bytes(&s, p, 1);
    return str_keep(&s, mem);
}

static bool check_value(const struct flag *f, const char *value, struct error *err)
{
    int64_t ignored;
    if (f->type == INT && !parse_int(value, &ignored))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a whole number", f->name, value);
    if (f->type == REAL && !is_real(value))
        return fail(err, ERROR_INPUT, "%s is '%s', expected a number", f->name, value);
    if (f->type == WORD && !is_one_of(value, f->choices))
        return fail(err, ERROR_INPUT, "%s is '%s', expected one of: %s", f->name, value,
                    f->choices);
    return true;
}

/* Takes the values of a flag from `argv` (the words behind it); sets how many words were used. */
static bool take_values(struct mention *m, const struct flag *f, int argc, const char *const *argv,
                        int *used, struct error *err)
{
    int most = m->joined ? 0 : most_values(f->arity), n = 0;
    while (n < argc && n < most && !words_is_flag(argv[n]))
        n++;
    m->value = argv;
    m->count = m->joined ? 1 : n;
    *used = n;
    if (f->arity == SWITCH && m->joined)
        return fail(err, ERROR_INPUT, "%s is a switch and takes no value, got '%s'", f->name,
                    m->joined);
    if (m->count < least_values(f->arity) && f->arity == THREE)
        return fail(err, ERROR_INPUT, "%s needs 3 values, got %d", f->name, m->count);
    if (m->count < least_values(f->arity))
        return fail(err, ERROR_INPUT, "%s needs a value", f->name);
    for (int i = 0; i < m->count; i++)
        if (!check_value(f, m->joined ? m->joined : m->value[i], err))
            return false;
    return true;
}

/* Looking for the nearest of all names takes milliseconds: not where nobody reads the message. */
static bool unknown_flag(const char *name, struct error *err)
{
    return err &&
           fail(err, ERROR_INPUT, "unknown flag %s%s", name, did_you_mean(name, NAMES, FLAG_COUNT));
}

/* What a flag of an earlier release means today. */
static bool read_old(const struct old_flag *old, struct words *w, struct arena *mem,
                     struct error *err)
{
    if (old->treatment == REFUSED)
        return fail(err, ERROR_INPUT, "%s is no longer a flag of Megatron: %s", old->name,
                    old->text);
    if (old->treatment == IGNORED && !w->noted[old - OLD_FLAGS]) {
        w->noted[old - OLD_FLAGS] = true;
        w->note[w->notes++] = arena_format(mem, "%s: %s", old->name, old->text);
    }
    return true;
}

/* Reads the flag at argv[0] and its values; sets how many words were used. */
static bool read_flag(struct words *w, int argc, const char *const *argv, int *used,
                      struct arena *mem, struct error *err)
{
    size_t length = strcspn(argv[0], "=");
    const char *name = arena_copy(mem, argv[0], length);
    const struct old_flag *old = find_old(name);
    const struct flag *known = find_flag(old && old->treatment == RENAMED ? old->text : name);
    struct mention m = {.there = true,
                        .joined = argv[0][length] ? words_plain(argv[0] + length + 1, mem) : NULL};
    struct flag as_written = {.name = name, .type = TEXT};
    if (!old && !known)
        return unknown_flag(name, err);
    if (old && !read_old(old, w, mem, err))
        return false;
    if (old)
        as_written.arity = old->arity;
    else
        as_written = *known;
    if (!take_values(&m, &as_written, argc - 1, argv + 1, used, err))
        return false;
    if (known)
        w->of[known - FLAGS] = m;
    ++*used;
    return true;
}

static bool ends_in_py(const char *word)
{
    size_t n = strlen(word);
    return n > 3 && strcmp(word + n - 3, ".py") == 0;
}

static bool stray_word(const char *word, const char *before, struct error *err)
{
    if (!before)
        return fail(err, ERROR_INPUT, "'%s' is no flag: Megatron's flags start with --", word);
    return fail(err, ERROR_INPUT, "'%s' belongs to no flag: %s takes no further value", word,
                before);
}

const struct words *words_read(int argc, const char *const *argv, struct arena *mem,
                               struct error *err)
{
    struct words *w = arena_alloc(mem, sizeof *w);
    w->asked = arena_array(mem, FLAG_COUNT, sizeof *w->asked);
    const char *before = NULL, **plain = arena_array(mem, (size_t)argc + 1, sizeof *plain);
    int used = 0;
    for (int i = 0; i < argc; i++)
        plain[i] = words_plain(argv[i], mem);
    for (int i = argc > 0 && ends_in_py(argv[0]) && !words_is_flag(argv[0]); i < argc; i += used) {
        if (!words_is_flag(argv[i])) {
            stray_word(argv[i], before, err);
            return NULL;
        }
        before = argv[i];
        if (!read_flag(w, argc - i, plain + i, &used, mem, err))
            return NULL;
    }
    return w;
}

bool words_has(const struct words *w, const char *flag)
{
    return mention_of(w, flag)->there;
}

int words_count(const struct words *w, const char *flag)
{
    return mention_of(w, flag)->count;
}

const char *words_at(const struct words *w, const char *flag, int i)
{
    const struct mention *m = mention_of(w, flag);
    return m->joined ? m->joined : m->value[i];
}

const char *words_value(const struct words *w, const char *flag)
{
    return words_count(w, flag) > 0 ? words_at(w, flag, 0) : NULL;
}

const char *const *words_notes(const struct words *w)
{
    return w->note;
}

int words_most_values(const char *flag)
{
    const struct flag *f = find_flag(flag);
    const struct old_flag *old = f ? NULL : find_old(flag);
    return f ? most_values(f->arity) : old ? most_values(old->arity) : -1;
}

const char *words_today(const char *flag)
{
    const struct old_flag *old = find_old(flag);
    return old && old->treatment == RENAMED ? old->text : flag;
}

bool words_takes(const char *flag, const char *value)
{
    const struct flag *f = find_flag(flag);
    return f && check_value(f, value, NULL);
}

const char *words_expected(const char *flag)
{
    const struct flag *f = find_flag(flag);
    enum type type = f ? f->type : TEXT;
    return type == INT    ? "a whole number"
           : type == REAL ? "a number"
           : type == WORD ? f->choices
                          : "a value";
}

int words_least_values(const char *flag)
{
    const struct flag *f = find_flag(flag);
    const struct old_flag *old = f ? NULL : find_old(flag);
    return f ? least_values(f->arity) : old ? least_values(old->arity) : 0;
}

const char *words_choice(const char *flag, const char *value, struct arena *mem)
{
    const struct flag *f = find_flag(flag);
    char word[64];
    for (const char *at = f && f->type == WORD ? f->choices : "";
         next_word(&at, word, sizeof word);)
        if (same_name(word, value))
            return arena_string(mem, word);
    return NULL;
}

bool words_there(const struct words *w, const char *flag)
{
    const struct flag *f = find_flag(flag);
    return f && w->of[f - FLAGS].there;
}

const char *words_peek(const struct words *w, const char *flag, int i)
{
    const struct flag *f = find_flag(flag);
    const struct mention *m = f ? &w->of[f - FLAGS] : NULL;
    if (!m || i >= m->count)
        return NULL;
    return m->joined ? m->joined : m->value[i];
}

bool words_asked(const struct words *w, const char *flag)
{
    const struct flag *f = find_flag(flag);
    return f && w->asked[f - FLAGS];
}

void words_tally(const struct words *w, int *there, int *idle)
{
    *there = *idle = 0;
    for (int i = 0; i < FLAG_COUNT; i++) {
        *there += w->of[i].there;
        *idle += w->of[i].there && !w->asked[i];
    }
}
