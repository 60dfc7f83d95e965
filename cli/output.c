/* Where answers go. A file is written beside its name and renamed when it is whole, so that a
 * reader finds the old answer or the new one; what is no plain file (a device, a pipe) is written
 * straight. A reader of standard output that goes away early is no trouble worth a message. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool say_unwritten(const char *what)
{
    if (errno != EPIPE)
        complain("%s: cannot be written: %s", what, strerror(errno));
    return false;
}

static bool put(FILE *f, const char *text)
{
    size_t length = strlen(text);
    return fwrite(text, 1, length, f) == length && fflush(f) == 0;
}

static bool write_straight(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && put(f, text);
    int why = errno;
    if (f && fclose(f) != 0 && ok) {
        ok = false;
        why = errno;
    }
    errno = why;
    return ok;
}

/* A new file with the permissions of the one it replaces. */
static FILE *create(const char *path, const struct stat *old)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor < 0)
        return NULL;
    FILE *f = fdopen(descriptor, "wb");
    if (!f)
        close(descriptor);
    else if (old && fchmod(descriptor, old->st_mode & 07777) != 0)
        errno = 0; /* a file of someone else's: ours has the usual permissions */
    return f;
}

static bool replace(const char *path, const struct stat *old, const char *text)
{
    size_t size = strlen(path) + 32;
    char *temporary = malloc(size);
    if (!temporary)
        return false;
    snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = create(temporary, old);
    bool ok = f && put(f, text) && fsync(fileno(f)) == 0;
    if (f && fclose(f) != 0)
        ok = false;
    ok = ok && rename(temporary, path) == 0;
    int why = errno;
    if (f && !ok)
        unlink(temporary);
    free(temporary);
    errno = why;
    return ok;
}

/* A link is followed: the file it leads to is replaced, not the link. */
static bool write_file(const char *path, const char *text)
{
    struct stat st;
    bool exists = stat(path, &st) == 0, ok;
    if (exists && !S_ISREG(st.st_mode)) {
        ok = write_straight(path, text);
    } else if (exists && access(path, W_OK) != 0) { /* a rename would not ask */
        ok = false;
    } else {
        char *real = exists ? realpath(path, NULL) : NULL;
        ok = replace(real ? real : path, exists ? &st : NULL, text);
        int why = errno;
        free(real);
        errno = why;
    }
    return ok || say_unwritten(path);
}

bool write_out(const char *path, const char *text)
{
    if (path)
        return write_file(path, text);
    return put(stdout, text) || say_unwritten("standard output");
}

void open_out(void)
{
    static char buffer[1 << 16]; /* more than any help */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

bool close_out(void)
{
    if (ferror(stdout)) { /* write_out has said it */
        fclose(stdout);
        return false;
    }
    return fclose(stdout) == 0 || say_unwritten("standard output");
}
