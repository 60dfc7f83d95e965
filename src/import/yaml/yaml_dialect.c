/* Finds the row of yaml_dialects.def that a file is about. */
#include "import/yaml/yaml_parts.h"

#include "base/str.h"

#include <string.h>

static const struct yaml_dialect DIALECTS[] = {
#define DIALECT(name, marks, sections, strange, source, nodes, each, model, program, refused)      \
    {name, marks, sections, strange, source, nodes, each, model, program, refused},
#include "import/yaml/yaml_dialects.def"
#undef DIALECT
};

static bool stands(const struct yaml_reading *r, char *mark)
{
    char *sign = strchr(mark, '=');
    if (sign)
        *sign = 0;
    size_t n = strlen(mark);
    bool map = n > 0 && mark[n - 1] == '/';
    mark[n - map] = 0;
    const struct yaml *node = reading_find(r, mark);
    if (!sign)
        return node && (!map || node->kind == YAML_MAP);
    return node && node->kind == YAML_SCALAR && strcmp(node->text, sign + 1) == 0;
}

const struct yaml_dialect *dialect_of(const struct yaml_reading *r)
{
    char mark[64];
    for (size_t i = 0; i < sizeof DIALECTS / sizeof *DIALECTS; i++) {
        bool all = true;
        for (const char *at = DIALECTS[i].marks; all && next_word(&at, mark, sizeof mark);)
            all = stands(r, mark);
        if (all)
            return &DIALECTS[i];
    }
    return NULL;
}
