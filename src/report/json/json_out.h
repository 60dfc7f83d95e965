/* Parts of JSON answers that several of them have. */
#ifndef ASTRA_JSON_OUT_H
#define ASTRA_JSON_OUT_H

struct json;
struct plan;
struct str;

struct json *json_of_plan(const struct plan *);
/* What a function of plan_words.h says. */
struct json *json_of_words(const struct plan *, void (*add)(const struct plan *, struct str *));

#endif
