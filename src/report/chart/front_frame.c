/* What stands around and behind the points: ground, title, legend, axes, budget and deadline. */
#include "report/chart/front_picture.h"

#include "model/model.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEGEND = 150, /* middle of its first line */
    LEGEND_LINE = 42,
    ABOVE = 90,  /* from its last line to the axes */
    FIELD = 860, /* height of the axes */
    BELOW = 110  /* them */
};

/* Okabe and Ito's colours, told apart by the colour-blind too; on dark ground lighter. */
static const struct {
    const char *light, *dark;
} COLOUR[] = {{"#0072b2", "#58aee6"}, {"#d55e00", "#ff8a3d"}, {"#009e73", "#2fcf9f"},
              {"#b4528e", "#e79ac6"}, {"#b07c00", "#f0b429"}, {"#4b5563", "#c3cad3"},
              {"#3f8fbf", "#8fd0f5"}};
enum { COLOURS = sizeof COLOUR / sizeof *COLOUR };

static const char STYLE[] =
    "svg{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;"
    "color:#667079}\n"
    "text{fill:#24292f}\n"
    ".middle{text-anchor:middle}.end{text-anchor:end}\n"
    ".title{font-size:36px;font-weight:600}.quiet{fill:#667079}\n"
    ".label{stroke:#ffffff;stroke-width:7px;paint-order:stroke;"
    "stroke-linejoin:round}\n"
    ".tinted{fill:currentColor}.strong{font-weight:600}\n"
    ".ground{fill:#ffffff}.grid{stroke:#e4e7eb;stroke-width:2}\n"
    ".step{fill:none;stroke:#98a1ab;stroke-width:3;stroke-linejoin:round}\n"
    ".beyond{fill:#cf222e;fill-opacity:0.07}\n"
    ".limit{stroke:#cf222e;stroke-width:3;stroke-dasharray:14 9}text.limited{fill:#cf222e}\n"
    ".full{fill:currentColor;stroke:#ffffff;stroke-width:2}\n"
    ".open{fill:none;stroke:currentColor;stroke-width:3;stroke-opacity:0.75}\n"
    ".ring{fill:none;stroke:#24292f;stroke-width:4}\n";
static const char DARK[] =
    "svg{color:#9aa5b1}text{fill:#e6edf3}.tinted{fill:currentColor}.quiet{fill:#9aa5b1}.label{"
    "stroke:#0d1117}.ground{"
    "fill:#0d1117}\n"
    ".grid{stroke:#262d36}.step{stroke:#6b7683}.full{stroke:#0d1117}\n"
    ".ring{stroke:#e6edf3}.beyond{fill:#ff6b6b;fill-opacity:0.1}.limit{stroke:#ff7b72}\n"
    "text.limited{fill:#ff7b72}\n";

const char *picture_text(struct picture *p)
{
    const char *text = arena_string(&p->mem, str_text(&p->text));
    str_clear(&p->text);
    return text;
}

/* Widths of DejaVu Sans, the widest of the usual ones, in hundredths of the size. */
int picture_width(const char *text, int font)
{
    static const struct {
        const char *letters;
        int width;
    } WIDTHS[] = {{" .,:;|!'ijlI", 32}, {"-/()[]tfr", 42}, {"mwMW%@&+=<>", 98}};
    int sum = 0;
    for (; *text; text++) {
        int width = *text >= 'A' && *text <= 'Z' ? 72 : 64;
        for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++)
            if (strchr(WIDTHS[i].letters, *text))
                width = WIDTHS[i].width;
        sum += width;
    }
    return (sum * font + 99) / 100;
}

int picture_x(const struct picture *p, double x)
{
    return (int)lround(PICTURE_LEFT + (PICTURE_RIGHT - PICTURE_LEFT) * scale_share(&p->chart.x, x));
}

int picture_y(const struct picture *p, double y)
{
    return (int)lround(p->bottom - (p->bottom - p->top) * scale_share(&p->chart.y, y));
}

enum svg_shape picture_shape(int type)
{
    return (enum svg_shape)(type % SVG_SHAPES);
}

const char *picture_class(struct picture *p, const char *kind, int type)
{
    str_addf(&p->text, "%s c%d", kind, type % COLOURS);
    return picture_text(p);
}

