/* A list of operators in the making, and the pieces that blocks of several kinds are made of; private to the layer
 * stage. */
#pragma once

#include "layer/ops.h"

#include "model/trained.h"

enum { HALF = 2, SINGLE = 4 }; /* bytes of bf16 / fp16 and of fp32 */

struct ops_builder {
    const struct block_shape *s;
    struct op *out;
    int count;
    double tokens;   /* of one micro-batch on one context-parallel rank */
    double residual; /* tokens of the residual stream held by one rank */
    double whole;  /* bytes of hidden states of all tokens, as tensor-parallel products see them */
    double stream; /* bytes of the residual stream, and of its gradient */
    double input;  /* bytes of an element that a product keeps as its input */
    double normed; /* bytes of an element of a norm's output that the products behind it keep */
    bool sharded;  /* the two differ: sequence parallelism */
};

struct op *ops_add(struct ops_builder *, const char *name, enum op_kind);
/* A product: of a micro-batch's rows; column- and row-parallel. */
struct op *ops_gemm(struct ops_builder *, const char *name, double m, double n, double k);
struct op *ops_column(struct ops_builder *, const char *name, double n);
struct op *ops_row(struct ops_builder *, const char *name, double k);
/* A pass over `rows` of `width` elements: of the output, where that is narrower than the input. */
struct op *ops_pass(struct ops_builder *, const char *name, enum memory_kind, double rows,
                    double width);
/* Nothing where there is one rank. */
void ops_comm(struct ops_builder *, const char *name, enum comm_kind, enum comm_axis, double bytes,
              int ranks, int stride, int modules);
/* Entry and exit of a tensor-parallel region. */
void ops_enter(struct ops_builder *, const char *name, int modules);
void ops_exit(struct ops_builder *, const char *name, int modules);
void ops_residual(struct ops_builder *);
/* Whether passes of one operator each do what others fuse. */
bool ops_unfused(const struct block_shape *);
void ops_norm(struct ops_builder *, const char *name, bool saves_input);
/* A norm over other elements than the stream's, such as those of queries and keys: what it keeps, its output apart. */
void ops_eager_norm(struct op *, double elements);
void ops_mlp_norm(struct ops_builder *);
/* Two products with the activation between them, `wide` = inner width on this rank; and that activation. */
void ops_mlp(struct ops_builder *, const char *up, const char *down, double wide, int modules);
struct op *ops_activation(struct ops_builder *, enum model_part, double tokens, double inner,
                          double wide);
/* Bytes of an element of a product's input that are kept for the gradient of its weights, which are of this part. */
double ops_input(const struct ops_builder *, enum model_part);
/* What the product lacks when its weights are frozen, and behind it the adapter; `kept`: its input stays in 16 bits for
 * another reason. */
void ops_train(struct ops_builder *, struct op *product, enum model_part, enum lora_target,
               enum matrix_cut, bool kept);
/* Where nothing below a block is trained. */
void ops_stop_back(const struct block_shape *, struct op *, int count);
/* Bytes of an element of a mixer's output: kept for its own backward, and in fp8 once more as the next product's input. */
double ops_mixer_kept(const struct ops_builder *);
/* Whether products add their weight gradients as they compute them. */
bool ops_adds_wgrads(const struct block_shape *);
double ops_bias_scratch(double tokens, double width);

/* Attention and a state space, from their gather to their reduce. */
void ops_attention(struct ops_builder *);
void ops_state_space(struct ops_builder *);

/* Of a mixer with a state of keys x values a head, on one rank and of a token: queries as they are made, keys as heads have
 * them. */
struct linear_widths {
    double queries, keys, values, heads, key_dim;
};
enum linear_rule { PLAIN_DECAY, DELTA_RULE, CHANNEL_DELTA };
/* Heads are dealt to the context-parallel ranks and gathered again, tokens the other way round. */
void ops_exchange(struct ops_builder *, const char *name, double width);
void ops_convolution(struct ops_builder *, const struct linear_widths *);
void ops_linear_scan(struct ops_builder *, const char *name, const struct linear_widths *,
                     enum linear_rule);
void ops_gated_norm(struct ops_builder *, double values);

/* The kinds of blocks: PART_block of layer_kinds.def. */
#define MIXER(id, symbol, part, name, lacks) void part##_block(struct ops_builder *);
#define FEED(id, symbol, part, name, lacks) void part##_block(struct ops_builder *);
#include "model/layer_kinds.def"
