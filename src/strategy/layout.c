/* Which layers a virtual stage holds. A split becomes a list of layer counts, one per virtual
 * stage, and the layers are then dealt out in order: Megatron's offsets (transformer_layer.py
 * get_transformer_layer_offset) are the running sum of its counts (transformer_block.py
 * get_num_layers_to_build) for every split it accepts. Virtual stage i is chunk i / pp of
 * rank i % pp:
 *
 *     pp = 2, vpp = 2, 8 layers      rank 0:  0 1 | 4 5        stages 0 and 2
 *                                    rank 1:  2 3 | 6 7        stages 1 and 3
 *
 * Layout strings are expanded as text in the two passes Megatron makes (groups, then single
 * symbols), so that odd strings mean the same here and there. Cost: O(stages + layers). */
#include "strategy/layout.h"

#include "base/str.h"
#include "model/model.h"
#include "strategy/strategy.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* Longest expanded string; a full one of 1024 stages and layers needs a few thousand characters. */
enum { TEXT_LIMIT = 1 << 16 };

static void deal_out(struct layout *l, const struct model *m, const int counts[], int stages)
{
    int first = 0;
    assert(stages >= 1 && stages <= LAYOUT_MAX_STAGES);
    l->stages = stages;
    l->mtp_stage = l->loss_stage = stages - 1;
    for (int i = 0; i < stages; i++) {
        assert(counts[i] >= 0);
        l->first[i] = (uint16_t)first;
        l->layers[i] = (uint16_t)counts[i];
        first += counts[i];
    }
    assert(first == m->layers);
}

/* Every virtual stage the same; embedding and loss stand for one layer each where they are
 * counted. */
static bool count_even(int counts[], const struct model *m, const struct strategy *s,
                       struct error *err)
{
    bool embedding = s->split == SPLIT_EMBEDDING || s->split == SPLIT_BOTH;
    bool loss = s->split == SPLIT_LOSS || s->split == SPLIT_BOTH;
    int stages = s->pp * s->vpp, layers = m->layers + embedding + loss;
    if (layers % stages)
        return fail(err, ERROR_INFEASIBLE, "%d layers%s do not divide by pp x vpp = %d x %d",
                    m->layers,
                    embedding && loss ? " + embedding + loss"
                    : embedding       ? " + embedding"
                    : loss            ? " + loss"
                                      : "",
                    s->pp, s->vpp);
    for (int i = 0; i < stages; i++)
        counts[i] = layers / stages;
    counts[0] -= embedding;
    counts[stages - 1] -= loss;
    return true;
}

/* Tokens that a layer of sparse attention chose do not cross stages (experimental_attention_variant_module_specs.py). */
bool layout_may_start(const struct model *m, int layer)
{
    return m->index_every <= 1 || layer == m->layers ||
           m->kind[m->layer[layer]].mixer != MIXER_REUSE;
}

bool layout_keeps_choices(const struct layout *l, const struct model *m, struct error *err)
{
    for (int i = 0; m->index_every > 1 && i < l->stages; i++)
        if (l->layers[i] > 0 && !layout_may_start(m, l->first[i]))
            return fail(
                err, ERROR_INFEASIBLE,
                "virtual stage %d starts with layer %d, which sees tokens that a layer before "
                "it chose (index_every %d): split=uneven, or a layout whose stages start with "
                "layers that choose",
                i, l->first[i] + 1, m->index_every);
    return true;
}

/* Layers that stay together: one that chooses tokens with those that see them, the first ones with the first of these. */
static int first_unit(const struct model *m)
{
    int layers =
        m->index_every > 1 ? (m->index_first > 1 ? m->index_first : 1) + m->index_every - 1 : 1;
    return layers < m->layers ? layers : m->layers;
}

static int unit_count(const struct model *m)
{
    int every = m->index_every > 1 ? m->index_every : 1;
    return 1 + (m->layers - first_unit(m) + every - 1) / every;
}

static void units_to_layers(int counts[], int stages, const struct model *m)
{
    int every = m->index_every > 1 ? m->index_every : 1, given = first_unit(m) - every;
    for (int i = 0, before = 0; i < stages; i++) {
        int up_to = before + counts[i] * every + (i == 0 ? given : 0);
        counts[i] = (up_to < m->layers ? up_to : m->layers) - before;
        before = up_to;
    }
}

/* As even as possible. The last virtual stage (loss) has the smaller share first, then the first
 * one (embedding), then the earlier ones, which keep more micro-batches in flight. */
