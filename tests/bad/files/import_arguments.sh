#!/bin/bash
NODES=$1
MODEL_SIZE=$2
BATCH=${3}
TP="${4}"
RECOMPUTE=$5
LR=${6:-1e-4}
case $MODEL_SIZE in
8B) LAYERS=32 HIDDEN=4096 HEADS=32 ;;
70B) LAYERS=80 HIDDEN=8192 HEADS=64 ;;
*) echo "no such size" && exit 1 ;;
esac
if [ $RECOMPUTE = full ]; then
    OPTIONS="--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
elif [ $RECOMPUTE = sel ]; then
    OPTIONS="--recompute-activations"
fi
[ "$DISTRIBUTED" = yes ] && OPTIONS="$OPTIONS --use-distributed-optimizer"
torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size $HIDDEN \
    --num-attention-heads $HEADS --seq-length 4096 --micro-batch-size 1 --global-batch-size $BATCH --lr $LR \
    --tensor-model-parallel-size $TP --bf16 $OPTIONS
