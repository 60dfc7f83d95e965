/* The collectives of sources that have operators too; their readers call these at the end. Folder
 * and failures as in learn/sample.h. */
#ifndef ASTRA_READ_COLLECTIVES_H
#define ASTRA_READ_COLLECTIVES_H

#include "base/error.h"

struct samples;

bool read_aiconfigurator_comm(const char *folder, struct samples *, struct error *);
bool read_ett_comm(const char *folder, struct samples *, struct error *);
bool read_vidur_comm(const char *folder, struct samples *, struct error *);
bool read_sailor_comm(const char *folder, struct samples *, struct error *);
bool read_simumax_comm(const char *folder, struct samples *, struct error *);

#endif
