/* One picture per family: predicted against measured time of every kernel whose shape was left out,
 * and below it the ratio of the two, where errors of a few per cent can be seen.
 *
 *     +-----------+   log-log, diagonal and +-10 % lines; the legend stands in the empty corner
 *     | legend  / |
 *     |       /   |
 *     |    /      |
 *     +-----------+
 *     +-----------+   predicted / measured on a logarithmic axis, half to double
 *     |~~~~~~~~~~~|
 *     +-----------+
 *
 * Rows of a profile are all shown; of other sources an even share, so that files stay small. */
#include "fit/fit_all.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/svg.h"
#include "cluster/cluster.h"
#include "fit/plot_svg.h"

#include <math.h>
#include <stdint.h>

enum {
    WIDTH = 1200,
    LEFT = 150,
    SIDE = 1000, /* of the square */
    TOP = 110,
    RATIO_TOP = TOP + SIDE + 90,
    RATIO_HEIGHT = 340,
    HEIGHT = RATIO_TOP + RATIO_HEIGHT + 110
};

enum { DOTS = 4000, LEAST_OTHERS = 2500 }; /* shown: in all, and of other sources at least */

/* Drawn from the last to the first, so that our own rows lie on top. */
enum group { OWN_FORWARD, OWN_BACKWARD, OWN_WGRAD, OTHERS, GROUPS = OTHERS + AMD + 1 };

/* Okabe and Ito's colours, told apart by the colour-blind too. */
static const struct {
    const char *colour, *name;
} LOOK[GROUPS] = {[OWN_FORWARD] = {"#0072b2", "forward"},
                  [OWN_BACKWARD] = {"#d55e00", "backward"},
                  [OWN_WGRAD] = {"#009e73", "wgrad"},
                  [OTHERS + COMPUTING] = {"#999999", "others: computing GPUs"},
                  [OTHERS + GRAPHICS] = {"#cc79a7", "others: graphics GPUs"},
                  [OTHERS + AMD] = {"#e69f00", "others: AMD"}};

static const struct plot_pen GRID = {"#dddddd", 2, NULL}, BORDER = {"#222222", 2, NULL},
                             EQUAL = {"#222222", 2, NULL}, TENTH = {"#222222", 2, "10 8"};
static const struct plot_font TITLE = {34, PLOT_START, 0}, PLAIN = {26, PLOT_START, 0},
                              CENTRED = {26, PLOT_MIDDLE, 0}, RIGHT = {26, PLOT_END, 0},
                              UPWARDS = {26, PLOT_MIDDLE, -90};

struct fit_picture {
    const struct family_fit *fit;
    const double *predicted; /* of left-out shapes */
    size_t own, others;      /* rows of a profile, of other sources */
    size_t shown;
    double lo, hi; /* of both times, log10 of seconds */
    struct str *out;
};

static enum group group_of(const struct sample *s)
{
    if (s->source == SOURCE_PROFILE)
        return (enum group)(OWN_FORWARD + (int)s->op.pass);
    return (enum group)(OTHERS + (int)sort_of(generation_of(s->gpu)));
}

static bool in_group(const struct sample *s, const void *group)
{
    return group_of(s) == *(const enum group *)group;
}

static bool any(const struct sample *s, const void *context)
{
    (void)s, (void)context;
    return true;
}

static void count_rows(struct fit_picture *p)
{
    const struct dataset *d = &p->fit->data;
    for (size_t i = 0; i < d->rows; i++) {
        bool own = d->sample[i].source == SOURCE_PROFILE;
        p->own += p->predicted[i] > 0 && own;
        p->others += p->predicted[i] > 0 && !own;
    }
}

/* Multiples of the golden ratio are spread evenly, and in step with no order of the rows. */
static bool is_shown(const struct fit_picture *p, size_t row)
{
    double room = fmax(DOTS - (double)p->own, LEAST_OTHERS);
    double share = room / (double)p->others;
    return p->predicted[row] > 0 && (p->fit->data.sample[row].source == SOURCE_PROFILE ||
                                     (uint32_t)row * 2654435769u <= share * UINT32_MAX);
}

