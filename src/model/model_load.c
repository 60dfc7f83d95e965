/* What --model may be: a preset's name, a path to a config.json or to the folder that holds it, or
 * key=value pairs; tried in this order, so that a path with '=' in it works when the file exists.
 */
#include "model/model.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"

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
    return fail(
        err, ERROR_INPUT,
        "unknown model '%.80s'%s; expected a preset, a path to a config.json, or pairs such as "
        "layers=32,hidden=4096,...",
        text, did_you_mean(text, names, count));
}

bool model_load(struct model *m, const char *text, struct arena *mem, struct error *err)
{
    if (*text == '{')
        return load_inline(m, text, err);
    for (const struct model_preset *p = model_presets(); p->name; p++)
        if (same_name(text, p->name))
            return load_preset(m, p, err);
    bool path = strcmp(text, "-") == 0 || (*text && file_exists(text));
    if (!path && strchr(text, '='))
        return model_from_pairs(m, text, err);
    if (path || strchr(text, '/') || strstr(text, ".json"))
        return load_file(m, text, mem, err);
    return unknown_preset(text, mem, err);
}
