/* What is left to say of a search. */
#include "run/totals.h"

#include "base/arena.h"
#include "report/report.h"
#include "run/any_engine.h"

static void note_rules(struct answering *a, const struct totals *all)
{
    enum { MOST = 20 };
    const struct rules *r = &a->query->terms.rules;
    int idle = 0;
    for (int i = 0; i < r->count; i++) {
        const struct rule *rule = &r->rule[i];
        const char *what = rule_constant(rule) == 1 ? "allows every strategy there is"
                                                    : "dropped nothing that was not dropped before";
        if (all->by_rule[i] == 0 && idle++ < MOST)
            a->report->note[a->report->notes++] = arena_format(
                a->mem, "%s:%d: this rule %s: %s", rule->file, rule->line, what, rule->text);
    }
    if (idle > MOST)
        a->report->note[a->report->notes++] =
            arena_format(a->mem, "%d more rules dropped nothing either", idle - MOST);
}

/* What a mixed pool leaves to say: GPUs without a use, arrangements that were given up. */
static void note_pool(struct answering *a, const struct totals *all)
{
    const struct query *q = a->query;
    int64_t pool = cluster_max_gpus(&q->cluster), used = all->best[0].gpus;
    bool fastest = all->limits.objective == OBJECTIVE_SPEED && q->budget_usd <= 0;
    if (all->mixed.found && q->terms.gpus == 0 && used < pool && fastest)
        a->report->note[a->report->notes++] = arena_format(
            a->mem,
            "the fastest plan uses %lld of the pool's %lld GPUs: with more it is slower, or "
            "not possible",
            (long long)used, (long long)pool);
    if (all->mixed.unproven > 0)
        a->report->note[a->report->notes++] =
            arena_format(a->mem,
                         "of %.0f arrangements of stages %.0f reached the limit of their search: "
                         "their split of layers is not proven to be the best",
                         all->mixed.problems, all->mixed.unproven);
}

/* Prices of nodes that may be taken away, and no word on how often. */
static void note_spot(struct answering *a)
{
    const struct query *q = a->query;
    bool said = false;
    for (int i = 0; i < q->given->outages.rates; i++)
        said |= !q->given->outages.rate[i].failures;
    for (int g = 0; g < q->cluster.groups; g++)
        said |= q->rent[g].interruptions_per_h > 0;
    if (q->given->money.ask.market == MARKET_SPOT && !said)
        a->report->note[a->report->notes++] =
            "interruptions of spot nodes are not counted: --interruptions says how often they come";
}

/* Times of checkpoints and restarts, and nothing that makes them matter. */
static void note_outages(struct answering *a, const struct plan *best)
{
    const int *times = a->query->given->times;
    if (best->slowdown == 1 && (times[OPTION_checkpoint_write] || times[OPTION_restart]))
        a->report->note[a->report->notes++] =
            "outages are not counted, so checkpoints and restarts take no time: add --mtbf, "
            "--interruptions or --checkpoint-every";
}

/* Types of one job are in one place; a price is the best of each alone. */
static void note_places(struct answering *a, const struct plan *best)
{
    if (best->meshes && a->report->money)
        a->report->note[a->report->notes++] =
            "a job on several types needs them in one place: prices are those of each type alone "
            "(--provider, --region)";
}

void totals_note(struct answering *a, const struct totals *all)
{
    const struct query *q = a->query;
    struct search_report *r = a->report;
    const char *length = query_length_note(q, a->mem), *cut = query_cut_note(q, a->mem);
    r->note =
        arena_array(a->mem, (size_t)q->terms.rules.count + 8 + ENGINES_SAID + CLUSTER_MAX_GROUPS,
                    sizeof *r->note);
    note_rules(a, all);
    note_pool(a, all);
    note_spot(a);
    note_outages(a, all->best);
    if (length)
        r->note[r->notes++] = length;
    if (cut)
        r->note[r->notes++] = cut;
    r->notes += query_profile_notes(q, r->note + r->notes, a->mem);
    note_places(a, all->best);
}
