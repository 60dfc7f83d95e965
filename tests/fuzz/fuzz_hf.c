/* Launch lines of transformers' world, one word per line, and files of settings where they begin with a brace or name a
 * key. What is taken is a strategy that rules and costs can look at. */
#include "base/arena.h"
#include "import/hf/hf_flags_in.h"
#include "import/hf/hf_job.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No files: what a fuzzer would name is not ours to read. */
static bool names_file(const char *line)
{
    static const char *const FLAGS[] = {"deepspeed", "config", "fsdp_config"};
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (strstr(line, FLAGS[i]) && !strchr(line, '{'))
            return true;
    return false;
}

static int split(char *text, const char **word, int most)
{
    int n = 0;
    for (char *line = text, *end; line && n < most; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = 0;
        if (names_file(line))
            return 0;
        word[n++] = line;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct arena mem;
    enum { MOST = 512 };
    const char *word[MOST];
    struct flags_result r;
    struct model small;
    struct error err = {0};
    char *text = arena_copy(&mem, (const char *)data, size);
    if (!model_from_pairs(&small, "layers=8,hidden=64,ffn=128,heads=4,vocab=256", &err))
        abort();
    bool file = size > 0 && !strstr(text, "--") && !names_file(text);
    int n = file ? 0 : split(text, word, MOST);
    bool taken = file ? hf_import_text(text, "file", &r, &mem, &err)
                      : n > 0 && hf_import(n, word, &r, &mem, &err);
    if (taken && hf_finish(&r, r.has_model ? NULL : &small, 8, &err) &&
        (r.strategy.dp != 8 || r.strategy.micro_batch < 1 || !strategy_on_hf(&r.strategy)))
        abort();
    arena_clear(&mem);
    return 0;
}
