#!/bin/bash
TP=8
PP=${PP:-2}
: "${MBS:=1}"
NAME="run-tp${TP}-pp$PP" # it's a name
echo "TP=$TP"

torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
    --vocab-size 128256 --max-position-embeddings 8192 \
    --swiglu --normalization RMSNorm --position-embedding-type rope \
    --disable-bias-linear --untie-embeddings-and-output-weights \
    --attention-dropout 0 --hidden-dropout 0 \
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size "$PP" \
    --sequence-parallel \
    --seq-length 8192 \
    --micro-batch-size $MBS \
    --global-batch-size 128 \
    --bf16 \
    --save "checkpoints/$NAME" \
    --recompute-activations
echo done
