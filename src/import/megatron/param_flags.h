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

extern const struct param_flag PARAM_FLAGS[PARAMS];
extern const struct field_flag FIELD_FLAGS[MODEL_FIELDS];
