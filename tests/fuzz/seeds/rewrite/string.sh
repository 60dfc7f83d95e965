#!/bin/bash
GPT_ARGS="
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8
    --vocab-size 128256 --max-position-embeddings 8192
    --swiglu --normalization RMSNorm --position-embedding-type rope
    --disable-bias-linear --untie-embeddings-and-output-weights
    --attention-dropout 0 --hidden-dropout 0 \
    --tensor-model-parallel-size 4 \
    --pipeline-model-parallel-size 4 \
    --seq-length 8192 --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py $GPT_ARGS --data-path $DATA
