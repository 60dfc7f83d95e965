/* Whole files, read with a size limit, and written whole or not at all. */
#pragma once

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

/* Hands a file of any size on, piece by piece, until `take` returns false. */
bool file_stream(const char *path, bool (*take)(void *context, const char *data, size_t length),
                 void *context, struct error *);

/* For the whole process: only plain files below these folders are read (canonical names, NULL ends;
 * links are followed before that is judged), any other is as if it were not there, and nothing is
 * written. The list must stay; NULL takes it back (confine.c). */
void files_confine(const char *const *folders);

bool file_exists(const char *path);
/* Whether two names lead to one file, also to one that is not there yet. */
bool file_same(const char *path, const char *other);
/* Whether it is a plain file in the folder or below it; links are followed before that is judged. */
bool file_lies_in(const char *folder, const char *path);
/* Whether file_write() may begin: the folder is there and takes files. */
bool file_writable(const char *path, struct error *);

/* What is there and no plain file (a folder, a device) is left alone: an error, here and below. */
bool file_write(const char *path, const void *data, size_t size, struct error *);
/* Several files that belong together: each is written beside its place (path.new), and when all
 * are there, all are moved. A move can still fail half way, where the disk fails: who reads them
 * must notice that they do not belong together. */
bool file_write_beside(const char *path, const void *data, size_t size, struct error *);
bool files_replace(const char *const *path, size_t count, struct error *);
void files_forget(const char *const *path, size_t count);
bool folder_exists(const char *path);
/* Names in a folder but for hidden ones, sorted; NULL ends them. */
bool folder_names(const char *path, struct arena *, const char *const **out, struct error *);
bool folder_make(const char *path, struct error *); /* fine when it is there already */
