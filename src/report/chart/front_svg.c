/* The picture of the front.
 *
 *     title, query
 *     legend: a colour and a shape for each type
 *     +---------------------+
 *     | ::::::::::::::::::: |   beyond the budget or the deadline it is shaded
 *     |              o---+  |   a step joins the front: what a given speed or time costs at least
 *     |   o------+---+      |
 *     +---------------------+
 *
 * Labels are placed in the order of their importance (front_labels.c): the best plan, both ends,
 * then halves, quarters, eighths of the front. Every mark has its full text as a title. */
#include "report/chart/front_picture.h"

#include "base/file.h"
#include "report/plan_words.h"
#include "report/report.h"

enum { X_TICKS = 9, Y_TICKS = 8, RING_RADIUS = 21, LABEL_LINE = 27, LABEL_GAP = 20, MARK_RIM = 6 };
enum { BOLD_FONT = LABEL_FONT * 9 / 8 }; /* as wide as LABEL_FONT is in bold */

/* What a speed costs at least is the price of the next faster plan; what a time costs at least is
 * that of the plan which is just in time. */
static void draw_step(struct picture *p)
{
    bool level_first = p->chart.x.what == FRONT_HOURS;
    int x = 0, y = 0;
    for (int i = 0; i < p->chart.count; i++) {
        int to_x = picture_x(p, p->chart.point[i].x), to_y = picture_y(p, p->chart.point[i].y);
        int corner_x = level_first ? to_x : x, corner_y = level_first ? y : to_y;
        if (i == 0) {
            str_addf(&p->text, "M%d %d", to_x, to_y);
        } else {
            str_addf(&p->text, "L%d %dL%d %d", corner_x, corner_y, to_x, to_y);
            picture_take_line(p, x, y, corner_x, corner_y);
            picture_take_line(p, corner_x, corner_y, to_x, to_y);
        }
        x = to_x, y = to_y;
    }
    svg_path(p->out, "step", picture_text(p));
}

static const char *full_text(struct picture *p, const struct chart_point *point)
{
    const struct plan *plan = point->plan;
    if (point->best)
        str_add(&p->text, "plan 1: ");
    add_gpus(plan, &p->text);
    str_add(&p->text, ", ");
    add_ways_of(plan, &p->text);
    if (plan->hours > 0) {
        str_add(&p->text, "; ");
        add_quantity(FRONT_HOURS, plan->hours, &p->text);
    }
    if (plan->usd_total > 0) {
        str_add(&p->text, ", ");
        add_quantity(FRONT_USD_TOTAL, plan->usd_total, &p->text);
    }
    str_add(&p->text, "; ");
    add_quantity(FRONT_TOKENS_PER_S, plan->net_tokens_per_s, &p->text);
    if (plan->usd_per_mtoken > 0) {
        str_add(&p->text, ", ");
        add_quantity(FRONT_USD_PER_MTOKEN, plan->usd_per_mtoken, &p->text);
    }
    return picture_text(p);
}

static void take_mark(struct picture *p, int x, int y, int radius)
{
    int half = radius + MARK_RIM;
    struct box b = {x - half, y - half, 2 * half, 2 * half};
    label_take(&p->field, b, OBSTACLE_MARK);
}

/* From the last to the first: the front lies on top. */
static void draw_marks(struct picture *p)
{
    const struct chart *f = &p->chart;
    for (int i = f->count + f->others - 1; i >= 0; i--) {
        const struct chart_point *point = &f->point[i];
        int x = picture_x(p, point->x), y = picture_y(p, point->y);
        int radius = i < f->count ? MARK_RADIUS : SMALL_RADIUS;
        if (point->best)
            svg_mark(p->out, "ring", SVG_CIRCLE, x, y, RING_RADIUS, NULL);
        svg_mark(p->out, picture_class(p, i < f->count ? "full" : "open", point->type),
                 picture_shape(point->type), x, y, radius, full_text(p, point));
        take_mark(p, x, y, point->best ? RING_RADIUS : radius);
    }
}

