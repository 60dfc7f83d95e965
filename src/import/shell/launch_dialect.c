/* Flags of other dialects as the flags of Megatron that mean the same: rows of foreign_flags.def, and a few that take
 * other flags to work out. Words that stand for a switch go before all others, so that what the file says wins. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/words.h"
#include "import/shell/launch_translation.h"

#include <assert.h>
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

const char *launch_written(const struct launch *l, const char *flag)
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
    return value;
}

const char *launch_value(const struct launch *l, const char *flag)
{
    const char *value = launch_written(l, flag);
    return value && launch_is_known(value) ? value : NULL;
}

static bool names_flag(const char *word, const char *flag)
{
    for (; *flag; word++, flag++)
        if (*word != *flag && !(*word == '_' && *flag == '-'))
            return false;
    return !*word || *word == '=';
}

/* Also with underscores, and whatever its value. */
bool launch_mentions(const struct launch *l, const char *flag)
{
    for (int i = 0; i < l->count; i++)
        if (names_flag(l->word[i].text, flag))
            return true;
    return false;
}

int64_t launch_number(const struct launch *l, const char *flag, int64_t missing)
{
    const char *text = launch_value(l, flag);
    int64_t n;
    return text && parse_int(text, &n) && n >= 0 && n <= 1 << 20 ? n : text ? -1 : missing;
}

enum { LAYERS_MOST = 4096, CHUNKS_MOST = 1024 };

/* Whether "94,95" has a number in it. */
static bool lists(const char *text, int64_t number)
{
    int64_t n;
    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        char item[24];
        size_t length = strcspn(p, ",");
        if (length < sizeof item) {
            memcpy(item, p, length);
            item[length] = 0;
            if (parse_int(item, &n) && n == number)
                return true;
        }
        p += length;
    }
    return false;
}

/* The first layers have no experts; of the others, every so many. Layers that do nothing are no layers. */
static bool dense_layers(struct translation *t, const char *value, int line)
{
    int64_t dense, layers = launch_number(t->from, "--num-layers", -1);
    int64_t every = launch_number(t->from, "--moe-layer-freq", 1);
    const char *idle = launch_value(t->from, "--noop-layers");
    struct str s = {0};
    if (!parse_int(value, &dense) || (dense > 0 && (layers < 1 || layers > LAYERS_MOST)))
        return false;
    every = every < 1 ? 1 : every;
    for (int64_t i = 0; i < layers && dense > 0; i++)
        if (!lists(idle, i))
            str_addf(&s, "%s%d", s.length ? "," : "[", i >= dense && i % every == 0);
    if (dense > 0)
        translation_last(t, "--moe-layer-freq", arena_format(t->mem, "%s]", str_text(&s)), line);
    str_release(&s);
    return true;
}

/* Layers that do nothing leave the others where they are: a layout says so, chunk by chunk. */
static bool idle_layers(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    int64_t layers = launch_number(l, "--num-layers", -1);
    int64_t stages = launch_number(l, "--pipeline-model-parallel-size", 1);
    int64_t mtp = launch_number(l, "--mtp-num-layers", 0), left = 0;
    if (layers < 1 || layers > LAYERS_MOST || stages < 1 || layers % stages || mtp < 0 || mtp > 8 ||
        launch_value(l, "--num-layer-list"))
        return false;
    int64_t each = launch_number(l, "--num-layers-per-virtual-pipeline-stage", layers / stages);
    if (each < 1 || layers / stages % each || layers / each > CHUNKS_MOST)
        return false;
    struct str s = {0};
    for (int64_t i = 0; i < layers; i++) {
        str_add(&s, i == 0 ? "E" : i % each == 0 ? "|" : "");
        str_add(&s, lists(value, i) ? "" : "t");
        left += !lists(value, i);
    }
    for (int64_t i = 0; i < mtp; i++)
        str_add(&s, "m");
    translation_last(t, "--num-layers", arena_format(t->mem, "%lld", (long long)left), line);
    if (stages > 1)
        translation_last(t, "--pipeline-model-parallel-layout",
                         arena_format(t->mem, "%sL", str_text(&s)), line);
    t->chunked = stages > 1;
    str_release(&s);
    return left > 0;
}

