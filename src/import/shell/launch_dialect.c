/* Flags of other dialects as the flags of Megatron that mean the same: rows of foreign_flags.def, and a few that take
 * other flags to work out (launch_worked_out.c). Words that stand for a switch go before all others, so that what the file says wins. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/words.h"
#include "import/shell/launch_translation.h"

#include <string.h>

static void add_word(struct translation *t, const char *text, int line, bool implied)
{
    t->word = arena_room(t->mem, t->word, t->count, &t->capacity, sizeof *t->word);
    t->implied = arena_room(t->mem, t->implied, t->count, &t->implied_capacity, sizeof *t->implied);
    t->implied[t->count] = implied;
    t->word[t->count++] = (struct launch_word){text, line};
}

static void add(struct translation *t, const char *text, int line)
{
    add_word(t, text, line, false);
}

void translation_first(struct translation *t, const char *text, int line)
{
    t->first = arena_room(t->mem, t->first, t->firsts, &t->first_capacity, sizeof *t->first);
    t->first[t->firsts++] = (struct launch_word){text, line};
}

void translation_last(struct translation *t, const char *flag, const char *value, int line)
{
    t->last = arena_room(t->mem, t->last, t->lasts, &t->last_capacity, sizeof *t->last);
    t->last[t->lasts++] = (struct launch_word){flag, line};
    t->last = arena_room(t->mem, t->last, t->lasts, &t->last_capacity, sizeof *t->last);
    t->last[t->lasts++] = (struct launch_word){value, line};
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
            add_word(t, text, line, true);
        else
            translation_first(t, text, line);
    }
    return true;
}

const char *launch_dashed(const char *name, struct arena *mem)
{
    if (!strchr(name, '_') || words_most_values(name) >= 0)
        return name;
    struct str s = {0};
    for (const char *p = name; *p; p++)
        str_add(&s, *p == '_' ? "-" : (char[]){*p, 0});
    const char *text = str_keep(&s, mem);
    return words_most_values(text) >= 0 || foreign_knows(text) ? text : name;
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

/* Megatron-DeepSpeed takes a number for each layer with experts, where they differ. How many words it was: 0 = it is
 * no such list. */
static int translate_experts(struct translation *t, int i)
{
    const struct launch_word *w = &t->from->word[i];
    int n = 1;
    bool differ = false;
    for (; i + n < t->from->count && !words_is_flag(w[n].text); n++)
        differ |= strcmp(w[n].text, w[1].text) != 0;
    if (!launch_names_flag(w->text, "--num-experts") || strchr(w->text, '=') || n < 3)
        return 0;
    if (differ)
        launch_note(t->notes, arena_format(t->mem,
                                           "line %d: --num-experts: layers have different numbers "
                                           "of experts, and all are planned with %s",
                                           w->line, w[1].text));
    add(t, "--num-experts", w->line);
    add(t, w[1].text, w->line);
    return n;
}

/* The flag at `i`; returns how many words it was. */
static int translate_flag(struct translation *t, int i)
{
    int list = translate_experts(t, i);
    if (list)
        return list;
    const struct launch_word *w = &t->from->word[i];
    size_t n = strcspn(w->text, "=");
    const char *written = arena_copy(t->mem, w->text, n), *name = launch_dashed(written, t->mem);
    bool next = i + 1 < t->from->count && !words_is_flag(w[1].text);
    const char *value = w->text[n] ? w->text + n + 1 : next ? w[1].text : NULL;
    int used = 1 + (!w->text[n] && next);
    bool valued = false, noted = false;
    int worked = translation_work_out(t, name, value, used - 1, w->line);
    if (worked)
        return worked;
    bool read = put_rows(t, name, value, w->line, &valued, &noted);
    int most = words_most_values(name);
    if ((most == 0 && says(value, "false False")) || (most == 1 && says(value, "None null")))
        return used; /* a switch that is off, or what wrappers write for a value that is not given */
    if (most == 0 && says(value, "true True")) {
        add(t, name, w->line);
        return used;
    }
    if (read && !noted)
        return valued ? used : 1;
    add(t, name == written ? w->text : arena_format(t->mem, "%s%s", name, w->text + n), w->line);
    return 1;
}

static void take_words(const struct translation *t, struct launch *l)
{
    size_t count = (size_t)(t->firsts + t->count) + 1;
    struct launch_word *all = arena_array(t->mem, count, sizeof *all);
    bool *implied = arena_array(t->mem, count, sizeof *implied);
    for (int i = 0; i < t->firsts; i++) {
        all[i] = t->first[i];
        implied[i] = true;
    }
    for (int i = 0; i < t->count; i++) {
        all[t->firsts + i] = t->word[i];
        implied[t->firsts + i] = t->implied[i];
    }
    l->word = all;
    l->implied = implied;
    l->count = t->firsts + t->count;
}

/* A value as the one that it is written for reads it: quotes around it and the backslashes of a layout are for a shell or a
 * wrapper in between. */
static const char *plain_value(const char *text, struct arena *mem)
{
    size_t n = strlen(text);
    if (n > 2 && (*text == '"' || *text == '\'') && text[n - 1] == *text && launch_is_known(text))
        text = arena_copy(mem, text + 1, n - 2);
    if (!strstr(text, "\\|"))
        return text;
    struct str s = {0};
    for (const char *p = text; *p; p++)
        if (*p != '\\' || !p[1] || !strchr("\\|()", p[1]))
            str_add_bytes(&s, p, 1);
    return str_keep(&s, mem);
}

static void clean_values(struct launch *l, struct arena *mem)
{
    struct launch_word *word = arena_array(mem, (size_t)l->count + 1, sizeof *word);
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        size_t n = strncmp(w, "--", 2) == 0 ? strcspn(w, "=") : 0;
        word[i] = l->word[i];
        if (n == 0)
            word[i].text = plain_value(w, mem);
        else if (w[n] && strpbrk(w + n, "\\\"'"))
            word[i].text = arena_format(mem, "%.*s=%s", (int)n, w, plain_value(w + n + 1, mem));
    }
    l->word = word;
}

void launch_translate(struct launch *l, struct arena *mem)
{
    clean_values(l, mem);
    l->fork = launch_fork(l);
    launch_deepspeed(l, mem);
    struct translation t = {.from = l, .notes = l, .mem = mem};
    translation_defaults(&t, l);
    translation_layers(&t, l);
    for (int i = 0; i < l->count;) {
        if (words_is_flag(l->word[i].text) && launch_is_known(l->word[i].text)) {
            i += translate_flag(&t, i);
            continue;
        }
        add(&t, l->word[i].text, l->word[i].line);
        i++;
    }
    if (t.chunked)
        t.count =
            launch_drop(t.word, t.implied, t.count, "--num-layers-per-virtual-pipeline-stage");
    for (int i = 0; i < t.lasts; i++)
        add_word(&t, t.last[i].text, t.last[i].line, true);
    take_words(&t, l);
}
