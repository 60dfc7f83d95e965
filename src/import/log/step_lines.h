/* Records in a line of a training log: training lines and memory lines of Megatron. Processes that
 * write at the same time glue them together: a line can hold several, whole or broken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_kind {
    RECORD_NONE,
    RECORD_STEP,
    RECORD_MEMORY,
    RECORD_BROKEN_STEP,
    RECORD_BROKEN_MEMORY
};

enum record_field {
    FIELD_STEP_S,
    FIELD_TFLOPS, /* per GPU */
    FIELD_WATTS,  /* per GPU */
    FIELD_BATCH,
    FIELD_SKIPPED, /* iterations */
    FIELD_NAN,     /* iterations */
    FIELD_MAX_ALLOCATED_BYTES,
    FIELD_RESERVED_BYTES,
    FIELD_MAX_RESERVED_BYTES,
    RECORD_FIELDS
};

struct log_record {
    enum record_kind kind;
    int64_t iteration;           /* of a memory line: after so many */
    int64_t rank;                /* of a memory line */
    double value[RECORD_FIELDS]; /* 0 = not said */
};

struct log_line {
    const char *at, *end;
    bool ended;              /* a line break was there: the last number is whole */
    struct log_record begun; /* seen behind the record before it */
};

/* The text is borrowed, without its line break and without colours. */
void log_line_init(struct log_line *, const char *text, size_t length, bool ended);
/* False when there is none any more. */
bool log_line_next(struct log_line *, struct log_record *out);

/* Megatron-Bridge's "Step Time : 1.23s GPU utilization: 423.4MODEL_TFLOP/s/GPU". */
bool log_line_bridge(const char *text, size_t length, struct log_record *out);
