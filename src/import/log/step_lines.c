/* Both kinds are "beginning | name: number | name: number |". A line is cut at its bars, and each
 * piece is read from its end for a beginning, "iteration 5/ 100" or "[Rank 0] (after 2 iterations)
 * memory (MB)": what stands before it, a time or a prefix of torchrun, does not matter, and most
 * pieces are dismissed after a character or two. A number counts where a bar follows, since one at
 * the end may be cut; memory lines have no last bar, there a line break will do. */
#define _GNU_SOURCE
#include "import/log/train_steps.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST_NUMBER = 40 };

#define MIB 1048576.0
#define LEAST_STEP_S 1e-6
#define MOST_STEP_S 1e6
#define MOST_BATCH 2147483647.0
#define MOST_BYTES (1e6 * 1048576.0)
#define WRONG (-1.0) /* a value that cannot be read or is absurd */

static const struct {
    const char *name; /* no other of its kind begins with it */
    enum record_kind kind;
    enum record_field field;
    double unit;
} FIELDS[] = {
    {"elapsed time per iteration (ms):", RECORD_STEP, FIELD_STEP_S, 1e-3},
    {"elapsed time per iteration (s):", RECORD_STEP, FIELD_STEP_S, 1},
    {"throughput per GPU (TFLOP/s/GPU):", RECORD_STEP, FIELD_TFLOPS, 1},
    {"power per GPU (W/GPU):", RECORD_STEP, FIELD_WATTS, 1},
    {"global batch size:", RECORD_STEP, FIELD_BATCH, 1},
    {"number of skipped iterations:", RECORD_STEP, FIELD_SKIPPED, 1},
    {"number of nan iterations:", RECORD_STEP, FIELD_NAN, 1},
    {"max allocated:", RECORD_MEMORY, FIELD_MAX_ALLOCATED_BYTES, MIB},
    {"reserved:", RECORD_MEMORY, FIELD_RESERVED_BYTES, MIB},
    {"max reserved:", RECORD_MEMORY, FIELD_MAX_RESERVED_BYTES, MIB},
};

/* What is believable. */
static const struct {
    double least, most;
} RANGES[RECORD_FIELDS] = {
    [FIELD_STEP_S] = {LEAST_STEP_S, MOST_STEP_S},
    [FIELD_TFLOPS] = {1e-9, 1e6},
    [FIELD_WATTS] = {1e-9, 1e6},
    [FIELD_BATCH] = {1, MOST_BATCH},
    [FIELD_SKIPPED] = {0, 1e18},
    [FIELD_NAN] = {0, 1e18},
    [FIELD_MAX_ALLOCATED_BYTES] = {1, MOST_BYTES},
    [FIELD_RESERVED_BYTES] = {1, MOST_BYTES},
    [FIELD_MAX_RESERVED_BYTES] = {1, MOST_BYTES},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Backwards from *at, over blanks: a word, or digits, whose value may be of no interest (NULL). */
static bool word_before(const char *from, const char **at, const char *word)
{
    size_t n = strlen(word);
    const char *p = *at;
    while (p > from && is_blank(p[-1]))
        p--;
    if ((size_t)(p - from) < n || memcmp(p - n, word, n) != 0)
        return false;
    *at = p - n;
    return true;
}

static bool digits_before(const char *from, const char **at, int64_t *out)
{
    const char *p = *at;
    char text[20];
    while (p > from && is_blank(p[-1]))
        p--;
    const char *end = p;
    while (p > from && isdigit((unsigned char)p[-1]))
        p--;
    size_t n = (size_t)(end - p);
    if (n == 0 || n >= sizeof text)
        return false;
    *at = p;
    if (!out)
        return true;
    memcpy(text, p, n);
    text[n] = 0;
    return parse_int(text, out);
}

static bool step_begins(const char *from, const char *end, struct log_record *r)
{
    *r = (struct log_record){.kind = RECORD_STEP};
    return digits_before(from, &end, NULL) && word_before(from, &end, "/") &&
           digits_before(from, &end, &r->iteration) && word_before(from, &end, "iteration");
}

static bool memory_begins(const char *from, const char *end, struct log_record *r)
{
    *r = (struct log_record){.kind = RECORD_MEMORY};
    return word_before(from, &end, "memory (MB)") && word_before(from, &end, "iterations)") &&
           digits_before(from, &end, &r->iteration) && word_before(from, &end, "(after") &&
           word_before(from, &end, "]") && digits_before(from, &end, &r->rank) &&
           word_before(from, &end, "[Rank");
}

/* A number and nothing else; of "13100.0/13240.9", the latest and the mean, the first. */
static double read_number(const char *from, const char *end)
{
    char text[LONGEST_NUMBER];
    double v, second;
    while (from < end && is_blank(*from))
        from++;
    while (end > from && is_blank(end[-1]))
        end--;
    size_t n = (size_t)(end - from);
    if (n == 0 || n >= sizeof text)
        return WRONG;
    memcpy(text, from, n);
    text[n] = 0;
    char *slash = strchr(text, '/');
    if (slash)
        *slash = 0;
    if (strlen(text) != (slash ? (size_t)(slash - text) : n) || !parse_real(text, &v))
        return WRONG;
    return !slash || parse_real(slash + 1, &second) ? v : WRONG;
}

static void read_field(struct log_record *r, const char *from, const char *end)
{
    while (from < end && is_blank(*from))
        from++;
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        enum record_field f = FIELDS[i].field;
        if (FIELDS[i].kind != r->kind || from == end || *from != *FIELDS[i].name)
            continue;
        size_t n = strlen(FIELDS[i].name);
        if ((size_t)(end - from) < n || memcmp(from, FIELDS[i].name, n) != 0)
            continue;
        double v = FIELDS[i].unit * read_number(from + n, end);
        r->value[f] = v >= RANGES[f].least && v <= RANGES[f].most ? v : WRONG;
        return;
    }
}