/* The range of the times that are shown, widened to thirds of a decade. */
static void find_range(struct fit_picture *p)
{
    const struct dataset *d = &p->fit->data;
    p->lo = INFINITY, p->hi = -INFINITY;
    for (size_t i = 0; i < d->rows; i++) {
        if (!is_shown(p, i))
            continue;
        double x = log10(d->sample[i].time_s), y = log10(p->predicted[i]);
        p->lo = fmin(p->lo, fmin(x, y));
        p->hi = fmax(p->hi, fmax(x, y));
        p->shown++;
    }
    p->lo = floor(3 * p->lo) / 3;
    p->hi = ceil(3 * p->hi + 1e-9) / 3;
}

static int across(const struct fit_picture *p, double log_s)
{
    return (int)lround(LEFT + SIDE * (log_s - p->lo) / (p->hi - p->lo));
}

static int upwards(const struct fit_picture *p, double log_s)
{
    return (int)lround(TOP + SIDE * (p->hi - log_s) / (p->hi - p->lo));
}

/* What is beyond half or double lies on the edge. */
static int ratio_height(double ratio)
{
    double up = fmax(-1, fmin(1, log2(ratio)));
    return (int)lround(RATIO_TOP + RATIO_HEIGHT * (1 - up) / 2);
}

static void draw_dots(const struct fit_picture *p, enum group group, bool ratio)
{
    const struct dataset *d = &p->fit->data;
    struct plot_pen pen = {LOOK[group].colour, 6, NULL};
    plot_dots_begin(p->out, &pen);
    for (size_t i = 0; i < d->rows; i++) {
        if (!is_shown(p, i) || group_of(&d->sample[i]) != group)
            continue;
        double x = d->sample[i].time_s, y = p->predicted[i];
        plot_dot(p->out, across(p, log10(x)), ratio ? ratio_height(y / x) : upwards(p, log10(y)));
    }
    plot_dots_end(p->out);
}

static void draw_decades(const struct fit_picture *p)
{
    static const char *const NAMES[] = {"100 ns", "1 us",   "10 us", "100 us", "1 ms",
                                        "10 ms",  "100 ms", "1 s",   "10 s",   "100 s"};
    for (int i = 0; i < (int)(sizeof NAMES / sizeof *NAMES); i++) {
        double at = i - 7;
        if (at < p->lo - 1e-9 || at > p->hi + 1e-9)
            continue;
        int x = across(p, at), y = upwards(p, at);
        plot_line(p->out, x, TOP, x, TOP + SIDE, &GRID);
        plot_line(p->out, x, RATIO_TOP, x, RATIO_TOP + RATIO_HEIGHT, &GRID);
        plot_line(p->out, LEFT, y, LEFT + SIDE, y, &GRID);
        plot_text(p->out, x, TOP + SIDE + 34, &CENTRED, NAMES[i]);
        plot_text(p->out, x, RATIO_TOP + RATIO_HEIGHT + 34, &CENTRED, NAMES[i]);
        plot_text(p->out, LEFT - 12, y + 9, &RIGHT, NAMES[i]);
    }
}

static void draw_ratios(const struct fit_picture *p)
{
    static const struct {
        double ratio;
        const char *name;
    } TICKS[] = {{0.5, "0.5"}, {0.7, "0.7"}, {1, "1"}, {1.4, "1.4"}, {2, "2"}};
    for (size_t i = 0; i < sizeof TICKS / sizeof *TICKS; i++) {
        int y = ratio_height(TICKS[i].ratio);
        plot_line(p->out, LEFT, y, LEFT + SIDE, y, &GRID);
        plot_text(p->out, LEFT - 12, y + 9, &RIGHT, TICKS[i].name);
    }
}

/* predicted = ratio * measured in both panels. */
static void draw_guide(const struct fit_picture *p, double ratio, const struct plot_pen *pen)
{
    double shift = log10(ratio), from = p->lo - fmin(shift, 0), to = p->hi - fmax(shift, 0);
    int y = ratio_height(ratio);
    plot_line(p->out, across(p, from), upwards(p, from + shift), across(p, to),
              upwards(p, to + shift), pen);
    plot_line(p->out, LEFT, y, LEFT + SIDE, y, pen);
}

static void draw_axes(const struct fit_picture *p)
{
    int middle = LEFT + SIDE / 2;
    plot_frame(p->out, LEFT, TOP, SIDE, SIDE, &BORDER);
    plot_frame(p->out, LEFT, RATIO_TOP, SIDE, RATIO_HEIGHT, &BORDER);
    plot_text(p->out, 36, TOP + SIDE / 2, &UPWARDS, "predicted time");
    plot_text(p->out, 36, RATIO_TOP + RATIO_HEIGHT / 2, &UPWARDS, "predicted / measured");
    plot_text(p->out, middle, RATIO_TOP + RATIO_HEIGHT + 80, &CENTRED, "measured time");
}

