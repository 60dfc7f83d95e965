/* The flags of parameters and of model fields, as megatron.def has them and in its order. */
#pragma once

#include "model/model.h"
#include "strategy/strategy.h"

enum flag_kind { SIZE, VALUE, SWITCH, UNLESS, WORD, WORDS, OWN, NONE };

struct param_flag {
    enum param param;
    enum flag_kind kind;
    const char *flag;
    int since; /* release 0.N of Megatron core */
};

struct field_flag {
    enum model_field field;
    enum flag_kind kind;
    const char *flag;
    int since;
};

struct meaning_flag {
    enum model_meaning field;
    enum flag_kind kind;
    const char *flag;
    int since;
};

extern const struct param_flag PARAM_FLAGS[PARAMS];
extern const struct field_flag FIELD_FLAGS[MODEL_FIELDS];
extern const struct meaning_flag MEANING_FLAGS[MODEL_MEANINGS];

/* Why release 0.N of Megatron cannot be told what the field says of this model: NULL = it can be told,
 * or has it by default; "" = it follows from a field that says why (meaning_flags.c). */
const char *meaning_untold(const struct model *, enum model_meaning, int release);
