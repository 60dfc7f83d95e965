/* A setting as a flag: by the table of exceptions, otherwise the name with - for _, or --no-NAME
 * for a switch that turns something off. */
#include "import/megatron/dest_names.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"

#include <stdlib.h>
#include <string.h>

enum dest_kind { VALUE, ON, OFF, GROUPS, PRECISION, ACTIVATION, TYPE };
enum { LOG = DEST_LOG, OVERRIDE = DEST_OVERRIDE, BOTH = LOG | OVERRIDE };

static const struct dest {
    const char *name;
    int sources;
    enum dest_kind kind;
    const char *flag;
} DESTS[] = {
#define DEST(name, sources, kind, flag) {name, sources, kind, flag},
#include "import/megatron/dest_names.def"
#undef DEST
};

static const char *const FLAGS[] = {
#define FLAG(name, arity, type, choices) name,
#include "import/megatron/megatron_flags.def"
#undef FLAG
};

enum { DEST_COUNT = sizeof DESTS / sizeof *DESTS, FLAG_COUNT = sizeof FLAGS / sizeof *FLAGS };

void dest_list_init(struct dest_list *l, enum dest_source source, struct arena *mem)
{
    *l = (struct dest_list){.source = source, .mem = mem};
}

void dest_list_keep(struct dest_list *l, const struct launch_unknown *unknown, int count)
{
    l->unknowns = l->unknown_capacity = count;
    l->unknown = arena_array(l->mem, (size_t)count + 1, sizeof *l->unknown);
    if (count)
        memcpy(l->unknown, unknown, (size_t)count * sizeof *unknown);
}

static void add(struct dest_list *l, const char *text, int line)
{
    l->word = arena_room(l->mem, l->word, l->count, &l->capacity, sizeof *l->word);
    l->word[l->count++] = (struct launch_word){arena_string(l->mem, text), line};
}

void dest_list_word(struct dest_list *l, const char *text, int line)
{
    add(l, text, line);
}

const char *dest_list_unknown(struct dest_list *l, struct launch_unknown unknown)
{
    l->unknown =
        arena_room(l->mem, l->unknown, l->unknowns, &l->unknown_capacity, sizeof *l->unknown);
    l->unknown[l->unknowns] = unknown;
    return arena_format(l->mem, "%c%d%c", LAUNCH_MARK, l->unknowns++, LAUNCH_MARK_END);
}

/* A value that is there and says nothing to the flag. */
static void add_unknown(struct dest_list *l, const char *value, int line)
{
    add(l,
        dest_list_unknown(l, (struct launch_unknown){arena_format(l->mem, "'%.60s'", value),
                                                     "which the flag does not take", NULL, line,
                                                     NULL}),
        line);
}

static bool is_true(const char *value)
{
    return same_name(value, "true") || same_name(value, "on") || strcmp(value, "1") == 0;
}

static bool is_false(const char *value)
{
    return same_name(value, "false") || same_name(value, "off") || strcmp(value, "0") == 0;
}

static bool is_none(const char *value)
{
    return !*value || same_name(value, "none") || same_name(value, "null");
}

