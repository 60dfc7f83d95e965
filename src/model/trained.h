/* What of a model is trained: all of it, all but some parts (frozen_PART), or adapters beside weights that are all frozen
 * (LoRA: W x + B A x, of rank `lora`). */
#pragma once

#include "model/model.h"

enum model_part {
#define PART(part) PART_##part,
#define TARGET(...)
#include "model/trained.def"
    PARTS
};
enum lora_target {
#define PART(...)
#define TARGET(target, name, others) TARGET_##target,
#include "model/trained.def"
    TARGETS /* also of a matrix that no adapter may stand beside */
};

/* "full", "lora:r=16,targets=qkv,proj,bits=4" or "frozen:embedding,head": the fields of a finished model. The error says
 * what would be right; nothing else of the model changes. */
bool model_set_trained(struct model *, const char *text, struct error *);
/* The same words of a finished model. */
void model_add_trained(const struct model *, struct str *out);

const char *model_target_name(enum lora_target); /* Megatron's: "linear_qkv" */

bool model_trains_all(const struct model *);
bool model_freezes(const struct model *, enum model_part);
bool model_adapts(const struct model *, enum lora_target);
/* The matrix that makes logits: the embedding, where they are one. */
bool model_freezes_logits(const struct model *);
/* Whether the backward pass goes through the layers: adapters, anything of a layer, or the embedding is trained. */
bool model_layers_run_back(const struct model *);

/* How tensor parallelism splits a matrix: its outputs, its inputs, not at all. */
enum matrix_cut { CUT_OUT, CUT_IN, CUT_NONE };
/* One matrix of a layer; of experts, one expert's. */
struct matrix {
    enum lora_target target;
    enum model_part part;
    enum matrix_cut cut;
    int64_t in, out;
};
enum { MATRICES_MAX = 16 };
int model_matrices(const struct model *, const struct layer_kind *,
                   struct matrix out[MATRICES_MAX]);

/* Those of model_layer_params() that are trained; without adapters. */
struct layer_params model_layer_trained(const struct model *, const struct layer_kind *);
/* Adapters of a layer: split over TP, whole on each of its ranks; of experts one set, of which a rank has one for each
 * of its experts (lora_each) or one. `tensors`: outside experts, of one set. */
struct adapter_params {
    int64_t split, whole, experts;
    int tensors, expert_tensors;
};
struct adapter_params model_adapter_params(const struct model *, const struct layer_kind *);
int64_t
model_params_trained(const struct model *); /* adapters of experts as many as there are in all */

/* Bytes of a parameter of a matrix that is frozen. */
double model_frozen_bytes(const struct model *);

/* The part of model_finish that is trained.def's. */
bool model_finish_trained(struct model *, struct error *);
