#!/bin/bash
# DeepSpeed's settings: written by the script itself, from a text and by sed. They say more than the flags.
ZERO=2 MBS=4 GBS=512
CONFIG=/tmp/ds_${USER}.json
cat <<EOT >template.json
{
  "train_micro_batch_size_per_gpu": CONFIG_MBS,
  "train_batch_size": $GBS,
  "zero_optimization": { "stage": ZERO_STAGE, "offload_optimizer": { "device": "cpu" } },
  "bf16": { "enabled": true },
  "steps_per_print": $STEPS
}
EOT
sed "s/CONFIG_MBS/${MBS}/" template.json | sed "s/ZERO_STAGE/${ZERO}/" >$CONFIG
deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 \
    --zero-stage 1 --deepspeed --deepspeed_config $CONFIG --vocab-size 50257
