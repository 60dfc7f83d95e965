#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

bool fail(struct error *err, enum error_kind kind, const char *format, ...)
{
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->kind = kind;
    err->place[0] = err->missing[0] = 0;
    err->in_file = false;
    return false;
}

bool error_missing(struct error *err, const char *what)
{
    if (err)
        snprintf(err->missing, sizeof err->missing, "%s", what);
    return false;
}

bool error_in_file(struct error *err)
{
    if (err)
        err->in_file = true;
    return false;
}
