/* The front as a picture and as a plot: ticks, places of labels, and whole pictures of made-up
 * fronts. */
#include "report/chart/front_picture.h"

#include "base/arena.h"
#include "base/str.h"
#include "cluster/cluster.h"
#include "model/model.h"
#include "random.h"
#include "report/report.h"
#include "report/text/typeset.h"
#include "strategy/mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "must.h"

enum { MOST_POINTS = 60, LISTED = 5 };

/* Ticks */

static void ticks_are_round(void **state)
{
    static const struct {
        enum front_quantity what;
        double lo, hi;
        bool logarithmic;
        const char *texts;
    } cases[] = {
        {FRONT_TOKENS_PER_S, 46.9e3, 959e3, true, "50K 100K 200K 500K 1M"},
        {FRONT_TOKENS_PER_S, 79100, 630000, false, "100K 200K 300K 400K 500K 600K"},
        {FRONT_TOKENS_PER_S, 100, 1000, false, "200 400 600 800 1K"},
        {FRONT_TOKENS_PER_S, 850e3, 1.3e6, false, "900K 1M 1.1M 1.2M 1.3M"},
        {FRONT_TOKENS_PER_S, 3, 4e9, true, "1 100 10K 1M 100M 10B"},
        {FRONT_USD_PER_MTOKEN, 1.12, 1.168, false, "$1.12 $1.13 $1.14 $1.15 $1.16 $1.17"},
        {FRONT_USD_PER_MTOKEN, 0.07, 0.07, false, "$0.06998 $0.07 $0.07002"},
        {FRONT_USD_TOTAL, 610e3, 1.3e6, false, "$600K $800K $1M $1.2M"},
        {FRONT_USD_TOTAL, 12, 150e6, true, "$100 $10K $1M $100M"},
        {FRONT_HOURS, 240, 720, false, "10 d 15 d 20 d 25 d 30 d"},
        {FRONT_HOURS, 24, 4800, true, "1 d 10 d 100 d"},
        {FRONT_HOURS, 3, 12, false, "4 h 6 h 8 h 10 h 12 h"},
        {FRONT_HOURS, 0.5, 1, false, "30 min 40 min 50 min 60 min"},
        {FRONT_GPUS, 8, 64, false, "10 20 30 40 50 60"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct scale a;
        struct str texts;
        str_init(&texts);
        scale_init(&a, cases[i].what, cases[i].lo, cases[i].hi, 6);
        for (int k = 0; k < a.ticks; k++)
            str_addf(&texts, "%s%s", k ? " " : "", a.tick[k].text);
        assert_string_equal(str_text(&texts), cases[i].texts);
        assert_int_equal(a.logarithmic, cases[i].logarithmic);
        str_release(&texts);
    }
}

/* What a tick's text says, in the unit of its axis; NAN when it says nothing. */
static double read_tick(const char *text)
{
    static const char LETTERS[] = "KMBT";
    char *end;
    double value = strtod(text + (*text == '$'), &end);
    const char *letter = *end ? strchr(LETTERS, *end) : NULL;
    for (int i = 0; letter && i <= letter - LETTERS; i++)
        value *= 1000;
    if (letter || !*end)
        return value;
    return strcmp(end, " d") == 0     ? 24 * value
           : strcmp(end, " h") == 0   ? value
           : strcmp(end, " min") == 0 ? value / 60
                                      : NAN;
}

/* Any range has two ticks or more, all inside, that say where they are. */
static void ticks_fit_any_range(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct scale a;
        double lo = pow(10, pick(-3000, 9000) / 1000.0);
        double hi = lo * pow(10, pick(0, 1) ? pick(0, 8000) / 1000.0 : pick(0, 100) / 1000.0);
        int most = pick(5, SCALE_TICKS);
        scale_init(&a, (enum front_quantity)pick(0, FRONT_GPUS), lo, hi, most);
        assert_true(a.ticks >= 2 && a.ticks <= most);
        assert_true(scale_share(&a, lo) > 0 && scale_share(&a, lo) <= scale_share(&a, hi));
        assert_true(scale_share(&a, hi) < 1);
        for (int k = 0; k < a.ticks; k++) {
            const struct scale_tick *t = &a.tick[k];
            double share = scale_share(&a, t->at);
            assert_true(share > -1e-9 && share < 1 + 1e-9);
            assert_true(k == 0 || (t->at > t[-1].at && strcmp(t->text, t[-1].text) != 0));
            assert_true(fabs(read_tick(t->text) - t->at) <= 1e-9 * t->at);
        }
    }
}

