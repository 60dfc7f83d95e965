/* Files that only hold flags, in lists that another file starts a program with. */
#include "import/shell/script_parts.h"

#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"

#include <string.h>

/* A list as it is; a text with flags in it as its words; NULL = neither. */
static const struct value *list_of(struct script *s, const struct value *v)
{
    struct fields f = {0};
    if (!v || v->array || v->count == 0)
        return v && v->array ? v : NULL;
    const char *p = v->word[0].text;
    if (!strstr(p, "--") || !script_spend(s, 1, strlen(p)))
        return NULL;
    for (p += strspn(p, " \t\n"); *p && !s->failed; p += strspn(p, " \t\n")) {
        size_t n = strcspn(p, " \t\n");
        fields_add(&f, arena_copy(s->mem, p, n), v->word[0].line, s);
        p += n;
    }
    return value_of_fields(s, &f);
}

/* A variable that holds flags. */
struct flag_list {
    const char *name;
    const struct value *value;
    int score;
};

enum { FLAG_LISTS = 32 };

static bool same_flag(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n > 2 && strcspn(b, "=") == n && strncmp(a, b, n) == 0;
}

/* The words of a flag are the same in both lists. */
static bool same_words(const struct value *a, int i, const struct value *b, int k)
{
    do {
        if (strcmp(a->word[i].text, b->word[k].text) != 0)
            return false;
        i++, k++;
    } while (i < a->count && k < b->count && !words_is_flag(a->word[i].text) &&
             !words_is_flag(b->word[k].text));
    return (i == a->count || words_is_flag(a->word[i].text)) &&
           (k == b->count || words_is_flag(b->word[k].text));
}

/* Whether a flag says a parameter of the split or a field of the model. */
static bool is_of_plan(const char *flag)
{
    for (int i = 0; i < PARAMS; i++)
        if (PARAM_FLAGS[i].kind != NONE && same_flag(flag, PARAM_FLAGS[i].flag))
            return true;
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind != NONE && same_flag(flag, FIELD_FLAGS[i].flag))
            return true;
    return false;
}

/* How many flags of a list another one has too; -1 = one of the plan with other values: they are alternatives. */
static int shared_flags(const struct value *a, const struct value *b)
{
    int shared = 0;
    for (int i = 0; i < a->count; i++)
        for (int k = 0; words_is_flag(a->word[i].text) && k < b->count; k++) {
            if (!same_flag(a->word[i].text, b->word[k].text))
                continue;
            if (is_of_plan(a->word[i].text) && !same_words(a, i, b, k))
                return -1;
            shared++;
            break;
        }
    return shared;
}

static int flags_of(const struct value *v)
{
    int n = 0;
    for (int i = 0; i < v->count; i++)
        n += words_is_flag(v->word[i].text);
    return n;
}

static bool goes_before(const struct flag_list *a, const struct flag_list *b)
{
    int x = a->value->word[0].line, y = b->value->word[0].line;
    return x != y ? x < y : strcmp(a->name, b->name) < 0;
}

/* Those with the most flags first; then in the order of the file. */
static void keep_list(struct flag_list *list, int *count, struct flag_list l)
{
    int at = *count;
    while (at > 0 && (l.score > list[at - 1].score ||
                      (l.score == list[at - 1].score && goes_before(&l, &list[at - 1]))))
        at--;
    if (at == FLAG_LISTS)
        return;
    *count += *count < FLAG_LISTS;
    memmove(&list[at + 1], &list[at], (size_t)(*count - at - 1) * sizeof *list);
    list[at] = l;
}

/* Of the lists the first, and those that say more and nothing else of the same. Returns how many: a list that is put
 * together of others has the most, and leaves nothing to them. */
static int choose_lists(struct flag_list *list, int count)
{
    int kept = count > 0;
    for (int i = 1; i < count; i++) {
        const struct value *v = list[i].value;
        int left = words_is_flag(v->word[0].text) ? flags_of(v) : 0;
        for (int k = 0; k < kept && left > 0; k++) {
            int shared = shared_flags(v, list[k].value);
            left = shared < 0 ? 0 : left - shared;
        }
        if (left > 0)
            list[kept++] = list[i];
    }
    return kept;
}

static void plan_lists(struct script *s, const struct flag_list *list, int count)
{
    struct fields f = {0};
    struct str names = {0};
    for (int i = 0; i < count; i++) {
        str_addf(&names, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", list[i].name);
        for (int k = 0; k < list[i].value->count; k++)
            fields_add(&f, list[i].value->word[k].text, list[i].value->word[k].line, s);
    }
    s->launches = 0;
    script_add_launch(s,
                      &(struct launch){.path = s->path,
                                       .listed = true,
                                       .line = f.word[0].line,
                                       .count = f.count,
                                       .word = f.word},
                      list[0].score);
    launch_note(&s->launch[0], arena_format(s->mem,
                                            "nothing is started: the flags of %s are planned, with "
                                            "Megatron's defaults for the rest",
                                            str_text(&names)));
    str_release(&names);
}

/* Files that only hold the flags, to be sourced by another, start nothing: then the variable that has the most of them
 * stands for the launch, with those that hold others. */
void script_look_for_flags(struct script *s)
{
    struct flag_list list[FLAG_LISTS];
    int count = 0, first = 0;
    for (size_t b = 0; b < s->buckets; b++)
        for (const struct variable *v = s->bucket[b]; v; v = v->next) {
            const struct value *value = list_of(s, v->value);
            int score = value && *v->name != '>'
                            ? script_known_flags(s, value->word, value->count, &first) +
                                  script_overrides_of(value->word, value->count)
                            : 0;
            if (score > 0)
                keep_list(list, &count, (struct flag_list){v->name, value, score});
        }
    if (count > 0 && list[0].score >= SCRIPT_LEAST_FLAGS)
        plan_lists(s, list, choose_lists(list, count));
}
