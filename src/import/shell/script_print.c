/* Commands that print what follows from their words: echo, printf, seq, expr, basename, cat and their like. */
#include "import/shell/script_parts.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MOST = 4096 };

static void print(struct script *s, const char *text)
{
    script_print(s, text, strlen(text));
}

/* The letter behind a backslash as printf reads it; false = not one that scripts use. */
static bool escape(char letter, char *out)
{
    static const char signs[] = "n\nt\t\\\\\"\"''";
    const char *at = letter ? strchr(signs, letter) : NULL;
    if (!at || (at - signs) % 2)
        return false;
    *out = at[1];
    return true;
}

static bool do_echo(struct script *s, const struct fields *f)
{
    bool ends = true, escapes = false;
    int i = 1;
    for (; i < f->count && f->word[i].text[0] == '-' && f->word[i].text[1] &&
           strspn(f->word[i].text + 1, "neE") == strlen(f->word[i].text + 1);
         i++) {
        ends &= !strchr(f->word[i].text, 'n');
        escapes |= strchr(f->word[i].text, 'e') != NULL;
    }
    for (int k = i; k < f->count; k++) {
        if (escapes && strchr(f->word[k].text, '\\'))
            return false;
        print(s, k > i ? " " : "");
        print(s, f->word[k].text);
    }
    print(s, ends ? "\n" : "");
    return true;
}

/* One conversion of a format with its word; false = not worked out. */
static bool convert(struct str *out, const char *spec, size_t length, const char *word)
{
    char letter = spec[length - 1];
    int64_t n = 0;
    size_t width = strtoul(spec + 1 + (spec[1] == '-'), NULL, 10);
    bool zero = spec[1] == '0', left = spec[1] == '-';
    char digits[32];
    for (size_t i = 1 + left; i + 1 < length; i++)
        if (spec[i] < '0' || spec[i] > '9')
            return false;
    if (width > 256 || !strchr("sdi", letter) || (letter != 's' && *word && !parse_int(word, &n)))
        return false;
    if (letter != 's') {
        struct str s = {0};
        str_addf(&s, "%lld", (long long)n);
        memcpy(digits, str_text(&s), s.length + 1);
        str_release(&s);
        word = digits;
    }
    if (width > 0 && strchr(word, LAUNCH_MARK))
        return false;
    size_t pad = strlen(word) < width ? width - strlen(word) : 0;
    for (size_t i = 0; i < pad && !left; i++)
        str_add(out, zero && letter != 's' ? "0" : " ");
    str_add(out, word);
    for (size_t i = 0; i < pad && left; i++)
        str_add(out, " ");
    return true;
}

/* The format once, with the words from `*next` on. */
static bool format_once(struct str *out, const char *p, const struct fields *f, int *next)
{
    while (*p) {
        char c;
        size_t n = 1;
        if (*p == '\\' && escape(p[1], &c)) {
            str_add_bytes(out, &c, 1);
            n = 2;
        } else if (p[0] == '%' && p[1] == '%') {
            str_add(out, "%");
            n = 2;
        } else if (*p == '%') {
            n += strspn(p + 1, "-0123456789.");
            const char *word = *next < f->count ? f->word[*next].text : "";
            if (!p[n] || !convert(out, p, ++n, word))
                return false;
            ++*next;
        } else {
            str_add_bytes(out, p, 1);
        }
        p += n;
    }
    return true;
}

const char *script_format(struct script *s, const struct fields *f, int format)
{
    struct str out = {0};
    int next = format + 1, before;
    bool ok = format < f->count && launch_is_known(f->word[format].text);
    do {
        before = next;
        ok = ok && format_once(&out, f->word[format].text, f, &next) &&
             script_spend(s, 1, strlen(f->word[format].text));
    } while (ok && next > before && next < f->count && out.length < SCRIPT_BYTES);
    script_spend(s, 1, out.length);
    const char *text = str_keep(&out, s->mem);
    return ok ? text : NULL;
}