/* Two lines, "512 x H100" and "tp4 pp8 dp16". What must be labelled may cover marks, others are
 * left out instead. */
static void draw_label(struct picture *p, const struct chart_point *point, bool must)
{
    static const char *const ALIGN[] = {"", " middle", " end"};
    enum label_obstacle avoid = OBSTACLE_LINE, least = must ? OBSTACLE_LABEL : OBSTACLE_MARK;
    int x = picture_x(p, point->x), y = picture_y(p, point->y);
    add_brief_gpus(point->plan, &p->text);
    const char *first = picture_text(p);
    add_brief_ways(point->plan, &p->text);
    const char *second = picture_text(p);
    int a = picture_width(first, point->best ? BOLD_FONT : LABEL_FONT);
    int b = picture_width(second, LABEL_FONT);
    struct box box = {.width = a > b ? a : b, .height = 2 * LABEL_LINE};
    while (!label_place(&p->field, x, y, point->best ? RING_RADIUS + 6 : LABEL_GAP, avoid, &box))
        if (avoid-- == least)
            return;
    int align = box.x >= x ? 0 : box.x + box.width <= x ? 2 : 1; /* towards the point */
    int at = box.x + align * box.width / 2, base = box.y + LABEL_FONT - 2;
    str_addf(&p->text, "label tinted%s%s", ALIGN[align], point->best ? " strong" : "");
    svg_words(p->out, picture_class(p, picture_text(p), point->type), at, base, first);
    str_addf(&p->text, "label quiet%s", ALIGN[align]);
    svg_words(p->out, picture_text(p), at, base + LABEL_LINE, second);
}

/* The best plan and both ends. */
static void draw_first_labels(struct picture *p)
{
    const struct chart *f = &p->chart;
    int last = f->count - 1;
    for (int i = 0; i < f->count + f->others; i++)
        if (f->point[i].best)
            draw_label(p, &f->point[i], true);
    for (int i = 0; i <= last; i += last > 0 ? last : 1)
        if (!f->point[i].best)
            draw_label(p, &f->point[i], true);
}

/* Halves, then quarters, eighths ... of the front. */
static void draw_labels(struct picture *p)
{
    const struct chart *f = &p->chart;
    int last = f->count - 1, stride = 1;
    while (stride < last)
        stride *= 2;
    for (; stride > 0; stride /= 2)
        for (int i = stride; i < last; i += 2 * stride)
            if (!f->point[i].best)
                draw_label(p, &f->point[i], false);
}

static void begin(struct picture *p)
{
    struct chart *f = &p->chart;
    chart_init(f, p->report, p->report->best, X_TICKS, Y_TICKS, &p->mem);
    frame_place(p);
    struct box room = {PICTURE_LEFT + 6, p->top + 6, PICTURE_RIGHT - PICTURE_LEFT - 12,
                       p->bottom - p->top - 12};
    /* Each point has two lines, a mark and a label; each of two limits a line and a label. */
    label_field_init(&p->field, room, f->x.what == FRONT_HOURS, 4 * (f->count + f->others) + 4,
                     &p->mem);
}

void front_draw(const struct search_report *r, struct str *out)
{
    struct picture p = {.report = r, .out = out};
    arena_init(&p.mem);
    str_init(&p.text);
    begin(&p);
    frame_draw(&p);
    if (p.chart.count > 1)
        draw_step(&p);
    draw_marks(&p);
    draw_first_labels(&p);
    frame_name_limits(&p);
    draw_labels(&p);
    svg_end(out);
    str_release(&p.text);
    arena_release(&p.mem);
}

bool front_write(const struct search_report *r, const char *path, struct error *err)
{
    struct str text = {0};
    front_draw(r, &text);
    bool ok = file_write(path, text.data, text.length, err);
    str_release(&text);
    return ok;
}
