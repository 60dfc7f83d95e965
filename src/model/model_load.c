/* What --model may be: a preset's name, a path to a config.json or to the folder that holds it, a name
 * of others for a preset (meta-llama/Llama-3.1-70B), an id in the local cache of Hugging Face, or
 * key=value pairs; tried in this order, so that a path with '=' in it works when the file exists.
 * Pairs behind a name and a comma change what it means. */
#include "model/model.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "model/hf_cache.h"

#include <stdio.h>
#include <string.h>

static bool load_preset(struct model *m, const struct model_preset *preset, struct error *err)
{
    return model_from_hf(m, preset->config, strlen(preset->config), preset->name, err);
}

/* The last part of the path, without slashes at its end. */
static void set_name(struct model *m, const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(m->name, sizeof m->name, "%.*s", (int)(end - start), path + start);
}

static bool load_file(struct model *m, const char *path, struct arena *mem, struct error *err)
{
    struct text text;
    const char *file = path;
    if (folder_exists(path))
        file = arena_format(mem, "%s%sconfig.json", path, path[strlen(path) - 1] == '/' ? "" : "/");
    if (!file_read(file, mem, &text, err) || !model_from_hf(m, text.data, text.length, file, err))
        return false;
    set_name(m, path);
    return true;
}

/* A config.json itself, where a file would be one thing too many. */
static bool load_inline(struct model *m, const char *text, struct error *err)
{
    if (!model_from_hf(m, text, strlen(text), "model", err))
        return false;
    set_name(m, "inline");
    return true;
}

static bool unknown_preset(const char *text, struct arena *mem, struct error *err)
{
    const struct model_preset *presets = model_presets();
    size_t count = 0;
    while (presets[count].name)
        count++;
    const char **names = arena_array(mem, count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = presets[i].name;
    bool decoder;
    const char *slash = strrchr(text, '/'), *other = model_named_other(text, &decoder);
    const char *meant = did_you_mean(slash && slash[1] ? slash + 1 : text, names, count);
    return fail(
        err, ERROR_INPUT,
        "unknown model '%.80s'%s%s; expected a preset, a path to a config.json, or pairs such as "
        "layers=32,hidden=4096,...",
        text, other ? ", " : "", other ? other : meant);
}

/* Under the preset's name; where it is another model, under its own. */
static bool load_preset_as(struct model *m, const char *text, const char *preset, struct arena *mem,
                           struct error *err)
{
    const char *changes = model_named_changes(text), *part = strrchr(text, '/');
    if (!model_load(m, preset, mem, err))
        return false;
    if (!*changes)
        return true;
    set_name(m, part ? part + 1 : text);
    return model_override(m, changes, err);
}

/* A name that others use; what is not quite the preset is not taken for it. */
static bool load_named(struct model *m, const char *text, struct arena *mem, struct error *err)
{
    const char *differs, *preset = model_named_as(text, &differs), *cached;
    if (preset && !*differs)
        return load_preset_as(m, text, preset, mem, err);
    if ((cached = hf_cache_find(text, mem))) {
        if (!load_file(m, cached, mem, err))
            return false;
        set_name(m, text);
        return true;
    }
    if (preset)
        return fail(err, ERROR_INPUT, "model '%.80s' is not quite the preset %s: %s", text, preset,
                    differs);
    return unknown_preset(text, mem, err);
}

/* "llama3-70b,layers=40": where the changes begin; NULL: there are none. */
static const char *changes_of(const char *text)
{
    const char *comma = strchr(text, ',');
    return comma && memchr(text, '=', (size_t)(comma - text)) == NULL && strchr(comma, '=') &&
                   !file_exists(text)
               ? comma
               : NULL;
}

static bool load_changed(struct model *m, const char *text, const char *comma, struct arena *mem,
                         struct error *err)
{
    const char *base = arena_copy(mem, text, (size_t)(comma - text));
    if (!model_load(m, base, mem, err) || !model_override(m, comma + 1, err))
        return false;
    set_name(m, arena_format(mem, "%s%s", m->name, comma));
    return true;
}

bool model_load(struct model *m, const char *text, struct arena *mem, struct error *err)
{
    const char *comma = *text == '{' ? NULL : changes_of(text);
    if (*text == '{')
        return load_inline(m, text, err);
    if (comma)
        return load_changed(m, text, comma, mem, err);
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (same_name(text, p->name))
            return load_preset(m, p, err);
    bool path = strcmp(text, "-") == 0 || (*text && file_exists(text));
    if (!path && strchr(text, '='))
        return model_from_pairs(m, text, err);
    if (path || strstr(text, ".json"))
        return load_file(m, text, mem, err);
    return load_named(m, text, mem, err);
}
