/* Pictures of doc/evidence/accuracy.md, one for each family of runs: predicted against measured step
 * times, and below it their ratio, where errors can be seen. A mark is hollow where the run lies
 * outside the error stated without its source; the band is the family's median stated error.
 *
 *     +-----------+   log-log, equality; the legend stands in the empty corner
 *     | legend  / |
 *     |      /    |
 *     +-----------+
 *     |~~~~~~~~~~~|   predicted / measured, half to double
 *     +-----------+ */
#include "accuracy.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/svg.h"
#include "cluster/cluster.h"
#include "cost/features.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1200,
    LEFT = 130,
    SIDE = 1020, /* wide */
    TOP = 120,
    HIGH = 760,
    RATIO_TOP = TOP + HIGH + 70,
    RATIO_HIGH = 360,
    HEIGHT = RATIO_TOP + RATIO_HIGH + 110,
    RADIUS = 9,
    LOOKS = 7
};

static const char STYLE[] =
    "svg{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
    "text{font-size:26px;fill:#24292f}.title{font-size:34px;font-weight:600}.quiet{fill:#667079}\n"
    ".end{text-anchor:end}.middle{text-anchor:middle}.ground{fill:#fff}\n"
    ".grid{stroke:#e4e7eb;stroke-width:2;fill:none}.edge{stroke:#98a1ab;stroke-width:2;fill:none}\n"
    ".equal{stroke:#24292f;stroke-width:2}.band{fill:#98a1ab;fill-opacity:.18}\n"
    ".in{fill:currentColor;fill-opacity:.75}.out{fill:none;stroke:currentColor;stroke-width:3}\n"
    ".c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#009e73}.c3{color:#b4528e}.c4{color:#b07c00}"
    ".c5{color:#4b5563}.c6{color:#3f8fbf}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9aa5b1}.ground{fill:#0d1117}"
    ".grid{stroke:#262d36}.edge{stroke:#6b7683}.equal{stroke:#e6edf3}.c0{color:#58aee6}"
    ".c1{color:#ff8a3d}.c2{color:#2fcf9f}.c3{color:#e79ac6}.c4{color:#f0b429}.c5{color:#c3cad3}"
    ".c6{color:#8fd0f5}}\n";

static bool is_of(const struct row *r, bool experts, int generation_from, int generation_to)
{
    int generation = generation_of(r->evidence.class.gpu);
    return !r->small && r->evidence.class.experts == experts && generation >= generation_from &&
           generation <= generation_to;
}

static const struct family_picture {
    const char *name, *title;
    bool experts;
    int from, to; /* generations, as generation_of() has them */
} FAMILY_PICTURES[] = {{"ampere", "dense models on Volta and Ampere", false, 0, 1},
                       {"hopper", "dense models on Hopper", false, 2, 2},
                       {"blackwell", "dense models on Blackwell", false, 3, 4},
                       {"graphics", "dense models on graphics cards", false, 5, 8},
                       {"amd", "dense models on AMD", false, 10, 99},
                       {"experts", "models with experts", true, 0, 99}};

struct step_picture {
    const struct family_picture *family;
    const struct row *row[MOST_ROWS]; /* by kind */
    int rows;
    double lo, hi, band; /* log10 of seconds; median stated error */
    struct str out;
};

static int by_kind(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;
    int order = strcmp((*x)->kind, (*y)->kind);
    return order ? order : strcmp((*x)->id, (*y)->id);
}

static void choose_rows(struct step_picture *p, const struct row *row, int rows)
{
    double stated[MOST_ROWS];
    p->lo = INFINITY, p->hi = -INFINITY;
    for (int i = 0; i < rows; i++) {
        const struct row *r = &row[i];
        if (!is_of(r, p->family->experts, p->family->from, p->family->to))
            continue;
        stated[p->rows] = r->stated;
        p->row[p->rows++] = r;
        p->lo = fmin(p->lo, log10(fmin(r->measured_s, r->predicted_s)));
        p->hi = fmax(p->hi, log10(fmax(r->measured_s, r->predicted_s)));
    }
    p->lo = floor(4 * p->lo) / 4;
    p->hi = ceil(4 * p->hi + 1e-9) / 4;
    p->band = p->rows > 0 ? median(stated, p->rows) : 0;
    qsort(p->row, (size_t)p->rows, sizeof *p->row, by_kind);
}

