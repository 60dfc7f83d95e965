/* Signs that a file was misread, and what is planned otherwise than it says. Its name may speak of another size than its
 * flags describe: Megatron takes what flags leave out of a checkpoint (--use-checkpoint-args), models are cut down for
 * tests, and a reader may err: whoever asked should see it. Sizes in names are 70b, 6.7B, 1b3, 0point6b, 350M; a3b is
 * what is active, 8x7b speaks of experts. */
#include "query/query_file.h"

#include "base/str.h"
#include "base/units.h"
#include "import/megatron/flags.h"
#include "import/megatron/words.h"
#include "import/shell/launch.h"
#include "import/shell/launch_translation.h"
#include "model/model.h"
#include "query/query.h"
#include "query/query_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *after_slash(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digits behind a point, however that is written: 6.7b, 0point6b; or behind the letter: 1b3. */
static double fraction(const char **at)
{
    double value = 0, unit = 0.1;
    for (; is_digit(**at); ++*at, unit /= 10)
        value += unit * (**at - '0');
    return value;
}

/* The size at `p`, behind which `*end` is; 0 = it is none. In front of a name 2-8B is 2.8B, as GPT-NeoX's files are
 * called. */
static double size_at(const char *p, bool leads, const char **end)
{
    char *digits;
    double value = (double)strtoul(p, &digits, 10);
    const char *at = digits;
    if (is_digit(at[1]) && (*at == '.' || (*at == '-' && leads)))
        at++, value += fraction(&at);
    else if (strncmp(at, "point", 5) == 0)
        at += 5, value += fraction(&at);
    double unit = tolower((unsigned char)*at) == 'b' ? 1e9 : *at == 'M' ? 1e6 : 0;
    at += unit > 0;
    if (unit == 1e9 && is_digit(*at))
        value += fraction(&at);
    *end = at;
    return isalnum((unsigned char)*at) ? 0 : value * unit;
}

/* How many times one is the other, whichever is larger. */
static double ratio(double a, double b)
{
    return a > b ? a / b : b / a;
}

/* 0_6b is 0.6b, which only a name without points says so. */
static bool follows_point(const char *name, const char *p)
{
    return p - name >= 2 && p[-1] == '_' && p[-2] == '0' &&
           (p - name == 2 || !isalnum((unsigned char)p[-3]));
}

/* The size in a name that is nearest to a count; 0 = it has none. `*text` is how it is written. */
static double size_named(const char *name, double count, const char **text, size_t *length)
{
    double nearest = 0;
    for (const char *p = name; *p;) {
        const char *end = p + 1;
        bool starts = is_digit(*p) && (p == name || !strchr("aAxX.0123456789", p[-1])) &&
                      !follows_point(name, p);
        double size = starts ? size_at(p, p == name, &end) : 0;
        bool nearer = size > 0 && (nearest == 0 || ratio(size, count) < ratio(nearest, count));
        if (nearer) {
            nearest = size;
            *text = p;
            *length = (size_t)(end - p);
        }
        while (starts && is_digit(*end))
            end++;
        p = end;
    }
    return nearest;
}

/* Names round, and those of small models leave the embedding out. */
static bool agrees(double count, double size)
{
    const double embedding = 0.5e9, rounding = 0.1;
    return count <= size * (1 + rounding) + embedding && count >= size * (1 - rounding) - embedding;
}

static void doubt_size(const struct options *o, struct flags_result *f)
{
    const char *text = NULL, *name = after_slash(o->imported->launch.path);
    size_t length = 0;
    double count = (double)model_params_total(&f->model);
    double size = size_named(name, count, &text, &length);
    struct str amount = {0};
    if (size == 0 || agrees(count, size) || f->notes.count == FLAGS_MAX_TEXTS)
        return;
    add_count(&amount, count);
    f->notes.text[f->notes.count++] = arena_format(
        o->mem,
        "the file's name says %.*s, its flags describe %s parameters: do they say all of the model "
        "(--model NAME)?",
        (int)length, text, str_text(&amount));
    str_release(&amount);
}

/* What a recipe of one's own does is not known. */
static void doubt_recipe(const struct options *o, struct flags_result *f)
{
    const char *recipe = words_peek(f->words, "--fp8-recipe", 0);
    bool fp8 = words_there(f->words, "--fp8-format");
    if (fp8 && recipe && is_one_of(recipe, "custom") && f->notes.count < FLAGS_MAX_TEXTS)
        f->notes.text[f->notes.count++] =
            arena_format(o->mem, "--fp8-recipe %s: planned as fp8 with one scale a tensor", recipe);
}

/* A model that is only named brings its vocabulary, training takes that of the tokenizer. */
static void doubt_vocab(const struct options *o, struct flags_result *f)
{
    const char *name;
    bool other = false;
    int vocab = o->imported->named_preset ? imported_vocab(o, &name, &other) : 0;
    if (vocab && ratio(vocab, f->model.vocab) > 1.01 && f->notes.count < FLAGS_MAX_TEXTS)
        f->notes.text[f->notes.count++] = arena_format(
            o->mem,
            "the tokenizer's name has '%s' in it, which speaks of %d entries: planned are the %d "
            "of %s (-- --vocab-size states them)",
            name, vocab, f->model.vocab, o->imported->named_preset);
}

/* Single precision is said, and nothing has figures of it. */
static void doubt_precision(const struct options *o, struct flags_result *f)
{
    if (!launch_mentions(&o->imported->launch, "--fp32"))
        return;
    for (int i = 0; i < f->assumptions; i++)
        if (strcmp(f->assumption[i].what, "precision") == 0)
            f->assumption[i].why =
                "the file's single precision is not planned: with it a step takes at least twice "
                "as long, with activations of twice the size";
}

void imported_doubts(const struct options *o, struct flags_result *f)
{
    doubt_size(o, f);
    doubt_recipe(o, f);
    doubt_vocab(o, f);
    doubt_precision(o, f);
}
