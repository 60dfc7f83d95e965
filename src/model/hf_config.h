/* Reading single keys of a Hugging Face config.json; private to the model stage. */
#pragma once

#include "model/model.h"

struct json;

struct hf_config {
    const struct json *text; /* the object that describes the decoder: text_config, or the root */
    const struct json *root;
    const char *name; /* of the file, for messages */
};

/* How a family marks its sliding-window layers. */
enum hf_window {
    WINDOW_NONE,
    WINDOW_ALWAYS,   /* every layer, when sliding_window is given */
    WINDOW_SWITCHED, /* use_sliding_window, from layer max_window_layers on */
    WINDOW_PATTERN   /* every n-th layer is full: sliding_window_pattern, or the family's n */
};

struct hf_family {
    const char *type; /* model_type */
    unsigned reads;   /* groups of keys beyond the common ones */
    enum hf_window window;
    int full_every; /* of WINDOW_PATTERN */
    struct {
        enum model_field field;
        int value; /* never 0: a 0 ends the list */
    } set[12];     /* where the family, or its default, differs from 0 */
};

/* NULL when the key is absent or null. The decoder's object goes before the root. */
const struct json *hf_get(const struct hf_config *, const char *key);

/* These leave `out` alone when the key is absent; a wrong type or value fails. */
bool hf_count(const struct hf_config *, const char *key, int lo, int hi, int *out, struct error *);
bool hf_flag(const struct hf_config *, const char *key, bool *out, struct error *);

/* Which layers have experts and windows, of a model whose fields are read and finished. Sets
 * m->window. */
bool hf_pattern(const struct hf_config *, const struct hf_family *, struct model *,
                struct layer_pattern *, struct error *);

/* The fields of meaning.def, of a model that is otherwise finished (hf_meaning.c). */
bool hf_meaning(const struct hf_config *, struct model *, struct error *);
/* One of them from the key that is there; '!' in front turns true and false around. */
bool hf_meaning_key(const struct hf_config *, const char *key, enum model_meaning, struct model *,
                    struct error *);
/* The line of hf_meaning.def for a family, -1 where there is none or more than one. */
int hf_meaning_line(const char *family, enum model_meaning);
