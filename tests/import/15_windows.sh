#!/bin/bash
MODEL_ARGS=(
  --num-layers 24
  # --num-layers 48
  --hidden-size 2048 --num-attention-heads 16

  --seq-length 2048 --max-position-embeddings 2048
  --vocab-size 50304
)
PARALLEL="--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"
: "${MICRO_BATCH:=2}"
true && GBS=64 || GBS=32
test -z "$UNSET" || GBS=1
python3 -m torch.distributed.run --nproc_per_node=8 --nnodes=1 \
  pretrain_gpt.py ${MODEL_ARGS[@]} $PARALLEL --bf16 --micro-batch-size $MICRO_BATCH \
  --global-batch-size "$GBS" --log-throughput