static bool count_uneven(int counts[], const struct model *m, const struct strategy *s,
                         struct error *err)
{
    int stages = s->pp * s->vpp, units = unit_count(m);
    int small = units / stages, larger = units % stages;
    if (small < 1)
        return fail(err, ERROR_INFEASIBLE, "%d %s are fewer than pp x vpp = %d x %d stages", units,
                    units < m->layers ? "groups of layers that share a choice of tokens" : "layers",
                    s->pp, s->vpp);
    for (int i = 0; i < stages; i++)
        counts[i] = small;
    for (int i = stages - 2; i > 0 && larger > 0; i--, larger--)
        counts[i]++;
    if (larger > 0) {
        counts[0]++;
        larger--;
    }
    if (larger > 0)
        counts[stages - 1]++;
    units_to_layers(counts, stages, m);
    return true;
}

/* As many on every virtual stage; the last one, which has the loss and multi-token prediction besides,
 * takes what is left. */
static bool count_rest(int counts[], const struct model *m, const struct strategy *s,
                       struct error *err)
{
    int stages = s->pp * s->vpp, each = (m->layers + stages - 1) / stages;
    int rest = m->layers - each * (stages - 1);
    if (rest < 0)
        return fail(err, ERROR_INFEASIBLE,
                    "%d layers do not fill pp x vpp - 1 = %d stages with %d each", m->layers,
                    stages - 1, each);
    for (int i = 0; i < stages - 1; i++)
        counts[i] = each;
    counts[stages - 1] = rest;
    return true;
}

/* first_layers and last_layers are given per rank; what is left goes evenly to the other ranks. */
static bool ends_fit(const struct model *m, const struct strategy *s, int *middle,
                     struct error *err)
{
    int ranks = s->pp - (s->first_layers > 0) - (s->last_layers > 0);
    int left = m->layers - s->first_layers - s->last_layers;
    *middle = ranks > 0 ? left / ranks : 0;
    if (ranks < 0 || left < 0 || (ranks == 0) != (left == 0))
        return fail(err, ERROR_INFEASIBLE,
                    "first_layers %d and last_layers %d leave %d of %d layers for %d other ranks",
                    s->first_layers, s->last_layers, left, m->layers, ranks);
    if (ranks > 0 && left % ranks)
        return fail(err, ERROR_INFEASIBLE,
                    "the %d layers between the ends do not divide by %d ranks", left, ranks);
    if (s->first_layers % s->vpp || s->last_layers % s->vpp || *middle % s->vpp)
        return fail(
            err, ERROR_INFEASIBLE,
            "layers per rank (first %d, middle %d, last %d; 0 = none) do not divide by vpp = %d",
            s->first_layers, *middle, s->last_layers, s->vpp);
    return true;
}

static bool count_ends(int counts[], const struct model *m, const struct strategy *s,
                       struct error *err)
{
    int middle;
    if (!ends_fit(m, s, &middle, err))
        return false;
    for (int i = 0; i < s->pp * s->vpp; i++) {
        int rank = i % s->pp, layers = middle;
        if (rank == 0 && s->first_layers)
            layers = s->first_layers;
        else if (rank == s->pp - 1 && s->last_layers)
            layers = s->last_layers;
        counts[i] = layers / s->vpp;
    }
    return true;
}

static bool count_layout(int counts[], const struct model *m, const struct strategy *s,
                         struct error *err)
{
    (void)counts, (void)m, (void)s;
    return fail(err, ERROR_INPUT, "split=layout needs a layout string");
}

bool layout_of(struct layout *l, const struct model *m, const struct strategy *s, struct error *err)
{
    static bool (*const count[])(int[], const struct model *, const struct strategy *,
                                 struct error *) = {
        [SPLIT_EVEN] = count_even, [SPLIT_EMBEDDING] = count_even, [SPLIT_LOSS] = count_even,
        [SPLIT_BOTH] = count_even, [SPLIT_UNEVEN] = count_uneven,  [SPLIT_REST] = count_rest,
        [SPLIT_ENDS] = count_ends, [SPLIT_LAYOUT] = count_layout,
    };
    int counts[LAYOUT_MAX_STAGES];
    if (s->pp * s->vpp > LAYOUT_MAX_STAGES)
        return fail(err, ERROR_INFEASIBLE, "pp x vpp = %d x %d is more than %d stages", s->pp,
                    s->vpp, LAYOUT_MAX_STAGES);
    if (!count[s->split](counts, m, s, err))
        return false;
    deal_out(l, m, counts, s->pp * s->vpp);
    return layout_keeps_choices(l, m, err);
}

