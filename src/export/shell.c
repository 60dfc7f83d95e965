/* Words for bash: quoted so that they mean themselves, and as arrays by section. */
#include "export/shell.h"

#include "base/str.h"
#include "export/job.h"

#include <string.h>

void add_shell_word(struct str *out, const char *word)
{
    size_t plain = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_=.,:/@%+");
    if (*word && !word[plain]) {
        str_add(out, word);
        return;
    }
    str_add(out, "'");
    for (; *word; word++)
        str_add_bytes(out, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    str_add(out, "'");
}

static void add_flag(struct str *out, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        str_add(out, i ? " " : "");
        add_shell_word(out, words[i]);
    }
}

static bool has_section(const char *const *words, size_t count, enum section section)
{
    for (size_t i = 0; i < count; i = flag_end(words, count, i))
        if (section_of(words[i]) == section)
            return true;
    return false;
}

static void add_array(struct str *out, const char *const *words, size_t count, enum section section,
                      const char *indent)
{
    str_addf(out, "%s%s=(\n", indent, section_name(section));
    for (size_t i = 0, end; i < count; i = end) {
        end = flag_end(words, count, i);
        if (section_of(words[i]) != section)
            continue;
        str_addf(out, "%s    ", indent);
        add_flag(out, words + i, end - i);
        str_add(out, "\n");
    }
    str_addf(out, "%s)\n", indent);
}

void add_shell_arrays(struct str *out, const char *const *words, size_t count, const char *indent)
{
    for (int s = 0; s < SECTION_COUNT; s++)
        if (has_section(words, count, (enum section)s))
            add_array(out, words, count, (enum section)s, indent);
}

void add_shell_expansions(struct str *out, const char *const *words, size_t count, const char *fold)
{
    enum { A_LINE = 4 };
    int n = 0;
    for (int s = 0; s < SECTION_COUNT; s++)
        if (has_section(words, count, (enum section)s)) {
            str_add(out, n == 0 ? "" : n % A_LINE == 0 ? fold : " ");
            str_addf(out, "\"${%s[@]}\"", section_name((enum section)s));
            n++;
        }
}

void add_comment_text(struct str *out, const char *text)
{
    for (; *text; text++) {
        bool safe = (unsigned char)*text >= ' ' && *text != 0x7f;
        str_add_bytes(out, safe ? text : "?", 1);
    }
}

void add_indented(struct str *out, const char *text, const char *indent)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > 0)
            str_add(out, indent);
        str_add_bytes(out, text, length);
        str_add(out, "\n");
        text += length + (text[length] == '\n');
    }
}
