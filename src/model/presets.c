/* The presets: config.json files of data/models compiled in, listed in presets.def. */
#include "model/model.h"

#define PRESET(name, symbol, published_params, source) extern const char symbol[];
#include "model/presets.def"
#undef PRESET

const struct model_preset *model_presets(void)
{
    static const struct model_preset presets[] = {
#define PRESET(name, symbol, published_params, source) {name, symbol, published_params, source},
#include "model/presets.def"
#undef PRESET
        {0},
    };
    return presets;
}
