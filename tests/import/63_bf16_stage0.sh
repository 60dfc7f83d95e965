#!/bin/bash
# bf16 without ZeRO: DeepSpeed's own optimizer shards all the same.
cat <<EOT >ds.json
{ "train_batch_size": 256, "zero_optimization": { "stage": 0 }, "bf16": { "enabled": true } }
EOT
deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 \
    --bf16 --zero-stage 0 --deepspeed --deepspeed_config ds.json --vocab-size 50257
