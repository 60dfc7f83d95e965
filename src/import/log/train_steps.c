/* Every line is looked at for what lines of ours have: a bar, or an end of "----" (blocks of
 * arguments) or "/GPU" (Megatron-Bridge). Two runs of memchr dismiss the others, which are nearly
 * all of a large log. Lines that lie whole in a piece are read where they lie. */
#include "import/log/train_steps.h"

#include "base/arena.h"

#include <limits.h>
#include <string.h>

enum {
    LONGEST_LINE = 65536,
    LONGEST_BLOCK = 4096, /* lines; Megatron has about 850 arguments */
    EARLY_ITERATIONS = 10,
    MOST_SPAN = 100000, /* steps of one line */
    MOST_NOTES = 16
};

#define LINE_RESOLUTION_S 5e-5   /* half of the last digit: 0.1 ms */
#define BRIDGE_RESOLUTION_S 5e-3 /* 0.01 s */

void train_steps_init(struct train_steps *t, struct arena *mem)
{
    *t = (struct train_steps){.mem = mem, .number = 1};
    str_init(&t->line);
    str_init(&t->scratch);
    step_store_init(&t->store);
}

void train_steps_release(struct train_steps *t)
{
    str_release(&t->line);
    str_release(&t->scratch);
    step_store_release(&t->store);
}

static void begin_start(struct train_steps *t)
{
    if (t->start.lines == 0)
        return;
    t->start = (struct run_start){.index = t->start.index + 1};
    if (!t->again_line)
        t->again_line = t->number;
}

/* A line holds the steps since the one before it, so the first of a start holds the first step.
 * Where it holds only that (logged alone, or every step is logged), the second holds the second. */
static bool holds_first_steps(const struct run_start *s, int64_t iteration)
{
    int64_t span = iteration - s->last_iteration;
    return s->lines == 0 || (s->lines == 1 && (span == 1 || s->last_iteration % span != 0));
}

static void keep_step(struct train_steps *t, const struct log_record *r, int64_t iteration)
{
    const struct run_start *s = &t->start;
    int64_t span = iteration - s->last_iteration;
    step_store_add(&t->store,
                   (struct step){.step_s = r->value[FIELD_STEP_S],
                                 .iteration = t->bridge ? 0 : iteration,
                                 .tflops = (float)r->value[FIELD_TFLOPS],
                                 .watts = (float)r->value[FIELD_WATTS],
                                 .batch = (int)r->value[FIELD_BATCH],
                                 .span = span < MOST_SPAN ? (int)span : MOST_SPAN,
                                 .start = s->index,
                                 .early = iteration - s->first_iteration < EARLY_ITERATIONS});
}

/* What was read so far is of another run, or said again in better lines. */
static void forget(struct train_steps *t)
{
    t->start = (struct run_start){0};
    t->lines = t->warmup = t->bad = t->repeated = t->again_line = 0;
    step_store_clear(&t->store);
}

static void take_step(struct train_steps *t, const struct log_record *r, int64_t iteration)
{
    struct run_start *s = &t->start;
    t->block_lines = 0;
    t->lines++;
    if (s->lines > 0 && iteration == s->last_iteration) {
        t->repeated++;
        return;
    }
    if (iteration < s->last_iteration)
        begin_start(t);
    if (holds_first_steps(s, iteration))
        t->warmup++;
    else if (r->value[FIELD_SKIPPED] > 0 || r->value[FIELD_NAN] > 0)
        t->bad++;
    else
        keep_step(t, r, iteration);
    if (s->lines++ == 0)
        s->first_iteration = iteration;
    s->last_iteration = iteration;
}

/* Lines of Megatron-Bridge beside ordinary ones say the same again. */
static void take_ordinary(struct train_steps *t, const struct log_record *r)
{
    if (t->early_lines) {
        t->foreign = t->lines;
        t->early_lines = false;
        t->peaks.firsts = t->peaks.laters = 0;
        t->peaks.full = false;
        forget(t);
    } else if (t->bridge) {
        forget(t);
    }
    t->bridge = false;
    take_step(t, r, r->iteration);
}

static void take_bridge(struct train_steps *t, const struct log_record *r)
{
    if (t->lines > 0 && !t->bridge)
        return;
    t->bridge = true;
    take_step(t, r, t->start.last_iteration + 1);
}

