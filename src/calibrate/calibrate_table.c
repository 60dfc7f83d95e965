/* A table of runs, a line each: for runs whose logs are gone, or were never Megatron's. What ran is
 * said in Astra's words, as in data/published.csv, or by flags of Megatron. */
#include "calibrate/calibrate_input.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/str.h"
#include "base/units.h"

#include <assert.h>
#include <string.h>

/* Columns that are options of their own; an empty field is none. */
static const struct {
    const char *column, *option;
} OPTIONS[] = {{"cluster", "cluster"}, {"model", "model"},         {"global_batch", "global-batch"},
               {"seq_len", "seq-len"}, {"precision", "precision"}, {"stack", "stack"}};

bool calibrate_is_table(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

bool calibrate_table_load(const char *path, struct csv *c, struct arena *mem, struct error *err)
{
    static const char *const needed[] = {"cluster", "step_s"};
    struct text text;
    if (!file_read(path, mem, &text, err) || !csv_parse(c, text.data, text.length, path, mem, err))
        return false;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (csv_column(c, needed[i]) < 0)
            return fail(err, ERROR_INPUT, "%s:1: no column '%s': a table of runs has one", path,
                        needed[i]);
    if (csv_column(c, "model") < 0 && csv_column(c, "flags") < 0)
        return fail(err, ERROR_INPUT,
                    "%s:1: no column 'model' (with 'strategy'), nor 'flags': nothing says what ran",
                    path);
    return c->rows > 0 || fail(err, ERROR_INPUT, "%s: has no runs below its header", path);
}

static const char *cell(const struct csv *c, int row, const char *column)
{
    int at = csv_column(c, column);
    return at < 0 ? "" : csv_at(c, row, at);
}

/* Blank-separated. */
static size_t split(const char *text, const char ***out, struct arena *mem)
{
    size_t count = 0;
    const char **word = arena_array(mem, strlen(text) / 2 + 1, sizeof *word);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        word[count++] = arena_copy(mem, text, length);
        text += length;
    }
    *out = word;
    return count;
}

static bool take_options(struct calibrate_input *in, const struct csv *c, int row,
                         struct error *err)
{
    struct options *o = &in->options;
    const char **word;
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        const char *value = cell(c, row, OPTIONS[i].column);
        if (*value && !options_set(o, OPTIONS[i].option, value, err))
            return false;
    }
    size_t words = split(cell(c, row, "flags"), &word, o->mem);
    if (words > 0 && !options_flags(o, words, word, err))
        return false;
    words = split(cell(c, row, "strategy"), &word, o->mem);
    for (size_t i = 0; i < words; i++)
        if (!options_set(o, "set", word[i], err))
            return false;
    return true;
}

/* It takes the place of the row's split. */
static bool take_layout(struct calibrate_input *in, const char *text, struct arena *mem,
                        struct error *err)
{
    struct layout *l;
    if (!*text)
        return true;
    l = arena_alloc(mem, sizeof *l);
    in->asked.layout = l;
    return layout_parse(l, text, in->asked.scene.model, &in->asked.strategy, err);
}

/* Of a figure that must be above 0; the peak may be empty, and is believed where there is no doubt
 * whose it is. */
static bool take_figures(struct calibrate_input *in, const struct csv *c, int row,
                         struct arena *mem, struct error *err)
{
    double step_s, peak_gib = 0;
    const char *step = cell(c, row, "step_s"), *peak = cell(c, row, "peak_gib");
    if (!parse_real(step, &step_s) || !(step_s > 0))
        return fail(err, ERROR_INPUT, "step_s is '%.60s', a number of seconds above 0 is right",
                    step);
    if (*peak && (!parse_real(peak, &peak_gib) || !(peak_gib > 0)))
        return fail(err, ERROR_INPUT, "peak_gib is '%.60s', a number of GiB above 0 is right",
                    peak);
    if (in->refusals > 0)
        return true;
    calibrate_observe(in, mem, (struct observation){.stage = -1, .measured = step_s});
    if (peak_gib > 0 && in->asked.strategy.pp == 1)
        calibrate_observe(in, mem,
                          (struct observation){.memory = true, .measured = peak_gib * GIB});
    return true;
}

bool calibrate_table_row(struct calibrate_input *in, const struct options *from,
                         struct resources *resources, const char *path, const struct csv *c,
                         int row, struct arena *mem, struct error *err)
{
    struct error inner = {0};
    const char *id = cell(c, row, "id");
    *in = (struct calibrate_input){.kind = "table of runs"};
    in->path = *id ? arena_format(mem, "%s: %s", path, id)
                   : arena_format(mem, "%s:%d", path, c->line[row]);
    if (!calibrate_input_begin(in, from, true, mem, err))
        return false;
    if (!take_options(in, c, row, &inner))
        return fail(err, inner.kind, "%s:%d: %s", path, c->line[row], inner.text);
    if (!calibrate_ask(in, resources, mem, err))
        return false;
    if (!take_layout(in, cell(c, row, "layout"), mem, &inner) ||
        !take_figures(in, c, row, mem, &inner))
        return fail(err, inner.kind, "%s:%d: %s", path, c->line[row], inner.text);
    calibrate_sift(in, mem);
    return true;
}
