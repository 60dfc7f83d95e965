/* Flags of other dialects as the flags of Megatron that mean the same: rows of foreign_flags.def, and a few that take
 * other flags to work out. Words that stand for a switch go before all others, so that what the file says wins. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/words.h"

#include <string.h>

struct translation {
    const struct launch *from;
    struct arena *mem;
    int count, capacity, firsts, first_capacity, lasts, last_capacity;
    struct launch_word *word, *first;
    struct launch_word *last; /* worked out of several flags: these win */
};

static void add(struct translation *t, const char *text, int line)
{
    t->word = arena_room(t->mem, t->word, t->count, &t->capacity, sizeof *t->word);
    t->word[t->count++] = (struct launch_word){text, line};
}

static void add_first(struct translation *t, const char *text, int line)
{
    t->first = arena_room(t->mem, t->first, t->firsts, &t->first_capacity, sizeof *t->first);
    t->first[t->firsts++] = (struct launch_word){text, line};
}

static void add_last(struct translation *t, const char *flag, const char *value, int line)
{
    t->last = arena_room(t->mem, t->last, t->lasts, &t->last_capacity, sizeof *t->last);
    t->last[t->lasts++] = (struct launch_word){flag, line};
    t->last = arena_room(t->mem, t->last, t->lasts, &t->last_capacity, sizeof *t->last);
    t->last[t->lasts++] = (struct launch_word){value, line};
}

/* The last value of a flag; NULL = it is not there, or not known. */
static const char *value_of(const struct launch *l, const char *flag)
{
    const char *value = NULL;
    size_t n = strlen(flag);
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        if (strncmp(w, flag, n) == 0 && w[n] == '=')
            value = w + n + 1;
        else if (strcmp(w, flag) == 0 && i + 1 < l->count)
            value = l->word[i + 1].text;
    }
    return value && launch_is_known(value) ? value : NULL;
}

static int64_t number_of(const struct launch *l, const char *flag, int64_t missing)
{
    const char *text = value_of(l, flag);
    int64_t n;
    return text && parse_int(text, &n) && n >= 0 && n <= 1 << 20 ? n : text ? -1 : missing;
}

/* The first layers have no experts; of the others, every so many. */
static bool dense_layers(struct translation *t, const char *value, int line)
{
    int64_t dense, layers = number_of(t->from, "--num-layers", -1);
    int64_t every = number_of(t->from, "--moe-layer-freq", 1);
    struct str s = {0};
    if (!parse_int(value, &dense) || layers < 1 || layers > 4096 || every < 1)
        return false;
    for (int64_t i = 0; i < layers && dense > 0; i++)
        str_addf(&s, "%s%d", i ? "," : "[", i >= dense && i % every == 0);
    if (dense > 0)
        add_last(t, "--moe-layer-freq", arena_format(t->mem, "%s]", str_text(&s)), line);
    str_release(&s);
    return true;
}

static bool shared_experts(struct translation *t, const char *value, int line)
{
    int64_t n, width = number_of(t->from, "--moe-ffn-hidden-size", 0);
    width = width ? width : number_of(t->from, "--moe-intermediate-size", 0);
    width = width ? width : number_of(t->from, "--ffn-hidden-size", -1);
    if (!parse_int(value, &n) || n < 0 || n > 1024 || width < 1)
        return false;
    if (n > 0)
        add_last(t, "--moe-shared-expert-intermediate-size",
                 arena_format(t->mem, "%lld", (long long)(n * width)), line);
    return true;
}

/* "11,13,19": the layers of each stage. */
static bool stage_layers(struct translation *t, const char *value, int line)
{
    struct str s = {0};
    int64_t n, stages = 0;
    bool ok = true;
    for (const char *p = value; ok && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        ok = parse_int(arena_copy(t->mem, p, strcspn(p, ",")), &n) && n > 0 && n < 4096 &&
             ++stages <= 256;
        str_addf(&s, "%st*%lld", p == value ? "E" : "|", ok ? (long long)n : 1);
    }
    if (ok && stages > 0)
        add_last(t, "--pipeline-model-parallel-layout", arena_format(t->mem, "%sL", str_text(&s)),
                 line);
    str_release(&s);
    return ok && stages > 0;
}

