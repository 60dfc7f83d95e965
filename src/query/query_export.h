/* What is asked of an export. */
#ifndef ASTRA_QUERY_EXPORT_H
#define ASTRA_QUERY_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

struct export_format;

struct export_ask {
    const struct export_format *format; /* NULL = none is asked for */
    const char *version;                /* of Megatron core; NULL = HEAD */
    int launcher;                       /* which word of --launcher: srun starts every rank */
    const char *job_name;               /* NULL = after the model */
    const char *hosts_file;             /* for messages */
    size_t hosts;
    const char **host;    /* [hosts] in rank order */
    const char *hostfile; /* to write; NULL = none */
    int plan;             /* of the best of a search; 0 = the first */
    bool untimed;         /* estimates need no times: a script says nothing of them */
};

#endif
