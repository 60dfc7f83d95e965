/* Where the labels of a picture go: beside their point, inside the picture, on top of nothing. */
#pragma once

#include <stdbool.h>

struct arena;

struct box {
    int x, y, width, height;
};

/* What is in the way, worst first. */
enum label_obstacle { OBSTACLE_LABEL, OBSTACLE_MARK, OBSTACLE_LINE };

struct label_field {
    struct box room; /* labels stay inside */
    bool leftwards;  /* the empty side of the points is the left one */
    int taken, most;
    struct taken {
        struct box box;
        enum label_obstacle kind;
    } * obstacle; /* [most] */
};

void label_field_init(struct label_field *, struct box room, bool leftwards, int most,
                      struct arena *);
void label_take(struct label_field *, struct box, enum label_obstacle);

/* Takes a box that is inside and meets nothing up to `avoid`; false when it is not. */
bool label_take_free(struct label_field *, const struct box *, enum label_obstacle avoid);

/* The first free place for a label of this size, `gap` away from the point at (x, y), that meets
 * nothing up to `avoid`; takes it. False when there is none. */
bool label_place(struct label_field *, int x, int y, int gap, enum label_obstacle avoid,
                 struct box *label);

bool boxes_meet(const struct box *, const struct box *);
