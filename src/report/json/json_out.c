/* The JSON contract (doc/json.md, data/schema/plan.schema.json). Field names are promises; what
 * was not computed is null, so that every plan has every field. */
#include "report/json/json_out.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cluster/group.h"
#include "cost/placement.h"
#include "cost/residual_file.h"
#include "export/export.h"
#include "price/rent.h"
#include "probe/answer.h"
#include "import/shell/launch.h"
#include "query/query_file.h"
#include "report/first_words.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "rules/rules.h"
#include "search/mixed/mixed.h"

#include <limits.h>
#include <math.h>

static struct json *bytes_of(double bytes)
{
    return json_new_integer(llround(bytes));
}

static struct json *word_of(enum param p, int value)
{
    struct str word = {0};
    param_print(p, value, &word);
    struct json *v = json_new_string(str_text(&word));
    str_release(&word);
    return v;
}

static struct json *set_of(enum param p, int value)
{
    struct json *list = json_new_array();
    for (int bit = 1; bit <= param_info(p)->hi; bit <<= 1)
        if (value & bit)
            json_append(list, word_of(p, bit));
    return list;
}

static struct json *value_of(enum param p, int value)
{
    switch (param_info(p)->kind) {
    case PARAM_ONOFF:
        return json_new_bool(value != 0);
    case PARAM_WORD:
        return word_of(p, value);
    case PARAM_SET:
        return set_of(p, value);
    case PARAM_INT:
        break;
    }
    return json_new_integer(value);
}

static struct json *strategy_of(const struct strategy *s)
{
    struct json *o = json_new_object();
    for (int i = 0; i < PARAMS; i++)
        json_set(o, param_info((enum param)i)->name,
                 value_of((enum param)i, strategy_get(s, (enum param)i)));
    return o;
}

static struct json *breakdown_of(const struct plan *p)
{
    if (!p->computed)
        return json_new_null();
    struct json *o = json_new_object();
    for (int i = 0; i < BREAKDOWN_PARTS; i++)
        json_set(o, breakdown_name((enum breakdown_part)i), json_new_number(p->breakdown[i]));
    return o;
}

static struct json *memory_of(const struct memory_use *m)
{
    struct json *o = json_new_object();
    for (int i = 0; i < MEMORY_PARTS; i++)
        json_set(o, memory_part_info((enum memory_part)i)->name, bytes_of(m->part[i]));
    return o;
}

static struct json *stage_of(const struct plan *p, int i)
{
    const struct plan_stage *s = &p->stage[i];
    struct json *o = json_new_object();
    json_set(o, "stage", json_new_integer(i));
    json_set(o, "gpu", json_new_string(s->group->gpu->name));
    json_set(o, "gpus", json_new_integer(s->gpus));
    json_set(o, "layers", json_new_integer(s->layers));
    json_set(o, "forward_s", json_new_number(s->forward_s));
    json_set(o, "backward_s", json_new_number(s->backward_s));
    json_set(o, "compute_step_s", json_new_number(s->compute_step_s));
    json_set(o, "idle_s", json_new_number(s->idle_s));
    json_set(o, "peak_bytes", bytes_of(s->peak_bytes));
    json_set(o, "device_bytes", bytes_of(s->device_bytes));
    if (p->meshes)
        json_set(o, "limit_bytes", bytes_of(s->limit_bytes));
    json_set(o, "fits", json_new_bool(s->fits));
    json_set(o, "fullest", json_new_string(moment_name(s->moment)));
    json_set(o, "memory", memory_of(&s->memory));
    return o;
}

/* Only of plans whose experts may be uneven. */
static void set_expert_room(struct json *o, const struct plan *p)
{
    const struct expert_room *x = &p->expert_room;
    if (x->possible <= 1)
        return;
    struct json *room = json_new_object();
    json_set(room, "predicted", json_new_number(p->imbalance));
    json_set(room, "judged", json_new_number(fmax(p->imbalance, p->memory_imbalance)));
    json_set(room, "possible", json_new_number(x->possible));
    json_set(room, "fits_up_to", json_number_or_null(x->fits > 0, x->fits));
    json_set(o, "expert_imbalance", room);
}

static struct json *stages_of(const struct plan *p)
{
    if (!p->computed)
        return json_new_null();
    struct json *list = json_new_array();
    for (int i = 0; i < p->stages; i++)
        json_append(list, stage_of(p, i));
    return list;
}

