/* Names of models that others use, as presets: Qwen/Qwen2.5-7B-Instruct, llama31_405b, /ckpt/Meta-Llama-3-8B. Letters
 * and digits count; a sign counts only between two digits. A name may go on behind the preset's with words that leave
 * the shape alone (-Instruct-2507, _torch_dist); those that speak of another model (-VL, -4layer, a second size) make it
 * one that is not known. Never guessed: a name that is no preset's is none. */
#include "model/model.h"

#include "base/str.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct named {
    const char *name, *preset, *differs, *changes;
} NAMES[] = {
#define NAMED(name, preset, differs) {name, preset, differs, ""},
#define CHANGED(name, preset, changes) {name, preset, "", changes},
#include "model/model_names.def"
#undef NAMED
#undef CHANGED
};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES, PART_BYTES = 160 };

/* Kinds of models that have no preset, by a word of their names. */
static const struct {
    const char *words, *why;
    bool decoder; /* that could be planned, where its flags are there */
} OTHERS[] = {
    {"vl vlm vision internvl llava ovis paligemma kimi-k2.5 kimi-k2.6 kimi-k2.7 glm-4.5v glm-4.6v "
     "glm-4.1v glm45v exaone45 ministral3_3b ministral3_8b ministral3_14b",
     "a vision-language model, of which only the decoder could be planned", true},
    {"omni audio tts asr",
     "a model of sound or of several kinds, of which only the decoder could be planned", true},
    {"nemotronh nemotron_h nemotron-h nemotron_3 nemotron-3 nemotron_nano",
     "a hybrid with state-space layers that has no preset", true},
    {"granite-4.0-h bamba falcon_h1 falcon-h1 ring-linear ling-linear",
     "a hybrid with state spaces or linear attention that has no preset", true},
    {"mamba jamba rwkv lightning kimi_k3 kimi-k3",
     "a model with linear attention or state-space layers, which are not planned", false},
    {"qwen3.5 qwen3.6 qwen3.8 qwen3_5 qwen35 qwen36 next",
     "a model with gated delta nets that has no preset", true},
    {"deepseek-v4 deepseek_v4 deepseek4 minimax_m3 minimax-m3",
     "a model with compressed or blockwise sparse attention, which is not planned", false},
    {"glm5 glm-5 glm5.2 deepseek-v3.2 deepseek-v32 deepseek32 deepseek_v32 deepseek_v3_2",
     "a model with sparse attention that has no preset", true},
    {"gemma4 gemma-4 step35 step37 step-3.5 step-3.7 mimo_v2 mimo-v2",
     "a model whose layers differ in their heads, which is not planned", false},
    {"embedding reranker reward rm prm",
     "a model that ranks or embeds, of which only the decoder could be planned", true},
    {"bert modernbert t5 bge gte", "no decoder, and only decoders are planned", false},
};

static bool is_sign(char c)
{
    return c && strchr("-_. +", c);
}

static bool between_digits(const char *from, const char *sign)
{
    const char *next = sign;
    while (is_sign(*next))
        next++;
    return sign > from && isdigit((unsigned char)sign[-1]) && isdigit((unsigned char)*next);
}

/* The next letter, digit, or sign that counts (as '.'); 0 = the end. */
static char take(const char *from, const char **at)
{
    while (is_sign(**at)) {
        bool counts = between_digits(from, *at);
        *at += strspn(*at, "-_. +");
        if (counts)
            return '.';
    }
    return **at ? (char)tolower((unsigned char)*(*at)++) : 0;
}

/* Where a name goes on behind another one that it begins with; NULL = it does not. */
static const char *behind(const char *name, const char *known)
{
    const char *a = name, *b = known;
    for (char c; (c = take(known, &b));)
        if (take(name, &a) != c)
            return NULL;
    bool number = isdigit((unsigned char)a[-1]), next = is_sign(*a) && isdigit((unsigned char)a[1]);
    if (number && next && strspn(a + 1, "0123456789") != 4) /* v3.2 is not v3, v3-0324 is */
        return NULL;
    return !*a || is_sign(*a) ? a : NULL;
}

/* "4layer", "20l", "8b": another depth or size. */
static bool is_other_size(const char *word)
{
    size_t n = strspn(word, "0123456789");
    return n > 0 && (is_one_of(word + n, "b l m") || strncmp(word + n, "layer", 5) == 0);
}

/* Words behind a name that make it another model's. */
static bool changes_shape(const char *rest)
{
    static const char words[] = "vl omni audio vision next lite mini nano embedding embed reranker "
                                "reward rm prm draft eagle moe layer layers pruned tiny toy "
                                "small proxy minitron multimodal";
    char word[PART_BYTES];
    for (const char *p = rest; *p;) {
        size_t n = 0;
        p += strspn(p, "-_. +");
        for (; *p && !is_sign(*p); p++)
            if (n + 1 < sizeof word)
                word[n++] = (char)tolower((unsigned char)*p);
        word[n] = 0;
        if (is_one_of(word, words) || is_other_size(word))
            return true;
    }
    return false;
}

