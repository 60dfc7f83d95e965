/* Command-line words of a plan, in the order in which they are added. */
#include "export/writer.h"

#include "base/arena.h"
#include "base/str.h"

#include <assert.h>

void writer_word(struct writer *w, const char *word)
{
    assert(w->count < WRITER_MAX_WORDS);
    w->word[w->count++] = word;
}

void writer_number(struct writer *w, const char *flag, int value)
{
    writer_word(w, flag);
    writer_word(w, arena_format(w->mem, "%d", value));
}

void writer_pair(struct writer *w, const char *flag, const char *value)
{
    writer_word(w, flag);
    writer_word(w, value);
}

void writer_text(struct writer *w, const char *flag, struct str *value)
{
    writer_pair(w, flag, str_keep(value, w->mem));
}

bool writer_has(struct writer *w, const char *flag, int since)
{
    if (w->release >= since)
        return true;
    if (!w->failed)
        fail(w->err, ERROR_INPUT,
             "the plan needs %s, which Megatron core has since 0.%d, not in 0.%d", flag, since,
             w->release);
    w->failed = true;
    return false;
}
