/* Cluster files: a YAML map with `groups:`, a list of maps with the keys of KEYS, and `links:`,
 * what joins two of them. A group's numbers are read into an array by key; 0 stands for "not
 * given", which no range admits. What is not given is the usual value of the GPU type, as in a pool
 * string. */
#include "cluster/cluster.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "base/yaml.h"
#include "cluster/group.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
/*    key               whole    lo            hi */
#define KEY_TABLE(X) \
    X(gpu,              false,   0,            0) \
    X(nodes,            false,   0,            0) \
    X(gpus_per_node,    true,    1,            GROUP_MAX_PER_NODE) \
    X(gpus,             true,    1,            1e9) \
    X(nic_gbit,         false,   NIC_GBIT_MIN, NIC_GBIT_MAX) \
    X(nics_per_node,    true,    1,            1024) \
    X(scaleup_domain,   true,    1,            65536) \
    X(segment,          true,    1,            65536) \
    X(scaleup_gbs,      false,   LINK_GBS_MIN, LINK_GBS_MAX) \
    X(oversubscription, false,   1,            1000) \
    X(usable_gib,       false,   USABLE_MIN,   USABLE_MAX) \
    X(host_speed,       false,   0.05,         20) \
    X(host_gib,         false,   1,            1048576) \
    X(price,            false,   PRICE_MIN,    PRICE_MAX) \
    X(mtbf_h,           false,   MTBF_H_MIN,   MTBF_H_MAX) \
    X(interruptions_per_h, false, INTERRUPTIONS_MIN, INTERRUPTIONS_MAX) \
    X(like,             false,   0,            0)

enum key {
#define X(name, whole, lo, hi) KEY_##name,
    KEY_TABLE(X)
#undef X
#define OWN(name, field, lo, hi) KEY_##name,
#include "cluster/own_gpu.def"
    KEYS
};
/* clang-format on */

static const struct key_range {
    bool whole;
    double lo, hi;
} RANGES[] = {
#define X(name, whole, lo, hi) {whole, lo, hi},
    KEY_TABLE(X)
#undef X
#define OWN(name, field, lo, hi) {false, lo, hi},
#include "cluster/own_gpu.def"
};

static const char *const NAMES[] = {
#define X(name, whole, lo, hi) #name,
    KEY_TABLE(X)
#undef X
#define OWN(name, field, lo, hi) #name,
#include "cluster/own_gpu.def"
};

/* Figures of GPUs of the user's own, by key. */
static const struct {
    int key;
    size_t at;
} OWN_FIGURES[] = {
#define OWN(name, field, lo, hi) {KEY_##name, offsetof(struct gpu, field)},
#include "cluster/own_gpu.def"
};
enum { OWN_COUNT = sizeof OWN_FIGURES / sizeof *OWN_FIGURES };

struct cluster_reader {
    const char *name; /* of the file */
    const char *text;
    size_t length;
    struct arena *mem;
    struct error *err;
};

/* A group as written, before the usual values fill the gaps. */
struct file_entry {
    const struct gpu *gpu;
    const struct yaml *named, *like; /* the values of gpu and like; NULL = not there */
    int nodes_min, nodes_max;
    double value[KEYS];
};

void own_gpu_figures(const struct gpu *g, void (*take)(void *, const char *, double), void *context)
{
    for (int i = 0; i < OWN_COUNT; i++)
        take(context, NAMES[OWN_FIGURES[i].key],
             *(const double *)((const char *)g + OWN_FIGURES[i].at));
}

const char *const *cluster_file_keys(size_t *count)
{
    *count = KEYS;
    return NAMES;
}

__attribute__((format(printf, 4, 5))) static bool wrong(const struct cluster_reader *r, int line,
                                                        int column, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fail(r->err, ERROR_INPUT, "%s:%d:%d: %s", r->name, line, column, text) ||
           error_show_line(r->err, r->text, r->length, line, column);
}

static bool unknown_key(const struct cluster_reader *r, const struct yaml *v,
                        const char *const *known, size_t count)
{
    const char *near = did_you_mean(v->key, known, count);
    char all[512] = "";
    size_t used = 0;
    for (size_t i = 0; !*near && i < count && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s %s", i ? "," : "; known are",
                                 known[i]);
    return wrong(r, v->key_line, v->key_column, "unknown key '%.63s'%s%s", v->key, near, all);
}