bool layout_is_string(int split)
{
    return split == SPLIT_UNEVEN || split == SPLIT_REST || split == SPLIT_LAYOUT;
}

/* The number at `digits`, cut where it is past every limit. */
static int64_t times(const char *digits)
{
    int64_t n = 0;
    for (; isdigit((unsigned char)*digits) && n <= TEXT_LIMIT; digits++)
        n = n * 10 + (*digits - '0');
    return n;
}

static bool repeat(struct str *out, const char *text, size_t length, int64_t count)
{
    for (int64_t i = 0; i < count && out->length <= TEXT_LIMIT; i++)
        str_add_bytes(out, text, length);
    return out->length <= TEXT_LIMIT;
}

/* Whether "*digits" stands at `text`. */
static bool is_times(const char *text)
{
    return text[0] == '*' && isdigit((unsigned char)text[1]);
}

/* "(ab|)*3" becomes "ab|ab|ab|"; commas, which only please the eye, go. */
static bool expand_groups(const char *in, struct str *out)
{
    struct str plain = {0};
    for (; *in; in++)
        if (*in != ',')
            str_add_bytes(&plain, in, 1);
    bool fits = plain.length <= TEXT_LIMIT;
    for (const char *p = str_text(&plain); *p && fits;) {
        size_t body = *p == '(' ? strcspn(p + 1, ")") : 0;
        if (body > 0 && p[body + 1] == ')' && is_times(p + body + 2)) {
            fits = repeat(out, p + 1, body, times(p + body + 3));
            p += body + 3;
            p += strspn(p, "0123456789");
        } else {
            str_add_bytes(out, p++, 1);
            fits = out->length <= TEXT_LIMIT;
        }
    }
    str_release(&plain);
    return fits;
}

/* "t*4" becomes "tttt". */
static bool expand_symbols(const char *in, struct str *out)
{
    while (*in && out->length <= TEXT_LIMIT) {
        if (is_times(in + 1)) {
            if (!repeat(out, in, 1, times(in + 2)))
                return false;
            in += 2;
            in += strspn(in, "0123456789");
        } else {
            str_add_bytes(out, in++, 1);
        }
    }
    return out->length <= TEXT_LIMIT;
}

/* What one pass over the expanded string sees. */
struct parts_seen {
    int stages;
    int decoders, mtps, embeddings, losses;
    int embedding_stage, mtp_stage, mtp_stages, loss_stage;
    bool first_is_embedding, last_is_loss, decoder_after_mtp;
    int counts[LAYOUT_MAX_STAGES];
};

static void see_symbol(struct parts_seen *seen, char symbol)
{
    int stage = seen->stages - 1;
    if (seen->decoders + seen->mtps + seen->embeddings + seen->losses == 0)
        seen->first_is_embedding = symbol == 'E';
    seen->last_is_loss = symbol == 'L';
    if (symbol == 't') {
        seen->decoders++;
        seen->counts[stage]++;
        seen->decoder_after_mtp |= seen->mtps > 0;
    } else if (symbol == 'm') {
        seen->mtp_stages += seen->mtps == 0 || seen->mtp_stage != stage;
        seen->mtps++;
        seen->mtp_stage = stage;
    } else if (symbol == 'E') {
        seen->embeddings++;
        seen->embedding_stage = stage;
    } else {
        seen->losses++;
        seen->loss_stage = stage;
    }
}

static bool see(struct parts_seen *seen, const char *expanded, const char *text, struct error *err)
{
    *seen = (struct parts_seen){.stages = 1};
    for (const char *p = expanded; *p; p++) {
        if (*p != '|' && !strchr("EtmL", *p))
            return fail(
                err, ERROR_INPUT,
                "layout '%s': '%c' is no symbol; it is made of E, t, m, L, |, x*N and (...)*N",
                text, isprint((unsigned char)*p) ? *p : '?');
        if (*p != '|')
            see_symbol(seen, *p);
        else if (++seen->stages > LAYOUT_MAX_STAGES)
            return fail(err, ERROR_INPUT, "layout '%s' has more than %d stages", text,
                        LAYOUT_MAX_STAGES);
    }
    return true;
}