/* Places of labels */

static bool is_within(const struct box *b, const struct box *room)
{
    return b->x >= room->x && b->y >= room->y && b->x + b->width <= room->x + room->width &&
           b->y + b->height <= room->y + room->height;
}

static void labels_meet_nothing(void **state)
{
    enum { MARKS = 40 };
    int placed = 0;
    (void)state;
    for (int i = 0; i < 500; i++) {
        struct arena mem;
        struct label_field f;
        struct box room = {pick(-50, 50), pick(-50, 50), pick(100, 900), pick(100, 500)};
        arena_init(&mem);
        label_field_init(&f, room, pick(0, 1), 2 * MARKS, &mem);
        for (int k = 0; k < MARKS; k++)
            label_take(&f,
                       (struct box){room.x + pick(0, room.width), room.y + pick(0, room.height),
                                    pick(1, 12), pick(1, 12)},
                       pick(0, 1) ? OBSTACLE_MARK : OBSTACLE_LINE);
        for (int k = 0; k < MARKS; k++) {
            const struct box *mark = &f.obstacle[k].box;
            struct box label = {.width = pick(20, 200), .height = pick(10, 40)};
            if (!label_place(&f, mark->x, mark->y, 20, OBSTACLE_MARK, &label))
                continue;
            placed++;
            assert_true(is_within(&label, &room));
            for (int o = 0; o < f.taken - 1; o++)
                assert_true(f.obstacle[o].kind == OBSTACLE_LINE ||
                            !boxes_meet(&f.obstacle[o].box, &label));
        }
        arena_release(&mem);
    }
    assert_true(placed > 1000);
}

/* Whole pictures */

static struct cluster cluster;

struct made {
    struct model model;
    struct plan plan[MOST_POINTS + LISTED];
    struct search_report report;
    struct money money;
};

static void set_price(struct plan *p, double speed, double price, bool run)
{
    p->tokens_per_s = p->net_tokens_per_s = speed;
    p->usd_per_mtoken = price;
    p->hours = run ? 1e12 / speed / 3600 : 0;
    p->usd_total = run ? 1e6 * price : 0;
}

/* Faster and dearer from point to point; listed are the fastest and some that are dearer still. */
static void make_front(struct made *m, int points, bool run)
{
    static const char pool[] = "1x8:H100,1x8:A100,1x8:B200,1x8:MI300X,1x8:L40S";
    struct error err = {0};
    double speed = 1e3 * pick(1, 100), price = pick(1, 300) / 100.0;
    int steep = pick(1, 100);
    must(cluster_from_pool(&cluster, pool, &err), &err);
    memset(m, 0, sizeof *m);
    strcpy(m->model.name, "made up");
    for (int i = 0; i < points + LISTED; i++) {
        struct plan *p = &m->plan[i];
        *p = (struct plan){.model = &m->model, .gpus = 8 * pick(1, 4096)};
        p->group = &cluster.group[pick(0, cluster.groups - 1)];
        strategy_init(&p->strategy);
        p->strategy.dp = i + 1;
        speed *= 1 + pick(1, steep) / 100.0;
        price *= 1 + pick(1, steep) / 200.0;
        set_price(p, speed, price, run);
    }
    m->plan[points] = m->plan[points - 1];
    for (int i = points + 1; i < points + LISTED; i++)
        set_price(&m->plan[i], m->plan[points].tokens_per_s, price * (1 + pick(0, 50) / 100.0),
                  run);
    m->report = (struct search_report){.model = &m->model,
                                       .cluster = &cluster,
                                       .query = "a question",
                                       .best = LISTED,
                                       .plan = m->plan + points,
                                       .front = points,
                                       .pareto = m->plan,
                                       .money = &m->money};
    m->money = (struct money){0};
    if (run && pick(0, 1))
        m->money.budget_usd = m->plan[pick(0, points - 1)].usd_total * pick(50, 150) / 100;
    if (run && pick(0, 1))
        m->money.deadline_s = 3600 * (m->plan[pick(0, points - 1)].hours * pick(50, 150) / 100);
}

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    while ((text = strstr(text, word)) != NULL) {
        text += strlen(word);
        count++;
    }
    return count;
}

