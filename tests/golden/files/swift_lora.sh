#!/bin/bash
# LoRA of Qwen3 8B on one node
NPROC_PER_NODE=8 megatron sft \
    --model Qwen/Qwen3-8B \
    --tuner_type lora \
    --lora_rank 16 \
    --target_modules linear_qkv linear_proj \
    --lora_dropout 0 \
    --tensor_model_parallel_size 2 \
    --sequence_parallel true \
    --micro_batch_size 1 \
    --global_batch_size 32 \
    --max_length 4096 \
    --packing true \
    --num_train_epochs 1