static bool expand(struct parts_seen *seen, const char *text, struct error *err)
{
    struct str groups = {0}, symbols = {0};
    bool ok = (expand_groups(text, &groups) && expand_symbols(str_text(&groups), &symbols)) ||
              fail(err, ERROR_INPUT, "layout '%s' is longer than %d symbols", text, TEXT_LIMIT);
    ok = ok && see(seen, str_text(&symbols), text, err);
    str_release(&groups);
    str_release(&symbols);
    return ok;
}

/* Megatron's validate_layer_layout, and two things it does not look at: the model is always built
 * with the embedding on the first virtual stage and the output layer on the last one. */
static bool check(const struct parts_seen *seen, const char *text, const struct model *m,
                  const struct strategy *s, struct error *err)
{
    const char *wrong = NULL;
    if (seen->embeddings != 1 || !seen->first_is_embedding || seen->embedding_stage != 0)
        wrong = "E must come first, once, on the first stage";
    else if (seen->losses != 1 || !seen->last_is_loss || seen->loss_stage != seen->stages - 1)
        wrong = "L must come last, once, on the last stage";
    else if (seen->decoder_after_mtp)
        wrong = "every t must come before every m";
    else if (seen->mtp_stages > 1)
        wrong = "all m must be on one stage";
    else if (seen->mtps > 0 && seen->mtp_stage < seen->stages - s->pp)
        wrong = "m must be in the last virtual stage of its rank";
    if (wrong)
        return fail(err, ERROR_INFEASIBLE, "layout '%s': %s", text, wrong);
    if (seen->decoders != m->layers)
        return fail(err, ERROR_INFEASIBLE,
                    "layout '%s' has %d decoder layers (t), the model has %d", text, seen->decoders,
                    m->layers);
    if (seen->mtps != m->mtp)
        return fail(err, ERROR_INFEASIBLE, "layout '%s' has %d MTP layers (m), the model has %d",
                    text, seen->mtps, m->mtp);
    return true;
}

bool layout_parse(struct layout *l, const char *text, const struct model *m, struct strategy *s,
                  struct error *err)
{
    struct parts_seen seen;
    if (!expand(&seen, text, err))
        return false;
    if (seen.stages % s->pp)
        return fail(err, ERROR_INFEASIBLE, "layout '%s' has %d stages, no multiple of pp = %d",
                    text, seen.stages, s->pp);
    if (!check(&seen, text, m, s, err))
        return false;
    deal_out(l, m, seen.counts, seen.stages);
    if (seen.mtps > 0)
        l->mtp_stage = seen.mtp_stage;
    s->split = SPLIT_LAYOUT;
    s->vpp = seen.stages / s->pp;
    return layout_keeps_choices(l, m, err);
}

/* "tt", "t*12": whichever is shorter. */
static void add_run(struct str *out, char symbol, int count)
{
    if (count > 3)
        str_addf(out, "%c*%d", symbol, count);
    else
        for (int i = 0; i < count; i++)
            str_add_bytes(out, &symbol, 1);
}

static void add_stage(struct str *out, const struct layout *l, const struct model *m, int stage)
{
    if (stage == 0)
        str_add(out, "E");
    add_run(out, 't', l->layers[stage]);
    if (stage == l->mtp_stage)
        add_run(out, 'm', m->mtp);
    if (stage == l->loss_stage)
        str_add(out, "L");
}

/* Whether the stage holds decoder layers alone, so that it may be part of a repeated group. */
static bool is_plain(const struct layout *l, const struct model *m, int stage)
{
    return stage > 0 && stage != l->loss_stage && (stage != l->mtp_stage || m->mtp == 0);
}

/* How many equal plain stages start here, the last stage of all (it has no '|' behind it) left
 * out. */
static int equal_stages(const struct layout *l, const struct model *m, int stage)
{
    int n = 0;
    while (stage + n < l->stages - 1 && is_plain(l, m, stage + n) &&
           l->layers[stage + n] == l->layers[stage])
        n++;
    return n;
}

void layout_print(const struct layout *l, const struct model *m, struct str *out)
{
    for (int i = 0; i < l->stages;) {
        struct str stage, group;
        int n = equal_stages(l, m, i);
        str_init(&stage);
        str_init(&group);
        add_stage(&stage, l, m, i);
        str_addf(&group, "(%s|)*%d", str_text(&stage), n);
        bool grouped = n > 1 && group.length < (stage.length + 1) * (size_t)n;
        str_add(out, grouped ? str_text(&group) : str_text(&stage));
        if (!grouped && i < l->stages - 1)
            str_add(out, "|");
        i += grouped ? n : 1;
        str_release(&stage);
        str_release(&group);
    }
}
