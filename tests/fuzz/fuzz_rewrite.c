/* A launch script that is edited: whatever it says, nothing is written past it, and its old lines are
 * those that the diff takes away or keeps. */
#include "base/arena.h"
#include "base/str.h"
#include "export/rewrite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Old lines of the text that the diff shows are in the text. */
static void check_diff(const struct rewrite *r, const char *diff)
{
    const char *at = strstr(diff, "\n@@");
    for (at = at ? at + 1 : NULL; at && *at; at++) {
        size_t n = strcspn(at, "\n");
        if (*at == '-' || *at == ' ') {
            char *line = malloc(n + 1);
            memcpy(line, at + 1, n);
            line[n ? n - 1 : 0] = 0;
            if (!strstr(r->text, line))
                abort();
            free(line);
        }
        at += n;
        if (!*at)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const eight[] = {"8"}, *const two[] = {"2"}, *const layout[] = {"Et|t*3L"};
    static const struct flag_edit edits[] = {
        {EDIT_SET, "--tensor-model-parallel-size", 1, 1, eight, two},
        {EDIT_REMOVE, "--sequence-parallel", 0, 0, NULL, NULL},
        {EDIT_REMOVE, "--recompute-num-layers", 1, 0, eight, NULL},
        {EDIT_ADD, "--pipeline-model-parallel-layout", 0, 1, NULL, layout},
    };
    struct arena mem;
    struct error err = {0};
    arena_init(&mem);
    struct rewrite *r = arena_alloc(&mem, sizeof *r);
    const char *text = arena_copy(&mem, (const char *)data, size);
    size_t count = size % 5 < 4 ? size % 5 + 1 : 1;
    rewrite_init(r, text, strlen(text), &mem);
    if (rewrite_flags(r, edits, count > 4 ? 4 : count, size % 2, &err) &&
        rewrite_environment(r, size % 3 ? "NAME=1" : "NAME", &err) && rewrite_sort(r, &err)) {
        struct str out = {0}, diff = {0};
        rewrite_apply(r, &out);
        rewrite_diff(r, "a", "b", &diff);
        check_diff(r, str_text(&diff));
        str_release(&out);
        str_release(&diff);
    }
    arena_release(&mem);
    return 0;
}
