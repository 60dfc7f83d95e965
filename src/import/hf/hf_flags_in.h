/* A training of transformers' world as the strategy and model of a plan: engines fsdp2, zero2 and zero3. */
#pragma once

#include "import/megatron/flags.h"

struct hf_job;

/* What the words of a launch say, as flags_import() does of Megatron's. */
bool hf_import(int count, const char *const *words, struct flags_result *, struct arena *,
               struct error *);
/* Of a file: DeepSpeed's JSON, YAML of accelerate, LLaMA-Factory, Axolotl. */
bool hf_import_text(const char *text, const char *name, struct flags_result *, struct arena *,
                    struct error *);
/* The model, dp and the global batch, as flags_model() and flags_finish(). `given` is the model named beside it, or NULL. */
bool hf_finish(struct flags_result *, const struct model *given, int64_t world, struct error *);