static void add_colours(struct str *css, const struct chart *f, bool dark)
{
    for (int i = 0; i < f->types && i < COLOURS; i++)
        str_addf(css, ".c%d{color:%s}", i, dark ? COLOUR[i].dark : COLOUR[i].light);
    str_add(css, "\n");
}

static const char *title_of(struct picture *p)
{
    bool by_run = p->chart.x.what == FRONT_HOURS;
    str_addf(&p->text, "%s: %s against %s", p->report->model->name, by_run ? "time" : "speed",
             p->chart.y.what == FRONT_GPUS ? "GPUs" : "money");
    return picture_text(p);
}

static void draw_ground(struct picture *p)
{
    int height = p->bottom + BELOW;
    struct str css = {0};
    str_addf(&css, "text{font-size:%dpx}.label{font-size:%dpx}\n%s", FONT, LABEL_FONT, STYLE);
    add_colours(&css, &p->chart, false);
    str_addf(&css, "@media (prefers-color-scheme:dark){\n%s", DARK);
    add_colours(&css, &p->chart, true);
    str_add(&css, "}\n");
    svg_begin(p->out, PICTURE_WIDTH, height, title_of(p), str_text(&css));
    svg_rect(p->out, "ground", 0, 0, PICTURE_WIDTH, height);
    str_release(&css);
}

/* As much of the line as there is room for, whole words. */
static const char *shortened(struct picture *p, const char *line, int room, int font)
{
    size_t end = 0, shown = 0;
    while (line[end]) {
        size_t next = end + strspn(line + end, " ");
        next += strcspn(line + next, " ");
        str_add_bytes(&p->text, line + end, next - end);
        if (picture_width(str_text(&p->text), font) > room) {
            str_clear(&p->text);
            str_addf(&p->text, "%.*s ...", (int)shown, line);
            break;
        }
        end = shown = next;
    }
    return picture_text(p);
}

static void draw_title(struct picture *p)
{
    svg_words(p->out, "title", PICTURE_LEFT, 60, title_of(p));
    svg_words(p->out, "quiet", PICTURE_LEFT, 102,
              shortened(p, p->report->query, PICTURE_RIGHT - PICTURE_LEFT, FONT));
}

/* One entry, at (x, y) or on the next line; returns where the next one goes. */
struct place {
    int x, y;
};

static struct place entry_at(struct place at, const char *text)
{
    if (at.x > PICTURE_LEFT && at.x + 40 + picture_width(text, FONT) > PICTURE_RIGHT)
        return (struct place){PICTURE_LEFT, at.y + LEGEND_LINE};
    return at;
}

static struct place draw_entry(struct picture *p, struct place at, const char *class,
                               enum svg_shape shape, int radius, const char *text)
{
    at = entry_at(at, text);
    if (p->bottom > 0) {
        svg_mark(p->out, class, shape, at.x + 14, at.y, radius, NULL);
        svg_words(p->out, "quiet", at.x + 40, at.y + 9, text);
    }
    at.x += 40 + picture_width(text, FONT) + 30;
    return at;
}

static int best_points(const struct chart *f, int from)
{
    int count = 0;
    for (int i = from; i < f->count + f->others; i++)
        count += f->point[i].best;
    return count;
}

/* Returns its last line. Nothing is drawn before the axes are placed: they stand below it. */
static int draw_legend(struct picture *p)
{
    const struct chart *f = &p->chart;
    struct place at = {PICTURE_LEFT, LEGEND};
    for (int i = 0; i < f->types; i++)
        at = draw_entry(p, at, picture_class(p, "full", i), picture_shape(i), MARK_RADIUS,
                        f->type[i]);
    if (best_points(f, 0) > 0)
        at = draw_entry(p, at, "ring", SVG_CIRCLE, MARK_RADIUS + 2, "plan 1 of the list");
    if (f->others > best_points(f, f->count))
        at = draw_entry(p, at, "open", SVG_CIRCLE, SMALL_RADIUS, "listed, not on the front");
    return at.y;
}

static void draw_line(struct picture *p, const char *class, int x1, int y1, int x2, int y2)
{
    str_addf(&p->text, "M%d %dL%d %d", x1, y1, x2, y2);
    svg_path(p->out, class, picture_text(p));
}

