/* Plans side by side. A side is a file as estimate reads it, or a search: its best plan is then read
 * as if it had been written to a file, so that both kinds are one thing from there on. */
#include "run/commands.h"

#include "base/file.h"
#include "base/units.h"
#include "import/shell/launch.h"
#include "query/query_file.h"
#include "query/query_parts.h"
#include "report/page/page.h"

#include <string.h>

static const char BEST[] = "best"; /* a search with the options as they are */

/* What only a search asks: a file says it itself. */
static bool of_search_alone(const struct option *o)
{
    static const char *const names[] = {"set", "global-batch", "seq-len", "precision"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(o->name, names[i]) == 0)
            return true;
    return !option_takes(o, "estimate");
}

static bool is_pool(const struct option *o)
{
    return strcmp(o->name, "cluster") == 0 || strcmp(o->name, "gpus") == 0;
}

/* The options that count for a side, but for one that it gives itself. */
static bool give_common(const struct options *from, bool search, const char *without,
                        struct options *to, struct error *err)
{
    for (const struct given *g = from->first; g; g = g->next) {
        bool counts = search ? option_takes(g->option, "search")
                             : !of_search_alone(g->option) && !is_pool(g->option);
        if (counts && strcmp(g->option->name, without) != 0 &&
            !options_set(to, g->option->name, g->value, err))
            return false;
    }
    return true;
}

/* "plan.json#2": the second plan of a file. */
static const char *file_of(const char *word, struct options *to)
{
    const char *hash = strrchr(word, '#');
    int64_t number;
    if (file_exists(word) || !hash || !parse_int(hash + 1, &number) || number < 1 || number > 10000)
        return word;
    const char *path = arena_copy(to->mem, word, (size_t)(hash - word));
    if (!file_exists(path))
        return word;
    to->plan = (int)number;
    return path;
}

/* An option of search, or a parameter as --set takes it. */
static bool give_change(const char *change, struct options *to, struct error *err)
{
    size_t n = strcspn(change, "=");
    const char *name = arena_copy(to->mem, change, n);
    const struct option *o = option_find(name);
    if (o && option_is_input(o))
        return options_set(to, name, change + n + 1, err);
    if (param_find(name) >= 0)
        return options_set(to, "set", change, err);
    return fail(err, ERROR_INPUT,
                "'%s' is neither an option of search nor a parameter of --set, as in gpus=64 or "
                "tp=8",
                name);
}

/* The name of the first option that the changes give: one that is given for all yields to it. */
static const char *changed_option(const char *word, struct arena *mem)
{
    const char *name = arena_copy(mem, word, strcspn(word, "="));
    const struct option *o = option_find(name);
    return o && o->use == ASKS ? name : "";
}

static bool give_changes(const char *word, struct options *to, struct error *err)
{
    for (const char *at = word; *at;) {
        size_t n = strcspn(at, " ");
        if (n > 0 && !memchr(at, '=', n))
            return fail(err, ERROR_INPUT, "'%.*s' is no change, expected NAME=VALUE", (int)n, at);
        if (n > 0 && !give_change(arena_copy(to->mem, at, n), to, err))
            return false;
        at += n;
        at += strspn(at, " ");
    }
    return true;
}

/* The best plan of a search as the text of a file. */
static bool search_text(struct astra *a, const char *word, struct str *out, struct error *err)
{
    struct options *options = arena_alloc(&a->mem, sizeof *options);
    struct query *q = arena_alloc(&a->mem, sizeof *q);
    struct search_report *report = arena_alloc(&a->mem, sizeof *report);
    struct answering asked = {.query = q,
                              .mem = &a->mem,
                              .report = report,
                              .err = err,
                              .cancel = &a->cancel,
                              .cancelled = a->cancelled,
                              .cancelled_context = a->cancelled_context,
                              .start_s = search_clock_s()};
    bool best = strcmp(word, BEST) == 0;
    options_init(options, &a->mem);
    if (!give_common(&a->options, true, best ? "" : changed_option(word, &a->mem), options, err) ||
        (!best && !give_changes(word, options, err)) ||
        !query_resolve(options, QUERY_SEARCH, &a->resources, &a->mem, q, err) ||
        !run_search(&asked))
        return false;
    report->best = 1;
    report_search_json(report, out);
    return true;
}

