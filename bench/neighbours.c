/* Large mixed queries, where brute force cannot go: no neighbour of the best plan may be better. Neighbours
 * are plans with one layer moved, the layers of two stages exchanged, two types exchanged in the
 * pipeline, or one step of stages more or less of a type; and what a search finds that may only use the
 * best plan's own parameters, or a few values of one of them.
 *
 *     bench-neighbours [QUESTIONS [FIRST]] */
#include "asked.h"
#include "random.h"
#include "search/mixed/mixed.h"
#include "search/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 200, MOST_PAIRS = 400 };

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void must(bool ok, const struct error *err)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(2);
}

static void set(struct asked *q, const char *option, const char *value)
{
    struct error err = {0};
    must(asked_set(q, option, value, &err), &err);
}

static void random_query(struct asked *q)
{
    static const char *const models[] = {"llama3-8b", "llama3-70b", "gpt3-13b", "gpt3-175b",
                                         "mixtral-8x7b"};
    static const char *const gpus[] = {"A100", "H100", "H200", "B200", "L40S", "V100"};
    char pool[128] = "", batch[16];
    size_t length = 0;
    int model = pick(0, 4), groups = model == 3 ? 2 : pick(2, 3); /* more may take minutes */
    int used = 0;
    struct error err = {0};
    asked_init(q);
    set(q, "model", models[model]);
    for (int g = 0; g < groups; g++) {
        int gpu = pick(0, 5);
        while (used >> gpu & 1)
            gpu = (gpu + 1) % (int)COUNT(gpus);
        used |= 1 << gpu;
        length += (size_t)snprintf(pool + length, sizeof pool - length, "%s%dx8:%s", g ? "," : "",
                                   2 << pick(0, 5), gpus[gpu]);
    }
    set(q, "cluster", pool);
    if (used >> 5 & 1)
        set(q, "precision", "fp16");
    snprintf(batch, sizeof batch, "%d", 64 << pick(0, 4));
    set(q, "global-batch", batch);
    set(q, "set", "vpp=1");
    set(q, "set", "cp=1");
    q->options.search.top = 1;
    must(asked_resolve(q, QUERY_ESTIMATE, &err), &err);
}

/* The best on one type alone shows where to begin, at a step that rules nothing out. */
static struct found like_of(struct asked *q)
{
    struct found like = {0};
    for (int g = 0; g < q->query.cluster.groups; g++) {
        struct search_query sq;
        struct search_result r;
        struct error err = {0};
        must(query_search(&q->query, g, &q->mem, &sq, &err), &err);
        search_run(&sq, &q->mem, &r);
        if (r.best > 0 && (!like.group || r.found[0].step < like.step))
            like = r.found[0];
    }
    like.score = (struct score){1e300, INFINITY};
    like.key = 1e300;
    like.trouble = 0;
    return like;
}

static void search(const struct mixed_query *mq, const struct found *like, struct arena *mem,
                   struct mixed_result *out)
{
    struct mixed_query asked = *mq;
    struct results results;
    results_init(&results, &SPEED_ALONE, mq->top, mem);
    if (like->group)
        results_add(&results, like);
    asked.results = &results;
    mixed_run(&asked, mem, out);
    results_release(&results);
}

struct trial {
    const struct mixed_query *query;
    const struct found *like;
    const struct mixed_found *best;
    struct arena mem;
    long tried, feasible, better;
};

static bool rules_allow(const struct mixed_query *q, const struct mixed_found *x)
{
    double values[SLOTS];
    int64_t gpus = 0;
    for (int i = 0; i < x->meshes.count; i++)
        gpus += (int64_t)x->meshes.mesh[i].group->nodes_max * x->meshes.mesh[i].group->per_node;
    for (int i = 0; i < x->meshes.count; i++) {
        const struct node_group *g = x->meshes.mesh[i].group;
        slots_set_fixed(values, q->scene.model, g, g->nodes_max, scene_stack(&q->scene));
        values[SLOT_cluster_max_gpus] = (double)gpus;
        values[SLOT_cluster_min_gpus] = values[SLOT_cluster_granule] = 1;
        slots_set_strategy(values, &x->strategy);
        for (int k = 0; k < q->rules->count; k++)
            if (!rule_allows(&q->rules->rule[k], values))
                return false;
    }
    return true;
}