void log_line_init(struct log_line *l, const char *text, size_t length, bool ended)
{
    *l = (struct log_line){.at = text, .end = text + length, .ended = ended};
}

/* The next piece, and whether a bar follows it. */
static bool next_piece(struct log_line *l, const char **from, const char **end, bool *barred)
{
    if (!l->at)
        return false;
    const char *bar = memchr(l->at, '|', (size_t)(l->end - l->at));
    *from = l->at;
    *end = bar ? bar : l->end;
    *barred = bar != NULL;
    l->at = bar ? bar + 1 : NULL;
    return true;
}

static bool begins(const char *from, const char *end, struct log_record *r)
{
    return step_begins(from, end, r) || memory_begins(from, end, r);
}

static bool all_blank(const char *from, const char *end)
{
    while (from < end && is_blank(*from))
        from++;
    return from == end;
}

/* Old versions do not say the batch; where a line was cut before it, it is not known. */
static void judge(struct log_record *r, bool cut)
{
    double *v = r->value;
    if (r->kind == RECORD_STEP) {
        bool no_batch = v[FIELD_BATCH] < 0 || (v[FIELD_BATCH] == 0 && cut);
        if (r->iteration < 1 || v[FIELD_STEP_S] <= 0 || no_batch)
            r->kind = RECORD_BROKEN_STEP;
    } else if (v[FIELD_MAX_ALLOCATED_BYTES] <= 0 || r->rank > INT32_MAX) {
        r->kind = RECORD_BROKEN_MEMORY;
    }
    for (int i = 0; i < RECORD_FIELDS; i++)
        v[i] = v[i] > 0 ? v[i] : 0;
}

bool log_line_next(struct log_line *l, struct log_record *out)
{
    const char *from, *end;
    bool barred, cut = !l->ended;
    *out = l->begun;
    l->begun = (struct log_record){0};
    while (next_piece(l, &from, &end, &barred)) {
        struct log_record next;
        bool whole = barred || (l->ended && out->kind == RECORD_MEMORY);
        if (barred && begins(from, end, &next)) {
            if (out->kind) {
                l->begun = next;
                cut = true;
                break;
            }
            *out = next;
        } else if (out->kind && whole) {
            read_field(out, from, end);
        } else if (out->kind) {
            cut |= !all_blank(from, end);
        }
    }
    if (!out->kind)
        return false;
    judge(out, cut);
    return true;
}

bool log_line_bridge(const char *text, size_t length, struct log_record *out)
{
    static const char first[] = "Step Time : ", second[] = "s GPU utilization: ",
                      third[] = "MODEL_TFLOP/s/GPU";
    const char *end = text + length;
    const char *a = memmem(text, length, first, strlen(first));
    if (!a)
        return false;
    a += strlen(first);
    const char *b = memmem(a, (size_t)(end - a), second, strlen(second));
    const char *c = b ? memmem(b, (size_t)(end - b), third, strlen(third)) : NULL;
    if (!c)
        return false;
    *out = (struct log_record){.kind = RECORD_STEP};
    out->value[FIELD_STEP_S] = read_number(a, b);
    out->value[FIELD_TFLOPS] = read_number(b + strlen(second), c);
    out->iteration = 1;
    if (out->value[FIELD_STEP_S] < LEAST_STEP_S || out->value[FIELD_STEP_S] > MOST_STEP_S)
        out->value[FIELD_STEP_S] = WRONG;
    judge(out, false);
    return true;
}
