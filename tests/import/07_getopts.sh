#!/bin/bash
# Defaults that the command line may change.
TP=4
MBS=2
RECOMPUTE=selective
while [[ $# -gt 0 ]]; do
    case $1 in
        --tp) TP=$2; shift 2 ;;
        --mbs) MBS=$2; shift 2 ;;
        *) echo "unknown $1"; exit 1 ;;
    esac
done
EXTRA=()
if [[ $RECOMPUTE == selective ]]; then
    EXTRA+=(--recompute-granularity selective)
elif [[ $RECOMPUTE == full ]]; then
    EXTRA+=(--recompute-granularity full --recompute-method uniform --recompute-num-layers 1)
fi
[ -n "$WANDB_API_KEY" ] && EXTRA+=(--wandb-project x --wandb-exp-name y)
torchrun --nproc_per_node=8 pretrain_gpt.py \
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
  --max-position-embeddings 2048 --vocab-size 50304 --bf16 --global-batch-size 64 \
  --tensor-model-parallel-size $TP --micro-batch-size $MBS "${EXTRA[@]}" "$@"