static bool shared_experts(struct translation *t, const char *value, int line)
{
    int64_t n, width = launch_number(t->from, "--moe-ffn-hidden-size", 0);
    width = width ? width : launch_number(t->from, "--moe-intermediate-size", 0);
    width = width ? width : launch_number(t->from, "--ffn-hidden-size", -1);
    if (!parse_int(value, &n) || n < 0 || n > 1024 || width < 1)
        return false;
    if (n > 0)
        translation_last(t, "--moe-shared-expert-intermediate-size",
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
        translation_last(t, "--pipeline-model-parallel-layout",
                         arena_format(t->mem, "%sL", str_text(&s)), line);
    str_release(&s);
    return ok && stages > 0;
}

/* Experts are split over both as one: each tensor-parallel rank has experts of its own. */
static bool extended_experts(struct translation *t, const char *value, int line)
{
    int64_t tp = launch_number(t->from, "--tensor-model-parallel-size", 1);
    int64_t ep = launch_number(t->from, "--expert-model-parallel-size", 1);
    (void)value;
    if (tp < 1 || ep < 1)
        return false;
    translation_last(t, "--expert-model-parallel-size",
                     arena_format(t->mem, "%lld", (long long)(tp * ep)), line);
    translation_last(t, "--expert-tensor-parallel-size", "1", line);
    return true;
}

/* Micro-batches of a step, by what the script itself runs on. */
static bool accumulated(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    int64_t n, tp = launch_number(l, "--tensor-model-parallel-size", 0);
    int64_t pp = launch_number(l, "--pipeline-model-parallel-size", 0);
    int64_t each = launch_number(l, "--micro-batch-size", 0);
    tp = tp ? tp : launch_number(l, "--model-parallel-size", 1);
    pp = pp ? pp : launch_number(l, "--pipe-parallel-size", 1);
    each = each ? each : launch_number(l, "--batch-size", -1);
    if (!parse_int(value, &n) || n < 1 || n > 1 << 20 || tp < 1 || pp < 1 || each < 1 ||
        l->gpus < tp * pp || launch_value(l, "--global-batch-size"))
        return false;
    translation_last(t, "--global-batch-size",
                     arena_format(t->mem, "%lld", (long long)(n * each * (l->gpus / (tp * pp)))),
                     line);
    return true;
}

static const struct {
    const char *flag;
    bool is_switch;
    bool (*work_out)(struct translation *, const char *value, int line);
} WORKED_OUT[] = {
    {"--first-k-dense-replace", false, dense_layers}, {"--gas", false, accumulated},
    {"--moe-tp-extend-ep", true, extended_experts},   {"--noop-layers", false, idle_layers},
    {"--n-shared-experts", false, shared_experts},    {"--num-layer-list", false, stage_layers},
};

static_assert(sizeof WORKED_OUT / sizeof *WORKED_OUT ==
                  sizeof((struct translation *)0)->worked / sizeof(int),
              "a count for each");

/* How many words were read: 0 = none, it is no such flag, or cannot be worked out. */
static int work_out(struct translation *t, const char *name, const char *value, int behind,
                    int line)
{
    for (size_t i = 0; i < sizeof WORKED_OUT / sizeof *WORKED_OUT; i++) {
        bool takes = !WORKED_OUT[i].is_switch;
        if (strcmp(name, WORKED_OUT[i].flag) != 0 || (takes && !(value && launch_is_known(value))))
            continue;
        const char *last = takes ? launch_value(t->from, WORKED_OUT[i].flag) : NULL;
        bool read = t->worked[i]++ || WORKED_OUT[i].work_out(t, last ? last : value, line);
        return read ? 1 + (takes ? behind : 0) : 0;
    }
    return 0;
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
    if (words_most_values(name) >= 0 || !strchr(name, '_'))
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
    if (!names_flag(w->text, "--num-experts") || strchr(w->text, '=') || n < 3)
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
    int worked = work_out(t, name, value, used - 1, w->line);
    if (worked)
        return worked;
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

/* MindSpeed calls its own fused layers "local": Megatron's rules on local ones do not hold for them. */
static bool has_layers_of_mindspeed(const struct launch *l)
{
    static const char flags[] = "--use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb";
    const char *impl = launch_value(l, "--transformer-impl");
    bool found = false;
    for (int i = 0; i < l->count; i++)
        found |= strncmp(l->word[i].text, "mindspeed", 9) == 0 || is_one_of(l->word[i].text, flags);
    return found && impl && strcmp(impl, "local") == 0;
}

/* A flag and its value are taken out. */
static void drop(struct translation *t, const char *flag)
{
    int kept = 0;
    for (int i = 0; i < t->count; i++) {
        bool joined = strncmp(t->word[i].text, flag, strlen(flag)) == 0 &&
                      t->word[i].text[strlen(flag)] == '=';
        if (strcmp(t->word[i].text, flag) == 0)
            i++;
        else if (!joined) {
            t->implied[kept] = t->implied[i];
            t->word[kept++] = t->word[i];
        }
    }
    t->count = kept;
}

/* Layers that another program defines; those of `astra export` are known, and local ones are spoken of later. */
static void note_spec(struct launch *l, bool mindspeed, struct arena *mem)
{
    const char *spec = launch_value(l, "--spec"), *impl = launch_value(l, "--transformer-impl");
    bool local = impl && strcmp(impl, "local") == 0 && !mindspeed;
    if (spec && strcmp(spec, TORCH_MODULE) != 0 && !local)
        launch_note(
            l, arena_format(mem,
                            "--spec %s: its layers are planned as Megatron's, which may be others",
                            spec));
}

bool launch_generates(const struct launch *l)
{
    return (launch_mentions(l, "--inference-dynamic-batching") ||
            launch_mentions(l, "--inference-rng-tracker")) &&
           !launch_mentions(l, "--perform-rl-step") && !launch_mentions(l, "--train-iters") &&
           !launch_mentions(l, "--train-samples") && !launch_mentions(l, "--lr");
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

const char *launch_fork(const struct launch *l)
{
    static const char *const FLAGS[] = {"--ai-framework",      "--handler-name",
                                        "--no-shared-storage", "--reuse-fp32-param",
                                        "--use-ascend-coc",    "--use-fused-rmsnorm",
                                        "--use-fused-swiglu",  "--use-fused-rotary-pos-emb"};
    if (l->program && strcmp(l->program, "megatron") == 0)
        return "ms-swift";
    if (launch_mentions(l, "--deepspeed"))
        return "DeepSpeed";
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (launch_mentions(l, FLAGS[i]))
            return "MindSpeed";
    return NULL;
}

bool launch_implies(const struct launch *l, const char *flag)
{
    for (int i = 0; l->implied && i < l->count; i++)
        if (l->implied[i] && strcmp(l->word[i].text, flag) == 0)
            return true;
    return false;
}

void launch_translate(struct launch *l, struct arena *mem)
{
    launch_deepspeed(l, mem);
    struct translation t = {.from = l, .notes = l, .mem = mem};
    translation_defaults(&t, l);
    note_spec(l, has_layers_of_mindspeed(l), mem);
    if (has_layers_of_mindspeed(l)) {
        translation_last(&t, "--transformer-impl", "transformer_engine", 0);
        launch_note(l, "--transformer-impl local: MindSpeed's fused layers are planned as "
                       "TransformerEngine's");
    }
    for (int i = 0; i < l->count;) {
        if (words_is_flag(l->word[i].text) && launch_is_known(l->word[i].text)) {
            i += translate_flag(&t, i);
            continue;
        }
        add(&t, l->word[i].text, l->word[i].line);
        i++;
    }
    if (t.chunked)
        drop(&t, "--num-layers-per-virtual-pipeline-stage");
    for (int i = 0; i < t.lasts; i++)
        add_word(&t, t.last[i].text, t.last[i].line, true);
    take_words(&t, l);
}