/* torch.bfloat16 is bf16 on a command line, AttnBackend.auto is auto. */
static const char *plain(const char *value)
{
    static const char *const types[][2] = {{"torch.float32", "fp32"},
                                           {"bfloat16", "bf16"},
                                           {"torch.bfloat16", "bf16"},
                                           {"torch.float16", "fp16"},
                                           {"torch.uint8", "fp8"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(value, types[i][0]) == 0)
            return types[i][1];
    return value;
}

static void add_value(struct dest_list *l, const char *flag, const char *value, int line)
{
    const char *dot = strrchr(value, '.');
    size_t digits = strspn(value, "0123456789");
    bool whole = digits > 0 && value + digits == dot && !dot[1 + strspn(dot + 1, "0")];
    value = plain(value);
    if (!words_takes(flag, value) && whole) /* 1000000.0 */
        value = arena_copy(l->mem, value, digits);
    else if (!words_takes(flag, value) && dot && digits == 0 && words_takes(flag, dot + 1))
        value = dot + 1; /* AttnBackend.flash */
    const char *choice = words_takes(flag, value) ? value : words_choice(flag, value, l->mem);
    if (choice)
        add(l, choice, line);
    else
        add_unknown(l, value, line);
}

/* The elements of a list, quotes and all around them taken off. */
static void add_elements(struct dest_list *l, const char *flag, const char *value, int line)
{
    static const char between[] = " ,[]()'\"";
    for (value += strspn(value, between); *value; value += strspn(value, between)) {
        size_t n = strcspn(value, between);
        add_value(l, flag, arena_copy(l->mem, value, n), line);
        value += n;
    }
}

/* One word without blanks: a list as an expression, a tuple as its numbers. */
static const char *squeezed(const char *value, struct arena *mem)
{
    char *out = arena_string(mem, value), *to = out;
    if (*value != '[' && *value != '(')
        return value;
    for (const char *p = value; *p; p++)
        if (*p != ' ' && *p != '(' && *p != ')')
            *to++ = *p;
    *to = 0;
    return out;
}

static void add_flag(struct dest_list *l, const char *flag, const char *value, int line)
{
    int most = words_most_values(flag);
    bool word = strcmp(value, "none") == 0 && words_takes(flag, value); /* and not Python's None */
    if ((is_none(value) && !word) || (most == 0 && is_false(value)) || strcmp(value, "[]") == 0)
        return;
    if (most == 0 && !is_true(value)) /* holds something else, which is no switch */
        return;
    if (most > 0 && is_false(value) && !words_takes(flag, value)) /* off */
        return;
    add(l, flag, line);
    if (most == 1)
        add_value(l, flag, squeezed(value, l->mem), line);
    else if (most > 1)
        add_elements(l, flag, value, line);
}

/* Layers that stay in 16 bits under some names of Bridge (training/mixed_precision.py). Its performance recipes switch
 * them off; PERFORMANCE_MIXED marks those (bridge_recipe.c). */
static void add_wide_layers(struct dest_list *l, const char *value, int line)
{
    static const struct {
        const char *name, *first, *last;
    } NAMES[] = {{"nemotron_h_bf16_with_fp8_current_scaling", "2", "2"},
                 {"nanov2_bf16_with_fp8_current_scaling", "2", "2"},
                 {"nemotron_3_super_bf16_with_nvfp4", "0", "14"},
                 {"fp8_current_scaling", "1", "1"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (strstr(value, PERFORMANCE_MIXED) || !strstr(value, NAMES[i].name))
            continue;
        add(l, "--first-last-layers-bf16", line);
        add(l, "--num-layers-at-start-in-bf16", line);
        add(l, NAMES[i].first, line);
        add(l, "--num-layers-at-end-in-bf16", line);
        add(l, NAMES[i].last, line);
        return;
    }
}

/* The last that is said counts; false where none was. */
static bool replace_width(struct dest_list *l, const char *flag)
{
    bool replaced = false;
    for (int i = 0; i < l->count; i++)
        if (is_one_of(l->word[i].text, "--bf16 --fp16 --fp32")) {
            l->word[i].text = arena_string(l->mem, flag);
            replaced = true;
        }
    return replaced;
}

/* "bf16_mixed", "bf16-mixed", "bf16", "16-mixed", "32-true", "bf16_with_fp8_current_scaling_mixed" */
static void add_precision(struct dest_list *l, const char *value, int line)
{
    const char *flag = strstr(value, "bf16") ? "--bf16"
                       : strstr(value, "16") ? "--fp16"
                       : strstr(value, "32") ? "--fp32" /* which is not planned (query_doubts.c) */
                                             : NULL;
    if (flag && !replace_width(l, flag))
        add(l, flag, line);
    if (strstr(value, "nvfp4")) {
        add(l, "--fp4-format", line);
        add(l, "e2m1", line);
    } else if (strstr(value, "fp8")) {
        add(l, "--fp8-format", line);
        add(l, "hybrid", line);
        add(l, "--fp8-recipe", line);
        add(l,
            strstr(value, "mxfp8")        ? "mxfp8"
            : strstr(value, "subchannel") ? "blockwise"
            : strstr(value, "nanov2")     ? "blockwise"
            : strstr(value, "current")    ? "tensorwise"
                                          : "delayed",
            line);
    }
    add_wide_layers(l, value, line);
}

/* Others have no flag, or follow from the gate. */
static void add_activation(struct dest_list *l, const char *swiglu, const char *value, int line)
{
    if (strstr(value, "swiglu"))
        add(l, swiglu, line);
    else if (strstr(value, "quick_gelu") || strstr(value, "geglu") || strstr(value, "reglu"))
        add(l, "--quick-geglu", line);
    else if (strstr(value, "squared_relu") || strstr(value, "squared-relu"))
        add(l, "--squared-relu", line);
}

/* A value with unknown parts stays with its flag. */
static void add_open(struct dest_list *l, const char *flag, const char *value, int line)
{
    add(l, arena_format(l->mem, "%s=%s", flag, value), line);
}

static void add_exception(struct dest_list *l, const struct dest *d, const char *value, int line)
{
    if (!launch_is_known(value)) {
        add_open(l, d->flag, value, line);
        return;
    }
    if (strcmp(d->flag, "--fp8-format") == 0 && is_true(value)) /* NeMo's switch */
        value = "hybrid";
    if (d->kind == PRECISION)
        add_precision(l, value, line);
    else if (d->kind == ACTIVATION)
        add_activation(l, d->flag, value, line);
    else if ((d->kind == ON && is_true(value)) || (d->kind == OFF && is_false(value)) ||
             (d->kind == TYPE && strcmp(plain(value), "bf16") == 0))
        add(l, d->flag, line);
    if (d->kind == GROUPS && !is_none(value))
        add(l, "--group-query-attention", line);
    if (d->kind == GROUPS || d->kind == VALUE)
        add_flag(l, d->flag, value, line);
}

struct needed {
    const char *prefix, *needs;
};

static const struct needed DEFAULTS[] = {
    {"--expert-", "--num-experts"},
    {"--moe-", "--num-experts"},
    {"--kv-lora-rank", "--multi-latent-attention"},
    {"--q-lora-rank", "--multi-latent-attention"},
    {"--qk-head-dim", "--multi-latent-attention"},
    {"--qk-pos-emb-head-dim", "--multi-latent-attention"},
    {"--v-head-dim", "--multi-latent-attention"},
};

/* Without its switch, which Megatron's own flags have none of, this is off. */
static const struct needed SWITCHED[] = {{"--cpu-offloading-num-layers", "--cpu-offloading"}};

static bool has_word(const struct dest_list *l, const char *flag)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->word[i].text, flag) == 0)
            return true;
    return false;
}

