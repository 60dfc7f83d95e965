/* The nearest of some names by edit distance, for words that were mistyped. O(length^2) a name. */
#include "cli.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 63 };

/* Insertions, deletions and replacements from a to b; long words are far from everything. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            size_t shorter = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[m];
}

const char *nearest(const char *word, const char *(*next)(const void *context, int i),
                    const void *context)
{
    size_t limit = strlen(word) / 3 < 2 ? 2 : strlen(word) / 3, best = SIZE_MAX;
    const char *found = NULL, *name;
    for (int i = 0; (name = next(context, i)); i++) {
        size_t d = distance(word, name);
        if (d < best) {
            best = d;
            found = name;
        }
    }
    return best <= limit ? found : NULL;
}
