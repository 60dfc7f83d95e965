/* Trainings of transformers' world (Trainer, TRL, LLaMA-Factory, Axolotl) as their launch lines and files say them. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct yaml;

enum hf_field {
#define HF(field, kind, names) HF_##field,
#include "import/hf/hf_settings.def"
    HF_FIELDS
};

enum { HF_UNREAD = 40 };

struct hf_job {
    const char *text[HF_FIELDS]; /* as it was said; NULL = it was not */
    int64_t number[HF_FIELDS];   /* of COUNT and TRUTH; 0 = `auto` or not said */
    int unread;
    const char *unread_name[HF_UNREAD]; /* settings that nothing is known of */
    struct arena *mem;
    bool factory; /* settings of LLaMA-Factory */
    int depth;    /* of files that name files */
};

/* Whether words begin a launch of such a training: accelerate launch, or another launcher or program with
 * Trainer's arguments. */
bool hf_is_launch(int count, const char *const *words);
/* Whether a file is one of settings: DeepSpeed's JSON, YAML of accelerate, LLaMA-Factory or Axolotl. */
bool hf_is_text(const char *text);
/* Reads launcher and arguments, and the files they name. */
bool hf_read_words(struct hf_job *, int count, const char *const *words, struct error *);
/* A file's text: DeepSpeed's JSON, YAML of accelerate and others. */
bool hf_read_text(struct hf_job *, const char *text, const char *name, struct error *);