static struct json *engine_of(const struct plan *p)
{
    struct json *o = json_new_object();
    struct arena mem = {0};
    const char **words, **untold;
    size_t count, untolds = export_untold(p->model, INT_MAX, &mem, &untold);
    json_set(o, "name", json_new_string(plan_engine(p)));
    if (plan_flags(p, &mem, &words, &count))
        json_set(o, "flags", json_new_strings((const char *const *)words, count));
    else
        json_set(o, "flags", json_new_null());
    json_set(o, "untold", json_new_strings((const char *const *)untold, untolds));
    arena_release(&mem);
    return o;
}

static struct json *model_of(const struct model *m)
{
    struct json *o = json_new_object();
    json_set(o, "name", json_new_string(m->name));
    json_set(o, "params_total", json_new_integer(model_params_total(m)));
    json_set(o, "params_active", json_new_integer(model_params_active(m)));
    return o;
}

struct json *json_of_words(const struct plan *p, void (*add)(const struct plan *, struct str *))
{
    struct str text = {0};
    add(p, &text);
    struct json *v = json_new_string(str_text(&text));
    str_release(&text);
    return v;
}

static void set_unlike(struct json *o, const char *key, double value, double usual)
{
    if (fabs(value - usual) > 1e-9 * fabs(usual))
        json_set(o, key, json_new_number(value));
}

static void set_figure(void *object, const char *key, double value)
{
    if (value > 0)
        json_set(object, key, json_new_number(value));
}

/* Nodes of one group as a cluster file has them: what is as usual for the type is left out. */
static struct json *node_group_of(const struct node_group *g, const struct rent *rent, int64_t gpus,
                                  int per_node)
{
    struct cluster usual = {.groups = 1};
    struct node_group *u = &usual.group[0];
    struct rent usual_rent;
    struct json *o = json_new_object();
    group_init(u, g->gpu, per_node);
    json_set(o, "gpu", json_new_string(g->gpu->name));
    json_set(o, "nodes", json_new_integer((gpus + per_node - 1) / per_node));
    json_set(o, "gpus_per_node", json_new_integer(per_node));
    if (g->gpu->like) {
        json_set(o, "like", json_new_string(g->gpu->like));
        own_gpu_figures(g->gpu, set_figure, o);
    }
    set_unlike(o, "nic_gbit", g->nic_bs * 8 / 1e9, u->nic_bs * 8 / 1e9);
    if (g->domain != u->domain && (g->domain < per_node || g->domain % per_node == 0))
        json_set(o, "scaleup_domain", json_new_integer(g->domain));
    set_unlike(o, "scaleup_gbs", g->link_bs / 1e9, u->link_bs / 1e9);
    set_unlike(o, "oversubscription", g->oversubscription, u->oversubscription);
    set_unlike(o, "usable_gib", g->usable_bytes / GIB, u->usable_bytes / GIB);
    set_unlike(o, "host_speed", g->host_speed, u->host_speed);
    set_unlike(o, "host_gib", g->host_bytes / GIB, u->host_bytes / GIB);
    rents_init(&usual_rent, &usual, "");
    if (rent->usd_per_hour > 0)
        set_unlike(o, "price", rent->usd_per_hour, usual_rent.usd_per_hour);
    set_unlike(o, "mtbf_h", rent->mtbf_h, 0);
    set_unlike(o, "interruptions_per_h", rent->interruptions_per_h, 0);
    return o;
}

/* A part of each rack: which part depended on the whole pool. */
static void set_segment(struct json *o, const struct node_group *g, int nodes)
{
    if (nodes > 0 && nodes < g->domain / g->per_node)
        json_set(o, "segment", json_new_integer(nodes));
}

/* Slow links between the groups of a plan, which are counted from 1. */
static void set_links(struct json *o, const struct plan *p, const struct plan_part *part, int parts)
{
    struct json *links = NULL;
    for (int i = 0; p->cluster && i < parts; i++)
        for (int k = i + 1; k < parts; k++) {
            double bs = cluster_between(p->cluster, part[i].group, part[k].group);
            if (bs <= 0)
                continue;
            struct json *link = json_new_object(), *between = json_new_array();
            json_append(between, json_new_integer(i + 1));
            json_append(between, json_new_integer(k + 1));
            json_set(link, "between", between);
            json_set(link, "nic_gbit", json_new_number(bs * 8 / 1e9));
            links = links ? links : json_new_array();
            json_append(links, link);
        }
    if (links)
        json_set(o, "links", links);
}

/* What a mesh has of its own, where they differ. */
static void set_own(struct json *o, const struct plan *p, int mesh)
{
    static const enum param own[] = {
#define X(name) PARAM_##name,
        MESH_TABLE(X)
#undef X
    };
    struct strategy room;
    const struct strategy *s = mesh_strategy(&p->meshes->mesh[mesh], &p->strategy, &room);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        json_set(o, param_info(own[i])->name, value_of(own[i], strategy_get(s, own[i])));
}

/* As a cluster file would say it, which can say more than --cluster: `explain` of a plan asks about
 * these nodes. A mixed job has its groups in rank order, each with its stages. */
static void set_nodes(struct json *o, const struct plan *p)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    if (!p->meshes) {
        struct json *group =
            node_group_of(p->group, rent_of(p->rent, p->group), p->gpus, p->group->per_node);
        set_segment(group, p->group, domain_nodes(p->group, &p->strategy, p->gpus));
        json_set(o, "node_group", group);
        return;
    }
    struct json *list = json_new_array();
    for (int i = 0; i < parts; i++) {
        int per_node = part[i].group->per_node;
        struct json *group =
            node_group_of(part[i].group, rent_of(p->rent, part[i].group), part[i].gpus, per_node);
        if (part[i].gpus % per_node != 0) /* of its last node only some */
            json_set(group, "gpus", json_new_integer(part[i].gpus));
        set_segment(group, part[i].group, part[i].group->segment);
        json_set(group, "stages", json_new_integer(part[i].stages));
        if (plan_meshes_differ(p))
            set_own(group, p, i);
        json_append(list, group);
    }
    json_set(o, "node_groups", list);
    set_links(o, p, part, parts);
}

static void set_figures(struct json *o, const struct plan *p)
{
    size_t count;
    const struct plan_figure *f = plan_figures(&count);
    for (size_t i = 0; i < count; i++) {
        double value;
        bool known = plan_figure_get(p, &f[i], &value);
        json_set(o, f[i].name, json_number_or_null(known, value));
    }
}

static struct json *cautions_of(const struct rule *const *caution, int count)
{
    struct json *list = json_new_array();
    for (int i = 0; i < count; i++) {
        struct json *o = json_new_object();
        json_set(o, "reason", json_new_string(caution[i]->reason));
        json_set(o, "source", json_new_string(caution[i]->source));
        json_set(o, "rule", json_new_string(caution[i]->text));
        json_append(list, o);
    }
    return list;
}

static struct json *change_of(const struct change *c)
{
    struct json *x = json_new_object();
    json_set(x, "set", json_new_strings((const char *const *)c->set, c->sets));
    json_set(x, "flags", json_new_strings((const char *const *)c->flag, c->flags));
    json_set(x, "step_s", json_new_number(c->plan->step_s));
    if (c->cautions > 0)
        json_set(x, "cautions", cautions_of((const struct rule *const *)c->caution, c->cautions));
    return x;
}

/* Only of a plan that memory alone forbids and a change saves. */
static void set_fix(struct json *o, const struct fix *r)
{
    if (!r || !r->fits)
        return;
    struct json *x = change_of(&r->change);
    json_set(x, "numerics", json_new_bool(r->numerics));
    json_set(x, "device_bytes", bytes_of(plan_fullest(r->change.plan)->device_bytes));
    json_set(o, "remedy", x);
}

static struct json *speedup_of(const struct plan *from, const struct speedup *speedup)
{
    struct json *x = change_of(&speedup->change);
    json_set(x, "shrinks", json_new_string(breakdown_name(speedup->part)));
    json_set(x, "before_s", json_new_number(from->breakdown[speedup->part]));
    json_set(x, "then_s", json_new_number(speedup->change.plan->breakdown[speedup->part]));
    return x;
}

/* Only of `explain`. */
static void set_speedups(struct json *o, const struct speedups *g)
{
    if (!g)
        return;
    struct json *list = json_new_array();
    for (int i = 0; i < g->count; i++)
        json_append(list, speedup_of(g->from, &g->speedup[i]));
    json_set(o, "gains", list);
    if (g->found)
        json_set(o, "searched", change_of(&g->searched));
}