/* Tags are balanced, attributes quoted, ampersands begin an entity. Enough to tell that no text
 * breaks out; tests/cli/plot.sh asks a real parser where there is one. */
static void must_be_xml(const char *text)
{
    const char *open[16];
    int depth = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 ||
                        strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&quot;", 6) == 0 ||
                        strncmp(at, "&#39;", 5) == 0);
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (*at != '<')
            continue;
        bool closes = at[1] == '/', quoted = false;
        const char *name = at + 1 + closes;
        size_t length = strcspn(name, " />");
        assert_true(length > 0);
        for (at = name + length; quoted || *at != '>'; at++) {
            assert_true(*at && *at != '<');
            quoted = quoted != (*at == '"');
        }
        if (closes) {
            assert_true(depth > 0 && strncmp(open[--depth], name, length) == 0);
            assert_true(strcspn(open[depth], " />") == length);
        } else if (at[-1] != '/') {
            assert_true(depth < 16);
            open[depth++] = name;
        }
    }
    assert_int_equal(depth, 0);
}

/* The box of every line of a label, as wide as the picture takes it to be. */
static int label_boxes(const char *svg, struct box *box)
{
    static const char word[] = "<text class=\"label";
    int count = 0;
    for (const char *at = svg; (at = strstr(at, word)) != NULL; at++) {
        char class[64], text[128];
        int x, y;
        assert_int_equal(
            sscanf(at, "<text class=\"%63[^\"]\" x=\"%d\" y=\"%d\">%127[^<]", class, &x, &y, text),
            4);
        int width = picture_width(text, LABEL_FONT);
        x -= strstr(class, "end") ? width : strstr(class, "middle") ? width / 2 : 0;
        box[count++] = (struct box){x, y - LABEL_FONT + 4, width, LABEL_FONT};
    }
    return count;
}

static void must_label(const char *svg, const struct plan *p)
{
    struct str label;
    str_init(&label);
    str_add(&label, ">");
    add_brief_gpus(p, &label);
    str_add(&label, "</text>");
    if (!strstr(svg, str_text(&label)))
        fail_msg("'%s' is missing in:\n%s", str_text(&label), svg);
    str_release(&label);
}

/* Labels that cover the middle of a mark. */
static int covered_marks(const struct search_report *r, const struct box *box, int boxes)
{
    struct picture p = {.report = r};
    int covered = 0;
    arena_init(&p.mem);
    str_init(&p.text);
    chart_init(&p.chart, r, r->best, 9, 8, &p.mem);
    frame_place(&p);
    for (int i = 0; i < boxes; i++)
        for (int k = 0; k < p.chart.count + p.chart.others; k++) {
            const struct chart_point *point = &p.chart.point[k];
            struct box mark = {picture_x(&p, point->x), picture_y(&p, point->y), 1, 1};
            if (boxes_meet(&box[i], &mark)) {
                covered++;
                break;
            }
        }
    str_release(&p.text);
    arena_release(&p.mem);
    return covered;
}