static void draw_axes(struct picture *p)
{
    const struct scale *x = &p->chart.x, *y = &p->chart.y;
    for (int i = 0; i < x->ticks; i++) {
        int at = picture_x(p, x->tick[i].at);
        draw_line(p, "grid", at, p->top, at, p->bottom);
        svg_words(p->out, "middle", at, p->bottom + 38, x->tick[i].text);
    }
    for (int i = 0; i < y->ticks; i++) {
        int at = picture_y(p, y->tick[i].at);
        draw_line(p, "grid", PICTURE_LEFT, at, PICTURE_RIGHT, at);
        svg_words(p->out, "end", PICTURE_LEFT - 14, at + 9, y->tick[i].text);
    }
    svg_words(p->out, "end quiet", PICTURE_RIGHT, p->bottom + 84, x->title);
    svg_words(p->out, "quiet", PICTURE_LEFT, p->top - 24, y->title);
}

void picture_take_line(struct picture *p, int x1, int y1, int x2, int y2)
{
    struct box b = {x1 < x2 ? x1 : x2, y1 < y2 ? y1 : y2, abs(x2 - x1) + 1, abs(y2 - y1) + 1};
    label_take(&p->field, b, OBSTACLE_LINE);
}

static void draw_limits(struct picture *p)
{
    if (p->chart.budget_usd > 0) {
        int y = picture_y(p, p->chart.budget_usd);
        svg_rect(p->out, "beyond", PICTURE_LEFT, p->top, PICTURE_RIGHT - PICTURE_LEFT, y - p->top);
        draw_line(p, "limit", PICTURE_LEFT, y, PICTURE_RIGHT, y);
        picture_take_line(p, PICTURE_LEFT, y, PICTURE_RIGHT, y);
    }
    if (p->chart.deadline_h > 0) {
        int x = picture_x(p, p->chart.deadline_h);
        svg_rect(p->out, "beyond", x, p->top, PICTURE_RIGHT - x, p->bottom - p->top);
        draw_line(p, "limit", x, p->top, x, p->bottom);
        picture_take_line(p, x, p->top, x, p->bottom);
    }
}

/* In the first of the boxes that is free, or the last. */
static void draw_where_free(struct picture *p, const char *text, const struct box *box, int boxes)
{
    int i = 0;
    while (i < boxes - 1 && !label_take_free(&p->field, &box[i], OBSTACLE_MARK))
        i++;
    svg_words(p->out, "limited", box[i].x, box[i].y + FONT - 2, text);
}

static const char *limit_text(struct picture *p, const char *name, enum front_quantity what,
                              double limit)
{
    str_add(&p->text, name);
    add_quantity(what, limit, &p->text);
    return picture_text(p);
}

/* A front of hours and dollars falls to the right: a budget has room on the left, a deadline at the
 * bottom. */
void frame_name_limits(struct picture *p)
{
    const int gap = 12, height = FONT + 6;
    if (p->chart.budget_usd > 0) {
        const char *text = limit_text(p, "budget ", FRONT_USD_TOTAL, p->chart.budget_usd);
        int width = picture_width(text, FONT), y = picture_y(p, p->chart.budget_usd);
        int left = PICTURE_LEFT + gap, right = PICTURE_RIGHT - gap - width, above = y - height - 4;
        const struct box box[] = {{left, above, width, height},
                                  {right, above, width, height},
                                  {left, y + 4, width, height},
                                  {right, y + 4, width, height}};
        draw_where_free(p, text, box, sizeof box / sizeof *box);
    }
    if (p->chart.deadline_h > 0) {
        const char *text = limit_text(p, "deadline ", FRONT_HOURS, p->chart.deadline_h);
        int width = picture_width(text, FONT), x = picture_x(p, p->chart.deadline_h);
        int left = x - gap - width, low = p->bottom - gap - height, high = p->top + gap;
        const struct box box[] = {{x + gap, low, width, height},
                                  {left, low, width, height},
                                  {x + gap, high, width, height},
                                  {left, high, width, height}};
        draw_where_free(p, text, box, sizeof box / sizeof *box);
    }
}

void frame_place(struct picture *p)
{
    p->top = draw_legend(p) + ABOVE;
    p->bottom = p->top + FIELD;
}

void frame_draw(struct picture *p)
{
    draw_ground(p);
    draw_title(p);
    draw_legend(p);
    draw_axes(p);
    draw_limits(p);
}
