/* The front of speed and money as a picture: one SVG file that needs nothing else. */
#ifndef ASTRA_FRONT_SVG_H
#define ASTRA_FRONT_SVG_H

#include "base/error.h"

struct search_report;
struct str;

/* The report has at least one plan. */
void front_draw(const struct search_report *, struct str *out);

/* The same to a file, whole or not at all. */
bool front_write(const struct search_report *, const char *path, struct error *);

#endif
