/* Short forms of what a plan has: names of its figures, its parameters in a few words, its flags as
 * lines of a shell. Long parameter names have a short word here; all others are their own. */
#include "report/plan_words.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "export/shell.h"
#include "report/report.h"
#include "report/text/typeset.h"
#include "rules/rules.h"
#include "strategy/precision.h"

#include <math.h>
#include <string.h>

enum { SHELL_COLUMNS = 100 }; /* where the style does not say */

const struct plan_figure *plan_figures(size_t *count)
{
    static const struct plan_figure figures[] = {
#define FIGURE(name) {#name, offsetof(struct plan, name)}
        FIGURE(step_s),
        FIGURE(tokens_per_s),
        FIGURE(tokens_per_s_per_gpu),
        FIGURE(tflops_per_gpu),
        FIGURE(mfu),
        FIGURE(expected_error),
        FIGURE(samples_per_s),
        FIGURE(hours_per_epoch),
        FIGURE(spare_bytes),
#undef FIGURE
    };
    *count = sizeof figures / sizeof *figures;
    return figures;
}

bool plan_figure_get(const struct plan *p, const struct plan_figure *f, double *value)
{
    *value = *(const double *)((const char *)p + f->offset);
    return p->computed && isfinite(*value) && *value > 0;
}

/* The operators of a mixer with a state, which were measured on no GPU. */
static const char *scan_words(const struct model *m)
{
    static const char *const WORDS[MIXERS] = {
        [MIXER_MAMBA] = ", the scan of state spaces among them,",
        [MIXER_PARALLEL] = ", the scan of state spaces among them,",
        [MIXER_GDN] = ", the delta rule among them,",
        [MIXER_KDA] = ", the delta rule among them,",
        [MIXER_LIGHTNING] = ", the scan of lightning attention among them,"};
    for (int x = 0; x < MIXERS; x++)
        if (WORDS[x] && model_has_mixer(m, (enum mixer)x))
            return WORDS[x];
    return "";
}

bool plan_has_samples(const struct plan *p)
{
    return p->dataset || p->task || (p->run && p->run->samples > 0);
}

void add_sample_words(const struct plan *p, struct str *out)
{
    str_addf(out, "%.*f samples/s", p->samples_per_s < 10 ? 2 : 1, p->samples_per_s);
    if (p->hours_per_epoch > 0 && isfinite(p->hours_per_epoch)) {
        str_add(out, ", ");
        add_seconds(out, 3600 * p->hours_per_epoch);
        str_add(out, " an epoch");
    }
}

void add_spare_words(const struct plan *p, struct str *out)
{
    if (p->spare_bytes >= 0)
        str_addf(out, "fits with %.1f GiB to spare", p->spare_bytes / GIB);
    else
        str_addf(out, "does not fit: %.1f GiB too much", -p->spare_bytes / GIB);
}

void add_error_words(const struct plan *p, struct str *out)
{
    const struct plan_evidence *e = &p->evidence;
    const struct step_evidence *s = &e->steps;
    str_addf(out, "Four of five runs like this one lie within ±%.0f %%", 100 * s->error);
    if (s->runs == 0) {
        str_add(out, ": a guess, without learned models");
        return;
    }
    str_addf(out, ": from %d run%s of %d source%s (%s, %s%s%s), less so from wider classes",
             s->runs, s->runs == 1 ? "" : "s", s->sources, s->sources == 1 ? "" : "s",
             s->scope == SCOPE_all ? "any model"
             : e->class.experts    ? "experts"
                                   : "dense",
             scope_words(s->scope), s->scope != SCOPE_precision ? "" : " in ",
             s->scope != SCOPE_precision            ? ""
             : precision_is_narrow(e->class.format) ? precision_info(e->class.format)->word
                                                    : "16 bits");
    if (e->kernels >= 0.01)
        str_addf(out, "; operators never measured on it%s may add %.0f %%", scan_words(p->model),
                 100 * e->kernels);
}

void add_gpu_names(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++)
        if (i == 0 || part[i].group->gpu != part[i - 1].group->gpu)
            str_addf(out, "%s%s", i ? "+" : "", part[i].group->gpu->name);
}

void add_gpu_counts(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++)
        str_addf(out, "%s%lld", i ? "+" : "", (long long)part[i].gpus);
}

