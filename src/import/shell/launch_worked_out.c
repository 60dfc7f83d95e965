/* Flags of other dialects that take other flags to work out. */
#include "import/shell/launch_translation.h"

#include "base/arena.h"
#include "base/str.h"

#include <assert.h>
#include <string.h>

enum { LAYERS_MOST = 4096, CHUNKS_MOST = 1024 };

/* Whether "94,95" has a number in it. */
static bool lists(const char *text, int64_t number)
{
    int64_t n;
    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        char item[24];
        size_t length = strcspn(p, ",");
        if (length < sizeof item) {
            memcpy(item, p, length);
            item[length] = 0;
            if (parse_int(item, &n) && n == number)
                return true;
        }
        p += length;
    }
    return false;
}

/* The first layers have no experts; of the others, every so many. Layers that do nothing are no layers. */
static bool dense_layers(struct translation *t, const char *value, int line)
{
    int64_t dense, layers = launch_number(t->from, "--num-layers", -1);
    int64_t every = launch_number(t->from, "--moe-layer-freq", 1);
    const char *idle = launch_value(t->from, "--noop-layers");
    struct str s = {0};
    if (!parse_int(value, &dense) || (dense > 0 && (layers < 1 || layers > LAYERS_MOST)))
        return false;
    every = every < 1 ? 1 : every;
    for (int64_t i = 0; i < layers && dense > 0; i++)
        if (!lists(idle, i))
            str_addf(&s, "%s%d", s.length ? "," : "[", i >= dense && i % every == 0);
    if (dense > 0)
        translation_last(t, "--moe-layer-freq", arena_format(t->mem, "%s]", str_text(&s)), line);
    str_release(&s);
    return true;
}

/* Layers that do nothing leave the others where they are: a layout says so, chunk by chunk. */
static bool idle_layers(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    int64_t layers = launch_number(l, "--num-layers", -1);
    int64_t stages = launch_number(l, "--pipeline-model-parallel-size", 1);
    int64_t mtp = launch_number(l, "--mtp-num-layers", 0), left = 0;
    if (layers < 1 || layers > LAYERS_MOST || stages < 1 || layers % stages || mtp < 0 || mtp > 8 ||
        launch_value(l, "--num-layer-list"))
        return false;
    int64_t each = launch_number(l, "--num-layers-per-virtual-pipeline-stage", layers / stages);
    if (each < 1 || layers / stages % each || layers / each > CHUNKS_MOST)
        return false;
    struct str s = {0};
    for (int64_t i = 0; i < layers; i++) {
        str_add(&s, i == 0 ? "E" : i % each == 0 ? "|" : "");
        str_add(&s, lists(value, i) ? "" : "t");
        left += !lists(value, i);
    }
    for (int64_t i = 0; i < mtp; i++)
        str_add(&s, "m");
    translation_last(t, "--num-layers", arena_format(t->mem, "%lld", (long long)left), line);
    if (stages > 1)
        translation_last(t, "--pipeline-model-parallel-layout",
                         arena_format(t->mem, "%sL", str_text(&s)), line);
    t->chunked = stages > 1;
    str_release(&s);
    return left > 0;
}

static bool shared_experts(struct translation *t, const char *value, int line)
{
    int64_t n, width = launch_number(t->from, "--moe-ffn-hidden-size", 0);
    width = width ? width : launch_number(t->from, "--moe-intermediate-size", 0);
    width = width ? width : launch_number(t->from, "--ffn-hidden-size", -1);
    if (!parse_int(value, &n) || n < 0 || n > 1024 || width < 1)
        return false;
    if (n > 0)
        translation_last(t, "--moe-shared-expert-intermediate-size",
                         arena_format(t->mem, "%lld", (long long)(n * width)), line);
    return true;
}

/* "11,13,19": the layers of each stage. */
static bool stage_layers(struct translation *t, const char *value, int line)
{
    struct str s = {0};
    int64_t n, stages = 0;
    bool ok = true;
    for (const char *p = value; ok && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        ok = parse_int(arena_copy(t->mem, p, strcspn(p, ",")), &n) && n > 0 && n < 4096 &&
             ++stages <= 256;
        str_addf(&s, "%st*%lld", p == value ? "E" : "|", ok ? (long long)n : 1);
    }
    if (ok && stages > 0)
        translation_last(t, "--pipeline-model-parallel-layout",
                         arena_format(t->mem, "%sL", str_text(&s)), line);
    str_release(&s);
    return ok && stages > 0;
}

