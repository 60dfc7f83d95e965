/* Files that a command writes beside its answer, judged before anything is computed. */
#ifndef ASTRA_OUTPUTS_H
#define ASTRA_OUTPUTS_H

#include "base/error.h"

struct output_options;

/* Two outputs of one name are an error of the query; a folder of a page or a picture that is not
 * there, or may not be written, is the system's. */
bool outputs_check(const struct output_options *, struct error *);

#endif
