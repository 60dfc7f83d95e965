#include "import/megatron/tokenizers.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *part;
    int entries;
} TOKENIZERS[] = {
#define TOKENIZER(part, entries) {part, entries},
#include "import/megatron/tokenizers.def"
#undef TOKENIZER
};

/* Whether a part stands at `p`, whatever signs are between its letters. Short ones are words of their own: "opt" is not
 * in "options". */
static bool stands_at(const char *text, const char *p, const char *part)
{
    bool brief = strlen(part) < 4;
    if (brief && p > text && isalnum((unsigned char)p[-1]))
        return false;
    for (; *part; p++) {
        if (tolower((unsigned char)*p) == *part)
            part++;
        else if (!*p || !strchr("-_. ", *p))
            return false;
    }
    return !(brief && isalpha((unsigned char)*p)) && !isdigit((unsigned char)*p);
}

/* Where the last two parts of a path begin. */
static const char *end_of_path(const char *text)
{
    const char *from = text + strlen(text);
    for (int slashes = 0; from > text; from--)
        if (from[-1] == '/' && from[0] && ++slashes == 2)
            break;
    return from;
}

int tokenizer_entries(const char *text, const char **name)
{
    const char *from = end_of_path(text);
    for (size_t i = 0; i < sizeof TOKENIZERS / sizeof *TOKENIZERS; i++)
        for (const char *p = from; *p; p++)
            if (stands_at(text, p, TOKENIZERS[i].part)) {
                *name = TOKENIZERS[i].part;
                return TOKENIZERS[i].entries;
            }
    return 0;
}
