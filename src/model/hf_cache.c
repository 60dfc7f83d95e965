/* A model by its id on Hugging Face, out of the cache that its tools fill on this machine:
 *
 *     HF_HOME (~/.cache/huggingface) /hub/models--ORG--NAME/refs/main            the commit
 *                                                          /snapshots/COMMIT/config.json
 *
 * Nothing is fetched. Where no commit is named, the last of the snapshots in their order counts. */
#include "model/hf_cache.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* ORG/NAME, of letters, digits, dots, dashes and underscores. */
static bool is_id(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t org = strspn(text, letters),
           name = text[org] == '/' ? strspn(text + org + 1, letters) : 0;
    return org > 0 && name > 0 && !text[org + 1 + name] && text[0] != '.' && text[org + 1] != '.';
}

static const char *hub(struct arena *mem)
{
    const char *cache = getenv("HF_HUB_CACHE"), *hf = getenv("HF_HOME"), *home = getenv("HOME");
    if (cache && *cache)
        return cache;
    if (hf && *hf)
        return arena_format(mem, "%s/hub", hf);
    return home && *home ? arena_format(mem, "%s/.cache/huggingface/hub", home) : NULL;
}

static const char *config_of(const char *folder, const char *commit, struct arena *mem)
{
    const char *path = arena_format(mem, "%s/snapshots/%s/config.json", folder, commit);
    return file_exists(path) ? path : NULL;
}

static const char *of_main(const char *folder, struct arena *mem)
{
    const char *ref = arena_format(mem, "%s/refs/main", folder);
    struct text text;
    if (!file_exists(ref) || !file_read(ref, mem, &text, NULL))
        return NULL;
    size_t n = strspn(text.data, "0123456789abcdef");
    return n > 0 ? config_of(folder, arena_copy(mem, text.data, n), mem) : NULL;
}

static const char *of_last(const char *folder, struct arena *mem)
{
    const char *const *names, *found = NULL, *path;
    if (folder_exists(arena_format(mem, "%s/snapshots", folder)) &&
        folder_names(arena_format(mem, "%s/snapshots", folder), mem, &names, NULL))
        for (; *names; names++)
            if ((path = config_of(folder, *names, mem)))
                found = path;
    return found;
}

const char *hf_cache_find(const char *id, struct arena *mem)
{
    const char *root = is_id(id) ? hub(mem) : NULL;
    if (!root)
        return NULL;
    const char *slash = strchr(id, '/');
    const char *folder =
        arena_format(mem, "%s/models--%.*s--%s", root, (int)(slash - id), id, slash + 1);
    const char *path = of_main(folder, mem);
    return path ? path : of_last(folder, mem);
}
