/* Splits of layers over virtual stages, and Megatron's layout strings. */
#include "base/str.h"
#include "model/model.h"
#include "strategy/layout.h"
#include "strategy/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

struct split_case {
    int layers, pp, vpp, split, first, last;
    const char *counts; /* layers of each virtual stage, or NULL when there is no such split */
};

/* The counts of the first four kinds and of `ends` are what get_num_layers_to_build gives, read
 * chunk by chunk (virtual stage i is chunk i / pp of rank i % pp). */
static const struct split_case SPLITS[] = {
    {32, 4, 1, SPLIT_EVEN, 0, 0, "8 8 8 8"},
    {32, 1, 1, SPLIT_EVEN, 0, 0, "32"},
    {32, 2, 4, SPLIT_EVEN, 0, 0, "4 4 4 4 4 4 4 4"},
    {30, 4, 1, SPLIT_EVEN, 0, 0, NULL},
    {32, 4, 3, SPLIT_EVEN, 0, 0, NULL},
    {31, 4, 1, SPLIT_EMBEDDING, 0, 0, "7 8 8 8"},
    {31, 4, 1, SPLIT_LOSS, 0, 0, "8 8 8 7"},
    {30, 4, 1, SPLIT_BOTH, 0, 0, "7 8 8 7"},
    {30, 4, 2, SPLIT_BOTH, 0, 0, "3 4 4 4 4 4 4 3"},
    {31, 2, 2, SPLIT_EMBEDDING, 0, 0, "7 8 8 8"},
    {6, 8, 1, SPLIT_BOTH, 0, 0, "0 1 1 1 1 1 1 0"},
    {4, 1, 1, SPLIT_BOTH, 0, 0, "4"},
    {32, 4, 1, SPLIT_BOTH, 0, 0, NULL},
    {32, 5, 1, SPLIT_UNEVEN, 0, 0, "6 6 7 7 6"},
    {9, 5, 1, SPLIT_UNEVEN, 0, 0, "2 2 2 2 1"},
    {8, 5, 1, SPLIT_UNEVEN, 0, 0, "1 2 2 2 1"},
    {5, 5, 1, SPLIT_UNEVEN, 0, 0, "1 1 1 1 1"},
    {7, 3, 2, SPLIT_UNEVEN, 0, 0, "1 1 1 1 2 1"},
    {3, 1, 1, SPLIT_UNEVEN, 0, 0, "3"},
    {4, 5, 1, SPLIT_UNEVEN, 0, 0, NULL},
    {61, 4, 4, SPLIT_REST, 0, 0, "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 1"},
    {9, 4, 1, SPLIT_REST, 0, 0, "3 3 3 0"},
    {32, 4, 1, SPLIT_REST, 0, 0, "8 8 8 8"},
    {32, 5, 3, SPLIT_REST, 0, 0, NULL},
    {3, 1, 1, SPLIT_REST, 0, 0, "3"},
    {32, 4, 1, SPLIT_ENDS, 6, 6, "6 10 10 6"},
    {32, 4, 1, SPLIT_ENDS, 5, 0, "5 9 9 9"},
    {32, 4, 1, SPLIT_ENDS, 0, 2, "10 10 10 2"},
    {32, 4, 2, SPLIT_ENDS, 4, 4, "2 6 6 2 2 6 6 2"},
    {32, 2, 1, SPLIT_ENDS, 20, 12, "20 12"},
    {32, 2, 2, SPLIT_ENDS, 20, 12, "10 6 10 6"},
    {32, 1, 1, SPLIT_ENDS, 32, 0, "32"},
    {32, 1, 1, SPLIT_ENDS, 0, 30, NULL},
    {32, 1, 1, SPLIT_ENDS, 16, 16, NULL},
    {32, 4, 1, SPLIT_ENDS, 6, 5, NULL},
    {32, 4, 2, SPLIT_ENDS, 5, 5, NULL},
    {32, 4, 1, SPLIT_ENDS, 16, 16, NULL},
    {32, 2, 1, SPLIT_ENDS, 20, 10, NULL},
    {32, 4, 1, SPLIT_ENDS, 30, 4, NULL},
    {32, 4, 1, SPLIT_LAYOUT, 0, 0, NULL},
    {1024, 64, 32, SPLIT_EVEN, 0, 0, NULL},
};

static void add_counts(const struct layout *l, struct str *out)
{
    for (int i = 0; i < l->stages; i++)
        str_addf(out, "%s%d", i ? " " : "", l->layers[i]);
}

static void assert_contiguous(const struct layout *l, int layers)
{
    int next = 0;
    for (int i = 0; i < l->stages; i++) {
        assert_int_equal(l->first[i], next);
        next += l->layers[i];
    }
    assert_int_equal(next, layers);
}

