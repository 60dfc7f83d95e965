/* A field while it is put together: what the files that expand words share. */
#pragma once

#include "import/shell/script_parts.h"

struct build {
    struct script *s;
    struct str text; /* of the open field */
    bool there;      /* the field is there, even if empty */
    bool split;
    bool document; /* quotes are text */
    int line;
    struct fields *out;
};

/* ---- script_expand.c ---- */

void field_add(struct build *, const char *text, size_t length);
/* What a variable holds: outside quotes it is split. */
void field_value(struct build *, const char *text, bool quoted);
/* "${A[@]}": each element a field of its own, joined to what stands before and behind. */
void field_elements(struct build *, const struct value *, bool quoted, bool joined);
void field_unknown(struct build *, const char *text, size_t length, const char *why,
                   const char *name);
/* Text of a script; `quoted` changes at double quotes. */
void field_part(struct build *, const char *p, const char *end, bool quoted);

/* ---- script_parameter.c ---- */

/* ${...}; `from` is at the dollar sign, `end` behind the brace. */
void field_braced(struct build *, const char *from, const char *end, bool quoted);

/* $NAME, $1, $#: returns where it ends. */
const char *field_named(struct build *, const char *from, const char *stop, bool quoted);

/* ---- script_brace.c ---- */

/* a{1..3}b and a{x,y}b: a word of each; false where it is neither. */
bool script_expand_braces(struct script *, const struct raw *, struct fields *out);
