/* Commands that print what they read, changed: tr, cut, head, tail, wc, sed, paste, xargs, tee, bc. Of each only what
 * launch scripts use. */
#include "import/shell/script_parts.h"

#include <string.h>

static void print(struct script *s, const char *text)
{
    script_print(s, text, strlen(text));
}

/* The value of -X VALUE, -XVALUE or --name=VALUE; NULL = not there. */
static const char *option(const struct fields *f, char letter)
{
    for (int i = 1; i < f->count; i++) {
        const char *w = f->word[i].text;
        if (w[0] == '-' && w[1] == letter)
            return w[2] ? w + 2 : i + 1 < f->count ? f->word[i + 1].text : NULL;
    }
    return NULL;
}

/* Letters, ranges and classes of tr as the letters themselves; false = too many, or of another kind. */
static bool letters_of(const char *p, char *out, size_t size)
{
    static const struct {
        const char *class, *letters;
    } CLASSES[] = {{"[:upper:]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
                   {"[:lower:]", "abcdefghijklmnopqrstuvwxyz"},
                   {"[:digit:]", "0123456789"},
                   {"[:space:]", " \t\n\r"},
                   {"[:blank:]", " \t"}};
    size_t n = 0;
    while (*p) {
        const char *class = NULL;
        for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES && !class; i++)
            if (strncmp(p, CLASSES[i].class, strlen(CLASSES[i].class)) == 0) {
                class = CLASSES[i].letters;
                p += strlen(CLASSES[i].class);
            }
        char one[2] = {*p == '\\' && p[1] == 'n' ? '\n' : *p == '\\' && p[1] == 't' ? '\t' : *p, 0};
        char last = p[0] && p[1] == '-' && p[2] ? p[2] : one[0];
        if (!class) {
            p += *p == '\\' && p[1] ? 2 : last != one[0] ? 3 : 1;
            class = one;
        }
        for (; *class; class ++)
            for (int c = *class; c <= (class == one ? last : *class); c++) {
                if (n + 1 >= size)
                    return false;
                out[n++] = (char)c;
            }
    }
    out[n] = 0;
    return n > 0;
}

static bool do_tr(struct script *s, const struct fields *f)
{
    char from[256], to[256] = "";
    bool deletes = f->count > 1 && strcmp(f->word[1].text, "-d") == 0;
    bool squeezes = f->count > 1 && strcmp(f->word[1].text, "-s") == 0;
    int i = 1 + (deletes || squeezes);
    if (f->count != i + (deletes ? 1 : 2) || !letters_of(f->word[i].text, from, sizeof from) ||
        (!deletes && !letters_of(f->word[i + 1].text, to, sizeof to)))
        return false;
    struct str out = {0};
    for (const char *p = s->input; *p; p++) {
        const char *at = strchr(from, *p);
        size_t k = at ? (size_t)(at - from) : 0, last = deletes ? 0 : strlen(to) - 1;
        char c = !at ? *p : deletes ? 0 : to[k < last ? k : last];
        bool again = squeezes && at && out.length && out.data[out.length - 1] == c;
        if (c && !again)
            str_add_bytes(&out, &c, 1);
    }
    print(s, str_keep(&out, s->mem));
    return true;
}

/* The next line of a text, without its end; NULL behind the last. */
static const char *next_line(struct script *s, const char **at)
{
    size_t n = strcspn(*at, "\n");
    const char *line = **at ? arena_copy(s->mem, *at, n) : NULL;
    *at += n + ((*at)[n] == '\n');
    return script_spend(s, 1, n) ? line : NULL;
}

/* cut -d SIGN -f N or N- */
static bool do_cut(struct script *s, const struct fields *f)
{
    const char *sign = option(f, 'd'), *field = option(f, 'f'), *at = s->input, *line;
    bool rest = field && *field && field[strlen(field) - 1] == '-';
    int64_t n;
    if (!field || !parse_int(arena_copy(s->mem, field, strlen(field) - rest), &n) || n < 1)
        return false;
    char d = sign && *sign ? *sign : '\t';
    while ((line = next_line(s, &at))) {
        const char *p = line;
        bool parted = strchr(p, d) != NULL;
        for (int64_t k = 1; k < n && p && parted; k++) {
            p = strchr(p, d);
            p += p != NULL;
        }
        const char *end = p && parted && !rest ? strchr(p, d) : NULL;
        size_t length = !p ? 0 : end ? (size_t)(end - p) : strlen(p);
        print(s, arena_format(s->mem, "%.*s\n", (int)length, p ? p : ""));
    }
    return true;
}