void add_gpus(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++)
        str_addf(out, "%s%lld %s", i ? " + " : "", (long long)part[i].gpus,
                 part[i].group->gpu->name);
}

void add_pool(const struct plan *p, struct str *out)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    for (int i = 0; i < parts; i++) {
        const struct node_group *g = part[i].group;
        double nic_gbit = g->nic_bs * 8 / 1e9;
        str_addf(out, "%s%lldx%d:%s", i ? "," : "", (long long)part[i].nodes, part[i].per_node,
                 g->gpu->name);
        if (fabs(nic_gbit - g->gpu->nic_gbit) > 1e-9 * nic_gbit)
            str_addf(out, "@%.9g", nic_gbit);
    }
}

void add_recompute(const struct strategy *s, struct str *out)
{
    if (s->recompute == RECOMPUTE_NONE) {
        str_add(out, "none");
    } else if (s->recompute == RECOMPUTE_SELECTIVE) {
        str_add(out, "sel ");
        param_print(PARAM_recompute_modules, s->recompute_modules, out);
    } else if (s->recompute_method == METHOD_BLOCK) {
        str_addf(out, "block %d", s->recompute_layers);
    } else {
        str_add(out, "full");
        if (s->recompute_layers > 1)
            str_addf(out, "/%d", s->recompute_layers);
    }
}

void add_pipeline(const struct strategy *s, struct str *out)
{
    str_addf(out, "%d", s->pp);
    if (s->vpp > 1)
        str_addf(out, "x%d", s->vpp);
}

/* Ways that are 1 say nothing. */
static void add_ways(const char *name, int ways, struct str *out)
{
    if (ways > 1)
        str_addf(out, "%s %d, ", name, ways);
}

void add_plan_words(const struct strategy *s, struct str *out)
{
    str_addf(out, "tp %d, ", s->tp);
    add_ways("cp", s->cp, out);
    str_add(out, "pp ");
    add_pipeline(s, out);
    str_addf(out, ", dp %d, ", s->dp);
    add_ways("ep", s->ep, out);
    str_addf(out, "micro-batch %d, recompute ", s->micro_batch);
    add_recompute(s, out);
}

void add_param_of(const struct plan *p, enum param param, struct str *out)
{
    int parts = plan_meshes_differ(p) ? p->meshes->count : 1, same = 1;
    struct str part[MESHES_MAX];
    for (int i = 0; i < parts; i++) {
        struct strategy room;
        const struct strategy *s =
            parts > 1 ? mesh_strategy(&p->meshes->mesh[i], &p->strategy, &room) : &p->strategy;
        str_init(&part[i]);
        if (param == PARAM_recompute)
            add_recompute(s, &part[i]);
        else
            param_print(param, strategy_get(s, param), &part[i]);
        same = same && strcmp(str_text(&part[i]), str_text(&part[0])) == 0;
    }
    for (int i = 0; i < parts; i++) {
        if (i == 0 || !same)
            str_addf(out, "%s%s", i ? "/" : "", str_text(&part[i]));
        str_release(&part[i]);
    }
}

void add_ways_of(const struct plan *p, struct str *out)
{
    static const struct {
        enum param param;
        const char *before;
    } words[] = {{PARAM_tp, "tp "},
                 {PARAM_dp, ", dp "},
                 {PARAM_ep, ", ep "},
                 {PARAM_micro_batch, ", micro-batch "},
                 {PARAM_recompute, ", recompute "}};
    if (!plan_meshes_differ(p)) {
        add_plan_words(&p->strategy, out);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].param == PARAM_ep && p->model->experts == 0)
            continue;
        str_add(out, words[i].before);
        add_param_of(p, words[i].param, out);
        if (words[i].param == PARAM_tp)
            str_addf(out, ", pp %d", p->strategy.pp);
    }
}

void add_memory_of_limit(const struct plan *p, struct str *out)
{
    str_addf(out, "%.1f/%.1f GiB", plan_fullest(p)->device_bytes / GIB, p->limit_bytes / GIB);
}

void add_expert_room(const struct plan *p, struct str *out)
{
    const struct expert_room *x = &p->expert_room;
    if (x->possible <= 1 || x->fits <= 0)
        return;
    if (x->fits >= x->possible)
        str_add(out, "fits at any expert imbalance");
    else
        str_addf(out, "fits up to an expert imbalance of %.2f", x->fits);
    double judged = fmin(x->possible, fmax(p->imbalance, p->memory_imbalance));
    str_addf(out, " (judged at %.4g)", judged);
}

