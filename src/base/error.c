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
    err->place[0] = 0;
    return false;
}
