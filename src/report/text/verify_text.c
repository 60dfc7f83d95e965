/* `verify` for people: what ran where, predicted and measured side by side, notes, the verdict. */

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "export/shell.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "report/text/table.h"
#include "report/text/typeset.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static void print_head(const struct verify_report *r, const struct report_style *style,
                       struct str *out)
{
    struct str text = {0};
    str_addf(&text, "%s on ", r->plan->model->name);
    add_gpus(r->plan, &text);
    str_add(&text, ": ");
    add_ways_of(r->plan, &text);
    if (r->dry_run)
        str_addf(&text, "; nothing is run; this is what would be (stack %s)", plan_stack(r->run));
    else
        str_addf(&text, "; on one %s (%.1f GiB) with stack %s, PyTorch %s, Megatron core %s",
                 r->check.gpu, r->check.total_mib * MIB / GIB, plan_stack(r->run), r->check.torch,
                 r->check.megatron);
    if (!r->dry_run && r->run->te)
        str_addf(&text, ", TransformerEngine %s", r->check.te);
    typeset_wrap(style, str_text(&text), 0, out);
    str_clear(&text);
    str_addf(&text,
             "%lld of %lld micro-batches, with which the chosen stages are as full; %d steps "
             "or more",
             (long long)r->micro_batches, (long long)r->all_micro_batches, VERIFY_STEPS);
    typeset_wrap(style, str_text(&text), 0, out);
    str_release(&text);
}

static void add_percent(struct table *t, double error)
{
    if (!isnan(error))
        str_addf(&t->text, fabs(error) < 0.0005 ? "0.0 %%" : "%+.1f %%", 100 * error);
    table_take(t);
}

static void add_time(struct table *t, bool known, double seconds)
{
    if (known)
        add_seconds(&t->text, seconds);
    table_take(t);
}

static void add_gib(struct table *t, bool known, double bytes)
{
    if (known)
        str_addf(&t->text, "%.2f GiB", bytes / GIB);
    table_take(t);
}

static void add_sensors(struct table *t, const struct verify_stage *s)
{
    const struct rank_result *m = &s->measured;
    bool ran = s->outcome == VERIFY_OK;
    if (ran && !isnan(m->sm_mhz))
        str_addf(&t->text, "%.0f MHz", m->sm_mhz);
    table_take(t);
    if (ran && !isnan(m->watts) && isnan(m->watt_limit))
        str_addf(&t->text, "%.0f W", m->watts);
    else if (ran && !isnan(m->watts))
        str_addf(&t->text, "%.0f/%.0f W", m->watts, m->watt_limit);
    table_take(t);
}

/* What became of it in a word or two; whole sentences stand below. */
static const char *result_of(const struct verify_stage *s)
{
    static const char *const words[] = {[VERIFY_PENDING] = "",
                                        [VERIFY_SKIPPED] = "not run",
                                        [VERIFY_OK] = "ok",
                                        [VERIFY_FULL] = "out of memory",
                                        [VERIFY_FAILED] = "failed"};
    return s->outcome == VERIFY_OK && s->suspects > 0 ? "suspect" : words[s->outcome];
}

static void add_row(struct table *t, const struct verify_stage *s)
{
    bool ran = s->outcome == VERIFY_OK;
    table_add(t, "%d", s->stage);
    table_add(t, "%s", s->kind);
    table_add(t, "%d", s->layers);
    table_add(t, "%d", s->alike);
    table_add(t, "%lld", (long long)s->rank);
    table_add(t, "%s", s->predicted_for->name);
    add_time(t, s->timed, s->compute_s);
    add_time(t, ran && s->measured.compute_ms > 0, s->measured.compute_ms / 1e3);
    add_percent(t, s->compute_error);
    add_gib(t, true, s->peak_bytes);
    add_gib(t, ran, s->measured.peak_mib * MIB);
    add_percent(t, s->memory_error);
    add_sensors(t, s);
    table_add(t, "%s", result_of(s));
}

