/* Published plans of experts (data/published.csv) against what a search finds for the same model,
 * cluster, batch and numerics, both by our own estimate. Two searches each: one over everything,
 * and one in which what the expert left off stays off, so that what is gained by the layout is
 * told from what is gained by features that an older engine did not have. Queries that are
 * equal share their search. Ends with 1 if a search missed a plan that it could have found. */
#include "experts.h"

#include "asked.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Numerics and the engine's history: a search never changes them, so they are asked for. The loss
 * of TransformerEngine is not among them: a rule refuses it in every plan. */
static bool is_kept(enum param p)
{
    enum param_differs differs = param_info(p)->differs;
    return differs == DIFFERS_NUMERICS || differs == DIFFERS_ENGINE || p == PARAM_attention ||
           p == PARAM_precision_aware;
}

/* Features that are off at 0. */
static const enum param FEATURES[] = {
    PARAM_split,      PARAM_seq_parallel,        PARAM_loss_fusion,
    PARAM_tp_overlap, PARAM_p2p_overlap,         PARAM_dist_opt,
    PARAM_fsdp,       PARAM_overlap_grad_reduce, PARAM_overlap_param_gather};

/* Told with the first search, not again with the second. */
static void add_note(struct bench *b, const struct expert *x, const char *text)
{
    struct note **at = &b->notes, *n;
    if (x->best[EVERYTHING])
        return;
    while (*at && strcmp((*at)->text, text) < 0)
        at = &(*at)->next;
    if (!*at || strcmp((*at)->text, text) != 0) {
        n = arena_alloc(&b->mem, sizeof *n);
        *n = (struct note){.next = *at, .text = arena_string(&b->mem, text)};
        str_init(&n->ids);
        *at = n;
    }
    n = *at;
    if (n->rows++ < 8)
        str_addf(&n->ids, " %s", x->id);
    else if (n->rows == 9)
        str_add(&n->ids, " ...");
}

static const char *column(const struct bench *b, int row, const char *name)
{
    return csv_at(&b->table, row, csv_column(&b->table, name));
}

static bool ask(const struct bench *b, int row, struct asked *q, struct error *err)
{
    static const char *const names[][2] = {{"cluster", "cluster"},
                                           {"model", "model"},
                                           {"global-batch", "global_batch"},
                                           {"seq-len", "seq_len"},
                                           {"precision", "precision"}};
    asked_init(q);
    for (int i = 0; i < COUNT(names); i++)
        if (!asked_set(q, names[i][0], column(b, row, names[i][1]), err))
            return false;
    return true;
}

static bool set_words(struct asked *q, const char *text, struct error *err)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (!asked_set(q, "set", arena_copy(&q->mem, text, n), err))
            return false;
        text += n + strspn(text + n, " ");
    }
    return true;
}

static void add_word(struct str *words, const struct strategy *s, enum param p)
{
    str_addf(words, "%s%s=", words->length ? " " : "", param_info(p)->name);
    param_print(p, strategy_get(s, p), words);
}

/* What is asked of the search beside the query. Alone, precision_aware would bring offload with
 * it: a search tries the two together. */
static void fixed_words(const struct strategy *s, enum freedom scope, struct str *words)
{
    for (int i = 0; i < PARAMS; i++)
        if (is_kept((enum param)i) &&
            strategy_get(s, (enum param)i) != param_info((enum param)i)->init)
            add_word(words, s, (enum param)i);
    if (s->precision_aware || scope == OWN_FEATURES)
        add_word(words, s, PARAM_optimizer_offload);
    for (int i = 0; i < COUNT(FEATURES) && scope == OWN_FEATURES; i++)
        if (strategy_get(s, FEATURES[i]) == 0)
            add_word(words, s, FEATURES[i]);
    if (s->recompute != RECOMPUTE_SELECTIVE && scope == OWN_FEATURES)
        str_addf(words, "%srecompute=none,full", words->length ? " " : "");
}

/* `values` has what is fixed. */
static bool rules_hold(struct bench *b, const struct rules *r, double values[SLOTS],
                       const struct expert *x, const char *otherwise)
{
    bool hold = true;
    slots_set_strategy(values, &x->strategy);
    for (int i = 0; i < r->count; i++)
        if (!rule_allows(&r->rule[i], values)) {
            hold = false;
            add_note(b, x, arena_format(&b->mem, "%s: %s", otherwise, r->rule[i].reason));
        }
    return hold;
}

/* The expert's plan as `astra estimate` judges it. */
static bool judge(struct bench *b, struct expert *x, struct asked *q, struct error *err)
{
    struct estimate_query e;
    struct plan plan;
    double values[SLOTS] = {0};
    if (!asked_estimate(q, &e, err))
        return false;
    x->strategy = e.strategy;
    slots_set_fixed(values, e.scene.model, e.scene.group, e.nodes, scene_stack(&e.scene));
    x->allowed = rules_hold(b, &e.rules, values, x, "refused") && e.reasons.count == 0;
    for (int i = 0; i < e.reasons.count; i++)
        add_note(b, x, arena_format(&b->mem, "refused: %s", e.reasons.text[i]));
    plan_evaluate(&e.scene, &e.strategy, e.layout, &q->mem, &plan);
    x->fits = plan.feasible;
    x->step_s = plan.step_s;
    x->expected_error = plan.expected_error;
    if (!plan.feasible)
        add_note(b, x, arena_format(&b->mem, "does not fit: %s", plan.reason[0]));
    return plan.computed || fail(err, ERROR_INPUT, "%s: not computed", x->id);
}

