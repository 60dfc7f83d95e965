/* Reading settings by the table of their names. What is said twice must agree: Trainer itself compares its arguments with
 * DeepSpeed's file. */
#include "import/hf/hf_job.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/units.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

enum kind { TEXT, COUNT, TRUTH, FILE_ };
#define FILE FILE_
static const struct setting_names {
    enum kind kind;
    const char *names;
} SETTINGS[HF_FIELDS] = {
#define HF(field, kind, names) [HF_##field] = {kind, names},
#include "import/hf/hf_settings.def"
};
#undef FILE

enum { MOST_FILES = 4 };

static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, name, n) == 0)
            return true;
        at += length;
    }
    return false;
}

static int field_of(const char *name)
{
    for (int i = 0; i < HF_FIELDS; i++)
        if (is_among(SETTINGS[i].names, name))
            return i;
    return -1;
}

static bool is_true(const char *text)
{
    static const char *const TRUE[] = {"true", "True", "TRUE", "1", "yes", "on"};
    for (size_t i = 0; i < sizeof TRUE / sizeof *TRUE; i++)
        if (strcmp(text, TRUE[i]) == 0)
            return true;
    return false;
}

static bool is_nothing(const char *text)
{
    static const char *const NOTHING[] = {"", "null", "~", "None", "none", "auto"};
    for (size_t i = 0; i < sizeof NOTHING / sizeof *NOTHING; i++)
        if (strcmp(text, NOTHING[i]) == 0)
            return true;
    return false;
}

static bool read_number(enum kind kind, const char *name, const char *text, int64_t *out,
                        struct error *err)
{
    *out = kind == TRUTH && is_true(text);
    if (kind != COUNT)
        return true;
    return (parse_int(text, out) && *out >= 0 && *out <= 1 << 30) ||
           fail(err, ERROR_INPUT, "%s is '%.60s': expected a whole number", name, text);
}

/* Switches that are on in one place and off in another belong to different programs: on wins. */
static bool take(struct hf_job *j, int field, const char *name, const char *text, struct error *err)
{
    int64_t number = 0;
    enum kind kind = SETTINGS[field].kind;
    if (is_nothing(text))
        return true;
    if (!read_number(kind, name, text, &number, err))
        return false;
    if (j->text[field] && kind == COUNT && number != j->number[field])
        return fail(err, ERROR_INPUT, "%s is %.60s, and %.60s in another place", name, text,
                    j->text[field]);
    if (kind == TRUTH && j->number[field])
        return true;
    j->text[field] = arena_string(j->mem, text);
    j->number[field] = number;
    return true;
}

static bool read_file_or_text(struct hf_job *j, const char *name, const char *value,
                              struct error *err)
{
    struct text text;
    if (value[0] == '{')
        return hf_read_text(j, value, name, err);
    if (++j->depth > MOST_FILES)
        return fail(err, ERROR_INPUT, "%s %s: files that name files, more than %d deep", name,
                    value, MOST_FILES);
    return file_read(value, j->mem, &text, err) && hf_read_text(j, text.data, value, err);
}

static void note_unread(struct hf_job *j, const char *name)
{
    if (j->unread < HF_UNREAD)
        j->unread_name[j->unread++] = arena_string(j->mem, name);
}

static bool set(struct hf_job *j, const char *name, const char *value, struct error *err)
{
    int field = field_of(name);
    j->factory |= strcmp(name, "finetuning_type") == 0;
    if (field < 0) {
        note_unread(j, name);
        return true;
    }
    if (SETTINGS[field].kind != FILE_)
        return take(j, field, name, value, err);
    if (is_nothing(value))
        return true;
    j->text[field] = arena_string(j->mem, value);
    return read_file_or_text(j, name, value, err);
}

/* Sections whose members are known by their own names. */
static bool is_section(const char *key)
{
    return is_among("fsdp_config deepspeed_config accelerator_config parallelism_config deepspeed",
                    key);
}

static bool read_map(struct hf_job *j, const struct yaml *map, const char *before,
                     struct error *err);

/* A list, as of target modules, with commas between. */
static const char *joined(struct hf_job *j, const struct yaml *list)
{
    struct str s = {0};
    for (const struct yaml *x = list->item; x; x = x->next)
        if (x->kind == YAML_SCALAR)
            str_addf(&s, "%s%s", s.length ? "," : "", x->text);
    return str_keep(&s, j->mem);
}