/* How many lines of head and tail; 0 = not worked out. */
static int64_t lines_of(const struct fields *f)
{
    const char *text = option(f, 'n');
    int64_t n = 10;
    if (!text && f->count > 1)
        text = f->word[1].text[0] == '-' ? f->word[1].text + 1 : "?";
    return !text || parse_int(text, &n) ? n : 0;
}

static bool do_head(struct script *s, const struct fields *f)
{
    bool tail = strcmp(f->word[0].text, "tail") == 0;
    int64_t n = lines_of(f), all = 0, i = 0;
    const char *line;
    if (n < 1 || strpbrk(f->word[f->count - 1].text, "+"))
        return false;
    for (const char *at = s->input; *at; at += strcspn(at, "\n"), at += *at == '\n')
        all++;
    for (const char *at = s->input; (line = next_line(s, &at)); i++)
        if (tail ? i >= all - n : i < n)
            print(s, arena_format(s->mem, "%s\n", line));
    return true;
}

static bool do_wc(struct script *s, const struct fields *f)
{
    const char *what = f->count == 2 ? f->word[1].text : "";
    int64_t n = 0;
    if (!is_one_of(what, "-l -w -c"))
        return false;
    for (const char *p = s->input; *p; p++) {
        bool blank = strchr(" \t\n", *p) != NULL, ends = !p[1] || strchr(" \t\n", p[1]);
        n += what[1] == 'l' ? *p == '\n' : what[1] == 'w' ? !blank && ends : 1;
    }
    print(s, arena_format(s->mem, "%lld\n", (long long)n));
    return true;
}

/* One s/OLD/NEW/ of plain text on a whole text; NULL = not worked out. `*p` is moved behind it. */
static const char *substitute(struct script *s, const char *text, const char **p)
{
    char d = (*p)[0] == 's' ? (*p)[1] : 0;
    const char *old = *p + 2, *new = d ? strchr(old, d) : NULL,
               *end = new ? strchr(new + 1, d) : NULL;
    if (!end)
        return NULL;
    bool all = end[1] == 'g';
    if (end[1 + all] && !strchr("; \n", end[1 + all]))
        return NULL;
    size_t n = (size_t)(new - old), m = (size_t)(end - new - 1);
    for (size_t i = 0; i < n; i++)
        if (strchr("\\.*[]^$", old[i]))
            return NULL;
    bool digits = strspn(old, "0123456789") >= n; /* which marks of unknown parts have too */
    if (n == 0 || memchr(new + 1, '&', m) || memchr(new + 1, '\\', m) ||
        (digits && !launch_is_known(text)))
        return NULL;
    struct str out = {0};
    bool done = false; /* in this line */
    for (; *text && script_spend(s, 1, m); text++) {
        bool found = (!done || all) && strncmp(text, old, n) == 0;
        done = *text == '\n' ? false : done || found;
        if (found)
            str_add_bytes(&out, new + 1, m);
        else
            str_add_bytes(&out, text, 1);
        text += found ? n - 1 : 0;
    }
    *p = end + 1 + strspn(end + 1, "g; \n");
    return str_keep(&out, s->mem);
}

/* sed [-i] [-e] 's/A/B/; ...' [FILE] */
static bool do_sed(struct script *s, const struct fields *f)
{
    const char *script[64], *file = NULL, *text = s->input;
    int scripts = 0;
    bool inside = false;
    for (int i = 1; i < f->count && scripts < 64; i++) {
        const char *w = f->word[i].text;
        bool takes = is_one_of(w, "-e --expression") && i + 1 < f->count;
        inside |= is_one_of(w, "-i --in-place");
        if (takes)
            script[scripts++] = f->word[++i].text;
        else if (w[0] != '-' && scripts == 0)
            script[scripts++] = w;
        else if (w[0] != '-')
            file = w;
        else if (!inside)
            return false;
    }
    text = file ? script_file(s, file) : text;
    for (int i = 0; i < scripts && text; i++)
        for (const char *p = script[i]; *p && text;)
            text = substitute(s, text, &p);
    if (inside && file)
        script_write(s, file,
                     text ? text : script_unknown(s, file, "which sed changes", NULL, s->line),
                     false);
    else if (text)
        print(s, text);
    return text || inside;
}

