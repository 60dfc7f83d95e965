/* What of a launch can be read as Megatron's flags. A file is not a command line: what is not understood in it is said
 * and left out, and a value that a flag does not take counts only where somebody asks for it. Flags that are left out
 * are named together, the harmless ones apart from those that may change something. */
#include "import/shell/launch.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/foreign_flags.h"
#include "import/megatron/param_flags.h"
#include "import/megatron/words.h"
#include "import/shell/launch_trained.h"

#include <string.h>

static const char *place(const struct launch *l, int line, struct arena *mem)
{
    return line ? arena_format(mem, "%s:%d", l->path, line) : l->path;
}

static const char *hint(const struct launch_unknown *u, const char *flag, struct arena *mem)
{
    if (u && u->name)
        return arena_format(mem, "--env %s=VALUE", u->name);
    return arena_format(mem, "-- %s VALUE", flag);
}

static void add_open(struct launch_flags *f, struct launch_open open, struct arena *mem)
{
    f->open = arena_room(mem, f->open, f->opens, &f->open_capacity, sizeof *f->open);
    f->open[f->opens++] = open;
}

/* A flag one of whose values is not known. */
static void open_unknown(struct launch *l, struct launch_flags *f, const char *name,
                         const char *value, int line, struct arena *mem)
{
    const struct launch_unknown *u = launch_unknown_of(l, value);
    add_open(
        f,
        (struct launch_open){.flag = name,
                             .cause = u ? u->name : NULL,
                             .what = u ? arena_format(mem, "%s: %s is %s, %s", place(l, line, mem),
                                                      name, launch_text(l, value, mem), u->why)
                                       : arena_format(mem, "%s: the value of %s is not known",
                                                      place(l, line, mem), name),
                             .give = hint(u, name, mem)},
        mem);
}

/* " (it may hold --freeze-LM)": flags of other programs with an effect that the text names. */
static const char *others_in(const char *text, struct arena *mem)
{
    enum { NAMED = 8 };
    struct str s = {0};
    int count = 0;
    for (const char *p = text; p && count < NAMED && (p = strstr(p, "--")); p += 2) {
        const char *flag = arena_copy(mem, p, strcspn(p, " \t\n=\"'\001"));
        const struct foreign_flag *row = foreign_next(flag, NULL, NULL);
        bool counts = row && (row->treatment == NOTES || row->treatment == REFUSES);
        if (counts && !(s.length && strstr(str_text(&s), flag)))
            str_addf(&s, "%s%s", count++ ? ", " : " (it may hold ", flag);
    }
    str_add(&s, count ? ")" : "");
    return str_keep(&s, mem);
}

/* A word that may stand for flags. Those that may stand there count as open: whether they have an effect is seen
 * later. */
static void open_stray(struct launch *l, struct launch_flags *f, const struct launch_word *w,
                       struct arena *mem)
{
    const struct launch_unknown *u = launch_unknown_of(l, w->text);
    launch_note(l,
                arena_format(mem, "line %d: left out: what is not known of %s%s, %s", w->line,
                             launch_text(l, w->text, mem), others_in(u ? u->may_hold : NULL, mem),
                             u ? u->why : "which is not known"));
    for (const char *p = u ? u->may_hold : NULL; p && (p = strstr(p, "--")); p += 2) {
        const char *flag = arena_copy(mem, p, strcspn(p, " \t\n=\"'\001"));
        if (words_most_values(flag) < 0)
            continue;
        add_open(f,
                 (struct launch_open){.flag = flag,
                                      .cause = u->name,
                                      .doubled = true,
                                      .what = arena_format(mem, "%s: %s may be in %s, %s",
                                                           place(l, w->line, mem), flag,
                                                           launch_text(l, w->text, mem), u->why),
                                      .give = u->name ? hint(u, flag, mem) : NULL},
                 mem);
    }
}

enum { SLIP_LETTERS = 2, BRIEF = 16 };

/* Of a short name one letter: --local-size is no slip of --vocab-size. */
static bool is_slip(const char *name, size_t length, const char *flag)
{
    size_t n = strlen(flag), most = n < BRIEF ? 1 : SLIP_LETTERS;
    return n <= length + most && length <= n + most && name_distance(name, flag) <= most;
}

/* A flag with an effect that is one or two letters away from the name: a slip is no flag of another program. */
static const char *slip(const struct launch_flags *f, const char *name)
{
    enum { LOOKED_AT = 64 };
    static const char *const OTHERS[] = {"--group-query-attention", "--recompute-activations",
                                         "--num-layers-per-virtual-pipeline-stage",
                                         "--use-megatron-fsdp"};
    size_t n = strlen(name);
    if (f->strangers > LOOKED_AT)
        return NULL;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (is_slip(name, n, OTHERS[i]))
            return OTHERS[i];
    for (int i = 0; i < PARAMS; i++)
        if (PARAM_FLAGS[i].kind != NONE && is_slip(name, n, PARAM_FLAGS[i].flag))
            return PARAM_FLAGS[i].flag;
    for (int i = 0; i < MODEL_FIELDS; i++)
        if (FIELD_FLAGS[i].kind != NONE && is_slip(name, n, FIELD_FLAGS[i].flag))
            return FIELD_FLAGS[i].flag;
    return NULL;
}

