/* Files that a script sources. Only those in the folder of the script or below it are opened, links followed before
 * that is judged; anything else is as unknown as before. The script's own folder is recognized where its name is
 * written as scripts write it: dirname of $0 or of BASH_SOURCE, or pwd; the name may go through variables, realpath, and
 * cd and pwd. */
#include "import/shell/script_parts.h"

#include "base/file.h"

#include <string.h>

enum { SOURCES_DEEP = 8 }; /* files in files */

/* What stands for the folder of the script, or for the folder it is started in. */
static bool is_own_folder(const char *command)
{
    bool up = strstr(command, "/..") != NULL;
    bool names = strstr(command, "dirname") && (strstr(command, "$0") || strstr(command, "${0}") ||
                                                strstr(command, "BASH_SOURCE"));
    return !up &&
           (names || strcmp(command, "$(pwd)") == 0 || strcmp(command, "`pwd`") == 0 ||
            strcmp(command, "${0%/*}") == 0 || strcmp(command, "${BASH_SOURCE[0]%/*}") == 0 ||
            strcmp(command, "$PWD") == 0 || strcmp(command, "${PWD}") == 0);
}

static const struct launch_unknown *unknown_of(const struct script *s, const char *word)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    return *word == LAUNCH_MARK ? launch_unknown_of(&l, word) : NULL;
}

/* What stands behind the unknown part that a word begins with. */
static const char *behind_mark(const char *word)
{
    word += strcspn(word, "\002");
    return word + (*word == LAUNCH_MARK_END);
}

bool script_is_own_file(const struct script *s, const char *word)
{
    const struct launch_unknown *u = unknown_of(s, word);
    if (!u)
        return strcmp(word, s->path) == 0;
    return !*behind_mark(word) && !strchr(u->text, '%') && *u->text == '$' &&
           strncmp(u->text + 1 + (u->text[1] == '{'), "BASH_SOURCE", 11) == 0;
}

const char *script_own_folder(struct script *s)
{
    return script_unknown(s, "$(dirname $0)", "and no command is run", NULL, s->line);
}

bool script_is_in_own_folder(const struct script *s, const char *word)
{
    const struct launch_unknown *u = unknown_of(s, word);
    const char *rest = u ? behind_mark(word) : "";
    return u && is_own_folder(u->text) && (!*rest || *rest == '/') && launch_is_known(rest) &&
           !strstr(rest, "..");
}

/* The name as it is seen from the folder of the first script; NULL = it may lie elsewhere. */
static const char *name_inside(const struct script *s, const char *name)
{
    const char *below = "";
    const struct launch_unknown *u = unknown_of(s, name);
    if (*name == LAUNCH_MARK) {
        name = behind_mark(name);
        if (!u || !is_own_folder(u->text) || *name != '/')
            return NULL;
        below = strstr(u->text, "wd") && !strstr(u->text, "dirname") ? "" : s->below;
        name++;
    }
    if (!*name || *name == '/' || *name == '~' || !launch_is_known(name))
        return NULL;
    return below && *below ? arena_format(s->mem, "%s%s", below, name) : name;
}

static void run_file(struct script *s, const struct node *n)
{
    int line = s->line, outer = s->outer_line;
    s->outer_line = outer ? outer : line;
    s->sources++;
    script_run(s, n);
    s->sources--;
    s->outer_line = outer;
    s->line = line;
    if (s->leaves == LEAVE_FUNCTION) /* of the file itself: functions end their own */
        s->leaves = LEAVE_NOT;
}

const char *script_file(struct script *s, const char *name)
{
    const char *written = script_written(s, name);
    const char *slash = strrchr(s->path, '/'), *inside = s->follows ? name_inside(s, name) : NULL;
    const char *folder = slash ? arena_copy(s->mem, s->path, (size_t)(slash - s->path) + 1) : "./";
    const char *path = inside ? arena_format(s->mem, "%s%s", folder, inside) : NULL;
    struct text text;
    struct error ignored;
    if (written)
        return written;
    if (!path || ++s->files > SCRIPT_FILES || !file_lies_in(folder, path) ||
        !file_read(path, s->mem, &text, &ignored) || !script_spend(s, 1, text.length) ||
        !script_is_text(path, text.data, text.length, &ignored) ||
        memchr(text.data, 0, text.length))
        return NULL;
    return text.data;
}

/* Commands of a file; false where it is no script. */
static bool commands_of(struct script *s, const char *name, const struct node **out)
{
    const char *text = s->sources < SOURCES_DEEP ? script_file(s, name) : NULL;
    struct error ignored;
    bool ok;
    if (!text || !script_spend(s, 1, strlen(text)))
        return false;
    struct script_lexer lx = {.path = name,
                              .at = text,
                              .end = text + strlen(text),
                              .line = 1,
                              .mem = s->mem,
                              .err = &ignored};
    *out = script_parse(&lx, &ok);
    return ok;
}

/* The folder of a file, seen from the first script's. */
static const char *folder_of(struct script *s, const char *name)
{
    const char *inside = name_inside(s, name), *slash = inside ? strrchr(inside, '/') : NULL;
    return slash ? arena_copy(s->mem, inside, (size_t)(slash - inside) + 1) : "";
}

static void note_called(struct script *s, const char *name)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    int line = s->outer_line ? s->outer_line : s->line;
    if (!s->called_file)
        s->called_file = arena_format(
            s->mem, "line %d runs %s, which is read: its words are counted to that line", line,
            launch_text(&l, name, s->mem));
}

bool script_call_file(struct script *s, const struct fields *f, int i)
{
    const struct node *n;
    const char *name = f->word[i].text, *below = s->below;
    int mark = s->undos, called = s->called, functions = s->functions, line = s->line;
    enum leave perhaps = s->perhaps;
    if (!commands_of(s, name, &n))
        return false;
    note_called(s, name);
    s->called = called ? called : s->outer_line ? s->outer_line : s->line;
    s->below = folder_of(s, name);
    s->functions = 0;
    s->perhaps = LEAVE_NOT;
    script_hide_variables(s);
    script_set_arguments(s, f, i + 1);
    run_file(s, n);
    script_leave_shell(s, mark);
    s->called = called;
    s->below = below;
    s->functions = functions;
    s->leaves = LEAVE_NOT;
    s->perhaps = perhaps;
    s->line = line;
    return true;
}

bool script_source(struct script *s, const char *name)
{
    const struct node *n;
    if (!commands_of(s, name, &n))
        return false;
    run_file(s, n);
    return true;
}