static int across(const struct step_picture *p, double log_s)
{
    return (int)lround(LEFT + SIDE * (log_s - p->lo) / (p->hi - p->lo));
}

static int upwards(const struct step_picture *p, double log_s)
{
    double share = (p->hi - log_s) / (p->hi - p->lo);
    return (int)lround(TOP + HIGH * fmax(0, fmin(1, share)));
}

/* What is beyond half or double lies on the edge. */
static int ratio_y(double ratio)
{
    double up = fmax(-1, fmin(1, log2(ratio)));
    return (int)lround(RATIO_TOP + RATIO_HIGH * (1 - up) / 2);
}

static void draw_path(struct step_picture *p, const char *class, int x1, int y1, int x2, int y2)
{
    str_addf(&p->out, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>\n", class, x1, y1, x2, y2);
}

static void draw_grid(struct step_picture *p)
{
    static const double RATIO[] = {0.5, 0.7, 1, 1.4, 2};
    char text[32];
    for (int i = -3 * 2; i <= 3 * 4; i++) { /* 1 and 3 of every decade, a thousandth on */
        double log_s = floor(i / 2.0) + (i % 2 ? log10(3) : 0);
        if (log_s < p->lo - 1e-9 || log_s > p->hi + 1e-9)
            continue;
        snprintf(text, sizeof text, "%g s", pow(10, floor(i / 2.0)) * (i % 2 ? 3 : 1));
        draw_path(p, "grid", across(p, log_s), TOP, across(p, log_s), TOP + HIGH);
        draw_path(p, "grid", across(p, log_s), RATIO_TOP, across(p, log_s), RATIO_TOP + RATIO_HIGH);
        draw_path(p, "grid", LEFT, upwards(p, log_s), LEFT + SIDE, upwards(p, log_s));
        svg_words(&p->out, "middle", across(p, log_s), RATIO_TOP + RATIO_HIGH + 36, text);
        svg_words(&p->out, "end", LEFT - 12, upwards(p, log_s) + 9, text);
    }
    for (size_t i = 0; i < sizeof RATIO / sizeof *RATIO; i++) {
        snprintf(text, sizeof text, "%g", RATIO[i]);
        draw_path(p, "grid", LEFT, ratio_y(RATIO[i]), LEFT + SIDE, ratio_y(RATIO[i]));
        svg_words(&p->out, "end", LEFT - 12, ratio_y(RATIO[i]) + 9, text);
    }
    svg_rect(&p->out, "edge", LEFT, TOP, SIDE, HIGH);
    svg_rect(&p->out, "edge", LEFT, RATIO_TOP, SIDE, RATIO_HIGH);
}

static void draw_band(struct step_picture *p)
{
    double more = log10(1 + p->band), less = log10(1 - fmin(0.9, p->band));
    str_addf(&p->out, "<path class=\"band\" d=\"M%d %dL%d %dL%d %dL%d %dL%d %dL%d %dz\"/>\n",
             across(p, p->lo), upwards(p, p->lo), across(p, p->lo), upwards(p, p->lo + more),
             across(p, p->hi - more), TOP, across(p, p->hi), TOP, across(p, p->hi),
             upwards(p, p->hi + less), across(p, p->lo - less), TOP + HIGH);
    int top = ratio_y(1 + p->band), bottom = ratio_y(1 - fmin(0.9, p->band));
    svg_rect(&p->out, "band", LEFT, top, SIDE, bottom - top);
    draw_path(p, "equal", LEFT, TOP + HIGH, LEFT + SIDE, TOP);
    draw_path(p, "equal", LEFT, ratio_y(1), LEFT + SIDE, ratio_y(1));
}

/* `look` is the number of the run's kind: its colour and shape. */
static void draw_run(struct step_picture *p, const struct row *r, int look)
{
    char class[16], title[120];
    int x = across(p, log10(r->measured_s));
    snprintf(class, sizeof class, "%s c%d", fabs(r->error) <= r->stated ? "in" : "out",
             look % LOOKS);
    snprintf(title, sizeof title, "%s: %.3g s measured, %.3g s predicted ±%.0f %%", r->id,
             r->measured_s, r->predicted_s, 100 * r->stated);
    svg_mark(&p->out, class, (enum svg_shape)(look % SVG_SHAPES), x,
             upwards(p, log10(r->predicted_s)), RADIUS, NULL);
    svg_mark(&p->out, class, (enum svg_shape)(look % SVG_SHAPES), x,
             ratio_y(r->predicted_s / r->measured_s), RADIUS, title);
}

/* Six lines in the upper corner, the others in the lower one. */
static void draw_legend(struct step_picture *p, int look, int runs, double size, const char *kind)
{
    enum { UPPER = 6, LINE = 38 };
    char class[16], text[120];
    bool upper = look < UPPER;
    int x = upper ? LEFT + 30 : LEFT + SIDE - 570;
    int y = upper ? TOP + 44 + LINE * look : TOP + HIGH - 260 + LINE * (look - UPPER);
    snprintf(class, sizeof class, "in c%d", look % LOOKS);
    snprintf(text, sizeof text, "%s: %d run%s, mean error %.1f %%", kind, runs,
             runs == 1 ? "" : "s", 100 * size);
    svg_mark(&p->out, class, (enum svg_shape)(look % SVG_SHAPES), x, y - 9, RADIUS + 2, NULL);
    svg_words(&p->out, "", x + 24, y, text);
}

static void draw_runs(struct step_picture *p)
{
    for (int i = 0, n, look = 0; i < p->rows; i += n, look++) {
        double size = 0;
        for (n = 0; i + n < p->rows && strcmp(p->row[i + n]->kind, p->row[i]->kind) == 0; n++) {
            draw_run(p, p->row[i + n], look);
            size += fabs(p->row[i + n]->error);
        }
        draw_legend(p, look, n, size / n, p->row[i]->kind);
    }
}

static void draw(struct step_picture *p)
{
    char text[160];
    int inside = 0;
    for (int i = 0; i < p->rows; i++)
        inside += fabs(p->row[i]->error) <= p->row[i]->stated;
    snprintf(text, sizeof text, "Seconds of a step: %s", p->family->title);
    svg_begin(&p->out, WIDTH, HEIGHT, text, STYLE);
    svg_rect(&p->out, "ground", 0, 0, WIDTH, HEIGHT);
    svg_words(&p->out, "title", LEFT, 48, text);
    snprintf(
        text, sizeof text,
        "%d runs, %.0f %% within their stated error (others hollow); band: its median, %.0f %%",
        p->rows, 100.0 * inside / p->rows, 100 * p->band);
    svg_words(&p->out, "quiet", LEFT, 92, text);
    draw_grid(p);
    draw_band(p);
    svg_words(&p->out, "end quiet", LEFT + SIDE - 16, TOP + HIGH - 20, "predicted, by measured");
    svg_words(&p->out, "quiet", LEFT + 16, RATIO_TOP + 34, "predicted / measured, by measured");
    draw_runs(p);
    svg_end(&p->out);
}

bool draw_pictures(const char *folder, const struct row *row, int rows, struct arena *mem,
                   struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof FAMILY_PICTURES / sizeof *FAMILY_PICTURES; i++) {
        struct step_picture p = {.family = &FAMILY_PICTURES[i]};
        choose_rows(&p, row, rows);
        if (p.rows == 0)
            continue;
        draw(&p);
        ok = file_write(arena_format(mem, "%s/steps.%s.svg", folder, p.family->name), p.out.data,
                        p.out.length, err);
        str_release(&p.out);
    }
    return ok;
}
