/* Learns all models from tables of tools/profile and, with --sources, from measurements of others,
 * as the ones in data/efficiency were: doc/operators.md. A developer's tool; `make fit` runs it.
 *
 *     build/fit PROFILE.csv ... --into FOLDER [--sources FOLDER] [--plots FOLDER] [--threads N] */
#include "base/parallel.h"
#include "base/str.h"
#include "fit/fit_all.h"

#include <stdio.h>
#include <string.h>

enum { OK = 0, BAD_USAGE = 2 };

static int complain(const char *text, const char *what)
{
    fprintf(stderr, "fit: %s%s\n", text, what);
    return BAD_USAGE;
}

/* The value of `--name` into `out`, and past it. */
static bool takes(char ***word, const char *name, const char **out)
{
    if (strcmp(**word, name) != 0 || !(*word)[1])
        return false;
    *out = *++*word;
    return true;
}

int main(int count, char **words)
{
    struct fit_all_query q = {.profile = (const char *const *)words};
    const char *threads = NULL;
    double number = 0;
    (void)count;
    for (char **word = words + 1; *word; word++) { /* tables move to the front */
        if (takes(&word, "--into", &q.output) || takes(&word, "--sources", &q.sources) ||
            takes(&word, "--plots", &q.plots) || takes(&word, "--threads", &threads))
            continue;
        if (**word == '-')
            return complain("not an option, or without its value: ", *word);
        words[q.profiles++] = *word;
    }
    if (q.profiles == 0 || !q.output)
        return complain("fit PROFILE.csv ... --into FOLDER", "");
    if (threads && !(parse_real(threads, &number) && number >= 1 && number <= 1024))
        return complain("--threads takes 1 to 1024, not ", threads);
    q.threads = threads ? (int)number : parallel_cores();
    struct error err = {0};
    struct str report;
    str_init(&report);
    bool ok = fit_all(&q, &report, &err);
    if (ok)
        fputs(str_text(&report), stdout);
    str_release(&report);
    return ok ? OK : complain(err.text, "");
}
