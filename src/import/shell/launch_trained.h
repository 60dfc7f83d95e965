/* What of the model a launch trains. */
#pragma once

#include "import/shell/launch.h"

/* Sets launch.train where adapters are trained. Why no figure can be given; NULL = it can. */
const char *launch_take_adapters(struct launch *, struct arena *);