static bool read_member(struct hf_job *j, const struct yaml *x, const char *before,
                        struct error *err)
{
    const char *name = arena_format(j->mem, "%s%s", before, x->key);
    if (x->kind == YAML_MAP && is_section(x->key))
        return read_map(j, x, "", err);
    if (x->kind == YAML_MAP)
        return read_map(j, x, arena_format(j->mem, "%s.", name), err);
    return set(j, name, x->kind == YAML_LIST ? joined(j, x) : x->text, err);
}

static bool read_map(struct hf_job *j, const struct yaml *map, const char *before,
                     struct error *err)
{
    for (const struct yaml *x = map->item; x; x = x->next)
        if (!read_member(j, x, before, err))
            return false;
    return true;
}

bool hf_read_text(struct hf_job *j, const char *text, const char *name, struct error *err)
{
    const struct yaml *y = yaml_parse(text, strlen(text), name, j->mem, err);
    if (!y)
        return false;
    if (y->kind != YAML_MAP)
        return fail(err, ERROR_INPUT, "%s: expected settings, NAME: VALUE or JSON", name);
    return read_map(j, y, "", err);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "python -m trl.scripts.sft", "trl sft". */
static bool is_trl(const char *word)
{
    return strncmp(word, "trl", 3) == 0 && (word[3] == 0 || word[3] == '.');
}

static bool says(int count, const char *const *words, const char *flag)
{
    size_t n = strlen(flag);
    for (int i = 0; i < count; i++)
        if (strncmp(words[i], flag, n) == 0 && (words[i][n] == 0 || words[i][n] == '='))
            return true;
    return false;
}

bool hf_is_launch(int count, const char *const *words)
{
    if (count >= 2 && strcmp(base_name(words[0]), "accelerate") == 0)
        return strcmp(words[1], "launch") == 0;
    return says(count, words, "--per_device_train_batch_size") ||
           says(count, words, "--model_name_or_path");
}

static bool has_line(const char *text, const char *start)
{
    const char *at = strstr(text, start);
    while (at && at > text && at[-1] != '\n')
        at = strstr(at + 1, start);
    return at != NULL;
}

/* GPT-NeoX's files have DeepSpeed's sections too, and describe a model. */
bool hf_is_text(const char *text)
{
    static const char *const KEYS[] = {"distributed_type:", "model_name_or_path:", "base_model:"};
    bool neox = strstr(text, "num_layers") || strstr(text, "num-layers");
    if (text[strspn(text, " \t\r\n")] == '{')
        return strstr(text, "\"zero_optimization\"") && !neox && !strstr(text, "\"engine\"");
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (has_line(text, KEYS[i]))
            return true;
    return false;
}

/* "--name value", "--name=value" or "--name"; values of a list are joined. Returns the words it took. */
static int read_flag(struct hf_job *j, int count, const char *const *word, struct error *err)
{
    const char *name = word[0] + strspn(word[0], "-"), *equals = strchr(name, '=');
    struct str value = {0}, key = {0};
    int taken = 1;
    if (equals)
        str_add(&value, equals + 1);
    for (; !equals && taken < count && word[taken][0] != '-'; taken++)
        str_addf(&value, "%s%s", taken > 1 ? "," : "", word[taken]);
    str_addf(&key, "%.*s", equals ? (int)(equals - name) : (int)strlen(name), name);
    char *k = arena_copy(j->mem, str_text(&key), key.length);
    str_release(&key);
    for (char *c = k; *c; c++)
        *c = *c == '-' ? '_' : *c;
    bool ok = set(j, k, taken > 1 || equals ? str_text(&value) : "true", err);
    str_release(&value);
    return ok ? taken : -1;
}

/* Positional words are programs and scripts. A launcher's flag must not swallow the script: it ends a list
 * of values. */
static int values_of(int count, const char *const *word)
{
    int n = 1;
    while (n < count && word[n][0] != '-') {
        const char *end = strrchr(word[n], '.');
        if (n > 1 &&
            (strcmp(word[0], "--lora_target_modules") != 0 || (end && strcmp(end, ".py") == 0)))
            break;
        n++;
    }
    return n;
}

bool hf_read_words(struct hf_job *j, int count, const char *const *words, struct error *err)
{
    for (int i = 0; i < count;) {
        if (words[i][0] != '-') {
            if (is_trl(words[i]) && !take(j, HF_module, "module", words[i], err))
                return false;
            i++;
            continue;
        }
        const char *end = i + 1 < count ? strrchr(words[i + 1], '.') : NULL;
        int most = end && strcmp(end, ".py") == 0 ? 1 : values_of(count - i, words + i);
        int taken = read_flag(j, most, words + i, err);
        if (taken < 0)
            return false;
        i += taken;
    }
    return true;
}
