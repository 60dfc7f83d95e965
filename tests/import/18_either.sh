#!/bin/bash
# Flags that are there in one of two ways: with an effect, and without.
ARGS="--num-layers 24 --hidden-size 2048 --num-attention-heads 16"
if nvidia-smi -L | grep -q H100; then ARGS="$ARGS --fp8-format hybrid"; fi
[ -d "$CHECKPOINT" ] && LOAD=(--load "$CHECKPOINT")
SIZE="--tensor-model-parallel-size 2"
torchrun --nproc-per-node 8 pretrain_gpt.py $ARGS "${LOAD[@]}" ${SIZE%% *} 2
