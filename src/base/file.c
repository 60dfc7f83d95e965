#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include "base/arena.h"
#include "base/confine.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_stream(FILE *f, const char *path, struct str *s, struct error *err)
{
    char chunk[16384];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        if (s->length + n > FILE_LIMIT)
            return fail(err, ERROR_INPUT, "%s: larger than %d MiB, which no input of Astra needs",
                        path, FILE_LIMIT >> 20);
        str_add_bytes(s, chunk, n);
    }
    if (ferror(f))
        return fail(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    return true;
}

/* Who is confined has other things coming in there. */
static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0 && !is_confined();
}

static FILE *open_input(const char *path, struct error *err)
{
    struct stat st;
    if (is_confined()) {
        int handle = confined_open(path, err);
        return handle < 0 ? NULL : fdopen(handle, "rb");
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        fail(err, ERROR_INPUT, "%s: is a folder, a file was expected", path);
        return NULL;
    }
    FILE *f = fopen(path, "rb");
    if (!f)
        fail(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
    return f;
}

bool file_read(const char *path, struct arena *mem, struct text *out, struct error *err)
{
    bool standard = is_standard(path);
    FILE *f = standard ? stdin : open_input(path, err);
    if (!f)
        return false;
    struct str s = {0};
    bool ok = read_stream(f, path, &s, err);
    if (ok) {
        out->length = s.length;
        out->data = arena_copy(mem, str_text(&s), s.length);
    }
    str_release(&s);
    if (!standard)
        fclose(f);
    return ok;
}

bool file_stream(const char *path, bool (*take)(void *context, const char *data, size_t length),
                 void *context, struct error *err)
{
    bool standard = is_standard(path);
    FILE *f = standard ? stdin : open_input(path, err);
    char chunk[65536];
    size_t n;
    if (!f)
        return false;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && take(context, chunk, n))
        continue;
    bool ok = !ferror(f) || fail(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!standard)
        fclose(f);
    return ok;
}

bool file_exists(const char *path)
{
    return path_permitted(path) && access(path, F_OK) == 0;
}

/* The folder of a file, with its last "/"; "./" where none is named. */
static void add_folder(struct str *s, const char *path)
{
    const char *end = strrchr(path, '/');
    if (end)
        str_add_bytes(s, path, (size_t)(end - path) + 1);
    else
        str_add(s, "./");
}

static bool folder_of(const char *path, struct stat *out)
{
    struct str folder = {0};
    add_folder(&folder, path);
    bool ok = stat(str_text(&folder), out) == 0;
    str_release(&folder);
    return ok;
}

static bool same_place(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool file_same(const char *path, const char *other)
{
    const char *a = strrchr(path, '/'), *b = strrchr(other, '/');
    struct stat one, two;
    if (strcmp(path, other) == 0)
        return true;
    if (stat(path, &one) == 0 && stat(other, &two) == 0)
        return same_place(&one, &two);
    return strcmp(a ? a + 1 : path, b ? b + 1 : other) == 0 && folder_of(path, &one) &&
           folder_of(other, &two) && same_place(&one, &two);
}

bool file_lies_in(const char *folder, const char *path)
{
    char *outer = realpath(folder, NULL), *inner = realpath(path, NULL);
    size_t n = outer ? strlen(outer) : 0;
    struct stat st;
    bool inside = outer && inner && strncmp(inner, outer, n) == 0 &&
                  (inner[n] == '/' || strcmp(outer, "/") == 0) && stat(inner, &st) == 0 &&
                  S_ISREG(st.st_mode); /* a pipe would wait for who fills it */
    free(outer);
    free(inner);
    return inside;
}

static bool is_replaceable(const char *path, struct error *err)
{
    struct stat st;
    if (!writing_permitted(path, err))
        return false;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode) ||
           fail(err, ERROR_SYSTEM, "%s: is no plain file, which alone can be replaced", path);
}

bool file_writable(const char *path, struct error *err)
{
    struct str folder = {0};
    add_folder(&folder, path);
    bool ok = is_replaceable(path, err);
    if (ok && access(str_text(&folder), W_OK | X_OK) != 0)
        ok = fail(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    str_release(&folder);
    return ok;
}

bool files_replace(const char *const *path, size_t count, struct error *err)
{
    struct str beside = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        str_clear(&beside);
        str_addf(&beside, "%s.new", path[i]);
        ok = rename(str_text(&beside), path[i]) == 0 ||
             fail(err, ERROR_SYSTEM, "%s: %s", path[i], strerror(errno));
    }
    str_release(&beside);
    return ok;
}

void files_forget(const char *const *path, size_t count)
{
    struct str beside = {0};
    for (size_t i = 0; i < count; i++) {
        str_clear(&beside);
        str_addf(&beside, "%s.new", path[i]);
        remove(str_text(&beside));
    }
    str_release(&beside);
}

bool file_write_beside(const char *path, const void *data, size_t size, struct error *err)
{
    struct str beside = {0};
    if (!is_replaceable(path, err))
        return false;
    str_addf(&beside, "%s.new", path);
    FILE *f = fopen(str_text(&beside), "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok) {
        fail(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
        remove(str_text(&beside));
    }
    str_release(&beside);
    return ok;
}

bool file_write(const char *path, const void *data, size_t size, struct error *err)
{
    if (!file_write_beside(path, data, size, err))
        return false;
    if (files_replace(&path, 1, err))
        return true;
    files_forget(&path, 1);
    return false;
}

bool folder_exists(const char *path)
{
    struct stat st;
    return path_permitted(path) && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool folder_names(const char *path, struct arena *mem, const char *const **out, struct error *err)
{
    const char **name = NULL;
    size_t count = 0, capacity = 0;
    DIR *folder = path_permitted(path) ? opendir(path) : NULL;
    if (!folder)
        return fail(err, ERROR_INPUT, "%s: %s", path,
                    is_confined() ? "is no folder that may be read" : strerror(errno));
    for (struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.')
            continue;
        if (count + 1 >= capacity)
            name = memory_grow(name, (capacity = 2 * capacity + 16) * sizeof *name);
        name[count++] = arena_string(mem, e->d_name);
    }
    closedir(folder);
    const char **sorted = arena_array(mem, count + 1, sizeof *sorted);
    if (count > 0)
        memcpy(sorted, name, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_name);
    free(name);
    *out = sorted;
    return true;
}

bool folder_make(const char *path, struct error *err)
{
    if (!writing_permitted(path, err))
        return false;
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    return fail(err, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
}