static void splits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SPLITS); i++) {
        const struct split_case *c = &SPLITS[i];
        struct model m = {.layers = c->layers};
        struct strategy s;
        struct layout l;
        struct error err = {0};
        struct str counts;
        strategy_init(&s);
        s.pp = c->pp, s.vpp = c->vpp, s.split = c->split;
        s.first_layers = c->first, s.last_layers = c->last;
        assert_int_equal(layout_of(&l, &m, &s, &err), c->counts != NULL);
        assert_int_equal(err.text[0] == 0, c->counts != NULL);
        if (!c->counts)
            continue;
        str_init(&counts);
        add_counts(&l, &counts);
        assert_string_equal(str_text(&counts), c->counts);
        assert_contiguous(&l, c->layers);
        assert_int_equal(l.loss_stage, c->pp * c->vpp - 1);
        assert_int_equal(l.mtp_stage, c->pp * c->vpp - 1);
        str_release(&counts);
    }
}

struct string_case {
    int layers, mtp, pp;
    const char *text, *counts, *printed;
    int mtp_stage;
};

static const struct string_case STRINGS[] = {
    {32, 0, 2, "Et*20|t*12L", "20 12", "Et*20|t*12L", 1},
    {32, 0, 4, "Et*5|t*5|t*3|t*3|t*5|t*5|t*3|t*3L", "5 5 3 3 5 5 3 3",
     "Et*5|t*5|ttt|ttt|t*5|t*5|ttt|tttL", 7},
    {61, 1, 16, "Et*3|(tt|)*29,m|L",
     "3 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 0 0", "Ettt|(tt|)*29m|L", 30},
    {4, 0, 1, "E,tt,tt,L", "4", "Et*4L", 0},
    {4, 1, 2, "Ett|ttmL", "2 2", "Ett|ttmL", 1},
    {2, 0, 4, "E|t|t|L", "0 1 1 0", "E|t|t|L", 3},
    {2, 0, 5, "E|t||t|L", "0 1 0 1 0", "E|t||t|L", 4},
    {2, 0, 8, "E|||||t|t|L", "0 0 0 0 0 1 1 0", "E|||||t|t|L", 7},
    {2, 0, 12, "E|(|)*8,tt|t*0|L", "0 0 0 0 0 0 0 0 0 2 0 0", "E|(|)*8tt||L", 11},
    {64, 0, 8, "E(t*8|)*7t*8L", "8 8 8 8 8 8 8 8", "Et*8|(t*8|)*6t*8L", 7},
    {3, 0, 2, "t*0E(t)*2|tL", "2 1", "Ett|tL", 1},
    {4, 0, 3, "Et|*2t*3L", "1 0 3", "Et||tttL", 2},
};

static void strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(STRINGS); i++) {
        const struct string_case *c = &STRINGS[i];
        struct model m = {.layers = c->layers, .mtp = c->mtp};
        struct strategy s;
        struct layout l;
        struct error err = {0};
        struct str text;
        strategy_init(&s);
        s.pp = c->pp;
        if (!layout_parse(&l, c->text, &m, &s, &err))
            fail_msg("%s: %s", c->text, err.text);
        str_init(&text);
        add_counts(&l, &text);
        assert_string_equal(str_text(&text), c->counts);
        assert_contiguous(&l, c->layers);
        assert_int_equal(l.mtp_stage, c->mtp_stage);
        assert_int_equal(s.split, SPLIT_LAYOUT);
        assert_int_equal(s.vpp, l.stages / c->pp);
        str_clear(&text);
        layout_print(&l, &m, &text);
        assert_string_equal(str_text(&text), c->printed);
        str_release(&text);
    }
}

