#!/bin/bash
source ./env.sh
module load cuda/12.4
deepspeed --num_gpus 8 train_model.py --deepspeed --zero-stage-of-mine 3 \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 50304 --bf16 --micro-batch-size 1 \
    --global-batch-size ${BATCH_SIZE:=64} --tensor-model-parallel-size=2 $EXTRA_ARGS