/* The GPU of the profile, or what it is called when there are several. */
static const char *own_name(const struct dataset *d)
{
    const struct gpu *found = NULL;
    for (size_t i = 0; i < d->rows; i++) {
        if (d->sample[i].source != SOURCE_PROFILE)
            continue;
        if (found && found != d->sample[i].gpu)
            return "profile";
        found = d->sample[i].gpu;
    }
    return found ? found->name : "profile";
}

static void legend_line(const struct fit_picture *p, enum group group, int y)
{
    bool product = p->fit->data.family == FAMILY_GEMM || p->fit->data.family == FAMILY_GROUPED;
    const char *name = group == OWN_BACKWARD && product ? "dgrad" : LOOK[group].name;
    struct fit_score s = score_rows(&p->fit->data, p->predicted, in_group, &group);
    struct plot_pen pen = {LOOK[group].colour, 18, NULL};
    struct str text;
    str_init(&text);
    if (group <= OWN_WGRAD)
        str_addf(&text, "%s, ", own_name(&p->fit->data));
    str_addf(&text, "%s: %zu rows, %.1f %%", name, s.rows, 100 * s.mean);
    plot_dots_begin(p->out, &pen);
    plot_dot(p->out, LEFT + 30, y - 9);
    plot_dots_end(p->out);
    plot_text(p->out, LEFT + 52, y, &PLAIN, str_text(&text));
    str_release(&text);
}

static void draw_legend(const struct fit_picture *p)
{
    int y = TOP + 44;
    for (int g = 0; g < GROUPS; g++) {
        enum group group = (enum group)g;
        if (score_rows(&p->fit->data, p->predicted, in_group, &group).rows == 0)
            continue;
        legend_line(p, group, y);
        y += 38;
    }
    plot_text(p->out, LEFT + 20, y, &PLAIN, "dashed: 10 % off");
}

static void draw_title(const struct fit_picture *p, const char *title)
{
    struct str text;
    str_init(&text);
    str_addf(&text, "shapes left out of training; %zu of %zu rows shown", p->shown,
             p->own + p->others);
    plot_text(p->out, LEFT, 48, &TITLE, title);
    plot_text(p->out, LEFT, 86, &PLAIN, str_text(&text));
    str_release(&text);
}

static void draw(const struct fit_picture *p, const char *title)
{
    plot_begin(p->out, WIDTH, HEIGHT, title);
    draw_title(p, title);
    draw_decades(p);
    draw_ratios(p);
    for (int g = GROUPS - 1; g >= 0; g--)
        for (int ratio = 0; ratio < 2; ratio++)
            draw_dots(p, (enum group)g, ratio);
    draw_guide(p, 1, &EQUAL);
    draw_guide(p, 1.1, &TENTH);
    draw_guide(p, 0.9, &TENTH);
    draw_axes(p);
    draw_legend(p);
    svg_end(p->out);
}

static bool plot_family(const struct fit *f, enum family family, const char *folder,
                        struct error *err)
{
    struct str out, title;
    struct fit_picture p = {.fit = &f->family[family], .out = &out};
    p.predicted = p.fit->check.predicted[LEFT_SHAPES][BY_MODEL];
    struct fit_score all = score_rows(&p.fit->data, p.predicted, any, NULL);
    if (all.rows == 0)
        return true;
    str_init(&out);
    str_init(&title);
    str_addf(&title, "%s: %zu rows, mean error %.1f %%", p.fit->model.name, all.rows,
             100 * all.mean);
    count_rows(&p);
    find_range(&p);
    draw(&p, str_text(&title));
    bool ok = file_write(arena_format(f->mem, "%s/predicted.%s.svg", folder, p.fit->model.name),
                         out.data, out.length, err);
    str_release(&title);
    str_release(&out);
    return ok;
}

bool fit_plots(const struct fit *f, const char *folder, struct error *err)
{
    if (!folder_make(folder, err))
        return false;
    for (int i = 0; i < FAMILIES; i++)
        if (!f->family[i].kept && !plot_family(f, (enum family)i, folder, err))
            return false;
    return true;
}
