#!/usr/bin/env bash
usage() {
    echo "usage: $0 [model]"
    exit 1
}

die() { echo "$*" >&2; exit 2; }

set_model() {
    local size=$1
    case "$size" in
        7b)  LAYERS=32; HIDDEN=4096; FFN=11008; HEADS=32 ;;
        13b) LAYERS=40; HIDDEN=5120; FFN=13824; HEADS=40 ;;
        70b) LAYERS=80; HIDDEN=8192; FFN=28672; HEADS=64 ;;
        *) die "unknown size $size" ;;
    esac
}

[[ $# -gt 3 ]] && usage
SIZE=${SIZE:-13b}
set_model "$SIZE"

launch() {
    torchrun --nproc-per-node "$1" --nnodes 1 pretrain_gpt.py "${@:2}"
}

run() {
    torchrun --standalone --nproc_per_node=8 pretrain_gpt.py "$@" --bf16
}

run --num-layers $LAYERS --hidden-size $HIDDEN --ffn-hidden-size $FFN --num-attention-heads $HEADS \
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope --swiglu \
    --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \
    --vocab-size 32000 --micro-batch-size 1 --global-batch-size 32 \
    --tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer
