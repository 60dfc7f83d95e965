/* The JSON contract (doc/json.md, data/schema/plan.schema.json). Field names are promises; what
 * was not computed is null, so that every plan has every field. */
#include "report/json/json_out.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/units.h"
#include "cluster/cluster.h"
#include "cluster/group.h"
#include "dataset/dataset.h"
#include "dataset/task.h"
#include "cost/placement.h"
#include "cost/residual_file.h"
#include "export/export.h"
#include "model/trained.h"
#include "price/rent.h"
#include "report/plan_words.h"
#include "report/report.h"
#include "rules/rules.h"

#include <limits.h>
#include <math.h>

struct json *json_of_bytes(double bytes)
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

struct json *json_of_param(enum param p, int value)
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

struct json *json_of_strategy(const struct strategy *s)
{
    struct json *o = json_new_object();
    for (int i = 0; i < PARAMS; i++)
        json_set(o, param_info((enum param)i)->name,
                 json_of_param((enum param)i, strategy_get(s, (enum param)i)));
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
        json_set(o, memory_part_info((enum memory_part)i)->name, json_of_bytes(m->part[i]));
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
    json_set(o, "peak_bytes", json_of_bytes(s->peak_bytes));
    json_set(o, "device_bytes", json_of_bytes(s->device_bytes));
    if (p->meshes)
        json_set(o, "limit_bytes", json_of_bytes(s->limit_bytes));
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

struct json *json_of_model(const struct model *m)
{
    struct json *o = json_new_object();
    json_set(o, "name", json_new_string(m->name));
    json_set(o, "params_total", json_new_integer(model_params_total(m)));
    json_set(o, "params_active", json_new_integer(model_params_active(m)));
    if (!model_trains_all(m)) {
        struct str train = {0};
        model_add_trained(m, &train);
        json_set(o, "train", json_new_string(str_text(&train)));
        json_set(o, "params_trained", json_new_integer(model_params_trained(m)));
        str_release(&train);
    }
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
        json_set(o, param_info(own[i])->name, json_of_param(own[i], strategy_get(s, own[i])));
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

struct json *json_of_cautions(const struct rule *const *caution, int count)
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

/* Only of samples that are not full sequences. */
static void set_dataset(struct json *o, const struct plan *p)
{
    static const char *const paddings[] = {
        [PADDING_LONGEST] = "longest", [PADDING_SEQ_LEN] = "seq-len"};
    const struct dataset *d = p->dataset;
    if (!d)
        return;
    struct json *x = json_new_object();
    json_set(x, "lengths", json_text_or_null(d->lengths));
    json_set(x, "packing", json_new_bool(d->packing));
    json_set(x, "padding", json_text_or_null(d->packing ? NULL : paddings[d->padding]));
    json_set(x, "samples_per_sequence", json_new_number(d->samples));
    json_set(x, "tokens_per_sample", json_new_number(d->tokens / d->samples * d->seq_len));
    json_set(x, "cut", json_new_number(d->cut));
    json_set(x, "late_s", json_number_or_null(p->computed, p->late_s));
    json_set(o, "dataset", x);
}

/* Only where --task says it. */
static void set_task(struct json *o, const struct task *t)
{
    if (!t)
        return;
    struct json *x = json_new_object();
    json_set(x, "kind", json_new_string(t->word));
    json_set(x, "sequences", json_new_integer(t->sequences));
    json_set(x, "forward_passes", json_new_integer(t->forwards));
    json_set(x, "reference", json_text_or_null(t->compared));
    json_set(x, "generation_s", json_new_number(t->generation_s));
    json_set(o, "task", x);
}

struct json *json_of_plan(const struct plan *p)
{
    struct json *o = json_new_object();
    json_set(o, "model", json_of_model(p->model));
    json_set(o, "gpu", json_of_words(p, add_gpu_names));
    json_set(o, "gpus", json_new_integer(p->gpus));
    json_set(o, "cluster", json_of_words(p, add_pool));
    set_nodes(o, p);
    json_set(o, "stack", json_new_string(plan_stack(p)));
    json_set(o, "strategy", json_of_strategy(&p->strategy));
    json_set(o, "feasible", json_new_bool(p->feasible));
    json_set(o, "reasons", json_new_strings(p->reason, (size_t)p->reasons));
    if (p->notes > 0)
        json_set(o, "notes", json_new_strings(p->note, (size_t)p->notes));
    if (p->cautions > 0)
        json_set(o, "cautions",
                 json_of_cautions((const struct rule *const *)p->caution, p->cautions));
    set_figures(o, p);
    json_set(o, "provenance", json_new_string(p->provenance));
    json_set(o, "complexity", json_new_integer(p->complexity));
    json_set(o, "evidence", evidence_of(&p->evidence));
    json_set(o, "breakdown", breakdown_of(p));
    json_set(o, "stages", stages_of(p));
    json_set(o, "limit_bytes", json_of_bytes(p->limit_bytes));
    set_expert_room(o, p);
    json_set(o, "host_bytes_per_node",
             p->computed ? json_of_bytes(plan_fullest_host(p)->host_bytes) : json_new_null());
    set_dataset(o, p);
    set_task(o, p->task);
    json_set(o, "money", json_of_money(p));
    if (p->run && (p->run->tokens > 0 || p->slowdown > 1))
        json_set(o, "run", json_of_terms(p->run));
    json_set(o, "engine", engine_of(p));
    set_residual(o, p);
    return o;
}

void json_set_defaults(struct json *o, const char *defaults)
{
    if (defaults && *defaults)
        json_set(o, "defaults", json_new_string(defaults));
}