static bool is_idle(const struct dest_list *l, const char *flag, const struct needed *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(flag, row[i].prefix, strlen(row[i].prefix)) == 0 && !has_word(l, row[i].needs))
            return true;
    return false;
}

static void drop_idle(struct dest_list *l, const struct needed *row, size_t n)
{
    int kept = 0;
    bool dropped = false;
    for (int i = 0; i < l->count; i++) {
        if (strncmp(l->word[i].text, "--", 2) == 0)
            dropped = is_idle(l, l->word[i].text, row, n);
        if (!dropped)
            l->word[kept++] = l->word[i];
    }
    l->count = kept;
}

void dest_list_drop_defaults(struct dest_list *l)
{
    drop_idle(l, DEFAULTS, sizeof DEFAULTS / sizeof *DEFAULTS);
}

void dest_list_drop_off(struct dest_list *l)
{
    if (l->source == DEST_OVERRIDE)
        drop_idle(l, SWITCHED, sizeof SWITCHED / sizeof *SWITCHED);
}

static const char *flag_name(struct arena *mem, const char *prefix, const char *name)
{
    char *flag = arena_format(mem, "%s%s", prefix, name);
    for (char *p = flag; *p; p++)
        if (*p == '_')
            *p = '-';
    return flag;
}

bool dest_add(struct dest_list *l, const char *name, const char *value, int line)
{
    for (int i = 0; i < DEST_COUNT; i++)
        if ((DESTS[i].sources & (int)l->source) && strcmp(DESTS[i].name, name) == 0) {
            add_exception(l, &DESTS[i], value, line);
            return true;
        }
    const char *flag = flag_name(l->mem, "--", name), *no = flag_name(l->mem, "--no-", name);
    bool known = words_most_values(flag) >= 0, off = !known && words_most_values(no) == 0;
    if ((known || off) && !launch_is_known(value))
        add_open(l, known ? flag : no, value, line);
    else if (known)
        add_flag(l, flag, value, line);
    else if (off && is_false(value))
        add(l, no, line);
    return known || off;
}

static const char *flag_of(const struct dest_list *l, const char *name)
{
    for (int i = 0; i < DEST_COUNT; i++)
        if ((DESTS[i].sources & (int)l->source) && strcmp(DESTS[i].name, name) == 0)
            return DESTS[i].flag;
    const char *flag = flag_name(l->mem, "--", name);
    return words_most_values(flag) >= 0 ? flag : flag_name(l->mem, "--no-", name);
}

int dest_drop(struct dest_list *l, const char *name, int count)
{
    const char *flag = flag_of(l, name);
    int kept = 0;
    bool dropped = false;
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        size_t n = strcspn(w, "=");
        if (i >= count)
            dropped = false;
        else if (strncmp(w, "--", 2) == 0)
            dropped = strlen(flag) == n && strncmp(w, flag, n) == 0;
        if (!dropped)
            l->word[kept++] = l->word[i];
    }
    count = l->count - kept;
    l->count = kept;
    return count;
}

const char *dest_nearest(const char *name, struct arena *mem)
{
    const char *names[DEST_COUNT + FLAG_COUNT];
    char spelled[FLAG_COUNT][96];
    size_t n = 0;
    for (int i = 0; i < DEST_COUNT; i++)
        names[n++] = DESTS[i].name;
    for (int i = 0; i < FLAG_COUNT; i++) {
        size_t k = 0;
        for (; FLAGS[i][k + 2] && k + 1 < sizeof spelled[i]; k++)
            spelled[i][k] = FLAGS[i][k + 2] == '-' ? '_' : FLAGS[i][k + 2];
        spelled[i][k] = 0;
        names[n++] = spelled[i];
    }
    const char *near = nearest_name(name, names, n);
    return near ? arena_string(mem, near) : NULL;
}