static bool axis_has(const struct axis *a, const struct strategy *s)
{
    for (int i = 0; i < a->options; i++) {
        int same = 0;
        while (same < a->params &&
               a->value[i * a->params + same] == strategy_get(s, a->param[same]))
            same++;
        if (same == a->params)
            return true;
    }
    return false;
}

/* Whether the search could have come upon the expert's plan, and why not. */
static bool is_inside(struct bench *b, const struct search_query *sq, const struct expert *x)
{
    struct space space;
    double values[SLOTS];
    bool inside = true;
    search_space(sq, &b->mem, &space);
    for (int i = 0; i < space.axes; i++) {
        struct str words;
        str_init(&words);
        for (int j = 0; j < space.axis[i].params; j++)
            add_word(&words, &x->strategy, space.axis[i].param[j]);
        if (!axis_has(&space.axis[i], &x->strategy)) {
            inside = false;
            add_note(b, x, arena_format(&b->mem, "never tried: %s", str_text(&words)));
        }
        str_release(&words);
    }
    search_fixed(sq, values);
    return x->allowed && rules_hold(b, sq->rules, values, x, "passed over") && inside;
}

static struct searched *search_of(struct bench *b, const char *key)
{
    int i = 0;
    while (i < b->searches && strcmp(b->searched[i].key, key) != 0)
        i++;
    return &b->searched[i]; /* there is one for each row and scope */
}

static void run_search(struct bench *b, const struct search_query *sq, const char *key,
                       struct searched *out)
{
    struct search_result r;
    struct plan plan;
    struct arena mem;
    arena_init(&mem);
    search_run(sq, &mem, &r);
    *out = (struct searched){.key = key, .found = r.best > 0};
    if (out->found) {
        plan_evaluate(&sq->scene, &r.found[0].strategy, NULL, &mem, &plan);
        out->strategy = plan.strategy;
        out->step_s = plan.step_s;
    }
    arena_release(&mem);
    b->searches++;
}

static bool find_best(struct bench *b, int row, struct asked *q, enum freedom scope,
                      struct error *err)
{
    struct expert *x = &b->expert[row];
    struct search_query sq;
    struct str words;
    str_init(&words);
    fixed_words(&x->strategy, scope, &words);
    const char *key =
        arena_format(&b->mem, "%s %s %s %s %s %s", x->cluster, column(b, row, "model"),
                     column(b, row, "global_batch"), column(b, row, "seq_len"),
                     column(b, row, "precision"), str_text(&words));
    bool ok = set_words(q, str_text(&words), err) && asked_resolve(q, QUERY_SEARCH, err) &&
              query_search(&q->query, 0, &q->mem, &sq, err);
    if (ok) {
        struct searched *s = search_of(b, key);
        x->inside[scope] = is_inside(b, &sq, x);
        if (words.length)
            add_note(b, x, arena_format(&b->mem, "asked for: %s", str_text(&words)));
        if (!s->key)
            run_search(b, &sq, key, s);
        x->best[scope] = s;
        ok = query_costs_hold(&q->query, err);
    }
    str_release(&words);
    return ok;
}

static bool read_expert(struct bench *b, int row, struct error *err)
{
    struct expert *x = &b->expert[row];
    struct asked q;
    const char *source = column(b, row, "source");
    *x = (struct expert){.id = csv_at(&b->table, row, 0), .cluster = column(b, row, "cluster")};
    snprintf(x->source, sizeof x->source, "%.*s", (int)strcspn(source, "("), source);
    bool ok = ask(b, row, &q, err) && set_words(&q, column(b, row, "strategy"), err) &&
              judge(b, x, &q, err);
    asked_release(&q);
    for (int scope = 0; ok && scope < FREEDOMS; scope++) {
        ok = ask(b, row, &q, err) && find_best(b, row, &q, (enum freedom)scope, err);
        asked_release(&q);
    }
    return ok;
}

static bool read_table(struct bench *b, struct error *err)
{
    static const char path[] = "data/published.csv";
    struct text text;
    if (!file_read(path, &b->mem, &text, err) ||
        !csv_parse(&b->table, text.data, text.length, path, &b->mem, err))
        return false;
    b->expert = arena_array(&b->mem, (size_t)b->table.rows, sizeof *b->expert);
    b->searched = arena_array(&b->mem, FREEDOMS * (size_t)b->table.rows, sizeof *b->searched);
    return true;
}

int main(void)
{
    struct bench b = {0};
    struct error err = {0};
    arena_init(&b.mem);
    bool ok = read_table(&b, &err);
    for (int i = 0; ok && i < b.table.rows; i++) {
        ok = read_expert(&b, i, &err);
        if (i % 20 == 19 || i + 1 == b.table.rows)
            fprintf(stderr, "%d of %d plans, %d searches\n", i + 1, b.table.rows, b.searches);
    }
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    int missed = ok ? print_experts(&b) : 0;
    arena_release(&b.mem);
    return !ok ? 2 : missed > 0;
}
