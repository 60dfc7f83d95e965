/* Where prices come from: which files a word of --prices stands for. Catalogs lie in folders,
 *
 *     catalogs/v8/aws/vms.csv      what SkyPilot downloads, below ~/.sky
 *     catalogs/v7/aws/vms.csv      of a cloud the newest version counts
 *
 * and each of the four levels of such a path may be given. */
#include "price/prices.h"

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const char CATALOG[] = "vms.csv";

/* A source being read. */
struct sources {
    struct price_list *list;
    const struct price_reading *how;
    struct error *err;
    const char *clouds; /* those wanted, separated by commas; NULL = all */
    const char *found;  /* those seen, the same way */
};

static const char *path_of(const struct sources *s, const char *folder, const char *name)
{
    return arena_format(s->list->mem, "%s/%s", folder, name);
}

/* Whether a name is one of those in a list with commas. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && memcmp(at, name, n) == 0)
            return true;
    return false;
}

/* The cloud of a catalog: the folder it lies in, or its own name when it was called otherwise. */
static const char *cloud_of(const struct sources *s, const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    if (strcmp(file, CATALOG) != 0)
        return arena_copy(s->list->mem, file, strcspn(file, "."));
    const char *start = slash;
    while (start && start > path && start[-1] != '/')
        start--;
    return start ? arena_copy(s->list->mem, start, (size_t)(slash - start)) : "";
}

static bool read_catalog(struct sources *s, const struct csv *csv, const char *path)
{
    const char *cloud = cloud_of(s, path);
    if (!*cloud || strcmp(cloud, "..") == 0 || strcmp(cloud, ".") == 0)
        return fail(s->err, ERROR_INPUT,
                    "%s: the folder names the cloud of a catalog, give it too, as in aws/vms.csv",
                    path);
    return prices_read_catalog(s->list, csv, path, cloud, s->how, s->err);
}

static bool read_file(struct sources *s, const char *path)
{
    struct text text;
    struct csv csv;
    if (!file_read(path, s->list->mem, &text, s->err) ||
        !csv_parse(&csv, text.data, text.length, path, s->list->mem, s->err))
        return false;
    return prices_is_catalog(&csv) ? read_catalog(s, &csv, path)
                                   : prices_read_own(s->list, &csv, path, s->how, s->err);
}

/* A cloud's catalog in a folder of clouds, unless a newer version had it or it is not wanted. */
static bool read_cloud(struct sources *s, const char *folder, const char *cloud)
{
    const char *path = path_of(s, path_of(s, folder, cloud), CATALOG);
    if (!file_exists(path) || listed(s->found, cloud))
        return true;
    s->found = arena_format(s->list->mem, "%s%s%s", s->found, *s->found ? "," : "", cloud);
    return (s->clouds && !listed(s->clouds, cloud)) || read_file(s, path);
}

static bool read_version(struct sources *s, const char *folder)
{
    const char *const *name;
    if (!folder_names(folder, s->list->mem, &name, s->err))
        return false;
    for (; *name; name++)
        if (!read_cloud(s, folder, *name))
            return false;
    return true;
}

/* The number of a folder called v8, 0 of any other. */
static int64_t version_of(const char *name)
{
    int64_t n;
    return *name == 'v' && name[1] != '-' && parse_int(name + 1, &n) && n > 0 ? n : 0;
}

/* Newest version first: each pass takes the highest number below the one before. */
static bool read_versions(struct sources *s, const char *folder)
{
    const char *const *name;
    int64_t below = INT64_MAX;
    if (!folder_names(folder, s->list->mem, &name, s->err))
        return false;
    for (;;) {
        const char *newest = NULL;
        for (int i = 0; name[i]; i++)
            if (version_of(name[i]) < below && version_of(name[i]) > 0 &&
                (!newest || version_of(name[i]) > version_of(newest)))
                newest = name[i];
        if (!newest)
            return true;
        below = version_of(newest);
        if (!read_version(s, path_of(s, folder, newest)))
            return false;
    }
}

static bool read_folder(struct sources *s, const char *folder)
{
    const char *catalog = path_of(s, folder, CATALOG);
    if (file_exists(catalog))
        return read_file(s, catalog);
    if (!read_version(s, folder) || !read_versions(s, folder))
        return false;
    return *s->found ||
           fail(s->err, ERROR_INPUT,
                "%s: no catalog of SkyPilot is in this folder, such as v8/aws/vms.csv", folder);
}

/* Every cloud that was named is there. */
static bool check_clouds(const struct sources *s, const char *folder)
{
    for (const char *at = s->clouds; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const char *cloud = arena_copy(s->list->mem, at, strcspn(at, ","));
        if (!listed(s->found, cloud))
            return fail(s->err, ERROR_INPUT, "%s: there is no catalog of '%.63s'; there are %s",
                        folder, cloud, s->found);
    }
    return true;
}

static bool read_sky(struct sources *s, const char *clouds)
{
    const char *home = getenv("HOME");
    if (!home || !*home)
        return fail(s->err, ERROR_INPUT,
                    "--prices sky: HOME is not set, give the folder of the catalogs instead");
    const char *folder = path_of(s, home, ".sky/catalogs");
    s->clouds = *clouds ? clouds : NULL;
    if (!folder_exists(folder))
        return fail(s->err, ERROR_INPUT,
                    "%s: SkyPilot's catalogs are not there; `sky show-gpus` fetches them, or give "
                    "the folder they are in",
                    folder);
    return read_folder(s, folder) && check_clouds(s, folder);
}

bool prices_add(struct price_list *l, const char *source, const struct price_reading *how,
                struct error *err)
{
    struct sources s = {.list = l, .how = how, .err = err, .found = ""};
    if (l->tables == PRICE_TABLES)
        return fail(err, ERROR_INPUT, "more than %d sources of prices are given", PRICE_TABLES);
    if (strcmp(source, "built-in") == 0) {
        prices_add_built_in(l);
        return true;
    }
    l->name[l->tables++] = arena_string(l->mem, source);
    if (strcmp(source, "sky") == 0 || strncmp(source, "sky:", 4) == 0)
        return read_sky(&s, source + (source[3] ? 4 : 3));
    return folder_exists(source) ? read_folder(&s, source) : read_file(&s, source);
}
