#!/bin/sh
# The old style: flags in strings.
GPUS_PER_NODE=8
NNODES=2
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
TP=4
PP=2
DISTRIBUTED_ARGS="--nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --node_rank $NODE_RANK --master_addr $MASTER_ADDR"
options=" \
    --num-layers 40 \
    --hidden-size 5120 \
    --num-attention-heads 40 \
    --seq-length 2048 \
    --max-position-embeddings 2048 \
    --vocab-size 50257 \
    --micro-batch-size 4 \
    --global-batch-size $(( WORLD_SIZE / TP / PP * 4 * 8 )) \
    --tensor-model-parallel-size $TP \
    --pipeline-model-parallel-size $PP \
    --fp16 "
options="${options} --recompute-activations"
python -m torch.distributed.launch $DISTRIBUTED_ARGS ./pretrain_gpt.py ${options} --data-path ${DATA} 2>&1 | tee log.txt
