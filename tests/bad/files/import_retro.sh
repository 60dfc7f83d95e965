#!/bin/bash
# A list of flags that prepares data: no training.
PREPARE=" \
    tools/retro/main.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
    --micro-batch-size 1 --global-batch-size 256 --seq-length 512 --max-position-embeddings 512 \
    --fp16 --retro-tasks build --tensor-model-parallel-size 1 "