/* Not a search's file: its options have their effect in the plan already. */
static bool give_plan(struct astra *a, const char *word, struct options *to, struct error *err)
{
    struct str text = {0};
    bool ok = search_text(a, word, &text, err) && import_at_hand(to, str_text(&text), word, err);
    str_release(&text);
    return ok;
}

static bool is_search(const char *word)
{
    return !file_exists(word) && (strcmp(word, BEST) == 0 || strchr(word, '='));
}

/* A plan is on the nodes that it was made for; others are told which. */
static bool give_pool(const struct options *from, struct options *to, struct error *err)
{
    bool known = to->has_cluster;
    for (const struct given *g = from->first; g && !known; g = g->next)
        if (is_pool(g->option) && !options_set(to, g->option->name, g->value, err))
            return false;
    return true;
}

/* Options of the pool are those of the search already. */
static bool give_rest(const struct options *from, struct options *to, struct error *err)
{
    for (const struct given *g = from->first; g; g = g->next) {
        bool pool = strcmp(g->option->name, "cluster") == 0 ||
                    strcmp(g->option->name, "gpu") == 0 || strcmp(g->option->name, "gpus") == 0 ||
                    strcmp(g->option->name, "model") == 0;
        bool script = strcmp(g->option->name, "env") == 0 || strcmp(g->option->name, "args") == 0;
        if (!pool && !script && !of_search_alone(g->option) &&
            !options_set(to, g->option->name, g->value, err))
            return false;
    }
    return true;
}

static bool read_side(struct astra *a, const char *word, struct side *out, struct error *err)
{
    struct options *options = arena_alloc(&a->mem, sizeof *options);
    struct query *q = arena_alloc(&a->mem, sizeof *q);
    struct estimate_query *e = arena_alloc(&a->mem, sizeof *e);
    struct plan *p = arena_alloc(&a->mem, sizeof *p);
    bool search = is_search(word);
    options_init(options, &a->mem);
    if (search ? !give_rest(&a->options, options, err) || !give_plan(a, word, options, err)
               : !give_common(&a->options, false, "", options, err) ||
                     !import_file(options, file_of(word, options), err) ||
                     !give_pool(&a->options, options, err))
        return false;
    if (!query_resolve(options, QUERY_ESTIMATE, &a->resources, &a->mem, q, err) ||
        !query_estimate(q, &a->mem, e, err))
        return false;
    run_evaluate(q, e, &a->mem, p);
    const struct launch *l = imported_launch(options);
    *out = (struct side){word, search ? "search" : l ? l->kind : "plan", q, e, p};
    return true;
}

/* A message says of which side it is. */
static bool of_side(const char *word, const struct error *cause, struct error *err)
{
    if (strncmp(cause->text, word, strlen(word)) == 0) /* a file names itself */
        *err = *cause;
    else
        fail(err, cause->kind, "%s: %s", word, cause->text);
    return false;
}

bool run_compare(struct astra *a)
{
    const struct texts *given = &a->options.compared;
    struct compare_report *r = &a->comparing;
    *r = (struct compare_report){.sides = given->count};
    const char *page = a->options.output.report;
    if (given->count < 2)
        return fail(&a->error, ERROR_INPUT,
                    "two plans are needed, as in astra compare plan.json train.sh --cluster "
                    "8x8:H100");
    if (!outputs_check(&a->options.output, &a->error))
        return false;
    struct side *side = arena_array(&a->mem, (size_t)given->count, sizeof *side);
    r->side = side;
    r->pair = arena_array(&a->mem, (size_t)given->count, sizeof *r->pair);
    for (int i = 0; i < given->count; i++) {
        struct error cause = {0};
        if (!read_side(a, given->text[i], &side[i], &cause))
            return of_side(given->text[i], &cause, &a->error);
        if (a->progress)
            a->progress(a->progress_context, (i + 1.0) / given->count);
    }
    for (int i = 1; i < given->count; i++)
        if (!(r->pair[i] = differences_of(&side[0], &side[i], &a->mem, &a->error)))
            return false;
    return !page || page_write_compare(r, page, &a->error);
}