static void show(const char *what, int64_t step, const struct mixed_found *x)
{
    printf("    %s %.6f s:", what, (double)step / TICKS_PER_S);
    for (int i = 0; i < x->meshes.count; i++)
        printf(" %d:%s", x->meshes.mesh[i].stages, x->meshes.mesh[i].group->gpu->name);
    printf(" |");
    for (int i = 0; i < x->layout.stages; i++)
        printf(" %d", x->layout.layers[i]);
    printf("\n");
}

/* Fills where stages begin; false where one in the middle has no layers. */
static bool close_layout(struct layout *l)
{
    int first = 0;
    for (int i = 0; i < l->stages; i++) {
        if (l->layers[i] == 0 && i > 0 && i < l->stages - 1)
            return false;
        l->first[i] = (uint16_t)first;
        first += l->layers[i];
    }
    l->mtp_stage = l->loss_stage = l->stages - 1;
    return true;
}

static void try_plan(struct trial *t, const char *what, struct mixed_found *x)
{
    struct scene sc = t->query->scene;
    struct plan p;
    sc.group = x->meshes.mesh[0].group;
    sc.meshes = &x->meshes;
    sc.cluster = t->query->cluster;
    if (!close_layout(&x->layout))
        return;
    t->tried++;
    plan_evaluate(&sc, &x->strategy, &x->layout, &t->mem, &p);
    int64_t step = p.computed && p.feasible ? llround(p.step_s * TICKS_PER_S) : INT64_MAX;
    t->feasible += step < INT64_MAX;
    if (step < t->best->step && rules_allow(t->query, x)) {
        t->better++;
        show("best", t->best->step, t->best);
        show(what, step, x);
    }
    arena_clear(&t->mem);
}

static void try_pair(struct trial *t, int a, int b)
{
    struct mixed_found x = *t->best;
    uint16_t *layers = x.layout.layers, kept = layers[a];
    if (layers[a] > 0) {
        layers[a]--;
        layers[b]++;
        try_plan(t, "a layer moved", &x);
    }
    x = *t->best;
    layers[a] = layers[b];
    layers[b] = kept;
    if (a < b && layers[a] != layers[b])
        try_plan(t, "layers exchanged", &x);
}

static void try_pairs(struct trial *t)
{
    int pp = t->best->strategy.pp;
    if (pp * (pp - 1) > MOST_PAIRS) {
        for (int i = 0; i < MOST_PAIRS; i++) {
            int a = pick(0, pp - 1), b = pick(0, pp - 2);
            try_pair(t, a, b < a ? b : b + 1);
        }
        return;
    }
    for (int a = 0; a < pp; a++)
        for (int b = 0; b < pp; b++)
            if (a != b)
                try_pair(t, a, b);
}

static void try_orders(struct trial *t)
{
    for (int i = 0, first = 0; i + 1 < t->best->meshes.count;
         first += t->best->meshes.mesh[i++].stages) {
        struct mixed_found x = *t->best;
        struct mesh *m = &x.meshes.mesh[i], kept = m[0];
        int a = m[0].stages, b = m[1].stages;
        const uint16_t *from = t->best->layout.layers + first;
        m[0] = m[1];
        m[1] = kept;
        for (int k = 0; k < b; k++)
            x.layout.layers[first + k] = from[a + k];
        for (int k = 0; k < a; k++)
            x.layout.layers[first + b + k] = from[k];
        try_plan(t, "types exchanged", &x);
    }
}

/* Layers by what the stages of each type had on average. */
static void spread_layers(const struct mixed_found *old, struct mixed_found *x, int layers)
{
    double weight[LAYOUT_MAX_STAGES], sum = 0, so_far = 0;
    int stage = 0, rank = 0, given = 0;
    for (int i = 0; i < x->meshes.count; i++) {
        double own = 0;
        for (int k = 0; k < old->meshes.mesh[i].stages; k++)
            own += old->layout.layers[rank++];
        for (int k = 0; k < x->meshes.mesh[i].stages; k++)
            sum += weight[stage++] = fmax(0.1, own / old->meshes.mesh[i].stages);
    }
    x->layout.stages = stage;
    for (int i = 0; i < stage; i++) {
        so_far += weight[i];
        int to = (int)lround(layers * so_far / sum);
        x->layout.layers[i] = (uint16_t)(to - given);
        given = to;
    }
}