static const struct {
    int layers, mtp, pp;
    const char *text;
    enum error_kind kind;
    const char *message;
} BAD_STRINGS[] = {
    {2, 0, 1, "EtxL", ERROR_INPUT,
     "layout 'EtxL': 'x' is no symbol; it is made of E, t, m, L, |, x*N and (...)*N"},
    {2, 0, 1, "", ERROR_INFEASIBLE, "layout '': E must come first, once, on the first stage"},
    {2, 0, 1, "E(t(t)*2)*2L", ERROR_INPUT,
     "layout 'E(t(t)*2)*2L': '(' is no symbol; it is made of E, t, m, L, |, x*N and (...)*N"},
    {2, 0, 1, "Et*2*2L", ERROR_INPUT,
     "layout 'Et*2*2L': '*' is no symbol; it is made of E, t, m, L, |, x*N and (...)*N"},
    {2, 0, 1, "E t t L", ERROR_INPUT,
     "layout 'E t t L': ' ' is no symbol; it is made of E, t, m, L, |, x*N and (...)*N"},
    {2, 0, 1, "Et*99999999999999999999L", ERROR_INPUT,
     "layout 'Et*99999999999999999999L' is longer than 65536 symbols"},
    {2, 0, 1, "Et|(|)*2000t|L", ERROR_INPUT, "layout 'Et|(|)*2000t|L' has more than 1024 stages"},
    {2, 0, 2, "Et|t|L", ERROR_INFEASIBLE, "layout 'Et|t|L' has 3 stages, no multiple of pp = 2"},
    {2, 0, 1, "ttL", ERROR_INFEASIBLE, "layout 'ttL': E must come first, once, on the first stage"},
    {2, 0, 1, "EtEtL", ERROR_INFEASIBLE,
     "layout 'EtEtL': E must come first, once, on the first stage"},
    {2, 0, 2, "|EttL", ERROR_INFEASIBLE,
     "layout '|EttL': E must come first, once, on the first stage"},
    {2, 0, 1, "Ett", ERROR_INFEASIBLE, "layout 'Ett': L must come last, once, on the last stage"},
    {2, 0, 1, "EtLt", ERROR_INFEASIBLE, "layout 'EtLt': L must come last, once, on the last stage"},
    {2, 0, 2, "EttL|", ERROR_INFEASIBLE,
     "layout 'EttL|': L must come last, once, on the last stage"},
    {3, 0, 1, "EttL", ERROR_INFEASIBLE, "layout 'EttL' has 2 decoder layers (t), the model has 3"},
    {2, 0, 1, "EttmL", ERROR_INFEASIBLE, "layout 'EttmL' has 1 MTP layers (m), the model has 0"},
    {2, 1, 1, "EttL", ERROR_INFEASIBLE, "layout 'EttL' has 0 MTP layers (m), the model has 1"},
    {2, 1, 1, "EtmtL", ERROR_INFEASIBLE, "layout 'EtmtL': every t must come before every m"},
    {2, 2, 2, "Ettm|mL", ERROR_INFEASIBLE, "layout 'Ettm|mL': all m must be on one stage"},
    {2, 1, 2, "Ett|m||L", ERROR_INFEASIBLE,
     "layout 'Ett|m||L': m must be in the last virtual stage of its rank"},
};

static void bad_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(BAD_STRINGS); i++) {
        struct model m = {.layers = BAD_STRINGS[i].layers, .mtp = BAD_STRINGS[i].mtp};
        struct strategy s;
        struct layout l;
        struct error err = {0};
        strategy_init(&s);
        s.pp = BAD_STRINGS[i].pp;
        assert_false(layout_parse(&l, BAD_STRINGS[i].text, &m, &s, &err));
        assert_string_equal(err.text, BAD_STRINGS[i].message);
        assert_int_equal(err.kind, BAD_STRINGS[i].kind);
        assert_int_equal(s.split, SPLIT_EVEN);
    }
}

/* A random layout printed and read back is the same one, and printing it again changes nothing. */
static void round_trip(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 3000; i++) {
        struct strategy s;
        struct layout l = {0}, back;
        struct error err = {0};
        struct str text;
        strategy_init(&s);
        s.pp = 1 + rand() % 8;
        s.vpp = 1 + rand() % 4;
        l.stages = s.pp * s.vpp;
        struct model m = {.mtp = rand() % 3};
        for (int k = 0; k < l.stages; k++) {
            l.first[k] = (uint16_t)m.layers;
            l.layers[k] = (uint16_t)(rand() % 3 ? k ? l.layers[k - 1] : 2 : rand() % 12);
            m.layers += l.layers[k];
        }
        l.loss_stage = l.mtp_stage = l.stages - 1;
        if (m.mtp && l.stages > 1 && l.layers[l.stages - 1] == 0 && s.pp > 1)
            l.mtp_stage = l.stages - 2;
        str_init(&text);
        layout_print(&l, &m, &text);
        if (!layout_parse(&back, str_text(&text), &m, &s, &err))
            fail_msg("%s: %s", str_text(&text), err.text);
        assert_int_equal(back.stages, l.stages);
        assert_memory_equal(back.layers, l.layers, sizeof *l.layers * (size_t)l.stages);
        assert_memory_equal(back.first, l.first, sizeof *l.first * (size_t)l.stages);
        assert_int_equal(back.mtp_stage, l.mtp_stage);
        assert_int_equal(back.loss_stage, l.loss_stage);
        str_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),
        cmocka_unit_test(strings),
        cmocka_unit_test(bad_strings),
        cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