/* Experts are split over both as one: each tensor-parallel rank has experts of its own. */
static bool extended_experts(struct translation *t, const char *value, int line)
{
    int64_t tp = launch_number(t->from, "--tensor-model-parallel-size", 1);
    int64_t ep = launch_number(t->from, "--expert-model-parallel-size", 1);
    (void)value;
    if (tp < 1 || ep < 1)
        return false;
    translation_last(t, "--expert-model-parallel-size",
                     arena_format(t->mem, "%lld", (long long)(tp * ep)), line);
    translation_last(t, "--expert-tensor-parallel-size", "1", line);
    return true;
}

/* Micro-batches of a step, by what the script itself runs on. */
static bool accumulated(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    int64_t n, tp = launch_number(l, "--tensor-model-parallel-size", 0);
    int64_t pp = launch_number(l, "--pipeline-model-parallel-size", 0);
    int64_t each = launch_number(l, "--micro-batch-size", 0);
    tp = tp ? tp : launch_number(l, "--model-parallel-size", 1);
    pp = pp ? pp : launch_number(l, "--pipe-parallel-size", 1);
    each = each ? each : launch_number(l, "--batch-size", -1);
    if (!parse_int(value, &n) || n < 1 || n > 1 << 20 || launch_value(l, "--global-batch-size"))
        return false;
    if (tp < 1 || pp < 1 || each < 1 || l->gpus < tp * pp) {
        t->notes->accumulation = n; /* of the GPUs that are planned */
        return true;
    }
    translation_last(t, "--global-batch-size",
                     arena_format(t->mem, "%lld", (long long)(n * each * (l->gpus / (tp * pp)))),
                     line);
    return true;
}

/* MegaBlocks splits experts over all data-parallel ranks that the script itself runs on. */
static bool spread_experts(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    int64_t tp = launch_number(l, "--tensor-model-parallel-size", 1);
    int64_t pp = launch_number(l, "--pipeline-model-parallel-size", 1);
    int64_t experts = launch_number(l, "--moe-num-experts", -1);
    (void)value;
    if (tp < 1 || pp < 1 || experts < 1 || l->gpus < tp * pp)
        return false;
    int64_t ep = l->gpus / (tp * pp) < experts ? l->gpus / (tp * pp) : experts;
    translation_last(t, "--expert-model-parallel-size", arena_format(t->mem, "%lld", (long long)ep),
                     line);
    return true;
}

/* MindSpeed: beside attention that is kept on the host, --recompute-num-layers alone recomputes so many layers. */
static bool swapped_attention(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    (void)value;
    launch_note(t->notes, arena_format(t->mem,
                                       "line %d: --swap-attention: activations are planned on the "
                                       "GPU: memory is too high",
                                       line));
    if (launch_mentions(l, "--recompute-num-layers") &&
        !launch_mentions(l, "--recompute-granularity")) {
        translation_last(t, "--recompute-granularity", "full", line);
        if (!launch_mentions(l, "--recompute-method"))
            translation_last(t, "--recompute-method", "block", line);
    }
    return true;
}

/* Whether what tensor parallelism sends is gathered and scattered, as TransformerEngine overlaps it. */
static bool gathers(const struct launch *l)
{
    return launch_mentions(l, "--sequence-parallel") &&
           launch_number(l, "--tensor-model-parallel-size", 1) > 1;
}

/* MindSpeed: products in pieces beside what they send, where a number of pieces or the fused kernel is asked for; not in
 * models with experts (communication-over-computation.md). All-reduces go the same way, which has no other plan. */
static bool products_in_pieces(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    bool pieces =
        launch_number(l, "--coc-parallel-num", 1) > 1 || launch_mentions(l, "--coc-fused-kernel");
    bool sends = launch_number(l, "--tensor-model-parallel-size", 1) > 1;
    (void)value;
    if (!pieces || !sends || launch_mentions(l, "--num-experts"))
        return true;
    if (gathers(l))
        translation_first(t, "--tp-comm-overlap", line);
    else
        launch_note(t->notes,
                    arena_format(t->mem,
                                 "line %d: --use-ascend-coc: all-reduces are planned behind "
                                 "the products, not beside them: a step may be shorter",
                                 line));
    return true;
}