enum { STRANGERS_MOST = 256 }; /* of which the names are kept */

/* Reading what a name speaks of takes a while: a file with very many flags of its own has that done for the first. */
static void add_stranger(struct launch_flags *f, const char *flag, bool harmless, struct arena *mem)
{
    if (f->strangers == STRANGERS_MOST) {
        f->nameless++;
        return;
    }
    for (int i = 0; i < f->strangers; i++)
        if (strcmp(f->stranger[i].flag, flag) == 0)
            return;
    f->stranger =
        arena_room(mem, f->stranger, f->strangers, &f->stranger_capacity, sizeof *f->stranger);
    f->stranger[f->strangers++] =
        (struct launch_strange){flag, harmless ? NULL : foreign_may_change(flag)};
}

/* A flag of no table of Megatron's; false where no row is about it. */
static bool take_row(struct launch *l, struct launch_flags *f, const char *name, const char *value,
                     int line, struct arena *mem)
{
    bool found = false;
    for (const struct foreign_flag *row = NULL; (row = foreign_next(name, value, row));) {
        found |= row->treatment != MEANS;
        if (row->treatment == HARMLESS)
            add_stranger(f, name, true, mem);
        else if (row->treatment == NOTES)
            launch_note(l, arena_format(mem, "line %d: %s: %s", line, name, row->text));
        else if (row->treatment == REFUSES && !f->refused)
            f->refused = arena_format(mem, "%s: %s: %s", place(l, line, mem), name, row->text);
    }
    return found;
}

/* Of the words behind a flag of another program, those that may stand for flags of Megatron's. */
static void open_behind(struct launch *l, const struct launch_word *w, int count,
                        struct launch_flags *f, struct arena *mem)
{
    for (int i = 1; i < count; i++) {
        const struct launch_unknown *u = launch_unknown_of(l, w[i].text);
        if (u && (i > 1 || (u->may_hold && strstr(u->may_hold, "--"))))
            open_stray(l, f, &w[i], mem);
    }
}

/* The words behind a flag of another program are its values. */
static int take_foreign(struct launch *l, int i, const char *name, struct launch_flags *f,
                        struct arena *mem)
{
    const struct launch_word *w = &l->word[i];
    const char *sign = strchr(w->text, '=');
    int n = 1;
    while (i + n < l->count && !words_is_flag(w[n].text))
        n++;
    open_behind(l, w, n, f, mem);
    const char *value = sign ? sign + 1 : n > 1 ? w[1].text : NULL;
    if (take_row(l, f, name, value, w->line, mem))
        return n;
    const char *near = slip(f, name);
    if (near && !f->refused)
        f->refused = arena_format(mem, "%s: unknown flag %s (did you mean %s?)",
                                  place(l, w->line, mem), name, near);
    add_stranger(f, name, false, mem);
    return n;
}

static void keep(struct launch_flags *f, const struct launch_word *w, int count)
{
    for (int i = 0; i < count; i++) {
        f->word[f->count] = w[i].text;
        f->line[f->count++] = w[i].line;
    }
}

/* Why the values of a flag are not taken; NULL = they are. */
static const char *misfit(const char *name, const struct launch_word *w, int values,
                          struct arena *mem)
{
    const char *sign = strchr(w->text, '=');
    if (values + (sign != NULL) < words_least_values(name))
        return arena_format(mem, "%s needs a value", name);
    if (sign && words_most_values(name) == 0)
        return arena_format(mem, "%s is a switch and takes no value, got '%s'", name, sign + 1);
    for (int k = sign ? 0 : 1; k <= (sign ? 0 : values); k++) {
        const char *value = words_plain(k ? w[k].text : sign + 1, mem);
        if (!words_takes(words_today(name), value) && words_today(name) == name)
            return arena_format(mem, "%s is '%s', expected %s%s", name, value,
                                strchr(words_expected(name), ' ') &&
                                        strncmp(words_expected(name), "a ", 2) != 0
                                    ? "one of: "
                                    : "",
                                words_expected(name));
    }
    return NULL;
}

