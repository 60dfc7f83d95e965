/* What belongs to single plans: launch flags, as differences from those of plan 1, and stages, of
 * as many plans as a page has room for. */
#include "report/page/page_parts.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "export/export.h"
#include "export/job.h"
#include "export/shell.h"
#include "report/plan_words.h"

#include <math.h>
#include <string.h>

enum {
    MOST_STAGES = 400, /* of all plans together; plan 1 has its own in any case */
    FIRST_PLANS = 10   /* served before others, as are those of the front */
};

/* The flag at *i with its values, for a shell; moves *i behind them. */
static const char *flag_at(const char *const *words, size_t count, size_t *i, struct str *text)
{
    str_clear(text);
    do {
        str_add(text, text->length ? " " : "");
        add_shell_word(text, words[(*i)++]);
    } while (*i < count && strncmp(words[*i], "--", 2) != 0);
    return str_text(text);
}

/* Places of a plan's flags among all; false where no flags describe it. */
static bool flags_of(const struct plan *p, struct page_words *all, struct arena *mem, int **place,
                     int *places)
{
    const char **words;
    size_t count;
    struct str text = {0};
    if (!plan_flags(p, mem, &words, &count))
        return false;
    *places = 0;
    *place = arena_array(mem, count + 1, sizeof **place);
    for (size_t i = 0; i < count;)
        (*place)[(*places)++] =
            page_words_add(all, flag_at((const char *const *)words, count, &i, &text));
    str_release(&text);
    return true;
}

static bool has_place(const int *place, int places, int sought)
{
    for (int i = 0; i < places; i++)
        if (place[i] == sought)
            return true;
    return false;
}

/* What is only in `a`. */
static void add_missing(struct json *list, const int *a, int as, const int *b, int bs)
{
    for (int i = 0; i < as; i++)
        if (!has_place(b, bs, a[i]))
            json_append(list, json_new_integer(a[i]));
}

/* Those that say what is trained: everybody has them, and they stand behind those of the plan. */
static struct json *model_flags(const struct page_words *all, struct arena *mem)
{
    struct json *list = json_new_array();
    for (int i = 0; i < all->count; i++) {
        const char *name = arena_format(mem, "%.*s", (int)strcspn(all->word[i], " "), all->word[i]);
        if (section_of(name) == SECTION_MODEL)
            json_append(list, json_new_integer(i));
    }
    return list;
}

struct json *page_flags(const struct page_list *l, struct arena *mem)
{
    struct json *o = json_new_object(), *first = json_new_array(), *differ = json_new_array();
    struct page_words all;
    struct arena scratch = {0};
    int *base = NULL, bases = 0;
    page_words_init(&all, mem);
    bool known = flags_of(l->plan[0], &all, mem, &base, &bases);
    add_missing(first, base, bases, NULL, 0);
    for (int i = 0; i < l->count; i++, arena_clear(&scratch)) {
        int *place, places;
        if (!known || !flags_of(l->plan[i], &all, &scratch, &place, &places)) {
            json_append(differ, json_new_null());
            continue;
        }
        struct json *list = json_new_array();
        add_missing(list, base, bases, place, places);
        add_missing(list, place, places, base, bases);
        json_append(differ, list);
    }
    arena_release(&scratch);
    json_set(o, "words", page_words_json(&all));
    json_set(o, "model", model_flags(&all, mem));
    json_set(o, "first", first);
    json_set(o, "differ", differ);
    return o;
}

static struct json *stage_of(const struct plan_stage *s)
{
    struct json *list = json_new_array();
    json_append(list, json_new_string(s->group->gpu->name));
    json_append(list, json_new_integer(s->gpus));
    json_append(list, json_new_integer(s->layers));
    json_append(list, json_new_number(s->forward_s));
    json_append(list, json_new_number(s->backward_s));
    json_append(list, json_new_number(s->idle_s));
    json_append(list, json_new_string(moment_words(s->moment)));
    json_append(list, json_new_integer(llround(s->limit_bytes / MIB)));
    json_append(list, json_new_integer(llround(s->device_bytes / MIB)));
    for (int i = 0; i < MEMORY_PARTS; i++)
        json_append(list, json_new_integer(llround(s->memory.part[i] / MIB)));
    return list;
}

static struct json *stages_of(const struct plan *p)
{
    struct json *list = json_new_array();
    for (int i = 0; i < p->stages; i++)
        json_append(list, stage_of(&p->stage[i]));
    return list;
}

static bool goes_first(const struct page_list *l, int i)
{
    for (int k = 0; k < l->fronts; k++)
        if (l->front[k] == i)
            return true;
    return i < FIRST_PLANS;
}

/* Those of the plans that go first, or of the others, as long as there is room. */
static void add_plans(struct json *plans, const struct page_list *l, bool first, int *left)
{
    for (int i = 0; i < l->count; i++) {
        const struct plan *p = l->plan[i];
        if (!p->computed || (i > 0 && p->stages > *left) || goes_first(l, i) != first)
            continue;
        struct json *one = json_new_array();
        json_append(one, json_new_integer(i));
        json_append(one, stages_of(p));
        json_append(plans, one);
        *left -= p->stages;
    }
}

/* Megabytes of the parts follow the fixed members of a stage. */
struct json *page_stages(const struct page_list *l)
{
    struct json *o = json_new_object(), *parts = json_new_array(), *plans = json_new_array();
    int left = MOST_STAGES;
    for (int i = 0; i < MEMORY_PARTS; i++) {
        struct json *part = json_new_array();
        json_append(part, json_new_string(memory_part_info((enum memory_part)i)->name));
        json_append(part, json_new_string(memory_part_info((enum memory_part)i)->help));
        json_append(parts, part);
    }
    add_plans(plans, l, true, &left);
    add_plans(plans, l, false, &left);
    json_set(o, "parts", parts);
    json_set(o, "plans", plans);
    return o;
}