static const struct {
    const char *flag;
    bool (*work_out)(struct translation *, const char *value, int line);
} WORKED_OUT[] = {
    {"--first-k-dense-replace", dense_layers},
    {"--n-shared-experts", shared_experts},
    {"--num-layer-list", stage_layers},
};

static bool work_out(struct translation *t, const char *name, const char *value, int line)
{
    for (size_t i = 0; i < sizeof WORKED_OUT / sizeof *WORKED_OUT; i++)
        if (value && launch_is_known(value) && strcmp(name, WORKED_OUT[i].flag) == 0)
            return WORKED_OUT[i].work_out(t, value, line);
    return false;
}

/* The words of one row; false where it needs a value and there is none. */
static bool put(struct translation *t, const struct foreign_flag *f, const char *value, int line)
{
    char word[64];
    bool with = strstr(f->text, "%s") != NULL;
    if (with && !value)
        return false;
    for (const char *at = f->text; next_word(&at, word, sizeof word);) {
        const char *text = strcmp(word, "%s") == 0 ? value : arena_string(t->mem, word);
        if (with)
            add(t, text, line);
        else
            add_first(t, text, line);
    }
    return true;
}

/* The dashes of Megatron's names where the file has underscores: --hidden_size. */
static const char *dashed(const char *name, struct arena *mem)
{
    if (words_most_values(name) >= 0 || !strchr(name, '_'))
        return name;
    struct str s = {0};
    for (const char *p = name; *p; p++)
        str_add(&s, *p == '_' ? "-" : (char[]){*p, 0});
    const char *text = str_keep(&s, mem);
    return words_most_values(text) >= 0 || foreign_next(text, NULL, NULL) ? text : name;
}

static bool says(const char *value, const char *words)
{
    return value && is_one_of(value, words);
}

/* What its rows say is put in its place. Sets whether one of them is about its value, and whether one is no
 * translation. */
static bool put_rows(struct translation *t, const char *name, const char *value, int line,
                     bool *valued, bool *noted)
{
    bool read = false;
    for (const struct foreign_flag *f = NULL; (f = foreign_next(name, value, f));) {
        *valued |= *f->value || strstr(f->text, "%s");
        if (f->treatment == MEANS)
            read |= put(t, f, value, line);
        else
            *noted = true;
    }
    return read;
}

/* The flag at `i`; returns how many words it was. */
static int translate_flag(struct translation *t, int i)
{
    const struct launch_word *w = &t->from->word[i];
    size_t n = strcspn(w->text, "=");
    const char *written = arena_copy(t->mem, w->text, n), *name = dashed(written, t->mem);
    bool next = i + 1 < t->from->count && !words_is_flag(w[1].text);
    const char *value = w->text[n] ? w->text + n + 1 : next ? w[1].text : NULL;
    int used = 1 + (!w->text[n] && next);
    bool valued = false, noted = false;
    if (work_out(t, name, value, w->line))
        return used;
    bool read = put_rows(t, name, value, w->line, &valued, &noted);
    if (words_most_values(name) == 0 && says(value, "false False"))
        return used; /* a switch that is off */
    if (words_most_values(name) == 0 && says(value, "true True")) {
        add(t, name, w->line);
        return used;
    }
    if (read && !noted)
        return valued ? used : 1;
    add(t, name == written ? w->text : arena_format(t->mem, "%s%s", name, w->text + n), w->line);
    return 1;
}

void launch_translate(struct launch *l, struct arena *mem)
{
    struct translation t = {.from = l, .mem = mem};
    for (int i = 0; i < l->count;) {
        if (words_is_flag(l->word[i].text) && launch_is_known(l->word[i].text)) {
            i += translate_flag(&t, i);
            continue;
        }
        add(&t, l->word[i].text, l->word[i].line);
        i++;
    }
    for (int i = 0; i < t.lasts; i++)
        add(&t, t.last[i].text, t.last[i].line);
    struct launch_word *all = arena_array(mem, (size_t)(t.firsts + t.count) + 1, sizeof *all);
    if (t.firsts)
        memcpy(all, t.first, (size_t)t.firsts * sizeof *all);
    if (t.count)
        memcpy(all + t.firsts, t.word, (size_t)t.count * sizeof *all);
    l->word = all;
    l->count = t.firsts + t.count;
}