static void take_memory(struct train_steps *t, const struct log_record *r)
{
    const double *v = r->value;
    double reserved = v[FIELD_MAX_RESERVED_BYTES] > v[FIELD_RESERVED_BYTES]
                          ? v[FIELD_MAX_RESERVED_BYTES]
                          : v[FIELD_RESERVED_BYTES];
    struct rank_peak p = {(int)r->rank, v[FIELD_MAX_ALLOCATED_BYTES], reserved};
    rank_peaks_add(&t->peaks, r->iteration, p, t->mem);
}

static bool read_records(struct train_steps *t, const char *text, size_t length, bool ended)
{
    struct log_line l;
    struct log_record r;
    bool any = false;
    log_line_init(&l, text, length, ended);
    while (log_line_next(&l, &r)) {
        any = true;
        if (r.kind == RECORD_STEP)
            take_ordinary(t, &r);
        else if (r.kind == RECORD_MEMORY)
            take_memory(t, &r);
        else if (r.kind == RECORD_BROKEN_STEP)
            t->broken++;
        else
            t->broken_memory++;
    }
    return any;
}

static void close_block(struct train_steps *t)
{
    t->block_lines = 0;
    if (t->block.blocks == 1)
        t->early_lines = t->lines > 0;
    else if (log_block_same(&t->block))
        begin_start(t);
    else
        t->stopped_line = t->number;
}

/* The line of a block, or one that opens it; an end. False: none of these. */
static bool read_block(struct train_steps *t, const char *text)
{
    if (strstr(text, "---- end of arguments ----")) {
        if (t->block_lines)
            close_block(t);
    } else if (strstr(text, "---- arguments ----")) {
        if (!t->block_lines)
            log_block_begin(&t->block, t->mem);
        t->block_lines = 1;
    } else if (t->block_lines) {
        log_block_line(&t->block, text);
        if (++t->block_lines > LONGEST_BLOCK)
            t->block_lines = 0;
        return false;
    }
    return true;
}

/* Colours are ESC [ numbers and a letter. */
static void copy_plain(struct str *out, const char *text, size_t length)
{
    const char *end = text + length, *esc;
    str_clear(out);
    while ((esc = memchr(text, 27, (size_t)(end - text)))) {
        str_add_bytes(out, text, (size_t)(esc - text));
        text = esc + 1;
        if (text < end && *text == '[')
            do
                text++;
            while (text < end && (*text < '@' || *text > '~'));
        text += text < end;
    }
    str_add_bytes(out, text, (size_t)(end - text));
}

static void read_candidate(struct train_steps *t, const char *text, size_t length, bool ended)
{
    struct log_record r;
    copy_plain(&t->scratch, text, length);
    text = str_text(&t->scratch);
    length = t->scratch.length;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\r'))
        length--;
    t->scratch.data[length] = 0;
    bool dashes = length && text[length - 1] == '-';
    if ((dashes || t->block_lines) && read_block(t, text))
        return;
    if (memchr(text, '|', length) && read_records(t, text, length, ended))
        return;
    if (length && text[length - 1] == 'U' && log_line_bridge(text, length, &r)) {
        if (r.kind == RECORD_STEP)
            take_bridge(t, &r);
        else
            t->broken++;
    }
}

/* The last characters of lines of ours that have no bar; blanks and colours may follow. */
static bool may_end_ours(char c)
{
    return c == '-' || c == 'U' || c == 'm' || c == ' ' || c == '\r';
}

static void read_line(struct train_steps *t, const char *text, size_t length, bool ended)
{
    if (length > LONGEST_LINE) {
        length = LONGEST_LINE;
        ended = false;
    }
    if (length && (t->block_lines || may_end_ours(text[length - 1]) || memchr(text, '|', length)))
        read_candidate(t, text, length, ended);
    t->number++;
}

static void add_piece(struct train_steps *t, const char *data, size_t length)
{
    size_t room = LONGEST_LINE - t->line.length;
    str_add_bytes(&t->line, data, length < room ? length : room);
    t->open += length < SIZE_MAX - t->open ? length : 0;
}

static void read_open(struct train_steps *t, bool ended)
{
    read_line(t, str_text(&t->line), t->line.length, ended && t->open <= LONGEST_LINE);
    str_clear(&t->line);
    t->open = 0;
}

void train_steps_feed(struct train_steps *t, const char *data, size_t length)
{
    const char *end;
    while (length > 0 && !t->stopped_line && (end = memchr(data, '\n', length))) {
        size_t n = (size_t)(end - data);
        if (t->open) {
            add_piece(t, data, n);
            read_open(t, true);
        } else {
            read_line(t, data, n, true);
        }
        data += n + 1;
        length -= n + 1;
    }
    if (length > 0 && !t->stopped_line)
        add_piece(t, data, length);
}

