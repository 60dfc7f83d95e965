/* One change of an input: "gpus=64", "price:h100=-20%", taken apart and applied. */
#ifndef ASTRA_WHAT_IF_CHANGE_H
#define ASTRA_WHAT_IF_CHANGE_H

#include "base/error.h"

struct query;

struct input_change {
    char name[64];     /* of an option, or a figure of the nodes of a type */
    char key[64];      /* behind a colon: GPU type, parameter; "" = none */
    const char *value; /* what it becomes, or by how much it changes */
    double factor;     /* of a relative change; 0: `value` is a new one */
};

/* Names are checked, values are not: that is done where they are applied. `value` borrows of
 * `text`. */
bool input_change_parse(struct input_change *, const char *text, struct error *);

/* Fills `to`, which has been initialised, with what `from` was given, but for the change. Learned
 * models are not loaded for it, unless the change names others. */
bool input_change_apply(const struct input_change *, const struct query *from, struct query *to,
                        struct error *);

#endif
