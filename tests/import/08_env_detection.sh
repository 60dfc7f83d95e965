#!/bin/bash
# Finds out where it runs: PAI, Slurm or one machine.
if [ -n "${PET_NNODES:-}" ]; then
    NNODES=$PET_NNODES
    GPUS=$PET_NPROC_PER_NODE
elif [ -n "${SLURM_NNODES:-}" ]; then
    NNODES=$SLURM_NNODES
    GPUS=$SLURM_GPUS_ON_NODE
else
    NNODES=1
    GPUS=8
fi
HERE="$( cd "$( dirname "${BASH_SOURCE[0]}" )" &> /dev/null && pwd )"
TOKENIZER=${TOKENIZER:?needs a tokenizer}
if [ -f "$HERE/blend.txt" ]; then
    DATA_ARGS=(--data-args-path "$HERE/blend.txt")
else
    DATA_ARGS=(--mock-data)
fi
DP=$(( NNODES * GPUS / 4 ))
ARGS=(
    --num-layers 16 --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 32
    --group-query-attention --num-query-groups 8 --kv-channels 64
    --seq-length 8192 --max-position-embeddings 131072 --position-embedding-type rope
    --normalization RMSNorm --swiglu --disable-bias-linear
    --vocab-size 128256 --bf16
    --micro-batch-size 1 --global-batch-size $((DP * 16))
    --tensor-model-parallel-size 2 --context-parallel-size 2 --sequence-parallel
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model "$TOKENIZER"
)
exec torchrun --nnodes "$NNODES" --nproc-per-node "$GPUS" "$HERE/../pretrain_gpt.py" \
    "${ARGS[@]}" "${DATA_ARGS[@]}" 2> >(tee err.log >&2)