/* Of a file: what was assumed, and flags that Megatron does not know. */
static void set_read(struct json *x, const struct plan_source *s)
{
    if (!s->file)
        return;
    struct json *assumed = json_new_array(), *harmless = json_new_array();
    struct json *unknown = json_new_array();
    for (int i = 0; i < s->assumptions; i++) {
        const struct flags_assumption *a = &s->assumption[i];
        struct json *o = json_new_object();
        json_set(o, "what", json_new_string(a->what));
        json_set(o, "value", json_new_string(a->value));
        json_set(o, "option", json_new_string(a->option));
        json_set(o, "error", json_new_number(a->error));
        json_append(assumed, o);
    }
    for (int i = 0; i < s->strangers; i++) {
        const struct launch_strange *f = &s->stranger[i];
        struct json *o = f->changes ? json_new_object() : NULL;
        if (o) {
            json_set(o, "flag", json_new_string(f->flag));
            json_set(o, "may_change", json_new_string(f->changes));
        }
        json_append(o ? unknown : harmless, o ? o : json_new_string(f->flag));
    }
    json_set(x, "assumed", assumed);
    json_set(x, "harmless", harmless);
    json_set(x, "unknown", unknown);
}

/* Only of a plan that was read from a file, or from flags about which there is something to say. */
static void set_source(struct json *o, const struct plan_source *s)
{
    if (!s)
        return;
    struct json *x = json_new_object();
    json_set(x, "file", json_text_or_null(s->file));
    json_set(x, "kind", json_new_string(s->kind));
    json_set(x, "program", json_text_or_null(s->program));
    json_set(x, "line", s->line ? json_new_integer(s->line) : json_new_null());
    json_set(x, "flags", json_new_integer(s->flags));
    json_set(x, "without_effect", json_new_integer(s->idle));
    json_set(x, "notes", json_new_strings(s->note, (size_t)s->notes));
    set_read(x, s);
    json_set(o, "source", x);
}

/* Only of `estimate` with flags or a file; null where nothing better is found. */
static void set_better(struct json *o, const struct plan *p, const struct better_plan *i)
{
    if (!i)
        return;
    struct json *x = i->better ? change_of(&i->change) : json_new_null();
    if (i->better) {
        const struct plan *then = i->change.plan;
        json_set(x, "strategy", strategy_of(&then->strategy));
        json_set(x, "add", json_new_string(i->change.add));
        json_set(x, "remove", json_new_string(i->change.remove));
        json_set(x, "env", json_new_string(i->env));
        json_set(x, "unset", json_new_string(i->unset));
        json_set(x, "shorter", json_number_or_null(p->feasible, 1 - then->step_s / p->step_s));
        json_set(x, "usd_per_mtoken",
                 json_number_or_null(then->usd_per_mtoken > 0, then->usd_per_mtoken));
    }
    json_set(o, "instead", x);
    if (i->why_not)
        json_set(o, "why_not_instead", json_new_string(i->why_not));
}

static struct json *more_layer_of(const struct more_layer *more, int stage)
{
    const struct plan_stage *s = more->plan ? &more->plan->stage[stage] : NULL;
    struct json *x = json_new_object();
    json_set(x, "stage", json_new_integer(stage));
    json_set(x, "from", s ? json_new_integer(more->from) : json_new_null());
    json_set(x, "seconds", json_number_or_null(s, more->seconds));
    json_set(x, "step_s", json_number_or_null(s, s ? more->plan->step_s : 0));
    json_set(x, "device_bytes", s ? bytes_of(s->device_bytes) : json_new_null());
    json_set(x, "feasible", json_new_bool(s && more->plan->feasible));
    return x;
}

/* Another use of the same GPUs; null where there is none. */
static void set_use(struct json *x, const struct plan *than)
{
    json_set(x, "gpus", than ? json_new_integer(than->gpus) : json_new_null());
    json_set(x, "step_s", json_number_or_null(than, than ? than->step_s : 0));
    json_set(x, "tokens_per_s", json_number_or_null(than, than ? than->tokens_per_s : 0));
    json_set(x, "feasible", json_new_bool(than && than->feasible));
}

static struct json *layers_of(const struct plan *p)
{
    struct json *list = json_new_array();
    for (int r = 0; p && r < p->stages; r++)
        json_append(list, json_new_integer(p->stage[r].layers));
    return list;
}

