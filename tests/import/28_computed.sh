#!/bin/bash
# Words that are computed: a list built by a loop, patterns, what small commands print, names of sizes.
SIZE=16B
declare -A LAYERS=([3B]=12 [16B]=27) HIDDEN=([3B]=1280 [16B]=2048)
DENSE=1
FREQ=()
for ((i = 0; i < ${LAYERS[$SIZE]}; i++)); do
    if ((i < DENSE)); then FREQ+=(0); else FREQ+=(1); fi
done
printf -v MOE_FREQ "[%s]" "$(IFS=,; echo "${FREQ[*]}")"
SHAPE=2x8
NODES=${SHAPE%x*}
GPUS=${SHAPE#*x}
heads() { echo $(($1 / 128)); }
BATCHES=""
for b in $(seq 1 3); do BATCHES+="$((b * 64)),"; done
IFS=, read -r FIRST SECOND _ <<<"${BATCHES%,}"
NAME=$(basename /data/runs/moe-tp2-pp1 | cut -d- -f2)
TP=${NAME#tp}
torchrun --nnodes "$NODES" --nproc-per-node "$GPUS" pretrain_gpt.py \
    --num-layers "${LAYERS[$SIZE]}" --hidden-size "${HIDDEN[$SIZE]}" \
    --num-attention-heads "$(heads "${HIDDEN[$SIZE]}")" --ffn-hidden-size $(expr 2048 \* 4) \
    --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 --moe-layer-freq "$MOE_FREQ" \
    --tensor-model-parallel-size "$TP" --expert-model-parallel-size 8 \
    --micro-batch-size 1 --global-batch-size "$SECOND" --seq-length $(echo "2048 * 2" | bc) \
    --bf16 --swiglu --disable-bias-linear --sequence-parallel --save "/ckpt/$(date +%F)"
