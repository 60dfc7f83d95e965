/* Meshes out of FlagScale's flags (da4935ec: flagscale/train/arguments.py). Numbers that contradict
 * each other are wrong input, because no job can be made of them; meshes that FlagScale refuses are
 * planned as they are, with the reason. What stands in Megatron's flags for tp, cp and ep is
 * replaced by each mesh's own, there and here. */
#include "import/megatron/flags_parts.h"

#include "base/arena.h"
#include "base/str.h"
#include "import/megatron/words.h"
#include "strategy/mesh_check.h"

#include <string.h>

#define MESHES "--hetero-process-meshes"
#define TYPES "--hetero-device-types"
#define LAYERS "--hetero-pipeline-layer-split"
#define EXPERT_TP "--expert-tensor-parallel-size-per-process-mesh"

enum { NUMBERS = 5 }; /* of a mesh: tp cp ep dp pp */

/* Recompute by stage and micro-batch. */
enum row { GRANULARITY, METHOD, NUM_LAYERS, ROWS };
static const char *const ROW_FLAG[ROWS] = {"--recompute-granularity-per-stage-micro-batch",
                                           "--recompute-method-per-stage-micro-batch",
                                           "--recompute-num-layers-per-stage-micro-batch"};

/* Flags that mean nothing without --enable-hetero. */
static bool is_plain(const struct words *w, struct error *err)
{
    static const char *const needy[] = {MESHES, TYPES, LAYERS, EXPERT_TP};
    for (size_t i = 0; i < sizeof needy / sizeof *needy; i++)
        if (words_has(w, needy[i]))
            return fail(err, ERROR_INPUT, "%s needs --enable-hetero", needy[i]);
    for (int i = 0; i < ROWS; i++)
        if (words_has(w, ROW_FLAG[i]))
            return fail(err, ERROR_INPUT, "%s needs --enable-hetero", ROW_FLAG[i]);
    return true;
}