/* The flag at `i` with the values it takes; returns how many words that are. */
static int take_flag(struct launch *l, int i, struct launch_flags *f, struct arena *mem)
{
    const struct launch_word *w = &l->word[i];
    const char *name = launch_dashed(arena_copy(mem, w->text, strcspn(w->text, "=")), mem);
    int takes = words_most_values(name), n = 1, open = -1;
    if (!launch_is_known(name)) {
        open_stray(l, f, w, mem);
        return 1;
    }
    if (takes < 0)
        return take_foreign(l, i, name, f, mem);
    if (!launch_is_known(w->text))
        open = 0;
    int most = strchr(w->text, '=') ? 0 : takes;
    for (; i + n < l->count && n <= most && !words_is_flag(w[n].text); n++)
        if (open < 0 && !launch_is_known(w[n].text))
            open = n;
    const char *value = n > 1 ? w[1].text : strchr(w->text, '=') ? strchr(w->text, '=') + 1 : NULL;
    bool by_value = take_row(l, f, name, value, w->line, mem);
    const char *wrong = open < 0 && !by_value ? misfit(name, w, n - 1, mem) : NULL;
    if (open >= 0)
        open_unknown(l, f, name, open ? w[open].text : strchr(w->text, '=') + 1, w->line, mem);
    else if (wrong && flags_only_noted(name))
        launch_note(
            l, arena_format(mem, "line %d: %s: it is left out, and Megatron's default is planned",
                            w->line, wrong));
    else if (wrong)
        add_open(
            f,
            (struct launch_open){
                .flag = name, .what = arena_format(mem, "%s: %s", place(l, w->line, mem), wrong)},
            mem);
    else if (!by_value)
        keep(f, w, n);
    return n;
}

static void add_stray(struct launch_flags *f, const char *word, struct arena *mem)
{
    f->stray = arena_room(mem, f->stray, f->strays, &f->stray_capacity, sizeof *f->stray);
    f->stray[f->strays++] = word;
}

/* "--a, --b and 3 more" of the flags that may change the same. */
static const char *names_of(const struct launch_flags *f, const char *changes, struct arena *mem)
{
    enum { NAMED = 40 };
    struct str s = {0};
    int count = 0;
    for (int i = 0; i < f->strangers; i++)
        if (f->stranger[i].changes == changes && ++count <= NAMED)
            str_addf(&s, "%s%s", count > 1 ? ", " : "", f->stranger[i].flag);
    if (count > NAMED)
        str_addf(&s, " and %d more", count - NAMED);
    return str_keep(&s, mem);
}

static bool said_before(const struct launch_flags *f, int i)
{
    for (int k = 0; k < i; k++)
        if (f->stranger[k].changes == f->stranger[i].changes)
            return true;
    return false;
}

static void note_strangers(struct launch *l, const struct launch_flags *f, struct arena *mem)
{
    for (int i = 0; i < f->strangers; i++) {
        const char *changes = f->stranger[i].changes;
        if (said_before(f, i))
            continue;
        const char *names = names_of(f, changes, mem);
        if (changes == FOREIGN_PART) {
            launch_note(l, arena_format(mem,
                                        "%s stands beside the decoder and is left out: time and "
                                        "memory are too low (%s)",
                                        changes, names));
            continue;
        }
        launch_note(
            l, changes
                   ? arena_format(mem, "not known and left out, may change %s: %s", changes, names)
                   : arena_format(mem, "left out, no effect on time or memory: %s", names));
    }
    if (f->nameless)
        launch_note(l, arena_format(mem, "%d more flags are not known and left out", f->nameless));
    struct str s = {0};
    for (int i = 0; i < f->strays && i < 8; i++)
        str_addf(&s, "%s'%.60s'", i ? ", " : "", f->stray[i]);
    if (f->strays > 0)
        launch_note(l, arena_format(mem, "words that belong to no flag are left out: %s%s",
                                    str_text(&s), f->strays > 8 ? ", ..." : ""));
    str_release(&s);
}

void launch_split(struct launch *l, struct launch_flags *f, struct arena *mem)
{
    launch_translate(l, mem);
    size_t most = (size_t)l->count + 1;
    *f = (struct launch_flags){.word = arena_array(mem, most, sizeof *f->word),
                               .line = arena_array(mem, most, sizeof *f->line)};
    for (int i = 0; i < l->count;) {
        const struct launch_word *w = &l->word[i];
        if (words_is_flag(w->text)) {
            i += take_flag(l, i, f, mem);
            continue;
        }
        if (launch_is_known(w->text))
            add_stray(f, w->text, mem);
        else
            open_stray(l, f, w, mem);
        i++;
    }
    const char *adapters = f->refused ? NULL : launch_take_adapters(l, mem);
    if (adapters)
        f->refused = arena_format(mem, "%s: %s", place(l, l->line, mem), adapters);
    if (!f->refused && launch_generates(l))
        f->refused =
            arena_format(mem, "%s: it generates text and trains nothing", place(l, l->line, mem));
    note_strangers(l, f, mem);
}