/* Only of `explain`, and of a mixed job. */
static void set_comparison(struct json *o, const struct plan *p, const struct comparison *m)
{
    if (!m)
        return;
    struct json *more = json_new_array(), *splits = json_new_array(), *alone = json_new_array();
    for (int r = 0; r < p->stages; r++)
        json_append(more, more_layer_of(&m->more[r], r));
    for (int i = 0; i < COMPARISON_SPLITS; i++) {
        struct json *x = json_new_object();
        json_set(x, "split", json_new_string(m->split[i].name));
        json_set(x, "layers", layers_of(m->split[i].plan));
        set_use(x, m->split[i].plan);
        json_append(splits, x);
    }
    for (int g = 0; g < m->groups; g++) {
        struct json *x = json_new_object();
        json_set(x, "gpu", json_new_string(m->alone[g].group->gpu->name));
        set_use(x, m->alone[g].plan);
        json_set(x, "strategy",
                 m->alone[g].plan ? strategy_of(&m->alone[g].plan->strategy) : json_new_null());
        json_append(alone, x);
    }
    json_set(o, "more_layers", more);
    json_set(o, "splits", splits);
    json_set(o, "alone", alone);
}

/* Only of a plan with residual factors: entries of a profile for its types of GPU. */
static void set_residual(struct json *o, const struct plan *p)
{
    struct plan_part part[MESHES_MAX];
    int parts = plan_parts(p, part);
    struct json *list = json_new_array();
    for (int i = 0; i < parts; i++) {
        const struct residual *r = p->costing ? p->costing[part[i].group->index].residual : NULL;
        bool again = !r;
        for (int k = 0; k < i && !again; k++)
            again = part[k].group->gpu == part[i].group->gpu;
        struct profile_entry e = {.gpu = part[i].group->gpu, .stack = plan_stack_kind(p)};
        if (!again) {
            e.residual = *r;
            json_append(list, json_of_profile_entry(&e));
        }
    }
    if (json_count(list) > 0)
        json_set(o, "residual", list);
    else
        json_release(list);
}

static struct json *evidence_of(const struct plan_evidence *e)
{
    struct json *o = json_new_object();
    json_set(o, "error", json_new_number(e->steps.error));
    json_set(o, "runs", json_new_integer(e->steps.runs));
    json_set(o, "sources", json_new_integer(e->steps.sources));
    json_set(o, "scope", json_new_string(scope_name(e->steps.scope)));
    json_set(o, "pace", json_new_string(pace_name(e->class.pace)));
    json_set(o, "kernels", json_new_number(e->kernels));
    return o;
}

struct json *json_of_plan(const struct plan *p)
{
    struct json *o = json_new_object();
    json_set(o, "model", model_of(p->model));
    json_set(o, "gpu", json_of_words(p, add_gpu_names));
    json_set(o, "gpus", json_new_integer(p->gpus));
    json_set(o, "cluster", json_of_words(p, add_pool));
    set_nodes(o, p);
    json_set(o, "stack", json_new_string(plan_stack(p)));
    json_set(o, "strategy", strategy_of(&p->strategy));
    json_set(o, "feasible", json_new_bool(p->feasible));
    json_set(o, "reasons", json_new_strings(p->reason, (size_t)p->reasons));
    if (p->notes > 0)
        json_set(o, "notes", json_new_strings(p->note, (size_t)p->notes));
    if (p->cautions > 0)
        json_set(o, "cautions", cautions_of((const struct rule *const *)p->caution, p->cautions));
    set_figures(o, p);
    json_set(o, "provenance", json_new_string(p->provenance));
    json_set(o, "complexity", json_new_integer(p->complexity));
    json_set(o, "evidence", evidence_of(&p->evidence));
    json_set(o, "breakdown", breakdown_of(p));
    json_set(o, "stages", stages_of(p));
    json_set(o, "limit_bytes", bytes_of(p->limit_bytes));
    set_expert_room(o, p);
    json_set(o, "host_bytes_per_node",
             p->computed ? bytes_of(plan_fullest_host(p)->host_bytes) : json_new_null());
    json_set(o, "money", json_of_money(p));
    if (p->run && (p->run->tokens > 0 || p->slowdown > 1))
        json_set(o, "run", json_of_terms(p->run));
    json_set(o, "engine", engine_of(p));
    set_residual(o, p);
    return o;
}

static struct json *plans_of(const struct plan *p, int count)
{
    struct json *list = json_new_array();
    for (int i = 0; i < count; i++)
        json_append(list, json_of_plan(&p[i]));
    return list;
}

