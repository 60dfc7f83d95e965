/* KEY=VALUE with a dotted key: the section says whose setting it is, the last part names it as the
 * arguments of Megatron do. Sections of the model, the training and its optimizer count; in others
 * (checkpoint, logger, dataset paths) only a known name does. */
#include "import/megatron/overrides.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/bridge_recipe.h"
#include "import/megatron/dest_names.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/nemo_launcher.h"
#include "import/megatron/slime.h"
#include "import/megatron/verl.h"

#include <string.h>

/* In these most names have a flag. */
static const char *const SECTIONS[] = {"model", "train", "ddp", "comm_overlap"};

/* Of Megatron-Bridge's configurations, what has no flag and no effect on time or memory. */
static const char IDLE[] =
    "average_in_collective check_for_large_grads check_for_nan_in_grad gradient_reduce_div_fusion "
    "keep_fp8_transpose_cache manual_gc manual_gc_interval manual_gc_eval pipeline_dtype "
    "params_dtype autocast_dtype should_pad_vocab make_vocab_size_divisible_by train_iters "
    "exit_duration_in_mins eval_iters eval_interval skip_train empty_unused_memory_level "
    "perform_initialization use_cpu_initialization deallocate_pipeline_outputs "
    "variable_seq_lengths parallel_output fp16_lm_cross_entropy";

struct override_reader {
    const char *path;
    struct dest_list list;
    struct launch *out;
    struct arena *mem;
    struct error *err;
    int strangers; /* settings without a flag in the sections of ours */
};

static bool is_setting(const char *word)
{
    word += strspn(word, "+~");
    size_t n = strcspn(word, "=");
    return *word != '-' && n > 0 && word[n];
}

/* Only a dotted name tells it from an assignment of the shell. */
static bool is_dotted(const char *word)
{
    return is_setting(word) && memchr(word, '.', strcspn(word, "="));
}

/* How many GPUs there are is no flag. */
static bool read_world(struct override_reader *r, const char *key, const char *name,
                       const char *value)
{
    bool nodes = strcmp(name, "num_nodes") == 0;
    bool each = (strcmp(name, "devices") == 0 && strstr(key, "trainer.")) ||
                strcmp(name, "num_gpus_per_node") == 0 || strcmp(name, "gpus_per_node") == 0;
    int64_t n;
    if (!nodes && !each)
        return false;
    if (parse_int(value, &n) && n > 0 && n < 1 << 24)
        *(nodes ? &r->out->nodes : &r->out->per_node) = n;
    return true;
}

static bool in_section(const char *key)
{
    for (size_t i = 0; i < sizeof SECTIONS / sizeof *SECTIONS; i++) {
        size_t n = strlen(SECTIONS[i]);
        if (strncmp(key, SECTIONS[i], n) == 0 && key[n] == '.' && !strchr(key + n + 1, '.'))
            return true;
    }
    return false;
}

/* The text inside a pair of quotes, which Hydra takes off. */
static const char *unquoted(const char *value, struct arena *mem)
{
    size_t n = strlen(value);
    bool quoted = n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value;
    return quoted ? arena_copy(mem, value + 1, n - 2) : value;
}

/* A name that is one or two letters away from one of ours may be a slip. Looking for the nearest takes a millisecond. */
static const char *slip(struct override_reader *r, const char *name)
{
    enum { LOOKED_AT = 8, LETTERS = 2 };
    const char *near = ++r->strangers <= LOOKED_AT ? dest_nearest(name, r->mem) : NULL;
    return near && name_distance(name, near) <= LETTERS ? near : NULL;
}

/* What a setting without a flag may change, by its name. */
static void note_setting(struct override_reader *r, const char *key, const char *name)
{
    const char *changes = foreign_may_change(name), *near = slip(r, name);
    const char *dot = strrchr(key, '.');
    const char *meant =
        near && dot ? arena_format(r->mem, " (did you mean %.*s.%s?)", (int)(dot - key), key, near)
                    : "";
    launch_note(r->out,
                changes ? arena_format(r->mem, "%s has no flag and is left out%s, may change %s",
                                       key, meant, changes)
                        : arena_format(r->mem, "%s has no flag and is left out%s", key, meant));
}

static bool read_setting(struct override_reader *r, const char *word, int line)
{
    word += strspn(word, "+~");
    size_t n = strcspn(word, "=");
    const char *key = arena_copy(r->mem, word, n), *value = unquoted(word + n + 1, r->mem);
    const char *dot = strrchr(key, '.'), *name = dot ? dot + 1 : key;
    if (read_world(r, key, name, value) || dest_add(&r->list, name, value, line))
        return true;
    if (in_section(key) && !is_one_of(name, IDLE))
        note_setting(r, key, name);
    return true;
}

static void finish(struct override_reader *r)
{
    struct launch *l = r->out;
    dest_list_drop_off(&r->list);
    l->count = r->list.count;
    l->word = r->list.word;
    l->unknowns = r->list.unknowns;
    l->unknown = r->list.unknown;
    if (!l->nodes || !l->per_node)
        l->nodes = l->per_node = 0;
    else
        l->gpus = l->nodes * l->per_node;
}

static const char *skip_space(const char *p, const char *end, int *line)
{
    while (p < end) {
        if (*p == '#')
            while (p < end && *p != '\n')
                p++;
        else if (*p == '\\' && p + 1 < end && (p[1] == '\n' || p[1] == '\r'))
            p++;
        else if (*p == '\n' || *p == ' ' || *p == '\t' || *p == '\r')
            *line += *p++ == '\n';
        else
            break;
    }
    return p;
}