void add_host_memory(const struct plan *p, struct str *out)
{
    const struct plan_stage *s = plan_fullest_host(p);
    bool offloads = p->strategy.optimizer_offload > 0 || p->switches.offload;
    if ((!offloads && s->host_fullness <= 0) || s->host_fullness > 1)
        return;
    str_addf(out, "needs %.1f ", s->host_bytes / GIB);
    if (s->host_fullness > 0)
        str_addf(out, "of %.1f ", s->group->host_bytes / GIB);
    str_add(out, "GiB of a node's host memory");
}

void add_option(const struct strategy *s, enum param p, const char *between, struct str *out)
{
    int value = strategy_get(s, p);
    if (value == param_info(p)->init)
        return;
    str_addf(out, "%s%s", out->length ? between : "", param_info(p)->short_name);
    if (param_info(p)->kind != PARAM_ONOFF || value == 0) {
        str_add(out, "=");
        param_print(p, value, out);
    }
}

/* The flag at *i with its values; moves *i behind them. */
static void add_flag(const char *const *words, size_t count, size_t *i, struct str *out)
{
    do {
        if (out->length)
            str_add(out, " ");
        add_shell_word(out, words[(*i)++]);
    } while (*i < count && words[*i][0] != '-');
}

void add_shell_lines(const char *const *words, size_t count, const struct report_style *style,
                     struct str *out)
{
    size_t limit = style->columns > 0 ? (size_t)style->columns : SHELL_COLUMNS, at = 0;
    struct str flag = {0};
    for (size_t i = 0; i < count; str_clear(&flag)) {
        add_flag(words, count, &i, &flag);
        size_t width = typeset_width(str_text(&flag));
        if (at > 0 && at + 1 + width + 2 > limit) { /* 2: the backslash behind it */
            str_add(out, " \\\n");
            at = 0;
        }
        str_add(out, at > 0 ? " " : "    ");
        at += width + (at > 0 ? 1 : 4);
        str_add(out, str_text(&flag));
    }
    str_add(out, "\n");
    str_release(&flag);
}

static bool has_note(const struct plan *p, const void *text)
{
    for (int i = 0; i < p->notes; i++)
        if (strcmp(p->note[i], text) == 0)
            return true;
    return false;
}

static bool has_caution(const struct plan *p, const void *caution)
{
    const struct rule *r = caution;
    for (int i = 0; i < p->cautions; i++) /* of another group it is another copy */
        if (p->caution[i]->line == r->line && strcmp(p->caution[i]->file, r->file) == 0)
            return true;
    return false;
}

/* "plans 1, 3: ". False, and nothing, where a plan before `i` has it too. */
static bool add_plans_with(const struct plan *p, int plans, int i,
                           bool (*has)(const struct plan *, const void *), const void *what,
                           struct str *out)
{
    int having = 0;
    for (int n = 0; n < plans; n++) {
        if (n < i && has(&p[n], what))
            return false;
        having += has(&p[n], what);
    }
    str_add(out, having > 1 ? "plans " : "plan ");
    for (int n = i, end; n < plans; n = end) {
        for (end = n; end < plans && has(&p[end], what);)
            end++;
        if (end > n)
            str_addf(out,
                     end - n > 2   ? "%s%d-%d"
                     : end - n > 1 ? "%s%d, %d"
                                   : "%s%d",
                     n > i ? ", " : "", n + 1, end);
        else
            end = n + 1;
    }
    str_add(out, ": ");
    return true;
}

bool add_note_of_plans(const struct plan *p, int plans, int i, int k, struct str *out)
{
    const char *note = p[i].note[k];
    if (!add_plans_with(p, plans, i, has_note, note, out))
        return false;
    str_add(out, note);
    return true;
}

void add_caution(const struct rule *r, struct str *out)
{
    str_addf(out, "%s (%s)", r->reason, r->source);
}

bool add_caution_of_plans(const struct plan *p, int plans, int i, int k, struct str *out)
{
    const struct rule *r = p[i].caution[k];
    if (!add_plans_with(p, plans, i, has_caution, r, out))
        return false;
    add_caution(r, out);
    return true;
}
