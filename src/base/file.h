/* Whole files, read with a size limit and written all or nothing. */
#ifndef ASTRA_FILE_H
#define ASTRA_FILE_H

#include "base/error.h"

#include <stddef.h>

struct arena;

/* The largest text input Astra takes; real ones are kilobytes. */
enum { FILE_LIMIT = 16 * 1024 * 1024 };

struct text {
    const char *data; /* ends in 0, which `length` does not count */
    size_t length;
};

/* "-" is standard input. Directories, unreadable and oversized files are errors naming the path. */
bool file_read(const char *path, struct arena *, struct text *out, struct error *);

/* Writes to a temporary file beside `path` and renames it: either the old file or the whole new
 * one. */
bool file_write(const char *path, const char *data, size_t length, struct error *);

bool file_exists(const char *path);

#endif