static void try_stages(struct trial *t)
{
    const struct strategy *s = &t->best->strategy;
    int64_t block = (int64_t)s->tp * s->cp * s->dp;
    for (int i = 0; i < t->best->meshes.count; i++)
        for (int more = -8; more <= 8; more++) {
            struct mixed_found x = *t->best;
            struct mesh *m = &x.meshes.mesh[i];
            m->stages += more;
            x.strategy.pp += more;
            if (more == 0 || m->stages < 1 || block * m->stages % m->group->per_node != 0 ||
                block * m->stages > (int64_t)m->group->nodes_max * m->group->per_node)
                continue;
            spread_layers(t->best, &x, t->query->scene.model->layers);
            try_plan(t, "stages of a type", &x);
        }
}

/* What a search finds in a part of the space is not better than what it finds in all of it. */
static void try_part(struct trial *t, const char *what, const struct setting *settings)
{
    struct mixed_query part = *t->query;
    struct mixed_result r;
    part.settings = settings;
    search(&part, t->like, &t->mem, &r);
    t->tried++;
    t->feasible += r.best > 0;
    if (r.best > 0 && r.found[0].step < t->best->step) {
        t->better++;
        show("best", t->best->step, t->best);
        show(what, r.found[0].step, &r.found[0]);
    }
    arena_clear(&t->mem);
}

static void try_parts(struct trial *t)
{
    struct setting settings[PARAMS];
    const struct strategy *s = &t->best->strategy;
    memset(settings, 0, sizeof settings);
    for (int p = 0; p < PARAMS; p++)
        settings[p] = (struct setting){1, {strategy_get(s, (enum param)p)}};
    settings[PARAM_pp] = (struct setting){3, {s->pp, s->pp > 2 ? s->pp - 1 : s->pp, s->pp + 1}};
    settings[PARAM_global_batch].count = settings[PARAM_seq_len].count = 0;
    settings[PARAM_precision].count = 0;
    try_part(t, "its own parameters", settings);
    memcpy(settings, t->query->settings, sizeof settings);
    settings[PARAM_tp] = (struct setting){1, {1 << pick(0, 3)}};
    settings[PARAM_cp] = (struct setting){1, {s->cp}};
    settings[PARAM_micro_batch] = (struct setting){2, {s->micro_batch, 1 << pick(0, 2)}};
    try_part(t, "one tp", settings);
}

int main(int argc, char **argv)
{
    int queries = argc > 1 ? (int)strtol(argv[1], NULL, 10) : QUERIES, answered = 0;
    int first = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    struct trial t = {0};
    double unproven = 0;
    arena_init(&t.mem);
    for (int i = first; i < first + queries; i++) {
        struct asked q;
        struct mixed_query mq;
        struct mixed_result r;
        struct error err = {0};
        seed = 88172645463325252ull + 104729 * (uint64_t)i; /* each can be asked alone */
        for (int warm = 0; warm < 16; warm++)
            pick(0, 1);
        random_query(&q);
        must(query_mixed(&q.query, &q.mem, &mq, &err), &err);
        struct found like = like_of(&q);
        search(&mq, &like, &q.mem, &r);
        t.like = &like;
        answered += r.best > 0;
        unproven += r.best > 0 && r.unproven > 0;
        if (r.best > 0) {
            long before = t.better;
            t.query = &mq;
            t.best = &r.found[0];
            try_pairs(&t);
            try_orders(&t);
            try_stages(&t);
            try_parts(&t);
            if (t.better > before)
                printf("question %d: %s on %s, global batch %d\n", i, q.query.model.name,
                       q.query.cluster.text, q.query.terms.global_batch);
        }
        asked_release(&q);
    }
    arena_release(&t.mem);
    printf("%d of %d questions have an answer, %.0f of them unproven; %ld neighbours, %ld fit, %ld "
           "are "
           "better\n",
           answered, queries, unproven, t.tried, t.feasible, t.better);
    return t.better > 0;
}