static bool do_printf(struct script *s, const struct fields *f)
{
    int format = f->count > 1 && strcmp(f->word[1].text, "--") == 0 ? 2 : 1;
    const char *text = script_format(s, f, format);
    print(s, text ? text : "");
    return text != NULL;
}

/* seq [-s SIGN] [FIRST [STEP]] LAST */
static bool do_seq(struct script *s, const struct fields *f)
{
    int64_t n[3] = {1, 1, 1};
    int i = 1, count;
    const char *sign = "\n";
    if (i + 1 < f->count && strncmp(f->word[i].text, "-s", 2) == 0) {
        bool apart = !f->word[i].text[2];
        sign = apart ? f->word[i + 1].text : f->word[i].text + 2;
        i += 1 + apart;
    }
    count = f->count - i;
    if (count < 1 || count > 3)
        return false;
    static const int place[3][3] = {{2, 0, 0}, {0, 2, 0}, {0, 1, 2}};
    for (int k = 0; k < count; k++)
        if (!parse_int(f->word[i + k].text, &n[place[count - 1][k]]) ||
            llabs(n[place[count - 1][k]]) > 1 << 24)
            return false;
    if (n[1] == 0 || (n[2] - n[0]) / n[1] >= NUMBERS_MOST)
        return false;
    bool any = false;
    for (int64_t x = n[0]; n[1] > 0 ? x <= n[2] : x >= n[2]; x += n[1], any = true)
        print(s, arena_format(s->mem, "%s%lld", any ? sign : "", (long long)x));
    print(s, any ? "\n" : "");
    return true;
}

/* expr A + B: what it computes is what $((...)) does, but for its text operators. */
static bool do_expr(struct script *s, const struct fields *f)
{
    struct str text = {0};
    int64_t n;
    for (int i = 1; i < f->count; i++) {
        const char *w = f->word[i].text;
        bool number = parse_int(w, &n);
        str_addf(&text, "%s%s%s ", number ? "(" : "", w, number ? ")" : "");
        if (!number && !is_one_of(w, "+ - * / % ( )")) {
            str_release(&text);
            return false;
        }
    }
    const char *kept = str_keep(&text, s->mem), *value = script_arithmetic(s, kept, strlen(kept));
    print(s, arena_format(s->mem, "%s\n", value));
    return launch_is_known(value);
}

static int first_word(const struct fields *f)
{
    return f->count > 1 && strcmp(f->word[1].text, "--") == 0 ? 2 : 1;
}

static bool print_line(struct script *s, const char *text)
{
    print(s, text);
    print(s, "\n");
    return true;
}

/* A word that is a variable which is not set, and no more: what is left of its value is as unknown, and empty where it is. */
static bool is_variable(const struct script *s, const char *word)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    const struct launch_unknown *u = *word == LAUNCH_MARK ? launch_unknown_of(&l, word) : NULL;
    return u && u->name && !word[strcspn(word, "\002") + 1];
}

static bool do_basename(struct script *s, const struct fields *f)
{
    int i = first_word(f);
    if (i >= f->count || f->word[i].text[0] == '-' || i + 2 < f->count)
        return false;
    if (i + 1 == f->count && is_variable(s, f->word[i].text))
        return print_line(s, f->word[i].text);
    char *text = arena_string(s->mem, f->word[i].text);
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/')
        text[--n] = 0;
    const char *slash = strrchr(text, '/'), *name = slash && n > 1 ? slash + 1 : text;
    const char *end = i + 1 < f->count ? f->word[i + 1].text : "";
    size_t length = strlen(name), cut = strlen(end);
    if (length > cut && strcmp(name + length - cut, end) == 0)
        length -= cut;
    print(s, arena_format(s->mem, "%.*s\n", (int)length, name));
    return launch_is_known(name) || slash; /* what is unknown may have a slash in it */
}

