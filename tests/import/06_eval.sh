#!/bin/bash
TP=2; PP=2
if [ "$PP" -gt 1 ]; then
    PP_ARGS="--pipeline-model-parallel-size ${PP}"
else
    PP_ARGS=""
fi
CMD="torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
    --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 1024 --max-position-embeddings 1024 --vocab-size 50304 \
    --tensor-model-parallel-size ${TP} ${PP_ARGS} \
    --micro-batch-size 4 --global-batch-size 64 --fp16 \
    --merge-file '/data/my merges.txt'"
echo $CMD
eval "$CMD"
