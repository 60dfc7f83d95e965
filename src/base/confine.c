/* Who answers strangers reads what they may see and writes nothing. One place judges, below all
 * readers, so that no way to name a file (an option, a file that names another, a changed query) is
 * forgotten. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/confine.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const *folders; /* NULL = anything may be read */

void files_confine(const char *const *list)
{
    folders = list;
}

bool is_confined(void)
{
    return folders != NULL;
}

static bool lies_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    bool root = strcmp(folder, "/") == 0;
    return root || (strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]));
}

/* The canonical name where it may be seen, else NULL; the caller frees it. */
static char *seen_name(const char *path)
{
    char *real = realpath(path, NULL);
    for (const char *const *f = folders; real && *f; f++)
        if (lies_below(real, *f))
            return real;
    free(real);
    return NULL;
}

bool path_permitted(const char *path)
{
    char *real = is_confined() ? seen_name(path) : NULL;
    bool permitted = !is_confined() || real;
    free(real);
    return permitted;
}

static bool is_plain(int handle)
{
    struct stat st;
    return fstat(handle, &st) == 0 && S_ISREG(st.st_mode);
}

/* Nonblocking: a pipe under an allowed name would otherwise be waited for. */
int confined_open(const char *path, struct error *err)
{
    char *real = seen_name(path);
    int handle = real ? open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    free(real);
    if (handle >= 0 && is_plain(handle))
        return handle;
    if (handle >= 0)
        close(handle);
    fail(err, ERROR_INPUT, "%s: cannot be read: it is no plain file below an allowed folder", path);
    return -1;
}

bool writing_permitted(const char *path, struct error *err)
{
    return !is_confined() ||
           fail(err, ERROR_INPUT, "%s: cannot be written: nothing is written here", path);
}
