/* Files that a script sources. Only those in the folder of the script or below it are opened, links followed before
 * that is judged; anything else is as unknown as before. The script's own folder is recognized where its name is
 * written as scripts write it: dirname of $0 or of BASH_SOURCE, or pwd. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "import/shell/script_parts.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES_DEEP = 8 }; /* files in files */

/* What stands for the folder of the script, or for the folder it is started in. */
static bool is_own_folder(const char *command)
{
    bool up = strstr(command, "/..") != NULL;
    bool names = strstr(command, "dirname") && (strstr(command, "$0") || strstr(command, "${0}") ||
                                                strstr(command, "BASH_SOURCE"));
    return !up && (names || strcmp(command, "$(pwd)") == 0 || strcmp(command, "`pwd`") == 0 ||
                   strcmp(command, "$PWD") == 0 || strcmp(command, "${PWD}") == 0);
}

/* The name as it is seen from the folder of the script; NULL = it may lie elsewhere. */
static const char *name_inside(const struct script *s, const char *name)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    const struct launch_unknown *u = launch_unknown_of(&l, name);
    if (*name == LAUNCH_MARK) {
        name += strcspn(name, "\002");
        name += *name == LAUNCH_MARK_END;
        if (!u || !is_own_folder(u->text) || *name != '/')
            return NULL;
        name++;
    }
    return *name && *name != '/' && *name != '~' && launch_is_known(name) ? name : NULL;
}

/* Links in between may lead out. */
static bool lies_inside(const char *folder, const char *path)
{
    char *outer = realpath(folder, NULL), *inner = realpath(path, NULL);
    size_t n = outer ? strlen(outer) : 0;
    bool inside = outer && inner && strncmp(inner, outer, n) == 0 &&
                  (inner[n] == '/' || strcmp(outer, "/") == 0);
    free(outer);
    free(inner);
    return inside;
}

static void run_file(struct script *s, const struct node *n)
{
    int line = s->line;
    s->sources++;
    script_run(s, n);
    s->sources--;
    s->line = line;
    if (s->leaves == LEAVE_FUNCTION) /* of the file itself: functions end their own */
        s->leaves = LEAVE_NOT;
}

bool script_source(struct script *s, const char *name)
{
    const char *slash = strrchr(s->path, '/'), *inside = s->follows ? name_inside(s, name) : NULL;
    const char *folder = slash ? arena_copy(s->mem, s->path, (size_t)(slash - s->path) + 1) : "./";
    const char *path = inside ? arena_format(s->mem, "%s%s", folder, inside) : NULL;
    struct text text;
    struct error ignored;
    bool ok;
    if (!path || s->sources == SOURCES_DEEP || ++s->files > SCRIPT_FILES ||
        !lies_inside(folder, path) || !file_read(path, s->mem, &text, &ignored) ||
        !script_spend(s, 1, text.length) || !script_is_text(path, text.data, text.length, &ignored))
        return false;
    struct script_lexer lx = {.path = path,
                              .at = text.data,
                              .end = text.data + text.length,
                              .line = 1,
                              .mem = s->mem,
                              .err = &ignored};
    const struct node *n = script_parse(&lx, &ok);
    if (!ok)
        return false;
    run_file(s, n);
    return true;
}