static bool fused_products(struct translation *t, const char *value, int line)
{
    (void)value;
    if (gathers(t->from))
        translation_first(t, "--tp-comm-overlap", line);
    return true;
}

/* MindSpeed keeps the 16 bits that an fp32 weight has more than the 16-bit one, as the precision-aware optimizer does:
 * 2 bytes a parameter less of what a rank holds, for less than 1 % of the time (docs/features/reuse-fp32-param.md). */
static bool shared_weights(struct translation *t, const char *value, int line)
{
    bool sharded = launch_mentions(t->from, "--use-distributed-optimizer");
    (void)value;
    if (sharded)
        translation_first(t, "--use-precision-aware-optimizer", line);
    launch_note(t->notes,
                arena_format(t->mem, "line %d: --reuse-fp32-param: %s", line,
                             sharded
                                 ? "planned as the precision-aware optimizer, which keeps as much"
                                 : "16-bit weights are planned beside the fp32 ones: memory is too "
                                   "high by 2 bytes a parameter"));
    return true;
}

/* MindSpeed's exchange of experts beside the other direction of another micro-batch is that of Megatron, where Megatron
 * has it: no full recompute, virtual stages (docs/features/megatron_moe/megatron-moe-fb-overlap.md). */
static bool overlapped_experts(struct translation *t, const char *value, int line)
{
    const struct launch *l = t->from;
    bool staged = launch_number(l, "--pipeline-model-parallel-size", 1) == 1 ||
                  launch_mentions(l, "--num-layers-per-virtual-pipeline-stage") ||
                  launch_mentions(l, "--num-virtual-stages-per-pipeline-rank");
    bool same = staged && launch_number(l, "--expert-model-parallel-size", 1) > 1 &&
                !launch_mentions(l, "--recompute-granularity") &&
                !launch_mentions(l, "--recompute-num-layers") &&
                !launch_mentions(l, "--schedules-method");
    (void)value;
    if (same)
        translation_first(t, "--overlap-moe-expert-parallel-comm", line);
    launch_note(t->notes,
                arena_format(t->mem, "line %d: --moe-fb-overlap: %s", line,
                             same ? "planned as Megatron's overlap of expert communication"
                                  : "experts' communication is planned without this overlap, which "
                                    "hides most of it: a step may be shorter"));
    return true;
}

static const struct {
    const char *flag;
    bool is_switch;
    bool (*work_out)(struct translation *, const char *value, int line);
} WORKED_OUT[] = {
    {"--first-k-dense-replace", false, dense_layers},
    {"--gas", false, accumulated},
    {"--moe-tp-extend-ep", true, extended_experts},
    {"--noop-layers", false, idle_layers},
    {"--n-shared-experts", false, shared_experts},
    {"--num-layer-list", false, stage_layers},
    {"--moe-expert-model-parallelism", true, spread_experts},
    {"--moe-fb-overlap", true, overlapped_experts},
    {"--reuse-fp32-param", true, shared_weights},
    {"--swap-attention", true, swapped_attention},
    {"--use-ascend-coc", true, products_in_pieces},
    {"--use-ascend-mc2", true, fused_products},
};

static_assert(sizeof WORKED_OUT / sizeof *WORKED_OUT ==
                  sizeof((struct translation *)0)->worked / sizeof(int),
              "a count for each");

int translation_work_out(struct translation *t, const char *name, const char *value, int behind,
                         int line)
{
    for (size_t i = 0; i < sizeof WORKED_OUT / sizeof *WORKED_OUT; i++) {
        bool takes = !WORKED_OUT[i].is_switch;
        if (strcmp(name, WORKED_OUT[i].flag) != 0 || (takes && !(value && launch_is_known(value))))
            continue;
        const char *last = takes ? launch_value(t->from, WORKED_OUT[i].flag) : NULL;
        bool read = t->worked[i]++ || WORKED_OUT[i].work_out(t, last ? last : value, line);
        return read ? 1 + (takes ? behind : 0) : 0;
    }
    return 0;
}