static const struct gpu *find_gpu(const struct cluster_reader *r, const struct yaml *v,
                                  const char *more)
{
    struct error cause;
    const struct gpu *g = gpu_find(v->text, &cause);
    if (!g)
        wrong(r, v->line, v->column, "%s%s", cause.text, more);
    return g;
}

/* What is not said is that of the type it is like; other peaks follow that of bf16. */
static const struct gpu *own_gpu(const struct cluster_reader *r, const struct file_entry *e,
                                 const struct gpu *like)
{
    struct gpu *g = arena_alloc(r->mem, sizeof *g);
    double scale =
        e->value[KEY_bf16_tflops] > 0 ? e->value[KEY_bf16_tflops] / like->bf16_tflops : 1;
    *g = *like;
    g->name = g->aliases = arena_string(r->mem, e->named->text);
    g->like = like->name;
    g->source = "a cluster file";
    g->fp16_tflops *= scale;
    g->fp8_tflops *= scale;
    for (int i = 0; i < OWN_COUNT; i++)
        if (e->value[OWN_FIGURES[i].key] > 0)
            *(double *)((char *)g + OWN_FIGURES[i].at) = e->value[OWN_FIGURES[i].key];
    return g;
}

static bool is_word(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n > 0 && n < 64 && !text[n];
}

/* The type by its name, or one of the user's own where `like` says what it is made of. */
static bool take_gpu(const struct cluster_reader *r, const struct yaml *node, struct file_entry *e)
{
    const struct yaml *v = e->named;
    const struct gpu *known = v ? gpu_find(v->text, NULL) : NULL;
    if (!v)
        return wrong(r, node->line, node->column, "this group lacks the key gpu");
    for (int i = 0; i < OWN_COUNT && !e->like; i++)
        if (e->value[OWN_FIGURES[i].key] > 0)
            return wrong(r, v->line, v->column,
                         "%s is a figure of a GPU of your own: give it a name and add like: %s",
                         NAMES[OWN_FIGURES[i].key], known ? v->text : "H100");
    if (!e->like)
        return (e->gpu = find_gpu(r, v, "; one of your own needs like: H100 and what differs"));
    if (known || !is_word(v->text))
        return wrong(r, v->line, v->column,
                     known ? "gpu is '%.63s', which is known: a GPU of your own (like) needs "
                             "another name"
                           : "gpu is '%.63s', letters, digits, dots and dashes are right",
                     v->text);
    const struct gpu *like = find_gpu(r, e->like, "");
    e->gpu = like ? own_gpu(r, e, like) : NULL;
    return like;
}

static bool read_nodes(const struct cluster_reader *r, const struct yaml *v, struct file_entry *e)
{
    struct error cause;
    const char *at = v->text;
    if (!scan_nodes(&at, &e->nodes_min, &e->nodes_max, &cause))
        return wrong(r, v->line, v->column, "nodes is '%.63s': %s", v->text, cause.text);
    return !*at || wrong(r, v->line, v->column,
                         "nodes is '%.63s', a number or a range as in 1..64 is right", v->text);
}

/* One value, not a list or a map. Items of lists have no key of their own: `what` names them. */
static bool is_single(const struct cluster_reader *r, const struct yaml *v, const char *what)
{
    return v->kind == YAML_SCALAR ||
           wrong(r, v->line, v->column, "%s is a %s, one value is expected", what,
                 v->kind == YAML_LIST ? "list" : "map");
}

static bool read_number(const struct cluster_reader *r, const struct yaml *v, const char *what,
                        const struct key_range *range, double *value)
{
    if (!is_single(r, v, what))
        return false;
    if (!parse_real(v->text, value) || *value < range->lo || *value > range->hi ||
        (range->whole && *value != floor(*value)))
        return wrong(r, v->line, v->column, "%s is '%.63s', a %snumber from %g to %.0f is right",
                     what, v->text, range->whole ? "whole " : "", range->lo, range->hi);
    return true;
}

