#!/bin/bash
for TP in 1 2 4 8; do
  torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 \
    --bf16 --micro-batch-size 1 --global-batch-size 32 --tensor-model-parallel-size $TP
done
