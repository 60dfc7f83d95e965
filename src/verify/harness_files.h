/* The Python files of the harness, compiled in; the Makefile lists them. */
#ifndef ASTRA_HARNESS_FILES_H
#define ASTRA_HARNESS_FILES_H

struct harness_file {
    const char *name; /* without folders */
    const char *text;
};

extern const struct harness_file embedded_harness[]; /* name NULL ends */

#endif