static bool read_member(const struct cluster_reader *r, const struct yaml *v, struct file_entry *e)
{
    int key = 0;
    while (key < KEYS && strcmp(v->key, NAMES[key]) != 0)
        key++;
    if (key == KEYS)
        return unknown_key(r, v, NAMES, KEYS);
    if (key == KEY_gpu || key == KEY_like) {
        *(key == KEY_gpu ? &e->named : &e->like) = v;
        return is_single(r, v, v->key) &&
               (*v->text || wrong(r, v->line, v->column,
                                  "%s is empty, a GPU type as in H100 is right", v->key));
    }
    if (key == KEY_nodes)
        return is_single(r, v, v->key) && read_nodes(r, v, e);
    return read_number(r, v, v->key, &RANGES[key], &e->value[key]);
}

/* A scale-up link that leaves the node joins whole nodes. */
static bool check_domain(const struct cluster_reader *r, const struct yaml *node,
                         const struct node_group *g)
{
    const struct yaml *v = yaml_get(node, "scaleup_domain");
    if (!v || g->domain <= g->per_node || g->domain % g->per_node == 0)
        return true;
    return wrong(r, v->line, v->column,
                 "scaleup_domain is %d, more than a node's %d GPUs but no multiple of them",
                 g->domain, g->per_node);
}

/* A job takes so many nodes of each domain: no more than there are. */
static bool check_segment(const struct cluster_reader *r, const struct yaml *node,
                          const struct node_group *g)
{
    const struct yaml *v = yaml_get(node, "segment");
    int all = g->domain > g->per_node ? g->domain / g->per_node : 1;
    if (!v || g->segment <= all)
        return true;
    return wrong(r, v->line, v->column, "segment is %d, a scale-up domain has %d node%s",
                 g->segment, all, all > 1 ? "s" : "");
}

/* NICs are shared by the GPUs of a node; as many as GPUs unless said otherwise. */
static double nic_gbit_per_gpu(const struct file_entry *e, int per_node)
{
    double gbit = e->value[KEY_nic_gbit] > 0 ? e->value[KEY_nic_gbit] : e->gpu->nic_gbit;
    double nics = e->value[KEY_nics_per_node] > 0 ? e->value[KEY_nics_per_node] : per_node;
    return gbit * nics / per_node;
}

static void fill_group(struct node_group *g, const struct file_entry *e)
{
    const double *value = e->value;
    int per_node = value[KEY_gpus_per_node] > 0 ? (int)value[KEY_gpus_per_node] : e->gpu->per_node;
    group_init(g, e->gpu, per_node);
    g->nodes_min = e->nodes_min;
    g->nodes_max = e->nodes_max;
    group_set_nic(g, nic_gbit_per_gpu(e, per_node));
    g->gpus = (int64_t)value[KEY_gpus];
    if (value[KEY_scaleup_domain] > 0)
        g->domain = (int)value[KEY_scaleup_domain];
    g->segment = (int)value[KEY_segment];
    if (value[KEY_scaleup_gbs] > 0)
        g->link_bs = value[KEY_scaleup_gbs] * 1e9;
    if (value[KEY_oversubscription] > 0)
        g->oversubscription = value[KEY_oversubscription];
    if (value[KEY_usable_gib] > 0)
        g->usable_bytes = value[KEY_usable_gib] * GIB;
    if (value[KEY_host_speed] > 0)
        g->host_speed = value[KEY_host_speed];
    g->host_bytes = value[KEY_host_gib] * GIB;
}

static bool read_group(const struct cluster_reader *r, const struct yaml *node,
                       struct node_group *g, struct group_said *said)
{
    struct file_entry e = {0};
    if (node->kind != YAML_MAP)
        return wrong(r, node->line, node->column,
                     "a group is a map with the keys gpu and nodes, as in {gpu: H100, nodes: 4}");
    for (const struct yaml *v = node->item; v; v = v->next)
        if (!read_member(r, v, &e))
            return false;
    if (!take_gpu(r, node, &e))
        return false;
    if (e.nodes_max == 0)
        return wrong(r, node->line, node->column, "this group lacks the key nodes");
    fill_group(g, &e);
    *said = (struct group_said){e.value[KEY_price], e.value[KEY_mtbf_h],
                                e.value[KEY_interruptions_per_h]};
    return check_domain(r, node, g) && check_segment(r, node, g);
}

