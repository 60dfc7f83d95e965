/* Greedy: labels come in the order of their importance, and each takes the first of its candidate
 * places that is free. Candidates are eight directions at growing distances:
 *
 *     6 5 3        of a front that rises to the right; mirrored where it falls. The corner below
 *     4 o 0        is empty: no plan is both faster and cheaper.
 *     7 2 1
 */
#include "report/chart/front_labels.h"

#include "base/arena.h"

#include <assert.h>

enum { DISTANCES = 3 };

static const signed char DIRECTION[][2] = {{1, 0},  {1, 1},  {0, 1},   {1, -1},
                                           {-1, 0}, {0, -1}, {-1, -1}, {-1, 1}};

void label_field_init(struct label_field *f, struct box room, bool leftwards, int most,
                      struct arena *mem)
{
    *f = (struct label_field){.room = room, .leftwards = leftwards, .most = most};
    f->obstacle = arena_array(mem, (size_t)most, sizeof *f->obstacle);
}

void label_take(struct label_field *f, struct box box, enum label_obstacle kind)
{
    assert(f->taken < f->most);
    f->obstacle[f->taken++] = (struct taken){box, kind};
}

bool boxes_meet(const struct box *a, const struct box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static bool is_inside(const struct box *a, const struct box *room)
{
    return a->x >= room->x && a->y >= room->y && a->x + a->width <= room->x + room->width &&
           a->y + a->height <= room->y + room->height;
}

bool label_take_free(struct label_field *f, const struct box *box, enum label_obstacle avoid)
{
    if (!is_inside(box, &f->room))
        return false;
    for (int i = 0; i < f->taken; i++)
        if (f->obstacle[i].kind <= avoid && boxes_meet(&f->obstacle[i].box, box))
            return false;
    label_take(f, *box, OBSTACLE_LABEL);
    return true;
}

/* From the point to the near edge of a label: beside it, or centred on it. */
static int offset(int direction, int gap, int size)
{
    return direction > 0 ? gap : direction < 0 ? -gap - size : -size / 2;
}

bool label_place(struct label_field *f, int x, int y, int gap, enum label_obstacle avoid,
                 struct box *label)
{
    const int count = sizeof DIRECTION / sizeof *DIRECTION;
    for (int i = 0; i < DISTANCES * count; i++) {
        const signed char *d = DIRECTION[i % count];
        int away = gap * (2 + i / count) / 2;
        label->x = x + offset(f->leftwards ? -d[0] : d[0], away, label->width);
        label->y = y + offset(d[1], away, label->height);
        if (label_take_free(f, label, avoid))
            return true;
    }
    return false;
}