static void pictures_hold(void **state)
{
    struct made m;
    int labels = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        int points = pick(1, MOST_POINTS);
        struct box box[2 * (MOST_POINTS + LISTED)];
        const struct box all = {0, 0, PICTURE_WIDTH, PICTURE_WIDTH};
        struct str out, again;
        str_init(&out);
        str_init(&again);
        make_front(&m, points, pick(0, 1));
        front_draw(&m.report, &out);
        front_draw(&m.report, &again);
        assert_string_equal(str_text(&out), str_text(&again));
        must_be_xml(str_text(&out));
        /* A title for each mark and one for the whole; the first of the list is on the front. */
        assert_int_equal(occurrences(str_text(&out), "<title>"), 1 + points + LISTED - 1);
        assert_int_equal(occurrences(str_text(&out), "<title>plan 1: "), 1);
        assert_int_equal(occurrences(str_text(&out), " strong c"), 1);
        must_label(str_text(&out), &m.plan[0]);
        must_label(str_text(&out), &m.plan[points - 1]);
        int count = label_boxes(str_text(&out), box);
        assert_true(count >= 2 && count % 2 == 0 && count <= 2 * points);
        for (int a = 0; a < count; a++)
            for (int b = 0; b <= a; b++)
                assert_true(a == b ? is_within(&box[a], &all) : !boxes_meet(&box[a], &box[b]));
        labels += count / 2;
        assert_true(covered_marks(&m.report, box, count) <= 2 * 3); /* best plan and both ends */
        str_release(&out);
        str_release(&again);
    }
    assert_true(labels > 400 * 4);
}

static void limits_are_drawn(void **state)
{
    struct made m;
    struct str out;
    (void)state;
    make_front(&m, 10, true);
    str_init(&out);
    m.money.budget_usd = m.plan[5].usd_total;
    m.money.deadline_s = 3600 * (0);
    front_draw(&m.report, &out);
    assert_int_equal(occurrences(str_text(&out), "<rect class=\"beyond\""), 1);
    assert_non_null(strstr(str_text(&out), ">budget $"));
    str_clear(&out);
    m.money.deadline_s = 3600 * (m.plan[5].hours);
    front_draw(&m.report, &out);
    assert_int_equal(occurrences(str_text(&out), "<rect class=\"beyond\""), 2);
    assert_non_null(strstr(str_text(&out), ">deadline "));
    str_clear(&out);
    m.money.budget_usd *= 1e6; /* it would squeeze everything else */
    m.money.deadline_s /= 1e6;
    front_draw(&m.report, &out);
    assert_int_equal(occurrences(str_text(&out), "<rect class=\"beyond\""), 0);
    str_release(&out);
}

