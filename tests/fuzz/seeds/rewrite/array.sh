#!/bin/bash
# Our training of the 8B model.
export CUDA_DEVICE_MAX_CONNECTIONS=1
NNODES=2

MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --vocab-size 128256 --max-position-embeddings 8192 # as in the paper
    --swiglu --normalization RMSNorm --position-embedding-type rope
    --disable-bias-linear --untie-embeddings-and-output-weights
    --attention-dropout 0 --hidden-dropout 0
)
PARALLEL_ARGS=(
    # eight of a node
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 2 # one for each node
    --sequence-parallel
)
TRAINING_ARGS=(
    --seq-length 8192
    --micro-batch-size 1
    --global-batch-size 128
    --bf16
    --lr 3e-4 # don't touch
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 8
)

torchrun --nnodes $NNODES --nproc-per-node 8 pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}" --data-path "$DATA"
