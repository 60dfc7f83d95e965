/* Messages. They quote what users and files say: what would steer a terminal, control characters and
 * bytes that are no UTF-8, is written as \xNN. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of the character that begins here; 0 where none does. */
static int character_bytes(const unsigned char *c)
{
    int n = *c < 0x80 ? 1 : *c >= 0xC2 && *c < 0xE0 ? 2 : *c >= 0xE0 && *c < 0xF0 ? 3 : 4;
    if (*c >= 0xF5 || (*c >= 0x80 && *c < 0xC2))
        return 0;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* Messages have lines and tabs of their own. */
static bool steers(const unsigned char *c)
{
    return (*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7F || (*c == 0xC2 && c[1] < 0xA0);
}

static void put_visible(const char *text, FILE *f)
{
    const unsigned char *c = (const unsigned char *)text;
    while (*c) {
        int n = character_bytes(c);
        bool plain = n > 0 && !steers(c);
        for (int end = n > 0 ? n : 1; end > 0; end--, c++)
            fprintf(f, plain ? "%c" : "\\x%02x", *c);
    }
}

void complain(const char *format, ...)
{
    char room[4096]; /* enough where there is no more memory */
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(room, sizeof room, format, args);
    char *text = length >= (int)sizeof room ? malloc((size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    fputs("astra: ", stderr);
    put_visible(text ? text : room, stderr);
    fputc('\n', stderr);
    free(text);
}