static void add_note(struct step_summary *out, const char *text)
{
    if (out->notes < MOST_NOTES)
        out->note[out->notes++] = text;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void note_starts(const struct train_steps *t, struct step_summary *out)
{
    const struct log_block *b = &t->block;
    if (t->early_lines)
        add_note(out, "the arguments stand behind the training lines: they are taken to be of one "
                      "run");
    if (t->foreign)
        add_note(out, arena_format(t->mem,
                                   "%lld training line%s before the arguments, of another run: not "
                                   "read",
                                   (long long)t->foreign, plural(t->foreign)));
    if (t->again_line)
        add_note(out,
                 arena_format(t->mem, "the run was started again %u time%s, first at line %lld",
                              t->start.index, plural(t->start.index), (long long)t->again_line));
    if (t->stopped_line)
        add_note(out, arena_format(t->mem,
                                   "line %lld ends a block of other arguments (%s%s): what follows "
                                   "is another run and is not read",
                                   (long long)t->stopped_line, b->other[0] ? b->other : "",
                                   b->other[0] ? " differs" : "some are gone"));
}

static void note_lines(const struct train_steps *t, struct step_summary *out)
{
    if (t->bridge)
        add_note(out, "steps are read from lines \"Step Time : ...\", which have two decimals and "
                      "no batch");
    if (t->store.mask)
        add_note(out, arena_format(t->mem,
                                   "one in %u of the training lines is looked at: counts of "
                                   "lines left out are estimates",
                                   t->store.mask + 1));
    if (t->broken)
        add_note(out, arena_format(t->mem, "%lld training line%s could not be read",
                                   (long long)t->broken, plural(t->broken)));
    if (t->repeated)
        add_note(out, arena_format(t->mem, "%lld training line%s came twice",
                                   (long long)t->repeated, plural(t->repeated)));
    if (t->broken_memory)
        add_note(out, arena_format(t->mem, "%lld memory line%s could not be read",
                                   (long long)t->broken_memory, plural(t->broken_memory)));
}

static void take_ranks(const struct train_steps *t, struct step_summary *out)
{
    const struct rank_peaks *p = &t->peaks;
    out->ranks = p->laters ? p->laters : p->firsts;
    out->rank = p->laters ? p->later : p->first;
    if (p->firsts && !p->laters)
        add_note(out,
                 "memory is known after the first step only: the state of the optimizer may be "
                 "missing");
    if (p->full)
        add_note(out, arena_format(t->mem, "memory of more than %d ranks: the rest is not read",
                                   STEP_RANKS_MAX));
}

static bool explain_nothing(const struct train_steps *t, struct error *err)
{
    static const char expected[] =
        "iteration 20/ 100 | ... | elapsed time per iteration (ms): 744.0 |";
    if (t->lines == 0 && t->broken == 0)
        return fail(err, ERROR_INPUT, "no training line, expected some such as \"%s\"", expected);
    if (t->lines == 0)
        return fail(err, ERROR_INPUT, "none of %lld training line%s can be read, expected \"%s\"",
                    (long long)t->broken, plural(t->broken), expected);
    if (t->bad)
        return fail(err, ERROR_INPUT,
                    "no usable step: %lld of %lld training lines %s skipped or nan iterations, the "
                    "others are the first of a start",
                    (long long)t->bad, (long long)t->lines, t->bad == 1 ? "has" : "have");
    return fail(err, ERROR_INPUT,
                "no usable step: %lld training line%s, of the first steps of a start, which are "
                "slower than the rest: at least 3 iterations are needed, with --log-interval 1",
                (long long)t->lines, plural(t->lines));
}

bool train_steps_end(struct train_steps *t, struct step_summary *out, struct error *err)
{
    if (t->open && !t->stopped_line)
        read_open(t, false);
    *out = (struct step_summary){.lines = t->lines,
                                 .warmup = t->warmup,
                                 .other_batch = t->bad,
                                 .repeated = t->repeated,
                                 .broken = t->broken,
                                 .note = arena_array(t->mem, MOST_NOTES, sizeof *out->note)};
    note_starts(t, out);
    note_lines(t, out);
    take_ranks(t, out);
    step_figures(&t->store, t->bridge ? BRIDGE_RESOLUTION_S : LINE_RESOLUTION_S, out);
    return out->steps > 0 || explain_nothing(t, err);
}
