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

/* "131072" or "150k"; 0 = no vocabulary is so large. */
static int size_at(const char *p)
{
    enum { LEAST = 16000, MOST = 400000 };
    int n = 0, digits = 0;
    for (; isdigit((unsigned char)*p) && digits < 7; digits++)
        n = 10 * n + *p++ - '0';
    bool thousands = digits < 4 && (*p == 'k' || *p == 'K');
    n = thousands ? 1000 * n : n;
    return isalnum((unsigned char)p[thousands]) || n < LEAST || n > MOST ? 0 : n;
}

int tokenizer_size(const char *text)
{
    static const char *const MARKS[] = {"vocab", "tokenizer", "token", "spm", "bpe"};
    const char *from = end_of_path(text);
    bool marked = false;
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
        marked |= strstr(from, MARKS[i]) != NULL;
    for (const char *p = from; marked && *p; p++) {
        bool begins = isdigit((unsigned char)*p) && (p == from || !isalnum((unsigned char)p[-1]));
        int n = begins ? size_at(p) : 0;
        if (n)
            return n;
    }
    return 0;
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