/* The folder of the script itself stays a name of its own: files in it may be read. */
static bool do_dirname(struct script *s, const struct fields *f)
{
    int i = first_word(f);
    if (i + 1 == f->count && script_is_own_file(s, f->word[i].text))
        return print_line(s, script_own_folder(s));
    if (i + 1 != f->count || !launch_is_known(f->word[i].text))
        return false;
    char *text = arena_string(s->mem, f->word[i].text);
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/')
        text[--n] = 0;
    char *slash = strrchr(text, '/');
    if (slash)
        slash[slash == text] = 0;
    return print_line(s, slash ? text : ".");
}

/* realpath and readlink -f: the script's own name and folder are as good as any other name of theirs. */
static bool do_realpath(struct script *s, const struct fields *f)
{
    const char *word = f->word[f->count - 1].text;
    for (int i = 1; i + 1 < f->count; i++)
        if (f->word[i].text[0] != '-')
            return false;
    bool own = script_is_own_file(s, word) || script_is_in_own_folder(s, word);
    return f->count > 1 && own && print_line(s, word);
}

/* In its folder, or nowhere that is known. */
static bool do_cd(struct script *s, const struct fields *f)
{
    const char *word = f->count == 2 ? f->word[1].text : "";
    s->folder = script_is_in_own_folder(s, word) ? word : NULL;
    return s->folder != NULL;
}

static bool do_pwd(struct script *s, const struct fields *f)
{
    (void)f;
    return s->folder && print_line(s, s->folder);
}

static bool do_cat(struct script *s, const struct fields *f)
{
    for (int i = 1; i < f->count || i == 1; i++) {
        bool given = i < f->count && strcmp(f->word[i].text, "-") != 0;
        const char *text = given ? script_file(s, f->word[i].text) : s->input;
        if (!text)
            return false;
        print(s, text);
    }
    return true;
}

/* A line for each GPU of a node, where it is known how many there are: its text is not. */
static bool do_nvidia_smi(struct script *s, const struct fields *f)
{
    const struct value *cluster =
        script_variable(s, SCRIPT_NODE_GPUS, sizeof SCRIPT_NODE_GPUS - 1)->value;
    int64_t n = s->gpus;
    bool lists = false, counts = false;
    for (int i = 1; i < f->count; i++) {
        const char *w = f->word[i].text;
        counts |= strcmp(w, "--query-gpu=count") == 0;
        lists |= is_one_of(w, "-L --list-gpus") || strncmp(w, "--query-gpu=", 12) == 0;
    }
    if (!lists || (n < 1 && !(cluster && parse_int(cluster->word[0].text, &n))) || n < 1 || n > 64)
        return false;
    s->counted_gpus = n;
    for (int64_t i = 0; i < n; i++) {
        print(s, counts
                     ? arena_format(s->mem, "%lld", (long long)n)
                     : script_unknown(s, SCRIPT_GPU_LINE, "and no command is run", NULL, s->line));
        print(s, "\n");
    }
    return true;
}

/* Commands that print nothing that a script goes on with. */
static bool do_nothing(struct script *s, const struct fields *f)
{
    (void)s;
    (void)f;
    return true;
}

static const struct {
    const char *name;
    script_printer *print;
} PRINTERS[] = {
    {"basename", do_basename}, {"cat", do_cat},         {"cd", do_cd},
    {"chmod", do_nothing},     {"dirname", do_dirname}, {"echo", do_echo},
    {"expr", do_expr},         {"mkdir", do_nothing},   {"nvidia-smi", do_nvidia_smi},
    {"printf", do_printf},     {"pwd", do_pwd},         {"readlink", do_realpath},
    {"realpath", do_realpath}, {"rm", do_nothing},      {"seq", do_seq},
    {"sleep", do_nothing},     {"touch", do_nothing},
};

script_printer *script_find_printer(const char *name)
{
    for (size_t i = 0; i < sizeof PRINTERS / sizeof *PRINTERS; i++)
        if (strcmp(name, PRINTERS[i].name) == 0)
            return PRINTERS[i].print;
    return NULL;
}