/* One word, quotes taken off; NULL when one is not closed. */
static const char *take_word(const char **at, const char *end, int *line, struct arena *mem)
{
    struct str s = {0};
    char quote = 0;
    const char *p = *at;
    for (; p < end && (quote || !strchr(" \t\r\n", *p)); p++) {
        *line += *p == '\n';
        if (*p == quote)
            quote = 0;
        else if (!quote && (*p == '"' || *p == '\''))
            quote = *p;
        else
            str_add_bytes(&s, p, 1);
    }
    *at = p;
    const char *word = quote ? NULL : arena_string(mem, str_text(&s));
    str_release(&s);
    return word;
}

bool overrides_are(const char *text, size_t length)
{
    char word[128];
    int line = 1;
    size_t n = 0;
    const char *end = text + length, *p = skip_space(text, end, &line);
    while (p + n < end && n + 1 < sizeof word && !strchr(" \t\r\n", p[n])) {
        word[n] = p[n];
        n++;
    }
    word[n] = 0;
    /* A shell's assignment has no dot in its name; nor has a quoted key. */
    return is_dotted(word) && !strpbrk(word, "$`;(") && strcspn(word, "'\"") > strcspn(word, "=");
}

bool overrides_read(const char *path, const char *text, size_t length, struct launch *out,
                    struct arena *mem, struct error *err)
{
    struct override_reader r = {.path = path, .out = out, .mem = mem, .err = err};
    const char *end = text + length;
    int line = 1;
    *out = (struct launch){.path = path, .kind = "list of overrides"};
    dest_list_init(&r.list, DEST_OVERRIDE, mem);
    for (const char *p = skip_space(text, end, &line); p < end; p = skip_space(p, end, &line)) {
        int from = line;
        const char *word = take_word(&p, end, &line, mem);
        if (!word)
            return fail(err, ERROR_INPUT, "%s:%d: the quote that opens here is not closed", path,
                        from);
        if (!is_setting(word))
            return fail(err, ERROR_INPUT,
                        "%s:%d: '%.80s' is no setting: expected SECTION.NAME=VALUE, as in "
                        "model.tensor_model_parallel_size=4",
                        path, from, word);
        if (!read_setting(&r, word, from))
            return false;
    }
    finish(&r);
    return true;
}

bool overrides_hidden(struct launch *l, int i, struct arena *mem, struct error *err)
{
    const struct launch_word *w = &l->word[i];
    const struct launch_unknown *u = *w->text == LAUNCH_MARK ? launch_unknown_of(l, w->text) : NULL;
    if (!u || (i > 0 && *l->word[i - 1].text == '-' && !strchr(l->word[i - 1].text, '=')))
        return false;
    const char *text = launch_text(l, w->text, mem);
    if (*u->text != '`' && strncmp(u->text, "$(", 2) != 0) { /* no output of a command */
        launch_note(l, arena_format(mem, "line %d: left out: what is not known of %s, %s", w->line,
                                    text, u->why));
        return false;
    }
    fail(err, ERROR_INPUT,
         "%s:%d: settings may be in %.80s, %s: a list of overrides with all of them can be planned",
         l->path, w->line, text, u->why);
    return !error_in_file(err);
}

/* NeMo 2 takes its settings from a function of Python, by name. */
static bool refuse_factory(const struct launch *l, struct error *err)
{
    fail(err, ERROR_INPUT,
         "%s:%d: --factory: a recipe of NeMo 2 is a function of Python, which is not read: give "
         "--model NAME and its settings as a list of overrides",
         l->path, l->line);
    return error_in_file(err);
}

static bool names_factory(const struct launch *l)
{
    for (int i = 0; i < l->count; i++)
        if (strncmp(l->word[i].text, "--factory", 9) == 0 && strchr("=", l->word[i].text[9]))
            return true;
    return false;
}

/* Without --flags of their own, but for those of the program that takes the settings. */
bool overrides_of_launch(struct launch *l, struct arena *mem, struct error *err)
{
    struct override_reader r = {.path = l->path, .out = l, .mem = mem, .err = err};
    int64_t nodes = l->nodes, per_node = l->per_node, gpus = l->gpus;
    int settings = 0;
    if (verl_is(l))
        return verl_of_launch(l, mem, err);
    if (slime_is(l))
        slime_count_gpus(l);
    if (names_factory(l))
        return refuse_factory(l, err);
    bool recipe = bridge_names_recipe(l);
    for (int i = 0; i < l->count; i++)
        settings += is_dotted(l->word[i].text);
    if (!recipe && (settings * 2 < l->count || settings == 0))
        return true;
    dest_list_init(&r.list, DEST_OVERRIDE, mem);
    dest_list_keep(&r.list, l->unknown, l->unknowns);
    if ((recipe && !bridge_take_recipe(l, &r.list, mem, err)) ||
        !nemo_name_model(l, &r.list, mem, err))
        return false;
    gpus = l->gpus, nodes = l->nodes, per_node = l->per_node;
    for (int i = 0; i < l->count; i++) {
        const struct launch_word *w = &l->word[i];
        if (recipe && overrides_hidden(l, i, mem, err))
            return false;
        if (recipe && !is_dotted(w->text)) /* options of the program, and their values */
            continue;
        if (!is_setting(w->text))
            launch_note(l, arena_format(mem, "line %d: %s is no setting and is left out", w->line,
                                        launch_text(l, w->text, mem)));
        else if (!read_setting(&r, w->text, w->line))
            return false;
    }
    bridge_finish(&r.list);
    finish(&r);
    if (gpus) {
        l->nodes = nodes;
        l->per_node = per_node;
        l->gpus = gpus;
    }
    return true;
}