/* Batch, sequence, precision and stack are those of any plan that was found. */
static struct json *query_of(const struct search_report *r)
{
    const struct plan *p = r->best > 0 ? &r->plan[0] : r->front > 0 ? &r->pareto[0] : NULL;
    struct json *o = json_new_object();
    json_set(o, "text", json_new_string(r->query));
    json_set(o, "model", model_of(r->model));
    json_set(o, "cluster", json_new_string(r->cluster->text));
    for (int i = 0; i < PARAM_FIRST_CELL; i++)
        json_set(o, param_info((enum param)i)->name,
                 p ? value_of((enum param)i, strategy_get(&p->strategy, (enum param)i))
                   : json_new_null());
    json_set(o, "stack", p ? json_new_string(plan_stack(p)) : json_new_null());
    return o;
}

/* Counts are doubles as spaces can exceed 2^63; up to 2^53 they are whole and written so. */
static struct json *count_of(double count)
{
    return count <= 9007199254740992.0 ? json_new_integer(llround(count)) : json_new_number(count);
}

/* Structures, and arrangements of stages on several types. */
static struct json *mixed_of(const struct mixed_result *m)
{
    struct json *o = json_new_object();
    json_set(o, "structures", count_of(m->structures));
    json_set(o, "arrangements", count_of(m->judged));
    json_set(o, "assigned", count_of(m->problems));
    json_set(o, "simulated", count_of(m->simulated));
    json_set(o, "unproven", count_of(m->unproven));
    return o;
}

static struct json *funnel_of(const struct funnel *f)
{
    struct json *o = json_new_object(), *dropped = json_new_object();
    json_set(o, "generated", count_of(f->generated));
    json_set(o, "judged", count_of(f->judged));
    json_set(o, "simulated", count_of(f->simulated));
    json_set(o, "kept", count_of(f->kept));
    for (int i = 0; i < f->drops; i++) {
        double before =
            json_number_of(json_get(dropped, f->drop[i].reason)); /* rules may share one */
        json_set(dropped, f->drop[i].reason, count_of(before + f->drop[i].count));
    }
    json_set(o, "dropped", dropped);
    return o;
}

static void dump(struct json *v, struct str *out)
{
    json_dump(v, out);
    json_release(v);
}

/* Names of what nobody said. */
static void set_assumed(struct json *o, const struct plan_answer *a)
{
    const char *name[PARAM_FIRST_CELL];
    size_t count = 0;
    for (int i = 0; i < PARAM_FIRST_CELL; i++)
        if (a->assumed[i])
            name[count++] = param_info((enum param)i)->name;
    if (count > 0)
        json_set(o, "assumed", json_new_strings(name, count));
}

static void set_defaults(struct json *o, const char *defaults)
{
    if (defaults && *defaults)
        json_set(o, "defaults", json_new_string(defaults));
}

void report_plan_json(const struct plan_answer *a, struct str *out)
{
    struct json *o = json_of_plan(a->plan);
    set_assumed(o, a);
    set_fix(o, a->fix);
    set_speedups(o, a->speedups);
    set_source(o, a->source);
    set_defaults(o, a->defaults);
    set_better(o, a->plan, a->better);
    set_comparison(o, a->plan, a->comparison);
    if (a->hints > 0)
        json_set(o, "hints", json_new_strings(a->hint, (size_t)a->hints));
    dump(o, out);
}

static struct json *summary_of(const struct search_report *r)
{
    struct str text = {0};
    add_first_words(r, &text);
    struct json *o = json_new_string(str_text(&text));
    str_release(&text);
    return o;
}

void report_search_json(const struct search_report *r, struct str *out)
{
    struct json *o = json_new_object();
    json_set(o, "question", query_of(r));
    if (r->best > 0)
        json_set(o, "summary", summary_of(r));
    json_set(o, "best", plans_of(r->plan, r->best));
    json_set(o, "pareto", plans_of(r->pareto, r->front));
    if (r->money)
        json_set(o, "money", json_of_run(r));
    json_set(o, "funnel", funnel_of(r->funnel));
    if (r->mixed)
        json_set(o, "mixed", mixed_of(r->mixed));
    if (r->what_ifs > 0)
        json_set(o, "what_if", json_of_what_ifs(r));
    json_set(o, "notes", json_new_strings(r->note, (size_t)r->notes));
    set_defaults(o, r->defaults);
    if (r->production_s > 0)
        json_set(o, "production_step_s", json_new_number(r->production_s));
    json_set(o, "proven", json_new_bool(!r->open));
    json_set(o, "gap", r->gap < INFINITY ? json_new_number(r->gap) : json_new_null());
    json_set(o, "elapsed_s", json_new_number(r->elapsed_s));
    dump(o, out);
}
