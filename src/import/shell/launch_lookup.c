/* Flags of a launch, looked up by their names. */
#include "import/shell/launch_translation.h"

#include "base/str.h"

#include <string.h>

const char *launch_written(const struct launch *l, const char *flag)
{
    const char *value = NULL;
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text; /* most words end here: files may have very many */
        if (w[0] != flag[0] || w[1] != flag[1] || w[2] != flag[2] || !launch_names_flag(w, flag))
            continue;
        const char *sign = strchr(w, '=');
        if (sign)
            value = sign + 1;
        else if (i + 1 < l->count)
            value = l->word[i + 1].text;
    }
    return value;
}

const char *launch_value(const struct launch *l, const char *flag)
{
    const char *value = launch_written(l, flag);
    return value && launch_is_known(value) ? value : NULL;
}

bool launch_names_flag(const char *word, const char *flag)
{
    for (; *flag; word++, flag++)
        if (*word != *flag && !(*word == '_' && *flag == '-'))
            return false;
    return !*word || *word == '=';
}

bool launch_mentions(const struct launch *l, const char *flag)
{
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        if (w[0] == '-' && w[1] == '-' && w[2] == flag[2] && launch_names_flag(w, flag))
            return true;
    }
    return false;
}

bool launch_overrides(const struct launch *l, const char *name)
{
    size_t k = strlen(name);
    for (int i = 0; i < l->count; i++) {
        const char *w = l->word[i].text;
        size_t n = strcspn(w, "=");
        if (w[n] && n > k && w[n - k - 1] == '.' && strncmp(w + n - k, name, k) == 0)
            return true;
    }
    return false;
}

int64_t launch_number(const struct launch *l, const char *flag, int64_t missing)
{
    const char *text = launch_value(l, flag);
    int64_t n;
    return text && parse_int(text, &n) && n >= 0 && n <= 1 << 20 ? n : text ? -1 : missing;
}

int launch_drop(struct launch_word *word, bool *implied, int count, const char *flag)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool same = launch_names_flag(word[i].text, flag);
        if (same && !strchr(word[i].text, '='))
            i++;
        else if (!same) {
            if (implied)
                implied[kept] = implied[i];
            word[kept++] = word[i];
        }
    }
    return kept;
}

bool launch_implies(const struct launch *l, const char *flag)
{
    for (int i = 0; l->implied && i < l->count; i++)
        if (l->implied[i] && strcmp(l->word[i].text, flag) == 0)
            return true;
    return false;
}

bool launch_generates(const struct launch *l)
{
    return (launch_mentions(l, "--inference-dynamic-batching") ||
            launch_mentions(l, "--inference-rng-tracker")) &&
           !launch_mentions(l, "--perform-rl-step") && !launch_mentions(l, "--train-iters") &&
           !launch_mentions(l, "--train-samples") && !launch_mentions(l, "--lr");
}