/* paste -sd,: lines as one, with a sign between. */
static bool do_paste(struct script *s, const struct fields *f)
{
    bool sets = false;
    const char *at = s->input, *line, *sign = "\t";
    int count = 0;
    for (int i = 1; i < f->count; i++) {
        const char *w = f->word[i].text, *d = *w == '-' ? strchr(w, 'd') : NULL;
        sets |= *w == '-' && strchr(w, 's');
        sign = d ? (d[1] ? d + 1 : i + 1 < f->count ? f->word[i + 1].text : "") : sign;
    }
    if (!sets)
        return false;
    for (; (line = next_line(s, &at)); count++)
        print(s, arena_format(s->mem, "%s%s", count ? sign : "", line));
    print(s, "\n");
    return true;
}

/* xargs alone joins words. */
static bool do_xargs(struct script *s, const struct fields *f)
{
    const char *p = s->input;
    int count = 0;
    if (f->count > 1 && strcmp(f->word[1].text, "echo") != 0)
        return false;
    for (p += strspn(p, " \t\n"); *p; p += strspn(p, " \t\n"), count++) {
        size_t n = strcspn(p, " \t\n");
        print(s, arena_format(s->mem, "%s%.*s", count ? " " : "", (int)n, p));
        p += n;
    }
    print(s, "\n");
    return true;
}

static bool do_tee(struct script *s, const struct fields *f)
{
    bool adds = f->count > 1 && strcmp(f->word[1].text, "-a") == 0;
    for (int i = 1 + adds; i < f->count; i++)
        script_write(s, f->word[i].text, s->input, adds);
    print(s, s->input);
    return true;
}

/* bc of whole numbers, which divides as $((...)) does where no digits are asked for. */
static bool do_bc(struct script *s, const struct fields *f)
{
    if (f->count > 1 || strpbrk(s->input, ".=;^") || !strpbrk(s->input, "0123456789"))
        return false;
    const char *value = script_arithmetic(s, s->input, strcspn(s->input, "\n"));
    print(s, arena_format(s->mem, "%s\n", value));
    return launch_is_known(value);
}

static const struct {
    const char *name;
    script_printer *print;
} FILTERS[] = {
    {"bc", do_bc},     {"cut", do_cut}, {"head", do_head}, {"paste", do_paste}, {"sed", do_sed},
    {"tail", do_head}, {"tee", do_tee}, {"tr", do_tr},     {"wc", do_wc},       {"xargs", do_xargs},
};

static script_printer *find_filter(const char *name)
{
    for (size_t i = 0; i < sizeof FILTERS / sizeof *FILTERS; i++)
        if (strcmp(name, FILTERS[i].name) == 0)
            return FILTERS[i].print;
    return NULL;
}

/* Lines can be counted where what is not known are whole lines. */
static bool counts_lines(const struct script *s, const struct fields *f)
{
    const struct launch l = {.unknowns = s->unknowns, .unknown = s->unknown};
    if (f->count != 2 || strcmp(f->word[0].text, "wc") != 0 || strcmp(f->word[1].text, "-l") != 0)
        return false;
    for (const char *p = s->input; p && (p = strchr(p, LAUNCH_MARK)); p++) {
        const struct launch_unknown *u = launch_unknown_of(&l, p);
        if (!u || strcmp(u->text, SCRIPT_GPU_LINE) != 0)
            return false;
    }
    return s->input != NULL;
}

/* What is not known cannot be changed; sed may have a file of its own. */
static bool may_read(const struct script *s, const struct fields *f)
{
    return strcmp(f->word[0].text, "sed") == 0 || (s->input && launch_is_known(s->input)) ||
           counts_lines(s, f);
}

bool script_prints(struct script *s, const struct fields *f)
{
    const char *name = f->word[0].text;
    script_printer *printer = script_find_printer(name), *filter = find_filter(name);
    if (!printer && !filter)
        return false;
    bool known = filter ? may_read(s, f) && filter(s, f) : printer(s, f);
    if (!known && s->capture)
        s->capture->unknown = true;
    return true;
}