static bool read_groups(const struct cluster_reader *r, const struct yaml *list, struct cluster *c)
{
    if (list->kind != YAML_LIST || !list->item)
        return wrong(r, list->line, list->column, "groups is no list of groups, each with a dash");
    for (const struct yaml *node = list->item; node; node = node->next) {
        if (c->groups == CLUSTER_MAX_GROUPS)
            return wrong(r, node->line, node->column, "more than %d groups", CLUSTER_MAX_GROUPS);
        if (!read_group(r, node, &c->group[c->groups], &c->said[c->groups]))
            return false;
        c->group[c->groups].index = c->groups;
        c->groups++;
    }
    return true;
}

/* Two groups by their place in the list, from 1. */
static bool read_between(const struct cluster_reader *r, const struct yaml *list, int groups,
                         struct group_link *link)
{
    const struct key_range range = {true, 1, groups};
    double from, to;
    const struct yaml *first = list->kind == YAML_LIST ? list->item : NULL;
    const struct yaml *second = first ? first->next : NULL;
    if (!second || second->next)
        return wrong(r, list->line, list->column,
                     "between is no list of two groups, as in [1, 2] for the first and the second");
    if (!read_number(r, first, "a group of between", &range, &from) ||
        !read_number(r, second, "a group of between", &range, &to))
        return false;
    if (from == to)
        return wrong(r, second->line, second->column,
                     "this link is between group %.0f and itself, two groups are right", from);
    link->from = (int)from - 1;
    link->to = (int)to - 1;
    return true;
}

static bool joins_same(const struct group_link *a, const struct group_link *b)
{
    return (a->from == b->from && a->to == b->to) || (a->from == b->to && a->to == b->from);
}

static bool read_link(const struct cluster_reader *r, const struct yaml *node, struct cluster *c)
{
    static const char *const keys[] = {"between", "nic_gbit"};
    struct group_link link;
    double gbit;
    if (node->kind != YAML_MAP)
        return wrong(r, node->line, node->column,
                     "a link is a map, as in {between: [1, 2], nic_gbit: 50}");
    for (const struct yaml *v = node->item; v; v = v->next)
        if (strcmp(v->key, keys[0]) != 0 && strcmp(v->key, keys[1]) != 0)
            return unknown_key(r, v, keys, 2);
    const struct yaml *between = yaml_get(node, keys[0]), *speed = yaml_get(node, keys[1]);
    if (!between || !speed)
        return wrong(r, node->line, node->column, "this link lacks the key %s",
                     between ? keys[1] : keys[0]);
    if (!read_between(r, between, c->groups, &link) ||
        !read_number(r, speed, speed->key, &RANGES[KEY_nic_gbit], &gbit))
        return false;
    for (int i = 0; i < c->links; i++)
        if (joins_same(&c->link[i], &link))
            return wrong(r, node->line, node->column,
                         "the link between groups %d and %d is given twice", link.from + 1,
                         link.to + 1);
    link.bs = gbit * 1e9 / 8;
    c->link[c->links++] = link; /* there is room for every pair once */
    return true;
}

static bool read_links(const struct cluster_reader *r, const struct yaml *list, struct cluster *c)
{
    if (list->kind != YAML_LIST)
        return wrong(r, list->line, list->column, "links is no list of links, each with a dash");
    for (const struct yaml *node = list->item; node; node = node->next)
        if (!read_link(r, node, c))
            return false;
    return true;
}

bool cluster_from_yaml(struct cluster *c, const char *text, size_t length, const char *name,
                       struct arena *mem, struct error *err)
{
    static const char *const top_keys[] = {"groups", "links"};
    struct cluster_reader r = {name, text, length, mem, err};
    *c = (struct cluster){0};
    cluster_set_text(c, name);
    const struct yaml *root = yaml_parse(text, length, name, mem, err);
    if (!root)
        return false;
    if (root->kind != YAML_MAP)
        return wrong(&r, root->line, root->column, "a cluster file is a map with the key groups");
    for (const struct yaml *v = root->item; v; v = v->next)
        if (strcmp(v->key, top_keys[0]) != 0 && strcmp(v->key, top_keys[1]) != 0)
            return unknown_key(&r, v, top_keys, 2);
    const struct yaml *groups = yaml_get(root, top_keys[0]), *links = yaml_get(root, top_keys[1]);
    if (!groups)
        return wrong(&r, root->line, root->column, "this file lacks the key groups");
    return read_groups(&r, groups, c) && (!links || read_links(&r, links, c));
}