/* The longest known name that a part of a path begins with; `*row` NULL: the preset's own. */
static const char *preset_of(const char *part, const struct named **row)
{
    const char *best = NULL, *rest = NULL, *end;
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if ((end = behind(part, p->name)) && (!rest || end > rest)) {
            best = p->name, rest = end;
            *row = NULL;
        }
    for (int i = 0; i < NAME_COUNT; i++)
        if ((end = behind(part, NAMES[i].name)) && (!rest || end > rest)) {
            best = NAMES[i].preset, rest = end;
            *row = &NAMES[i];
        }
    return best && !changes_shape(rest) ? best : NULL;
}

/* Copies the last part of a path that ends at `end`, without what surrounds a name; returns where it begins. */
static const char *last_part(const char *text, const char *end, char out[PART_BYTES])
{
    static const char *const BEFORE[] = {"meta-", "hf-", "mcore-", "hf_", "mcore_"};
    static const char *const BEHIND[] = {".yaml", ".yml", ".sh", ".json", ".py"};
    const char *from = end;
    while (from > text && from[-1] != '/')
        from--;
    size_t n = (size_t)(end - from) < PART_BYTES ? (size_t)(end - from) : PART_BYTES - 1;
    snprintf(out, PART_BYTES, "%.*s", (int)n, from);
    for (size_t i = 0; i < sizeof BEFORE / sizeof *BEFORE; i++) {
        size_t k = strlen(BEFORE[i]);
        bool there = n > k;
        for (size_t c = 0; there && c < k; c++)
            there = tolower((unsigned char)out[c]) == BEFORE[i][c];
        if (there)
            memmove(out, out + k, (n -= k) + 1);
    }
    for (size_t i = 0; i < sizeof BEHIND / sizeof *BEHIND; i++) {
        size_t k = strlen(BEHIND[i]);
        if (n > k && strcmp(out + n - k, BEHIND[i]) == 0)
            out[n -= k] = 0;
    }
    return from;
}

static bool has_word(const char *part, const char *word)
{
    size_t k = strlen(word);
    for (const char *p = part; *p; p++) {
        size_t n = 0;
        while (n < k && tolower((unsigned char)p[n]) == word[n])
            n++;
        bool begins = p == part || !isalpha((unsigned char)p[-1]);
        if (n == k && begins && !isalpha((unsigned char)p[k]))
            return true;
    }
    return false;
}

static const char *why_other(const char *part, bool *decoder)
{
    char word[64];
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        for (const char *at = OTHERS[i].words; next_word(&at, word, sizeof word);)
            if (has_word(part, word)) {
                *decoder = OTHERS[i].decoder;
                return OTHERS[i].why;
            }
    return NULL;
}

static const char *find(const char *text, const struct named **row)
{
    enum { PARTS = 4 }; /* of a path, from its end */
    const char *end = text + strlen(text), *preset;
    char part[PART_BYTES];
    bool decoder;
    *row = NULL;
    for (int i = 0; i < PARTS && end > text; i++) {
        while (end > text && end[-1] == '/')
            end--;
        const char *from = last_part(text, end, part);
        if ((preset = preset_of(part, row)))
            return preset;
        if (why_other(part, &decoder))
            return NULL;
        end = from;
    }
    return NULL;
}

const char *model_named_as(const char *text, const char **differs)
{
    const struct named *row;
    const char *preset = find(text, &row);
    *differs = preset && row ? row->differs : "";
    return preset;
}

const char *model_named_changes(const char *text)
{
    const struct named *row;
    return find(text, &row) && row ? row->changes : "";
}

const char *model_named(const char *text)
{
    const char *differs;
    return model_named_as(text, &differs);
}

const char *model_named_other(const char *text, bool *decoder)
{
    const char *end = text + strlen(text);
    char part[PART_BYTES];
    while (end > text && end[-1] == '/')
        end--;
    last_part(text, end, part);
    return why_other(part, decoder);
}

/* How many letters, digits and signs two names have in common from their beginnings. */
static size_t alike(const char *name, const char *known)
{
    const char *a = name, *b = known;
    size_t n = 0;
    for (char c; (c = take(known, &b)) && take(name, &a) == c;)
        n++;
    return n;
}

/* Without -VL or -Omni: the preset that the decoder is like; NULL = none. */
static const char *decoder_of(const char *part)
{
    char cut[PART_BYTES], word[64];
    const struct named *row;
    for (const char *p = part; *p; p++) {
        size_t n = strcspn(p + 1, "-_. +");
        snprintf(word, sizeof word, "%.*s", (int)n, p + 1);
        if (!is_sign(*p) || !(same_name(word, "vl") || same_name(word, "omni")))
            continue;
        snprintf(cut, sizeof cut, "%.*s%s", (int)(p - part), part, p + 1 + n);
        return preset_of(cut, &row);
    }
    return NULL;
}

int model_names_near(const char *text, const char *near[], int most)
{
    enum { LEAST = 4 };
    const char *end = text + strlen(text);
    char part[PART_BYTES];
    size_t longest = LEAST;
    int count = 0;
    while (end > text && end[-1] == '/')
        end--;
    last_part(text, end, part);
    if (most > 0 && (near[0] = decoder_of(part)))
        return 1;
    for (const struct model_preset *p = model_presets(); p->name; p++)
        longest = alike(part, p->name) > longest ? alike(part, p->name) : longest;
    for (const struct model_preset *p = model_presets(); p->name && count < most; p++)
        if (alike(part, p->name) == longest)
            near[count++] = p->name;
    return count;
}