static void print_table(const struct verify_report *r, const struct report_style *style,
                        struct str *out)
{
    static const struct table_column columns[] = {
        {"stage", TABLE_RIGHT, 0},   {"kind", TABLE_LEFT, 5},      {"layers", TABLE_RIGHT, 6},
        {"alike", TABLE_RIGHT, 7},   {"rank", TABLE_RIGHT, 8},     {"predicted for", TABLE_LEFT, 4},
        {"compute", TABLE_RIGHT, 0}, {"measured", TABLE_RIGHT, 0}, {"error", TABLE_RIGHT, 1},
        {"memory", TABLE_RIGHT, 0},  {"measured", TABLE_RIGHT, 0}, {"error", TABLE_RIGHT, 1},
        {"clock", TABLE_RIGHT, 2},   {"power", TABLE_RIGHT, 3},    {"result", TABLE_LEFT, 0}};
    enum { COLUMNS = sizeof columns / sizeof *columns, PREDICTED_FOR = 5, FIRST_MEASURED = 7 };
    struct table t;
    table_init(&t, columns, COLUMNS);
    for (int i = 0; i < r->stages; i++)
        add_row(&t, &r->stage[i]);
    table_hide_if_all(&t, PREDICTED_FOR, r->plan->group->gpu->name);
    for (int i = FIRST_MEASURED; i < COLUMNS; i++)
        table_hide_if_all(&t, i, "");
    typeset_heading(style, "Stages", out);
    table_print(&t, style, out);
}

static void print_lines(const char *text, struct str *out)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        str_addf(out, "      %.*s\n", (int)n, text);
    }
}

/* What a word in the table does not say. */
static void print_remarks(const struct verify_report *r, const struct report_style *style,
                          struct str *out)
{
    struct str text = {0};
    for (int i = 0; i < r->stages; i++) {
        const struct verify_stage *s = &r->stage[i];
        str_clear(&text);
        if (s->outcome == VERIFY_SKIPPED || s->outcome == VERIFY_FAILED)
            str_addf(&text, "stage %d: %s", s->stage, s->status);
        for (int k = 0; k < s->suspects; k++)
            str_addf(&text, "%s%s", k ? ", " : "", s->suspect[k]);
        if (!text.length)
            continue;
        if (s->suspects > 0) {
            struct str whole = {0};
            str_addf(&whole, "stage %d is suspect: %s", s->stage, str_text(&text));
            typeset_item(style, str_text(&whole), out);
            str_release(&whole);
        } else {
            typeset_item(style, str_text(&text), out);
        }
        if (s->outcome == VERIFY_FAILED)
            print_lines(s->log, out);
    }
    str_release(&text);
}

static void print_notes(const struct verify_report *r, const struct report_style *style,
                        struct str *out)
{
    bool remarks = false;
    for (int i = 0; i < r->stages; i++)
        remarks |= r->stage[i].outcome == VERIFY_SKIPPED || r->stage[i].outcome == VERIFY_FAILED ||
                   r->stage[i].suspects > 0;
    if (!remarks && r->notes == 0)
        return;
    typeset_heading(style, "Notes", out);
    print_remarks(r, style, out);
    for (int i = 0; i < r->notes; i++)
        typeset_item(style, r->note[i], out);
}

static void print_verdict(const struct verify_report *r, const struct report_style *style,
                          struct str *out)
{
    struct str text = {0};
    str_add(out, "\n");
    typeset_ink(style, r->confirmed ? INK_GOOD : INK_BAD, out);
    typeset_wrap(style, r->verdict, 0, out);
    typeset_ink(style, INK_PLAIN, out);
    if (isnan(r->step_s))
        return;
    str_add(&text, "With the measured compute a step of the plan takes ");
    add_seconds(&text, r->step_s);
    str_add(&text, ", predicted are ");
    add_seconds(&text, r->plan->step_s);
    typeset_wrap(style, str_text(&text), 0, out);
    str_release(&text);
}

/* As a shell takes it: interpreter and script, then the options on lines of their own. */
static void print_command(const struct verify_report *r, const struct verify_stage *s,
                          const struct report_style *style, struct str *out)
{
    size_t options = 0;
    while (s->command[2 + options])
        options++;
    str_add(out, "  MEGATRON=");
    add_shell_word(out, r->megatron ? r->megatron : "FOLDER");
    for (int i = 0; i < 2; i++) {
        str_add(out, " ");
        add_shell_word(out, s->command[i]);
    }
    str_add(out, " \\\n");
    add_shell_lines(s->command + 2, options, style, out);
}

static void print_commands(const struct verify_report *r, const struct report_style *style,
                           struct str *out)
{
    struct str head = {0};
    for (int i = 0; i < r->stages; i++) {
        str_clear(&head);
        str_addf(&head, "Stage %d (rank.py is in tools/rank)", r->stage[i].stage);
        typeset_heading(style, str_text(&head), out);
        print_command(r, &r->stage[i], style, out);
    }
    str_release(&head);
}

void report_verify_text(const struct verify_report *r, const struct report_style *style,
                        struct str *out)
{
    print_head(r, style, out);
    print_table(r, style, out);
    print_notes(r, style, out);
    if (r->dry_run)
        print_commands(r, style, out);
    else
        print_verdict(r, style, out);
}
