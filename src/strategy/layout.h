/* Which layers each pipeline rank and virtual stage holds. Virtual stage i is chunk i / pp of rank
 * i % pp, as in Megatron's layout strings. */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct model;
struct strategy;
struct str;

enum { LAYOUT_MAX_STAGES = 1024 };

struct layout {
    int stages;                         /* pp * vpp */
    uint16_t first[LAYOUT_MAX_STAGES];  /* first decoder layer of each virtual stage */
    uint16_t layers[LAYOUT_MAX_STAGES]; /* how many decoder layers it holds */
    int mtp_stage;  /* virtual stage of the MTP layers; the last unless a layout says else */
    int loss_stage; /* virtual stage of output layer and loss */
};

/* Fills the layout that `split`, `pp` and `vpp` of the strategy mean. False, with the reason,
 * when the layers cannot be split that way. SPLIT_LAYOUT is parsed by layout_parse instead. */
bool layout_of(struct layout *, const struct model *, const struct strategy *, struct error *);

/* Whether a stage may start with the layer (from 0): one of sparse attention must not see tokens that another stage's layer
 * chose. Of a whole layout, with the reason where it is not so. */
bool layout_may_start(const struct model *, int layer);
bool layout_keeps_choices(const struct layout *, const struct model *, struct error *);

/* Splits that only a layout string tells Megatron. */
bool layout_is_string(int split);

/* Megatron's --pipeline-model-parallel-layout: "Et*20|t*12L". Sets split to SPLIT_LAYOUT and
 * vpp. */
bool layout_parse(struct layout *, const char *text, const struct model *, struct strategy *,
                  struct error *);
/* The same language, as short as runs allow. */
void layout_print(const struct layout *, const struct model *, struct str *out);