/* Each stage's layers are counted from the list alone, its first layer too. */
static bool has_one_split(const struct words *w, struct error *err)
{
    static const char *const other[] = {
        "--pipeline-model-parallel-layout",     "--decoder-first-pipeline-num-layers",
        "--decoder-last-pipeline-num-layers",   "--account-for-embedding-in-pipeline-split",
        "--account-for-loss-in-pipeline-split",
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (words_has(w, other[i]))
            return fail(err, ERROR_INPUT, "%s and --enable-hetero exclude each other: use " LAYERS,
                        other[i]);
    return true;
}

static bool number_at(const struct words *w, const char *flag, int i, const char *what, int lo,
                      int hi, int *out, struct error *err)
{
    int64_t n;
    const char *text = words_at(w, flag, i);
    if (!parse_int(text, &n) || n < lo || n > hi)
        return fail(err, ERROR_INPUT, "%s: %s is '%s', expected a whole number from %d to %d", flag,
                    what, text, lo, hi);
    *out = (int)n;
    return true;
}

static bool read_mesh(struct flags_result *r, const struct words *w, int mesh, struct error *err)
{
    static const enum param params[NUMBERS] = {PARAM_tp, PARAM_cp, PARAM_ep, PARAM_dp, PARAM_pp};
    int n[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        const struct param_info *info = param_info(params[i]);
        const char *what = arena_format(r->mem, "%s of mesh %d", info->name, mesh + 1);
        if (!number_at(w, MESHES, mesh * NUMBERS + i, what, info->lo, info->hi, &n[i], err))
            return false;
    }
    if (mesh > 0 && n[1] != r->strategy.cp)
        return fail(err, ERROR_INPUT,
                    MESHES ": cp of mesh %d is %d and of the first %d, all are the same", mesh + 1,
                    n[1], r->strategy.cp);
    r->strategy.cp = n[1];
    r->meshes.mesh[mesh] =
        (struct mesh){.stages = n[4], .own = true, .tp = n[0], .ep = n[2], .dp = n[3]};
    return true;
}

static bool read_meshes(struct flags_result *r, const struct words *w, struct error *err)
{
    int words = words_count(w, MESHES), stages = 0;
    if (words == 0)
        return fail(err, ERROR_INPUT,
                    "--enable-hetero needs " MESHES ": tp cp ep dp pp of each mesh");
    if (words % NUMBERS)
        return fail(err, ERROR_INPUT,
                    MESHES " has %d numbers, expected a multiple of 5: tp cp ep dp pp of each mesh",
                    words);
    if (words / NUMBERS > MESHES_MAX)
        return fail(err, ERROR_INPUT, MESHES " has %d meshes, at most %d can be planned",
                    words / NUMBERS, MESHES_MAX);
    r->meshes.count = words / NUMBERS;
    for (int i = 0; i < r->meshes.count; i++) {
        if (!read_mesh(r, w, i, err))
            return false;
        stages += r->meshes.mesh[i].stages;
    }
    if (stages != r->strategy.pp)
        return fail(err, ERROR_INPUT,
                    "--pipeline-model-parallel-size is %d, pp of the meshes in " MESHES
                    " adds up to %d",
                    r->strategy.pp, stages);
    return true;
}

/* Ranks are sorted by the first place of their type in the list. */
static bool read_types(struct flags_result *r, const struct words *w, struct error *err)
{
    int types = words_count(w, TYPES);
    if (types != r->meshes.count)
        return fail(err, ERROR_INPUT, TYPES " names %d types, " MESHES " has %d meshes", types,
                    r->meshes.count);
    for (int i = 0; i < types; i++) {
        r->device_type[i] = words_at(w, TYPES, i);
        for (int k = 0; k + 1 < i; k++)
            if (strcmp(r->device_type[k], r->device_type[i]) == 0 &&
                strcmp(r->device_type[i - 1], r->device_type[i]) != 0)
                return fail(err, ERROR_INPUT,
                            TYPES
                            ": '%s' comes back behind '%s', meshes of one type stand together",
                            r->device_type[i], r->device_type[i - 1]);
    }
    return true;
}

/* Without a list each mesh has that of all, or its tp. */
static bool read_expert_tp(struct flags_result *r, const struct words *w, struct error *err)
{
    int words = words_count(w, EXPERT_TP), hi = param_info(PARAM_etp)->hi;
    if (words_has(w, EXPERT_TP) && words != r->meshes.count)
        return fail(err, ERROR_INPUT, EXPERT_TP " has %d numbers, " MESHES " has %d meshes", words,
                    r->meshes.count);
    for (int i = 0; i < r->meshes.count; i++) {
        struct mesh *m = &r->meshes.mesh[i];
        const char *what = arena_format(r->mem, "etp of mesh %d", i + 1);
        m->etp = r->given[PARAM_etp] ? r->strategy.etp : m->tp;
        if (words > 0 && !number_at(w, EXPERT_TP, i, what, 1, hi, &m->etp, err))
            return false;
    }
    r->given[PARAM_etp] |= words > 0;
    return true;
}

static bool read_layers(struct flags_result *r, const struct words *w, struct error *err)
{
    int words = words_count(w, LAYERS), first = 0;
    struct layout *l = &r->layout;
    if (!words_has(w, LAYERS))
        return true;
    if (words != r->strategy.pp)
        return fail(err, ERROR_INPUT, LAYERS " has %d numbers, the pipeline has %d stages", words,
                    r->strategy.pp);
    *l = (struct layout){.stages = words, .mtp_stage = words - 1, .loss_stage = words - 1};
    for (int i = 0; i < words; i++) {
        int layers;
        const char *what = arena_format(r->mem, "stage %d", i);
        if (!number_at(w, LAYERS, i, what, 0, MODEL_MAX_LAYERS, &layers, err))
            return false;
        l->first[i] = (uint16_t)first;
        l->layers[i] = (uint16_t)layers;
        first += layers;
        if (first > MODEL_MAX_LAYERS)
            return fail(err, ERROR_INPUT,
                        LAYERS " adds up to %d layers or more, at most %d can be "
                               "planned",
                        first, MODEL_MAX_LAYERS);
    }
    r->has_layout = true;
    r->given[PARAM_split] = true;
    r->strategy.split = SPLIT_LAYOUT;
    return true;
}

static void take_first_mesh(struct flags_result *r, const struct words *w)
{
    struct strategy *s = &r->strategy;
    const struct mesh *first = &r->meshes.mesh[0];
    bool split = false;
    for (int i = 0; i < r->meshes.count; i++)
        split |= r->meshes.mesh[i].tp > 1;
    s->tp = first->tp;
    s->ep = first->ep;
    s->dp = first->dp;
    s->etp = first->etp;
    s->seq_parallel = split && words_has(w, "--sequence-parallel");
}

static void drop_virtual_stages(struct flags_result *r)
{
    if (r->strategy.vpp == 1 && !r->layers_per_virtual_stage)
        return;
    flags_refuse(r, "FlagScale: meshes run without virtual stages");
    r->strategy.vpp = 1;
    r->layers_per_virtual_stage = 0;
}

bool flags_read_hetero(struct flags_result *r, const struct words *w, struct error *err)
{
    r->hetero = words_has(w, "--enable-hetero");
    if (!r->hetero)
        return is_plain(w, err);
    if (!has_one_split(w, err) || !read_meshes(r, w, err) || !read_types(r, w, err) ||
        !read_expert_tp(r, w, err) || !read_layers(r, w, err))
        return false;
    drop_virtual_stages(r);
    take_first_mesh(r, w);
    return true;
}

/* What the rows of one flag say of each stage; -1 where there are none. */
struct by_stage {
    int value[LAYOUT_MAX_STAGES];
    int64_t micro_batches; /* that every row is for; -1: rows differ in it */
};

static bool bad_row(const char *flag, const char *row, struct error *err)
{
    return fail(err, ERROR_INPUT,
                "%s has '%s', expected rows such as [2,16,1]: stages, micro-batches, value", flag,
                row);
}

/* The next number of a row and what closes it, ',' or ']'; false when there is none. */
static bool next_number(const char **at, int64_t *out, struct arena *mem)
{
    *at += strspn(*at, " ");
    size_t digits = strspn(*at, "0123456789");
    if (!parse_int(arena_copy(mem, *at, digits), out) || *out > 1 << 30)
        return false;
    *at += digits;
    *at += strspn(*at, " ");
    return **at == ',' || **at == ']';
}

/* [stages, micro-batches, value, micro-batches, value ...]; values of all micro-batches are one. */
static bool read_row(const char *flag, const char *row, struct arena *mem, int64_t *stages,
                     int64_t *micro_batches, int64_t *value, struct error *err)
{
    const char *at = row + 1;
    int64_t n, v;
    *micro_batches = 0;
    if (*row != '[' || !next_number(&at, stages, mem) || *at++ != ',')
        return bad_row(flag, row, err);
    for (bool first = true;; first = false, at++) {
        if (!next_number(&at, &n, mem) || *at++ != ',' || !next_number(&at, &v, mem))
            return bad_row(flag, row, err);
        if (!first && v != *value)
            return fail(err, ERROR_INPUT,
                        "%s has '%s': recompute is planned the same for all micro-batches", flag,
                        row);
        *value = v;
        *micro_batches += n;
        if (*at == ']')
            return !at[1] || bad_row(flag, row, err);
    }
}

static bool read_rows(const struct flags_result *r, enum row kind, struct by_stage *out,
                      struct error *err)
{
    const char *flag = ROW_FLAG[kind];
    int stage = 0, most = kind == NUM_LAYERS ? MODEL_MAX_LAYERS : 1;
    int64_t stages, micro_batches, value = 0;
    for (int i = 0; i < r->strategy.pp; i++)
        out->value[i] = -1;
    out->micro_batches = 0;
    for (int i = 0; i < words_count(r->words, flag); i++) {
        const char *row = words_at(r->words, flag, i);
        if (!read_row(flag, row, r->mem, &stages, &micro_batches, &value, err))
            return false;
        if (value > most || stages > r->strategy.pp - stage)
            return fail(err, ERROR_INPUT,
                        "%s has '%s', expected values up to %d for %d stages in all", flag, row,
                        most, r->strategy.pp);
        out->micro_batches = i == 0 || out->micro_batches == micro_batches ? micro_batches : -1;
        for (int64_t k = 0; k < stages; k++)
            out->value[stage++] = (int)value;
    }
    if (words_has(r->words, flag) && stage != r->strategy.pp)
        return fail(err, ERROR_INPUT, "%s has rows for %d stages, the pipeline has %d", flag, stage,
                    r->strategy.pp);
    return true;
}

/* One value for all stages of each mesh. */
static bool fold_rows(const struct flags_result *r, const char *flag, const struct by_stage *rows,
                      int value[MESHES_MAX], struct error *err)
{
    for (int i = 0, stage = 0; i < r->meshes.count; stage += r->meshes.mesh[i++].stages) {
        value[i] = rows->value[stage];
        for (int k = 1; k < r->meshes.mesh[i].stages; k++)
            if (rows->value[stage + k] != value[i])
                return fail(err, ERROR_INPUT,
                            "%s differs between stages %d and %d: recompute is planned the same "
                            "for all stages of a mesh",
                            flag, stage, stage + k);
    }
    return true;
}

static void set_recompute(struct mesh *m, const int rows[ROWS])
{
    if (rows[METHOD] >= 0)
        m->recompute_method = rows[METHOD] ? METHOD_BLOCK : METHOD_UNIFORM;
    if (rows[NUM_LAYERS] >= 0)
        m->recompute_layers = rows[NUM_LAYERS];
    if (rows[GRANULARITY] != 0 && rows[NUM_LAYERS] != 0)
        return;
    m->recompute = RECOMPUTE_NONE;
    m->recompute_method = METHOD_NONE;
    m->recompute_layers = 0;
}

/* What the rows say of each mesh, -1 where they say nothing. */
static bool read_all_rows(struct flags_result *r, int value[ROWS][MESHES_MAX], struct error *err)
{
    int64_t micro_batches = strategy_micro_batches(&r->strategy);
    struct by_stage *rows = arena_alloc(r->mem, sizeof *rows);
    for (int i = 0; i < ROWS; i++) {
        if (!read_rows(r, (enum row)i, rows, err) ||
            !fold_rows(r, ROW_FLAG[i], rows, value[i], err))
            return false;
        if (words_has(r->words, ROW_FLAG[i]) && rows->micro_batches != micro_batches)
            flags_refuse(r, "FlagScale: rows of %s must be for %lld micro-batches", ROW_FLAG[i],
                         (long long)micro_batches);
    }
    return true;
}

static void take_recompute(struct mesh *m, const struct strategy *s)
{
    m->recompute = s->recompute;
    m->recompute_method = s->recompute_method;
    m->recompute_layers = s->recompute_layers;
    m->recompute_modules = s->recompute_modules;
}

/* Rows switch full recompute on and off and set its numbers; else they have no effect. */
static bool finish_recompute(struct flags_result *r, struct error *err)
{
    int value[ROWS][MESHES_MAX];
    struct strategy *s = &r->strategy;
    const struct mesh *first = &r->meshes.mesh[0];
    bool full = s->recompute == RECOMPUTE_FULL;
    if (!read_all_rows(r, value, err))
        return false;
    if (words_has(r->words, ROW_FLAG[GRANULARITY]) && (!full || s->recompute_method == METHOD_NONE))
        flags_refuse(r, "FlagScale: --recompute-granularity-per-stage-micro-batch needs "
                        "--recompute-granularity full and a --recompute-method");
    for (int i = 0; i < r->meshes.count; i++) {
        const int rows[ROWS] = {value[0][i], value[1][i], value[2][i]};
        take_recompute(&r->meshes.mesh[i], s);
        if (full)
            set_recompute(&r->meshes.mesh[i], rows);
    }
    s->recompute = first->recompute;
    s->recompute_method = first->recompute_method;
    s->recompute_layers = first->recompute_layers;
    return true;
}

static bool finish_layers(const struct flags_result *r, struct error *err)
{
    int sum = 0;
    for (int i = 0; r->has_layout && i < r->layout.stages; i++)
        sum += r->layout.layers[i];
    if (r->has_layout && sum != r->model.layers)
        return fail(err, ERROR_INPUT, LAYERS " adds up to %d layers, the model has %d", sum,
                    r->model.layers);
    return true;
}

/* The first mesh loads the data; what it makes of a step's samples the others cut by their dp. */
static bool finish_batch(struct flags_result *r, struct error *err)
{
    struct strategy *s = &r->strategy;
    int64_t samples = (int64_t)s->dp * s->micro_batch;
    if (samples > param_info(PARAM_global_batch)->hi)
        return fail(err, ERROR_INPUT,
                    "micro-batch x dp = %d x %d is above the largest global batch, %d",
                    s->micro_batch, s->dp, param_info(PARAM_global_batch)->hi);
    if (!r->given[PARAM_global_batch])
        s->global_batch = (int)samples;
    for (int i = 0; i < r->meshes.count; i++) {
        struct mesh *m = &r->meshes.mesh[i];
        m->micro_batch = samples < m->dp ? 1 : (int)(samples / m->dp);
        if (m->micro_batch > param_info(PARAM_micro_batch)->hi)
            return fail(err, ERROR_INPUT, "the micro-batch of mesh %d is %d, the largest is %d",
                        i + 1, m->micro_batch, param_info(PARAM_micro_batch)->hi);
        if (r->model.experts == 0 && !r->given[PARAM_etp])
            m->etp = 1;
    }
    return true;
}

static void check_meshes(struct flags_result *r)
{
    const struct strategy *s = &r->strategy;
    const char *why = meshes_refused(&r->meshes, s, &r->model, r->mem);
    if (why)
        flags_refuse(r, "%s", why);
    if (meshes_share_shards(&r->meshes, s, &r->model) &&
        !words_has(r->words, "--use-partial-reduce-for-shared-embedding"))
        flags_refuse(
            r, "FlagScale: different dp at the ends of the pipeline and a shared embedding need "
               "--use-partial-reduce-for-shared-embedding");
}

bool flags_finish_hetero(struct flags_result *r, int64_t world, struct error *err)
{
    int64_t gpus = mesh_list_gpus(&r->meshes, &r->strategy);
    if (gpus != world)
        return fail(err, ERROR_INPUT,
                    MESHES " is for %lld GPUs, tp x cp x dp x pp of each mesh, there are %lld",
                    (long long)gpus, (long long)world);
    if (!finish_layers(r, err) || !finish_batch(r, err) || !finish_recompute(r, err))
        return false;
    check_meshes(r);
    bool differ = meshes_differ(&r->meshes, &r->strategy);
    for (int i = 0; i < r->meshes.count; i++)
        r->meshes.mesh[i].own = differ;
    return true;
}
