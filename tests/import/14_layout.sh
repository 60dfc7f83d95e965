#!/bin/bash
NUM_LAYERS=32
torchrun --nproc-per-node=8 --nnodes=2 pretrain_gpt.py \
    --num-layers ${NUM_LAYERS} --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --bf16 \
    --micro-batch-size 1 --global-batch-size 64 \
    --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 4 \
    --lr-warmup-fraction .01
