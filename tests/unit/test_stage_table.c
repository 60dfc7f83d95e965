/* Tables of stages keep what was computed: asked in any order, under pass times, states and numbers
 * of stages that come and go, they give what a fresh table gives. */
#include "base/arena.h"
#include "search/mixed/stage_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "scene.h"

enum { STATES = 3, ASKED = 3000 };

static struct strategy base, states[STATES];
static uint16_t start_of[MODEL_MAX_LAYERS + 1], first_with[MODEL_MAX_LAYERS + 1];

/* FSDP keeps more by hand the fewer layers a stage has: its times are of a number of stages. */
static void take_state(int state, struct strategy *s)
{
    static const struct {
        int dist_opt, fsdp, overlap;
    } kinds[STATES] = {{0, FSDP_NONE, 0}, {1, FSDP_NONE, 1}, {1, FSDP_FULL, 1}};
    s->dist_opt = kinds[state].dist_opt;
    s->fsdp = kinds[state].fsdp;
    s->overlap_grad_reduce = s->overlap_param_gather = kinds[state].overlap;
}

static void take_pass_times(int i, struct strategy *s)
{
    s->recompute = i & 1 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    s->recompute_method = i & 1 ? METHOD_UNIFORM : METHOD_NONE;
    s->recompute_layers = i & 1;
    s->tp_overlap = i >> 1;
}

static struct partition *new_partition(void)
{
    static const struct layout any = {.stages = 2, .mtp_stage = 1, .loss_stage = 1};
    static struct scene sc;
    sc = scene();
    strategy_init(&base);
    base.tp = base.pp = 2;
    base.seq_parallel = 1;
    base.dp = 4;
    base.global_batch = 64;
    base.seq_len = 4096;
    base.split = SPLIT_LAYOUT;
    for (int i = 0; i < STATES; i++) {
        states[i] = base;
        take_state(i, &states[i]);
    }
    struct partition *f = partition_new(&sc, &base, &any, &mem, NULL);
    assert_non_null(f);
    return f;
}

static void new_table(struct stage_table *t, struct partition *f, struct arena *to)
{
    memset(t, 0, sizeof *t);
    int starts = stage_starts(&model, start_of, first_with);
    stage_table_init(t, model.layers, starts, start_of, first_with, to);
    t->partition = f;
    stage_table_structure(t, states, STATES, to);
}

/* A stage that may be asked for: the first begins with the model, the last ends with it. */
static enum stage_end random_stage(int *first, int *layers)
{
    enum stage_end end = (enum stage_end)pick(0, STAGE_ENDS - 1);
    *layers = pick(1, 4);
    *first = end == STAGE_FIRST  ? 0
             : end == STAGE_LAST ? model.layers - *layers
                                 : pick(0, model.layers - *layers);
    return end;
}

static void same_ticks(const struct stage_state *a, const struct stage_state *b)
{
    assert_int_equal(a->delay, b->delay);
    assert_int_equal(a->after, b->after);
    assert_int_equal(a->behind, b->behind);
}

static void ask_both(struct stage_table *t, struct stage_table *fresh, const struct strategy *s,
                     int state)
{
    int first, layers;
    enum stage_end end = random_stage(&first, &layers);
    const struct stage_time *x = stage_time(t, s, end, first, layers);
    const struct stage_time *y = stage_time(fresh, s, end, first, layers);
    assert_true(x->forward == y->forward && x->backward == y->backward);
    assert_memory_equal(stage_bytes(t, s, end, first, layers),
                        stage_bytes(fresh, s, end, first, layers), sizeof(struct chunk_bytes));
    if (pick(0, 1)) /* asked for alone it makes the ticks of before worthless */
        assert_memory_equal(&stage_rank(t, state, end, first, layers)->memory,
                            &stage_rank(fresh, state, end, first, layers)->memory,
                            sizeof(struct rank_state));
    if (pick(0, 1))
        same_ticks(stage_state(t, s, state, end, first, layers),
                   stage_state(fresh, s, state, end, first, layers));
}

static void kept_is_what_fresh_is(void **state)
{
    struct stage_table t;
    struct arena scratch;
    struct strategy s;
    (void)state;
    load("gpt-oss-20b", "8x8:H100");
    struct partition *f = new_partition();
    arena_init(&scratch);
    new_table(&t, f, &mem);
    assert_int_equal(t.starts, 2); /* with a window, without */
    s = base;
    for (int i = 0; i < ASKED; i++) {
        struct stage_table fresh;
        int own = pick(0, STATES - 1), other = pick(0, 3);
        if (pick(0, 9) == 0)
            s.pp = f->strategy.pp = pick(2, 6);
        if (pick(0, 9) == 0) {
            take_pass_times(other, &s);
            stage_table_pass_times(&t);
        }
        take_state(own, &s);
        new_table(&fresh, f, &scratch);
        ask_both(&t, &fresh, &s, own);
        arena_clear(&scratch);
    }
    arena_release(&scratch);
}

static int open_memory(void **state)
{
    (void)state;
    arena_init(&mem);
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    arena_release(&mem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_is_what_fresh_is),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