/* Names come from files. */
static void names_break_nothing(void **state)
{
    static const struct {
        const char *name, *written;
    } cases[] = {
        {"a<b>&\"c'", ">a&lt;b&gt;&amp;&quot;c&#39;: speed"},
        {"</text><script>", ">&lt;/text&gt;&lt;script&gt;: speed"},
        {"\xff\xc0\x80\x01\x1b[0m", ">?????[0m: speed"},
        {"\xed\xa0\x80 \xef\xbf\xbf \xf8\x88\x80\x80\x80 \xe2\x82", ">??? ??? ????? ??: speed"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", ">\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80: speed"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct made m;
        struct str out;
        str_init(&out);
        make_front(&m, 4, false);
        strcpy(m.model.name, cases[i].name);
        m.report.query = cases[i].name;
        front_draw(&m.report, &out);
        must_be_xml(str_text(&out));
        if (!strstr(str_text(&out), cases[i].written))
            fail_msg("'%s' is missing in:\n%s", cases[i].written, str_text(&out));
        str_release(&out);
    }
}

/* Without prices there are GPUs; without a front there is the list. */
static void prices_may_be_missing(void **state)
{
    struct made m;
    struct str out;
    (void)state;
    make_front(&m, 5, false);
    for (int i = 0; i < 5 + LISTED; i++)
        m.plan[i].usd_per_mtoken = 0;
    str_init(&out);
    front_draw(&m.report, &out);
    assert_non_null(strstr(str_text(&out), ">made up: speed against GPUs<"));
    assert_int_equal(occurrences(str_text(&out), "<title>"), 1 + 5 + LISTED - 1);
    str_clear(&out);
    m.report.front = 0;
    front_draw(&m.report, &out);
    assert_int_equal(occurrences(str_text(&out), "<title>"), 1 + LISTED);
    str_release(&out);
}

/* The order of the stages makes no other type. */
static void mixed_plans_have_one_type(void **state)
{
    struct made m;
    struct arena mem;
    struct chart c;
    struct str text;
    struct mesh_list list[2] = {{.count = 2}, {.count = 2}};
    (void)state;
    make_front(&m, 2, false);
    arena_init(&mem);
    str_init(&text);
    for (int i = 0; i < 2; i++) {
        struct plan *p = &m.plan[i];
        for (int k = 0; k < 2; k++)
            list[i].mesh[k] = (struct mesh){.group = &cluster.group[i == k], .stages = 1 + k};
        p->strategy.tp = 4;
        p->strategy.pp = 3;
        p->strategy.dp = 2;
        p->meshes = &list[i];
    }
    m.report.best = 0;
    chart_init(&c, &m.report, 0, 6, 6, &mem);
    assert_int_equal(c.types, 1);
    assert_string_equal(c.type[0], "A100+H100");
    add_brief_gpus(&m.plan[0], &text);
    str_add(&text, ", ");
    add_brief_ways(&m.plan[0], &text);
    assert_string_equal(str_text(&text), "8 x A100 + 16 x H100, tp4 pp3 dp2");
    str_release(&text);
    arena_release(&mem);
}

/* The plot of a terminal */

static void plots_fit_any_terminal(void **state)
{
    struct made m;
    (void)state;
    for (int i = 0; i < 500; i++) {
        struct report_style style = {pick(30, 130), false};
        struct str out;
        str_init(&out);
        int points = pick(1, MOST_POINTS);
        make_front(&m, points, pick(0, 1));
        print_front_plot(&m.report, &style, &out);
        assert_int_equal(out.length > 0, points >= 3 && style.columns >= 48);
        for (char *line = out.data; line && *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= (size_t)style.columns);
        if (out.length > 0) /* once in the field, once in the legend */
            assert_int_equal(occurrences(str_text(&out), "*"), 2);
        str_release(&out);
    }
}

/* A letter for each type, a digit for several plans on one place, a star for the best. */
static void plot_shows_points(void **state)
{
    static const char expected[] = "\n"
                                   "    USD\n"
                                   "        |                        :\n"
                                   "    $2M +  *                     :\n"
                                   "        |                        :\n"
                                   "  $1.8M +                        :\n"
                                   "        |                        :\n"
                                   "  $1.6M +----------------------------------------------\n"
                                   "        |                        :\n"
                                   "  $1.4M +                        :\n"
                                   "        |               2        :\n"
                                   "  $1.2M +                   A    :\n"
                                   "        |                        :\n"
                                   "    $1M +                        :             h    H\n"
                                   "        |                        :\n"
                                   "        +----+-------+-------+-------+-------+-------+- time\n"
                                   "           200 d   400 d   600 d   800 d  1000 d  1200 d\n"
                                   "  * plan 1, H H200, h H100, A A100, a digit: so many plans,\n"
                                   "  --- budget $1.60M, ::: deadline 700 d\n";
    static const struct {
        int group;
        double speed, price;
    } points[] = {{1, 10e3, 1},   {0, 11e3, 1.01},   {2, 20e3, 1.2},
                  {2, 25e3, 1.3}, {2, 25.1e3, 1.31}, {0, 72e3, 2}};
    const struct report_style style = {60, false};
    struct error err = {0};
    struct made m;
    struct str out;
    (void)state;
    make_front(&m, COUNT(points), true);
    must(cluster_from_pool(&cluster, "1x8:H100,1x8:H200,1x8:A100", &err), &err);
    for (size_t i = 0; i < COUNT(points); i++) {
        m.plan[i].group = &cluster.group[points[i].group];
        set_price(&m.plan[i], points[i].speed, points[i].price, true);
    }
    m.plan[COUNT(points)] = m.plan[COUNT(points) - 1];
    m.report.best = 1;
    m.money.budget_usd = 1.6e6;
    m.money.deadline_s = 3600 * (700 * 24);
    str_init(&out);
    print_front_plot(&m.report, &style, &out);
    assert_string_equal(str_text(&out), expected);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round),        cmocka_unit_test(ticks_fit_any_range),
        cmocka_unit_test(labels_meet_nothing),    cmocka_unit_test(pictures_hold),
        cmocka_unit_test(limits_are_drawn),       cmocka_unit_test(names_break_nothing),
        cmocka_unit_test(prices_may_be_missing),  cmocka_unit_test(mixed_plans_have_one_type),
        cmocka_unit_test(plots_fit_any_terminal), cmocka_unit_test(plot_shows_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
