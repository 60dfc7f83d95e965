/* Which command starts the training, with what words. A command is the more
 * likely the more of Megatron's flags stand behind its program; a name that begins with pretrain
 * says it outright. */
#include "import/shell/script_parts.h"

#include "import/megatron/words.h"

#include <string.h>

enum { PRETRAINS = 1000 };

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* Words that are flags of Megatron's. */
int script_known_flags(struct script *s, const struct launch_word *w, int count, int *first)
{
    int known = 0;
    for (int i = 0; i < count; i++) {
        char name[96];
        size_t n = strcspn(w[i].text, "=");
        if (n < 3 || n >= sizeof name || strncmp(w[i].text, "--", 2) != 0)
            continue;
        memcpy(name, w[i].text, n);
        name[n] = 0;
        if (words_most_values(launch_dashed(name, s->mem)) < 0)
            continue;
        if (known++ == 0)
            *first = i;
    }
    return known;
}

static bool is_override(const char *word)
{
    size_t n = strcspn(word, "=");
    return word[n] && word[0] != '-' && memchr(word, '.', n);
}

int script_overrides_of(const struct launch_word *w, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        n += is_override(w[i].text);
    return n;
}

/* Lines of a script that is called are not those of the file at hand: the call stands for them. */
static void count_to_call(struct script *s, struct launch *l)
{
    struct launch_word *w = arena_array(s->mem, (size_t)l->count + 1, sizeof *w);
    for (int i = 0; i < l->count; i++)
        w[i] = (struct launch_word){l->word[i].text, s->called};
    l->word = w;
    l->line = s->called;
}

void script_add_launch(struct script *s, const struct launch *l, int score)
{
    if (s->launches == SCRIPT_LAUNCHES)
        return;
    s->score[s->launches] = score;
    s->launch[s->launches] = *l;
    if (s->called)
        count_to_call(s, &s->launch[s->launches]);
    s->launches++;
}

/* Programs of Megatron-Bridge take all else from a recipe. */
static bool names_recipe(const struct launch_word *w, int count)
{
    for (int i = 0; i + 1 < count; i++)
        if (is_one_of(w[i].text, "--recipe -mr --model_recipe_name"))
            return true;
    return false;
}

/* Where `megatron sft` of ms-swift stands; -1 = nowhere. */
static int swift_at(const struct fields *f)
{
    for (int i = 0; i + 1 < f->count; i++)
        if (strcmp(script_base_name(f->word[i].text), "megatron") == 0 &&
            is_one_of(f->word[i + 1].text, "pt sft rlhf export"))
            return i;
    return -1;
}

/* Where the module of `python -m verl.trainer.main_ppo` stands; -1 = nowhere. */
static int module_at(const struct fields *f)
{
    for (int i = f->count - 2; i >= 0; i--) {
        const char *name = f->word[i + 1].text;
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789");
        if (strcmp(f->word[i].text, "-m") == 0 && !name[n] && strchr(name, '.') &&
            strncmp(name, "torch.", 6) != 0)
            return i + 1;
    }
    return -1;
}

/* What is in front of the program counts most: env NAME=VALUE, docker run -e NAME=VALUE. */
struct surroundings {
    struct script *script;
    const struct fields *before;
};

static const char *variable_of(void *from, const char *name)
{
    const struct surroundings *e = from;
    size_t n = strlen(name);
    for (int i = e->before->count - 1; i >= 0; i--) {
        const char *w = e->before->word[i].text;
        if (strncmp(w, name, n) == 0 && w[n] == '=')
            return launch_is_known(w) ? w + n + 1 : NULL;
    }
    const struct variable *v = script_variable(e->script, name, n);
    const struct value *value = v->exported ? v->value : NULL;
    return value && value->count > 0 && launch_is_known(value->word[0].text) ? value->word[0].text
                                                                             : NULL;
}

/* A copy of Megatron-LM of a day, on the path that Python looks for modules on: "Megatron-LM-231007". */
static const char *snapshot_of(struct script *s)
{
    static const char name[] = "Megatron-LM-2", path[] = "PYTHONPATH";
    const struct value *v = script_variable(s, path, sizeof path - 1)->value;
    const char *at = v && v->count > 0 ? strstr(v->word[0].text, name) : NULL;
    const char *date = at ? at + sizeof name - 2 : NULL;
    return date && strspn(date, "0123456789") == 6 ? arena_copy(s->mem, at, sizeof name - 2 + 6)
                                                   : NULL;
}

void script_look_for_launch(struct script *s, const struct fields *f, int line)
{
    int program = 0, first = 0, swift = swift_at(f), module = swift >= 0 ? -1 : module_at(f);
    while (program < f->count && !ends_in(f->word[program].text, ".py"))
        program++;
    swift = swift < program ? swift : -1; /* behind them, a .py is a value */
    module = module < program ? module : -1;
    bool named = program < f->count && swift < 0 && module < 0;
    int begin = named ? program + 1 : 0;
    int known = script_known_flags(s, f->word + begin, f->count - begin, &first);
    if (module >= 0)
        program = module, begin = module + 1;
    else if (!named) /* a program that is not known */
        program = begin = swift >= 0 ? swift + 2 : first;
    const struct launch_word *rest = f->word + begin;
    int count = f->count - begin, overrides = script_overrides_of(rest, count);
    bool pretrains = named && strncmp(script_base_name(f->word[program].text), "pretrain", 8) == 0;
    if (known < SCRIPT_LEAST_FLAGS && overrides < SCRIPT_LEAST_FLAGS && !(pretrains && count > 0) &&
        swift < 0 && !names_recipe(rest, count))
        return;
    struct launch l = {.path = s->path,
                       .line = line,
                       .program = named         ? script_base_name(f->word[program].text)
                                  : module >= 0 ? f->word[program].text
                                  : swift < 0   ? NULL
                                  : strcmp(f->word[swift + 1].text, "export") == 0
                                      ? "megatron export"
                                      : "megatron",
                       .count = count,
                       .word = rest};
    struct fields before = {0};
    for (int i = 0; i < s->outer.count; i++)
        fields_add(&before, s->outer.word[i].text, 0, s);
    for (int i = 0; i < program; i++)
        fields_add(&before, f->word[i].text, 0, s);
    const char *settings = script_option(rest, count, "--deepspeed-config");
    l.snapshot = snapshot_of(s);
    l.deepspeed = settings ? script_file(s, settings) : NULL;
    script_read_world(s, before.word, before.count, &l);
    launch_environment(&l, variable_of, &(struct surroundings){s, &before}, s->mem);
    if (swift >= 0)
        script_read_swift_world(s, &l);
    script_add_launch(s, &l, known + overrides + (pretrains ? PRETRAINS : 0));
}
