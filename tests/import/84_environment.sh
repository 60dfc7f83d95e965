#!/bin/bash
# What the environment changes: attention, and kernels that are waited for.
export NVTE_FLASH_ATTN=0 NVTE_ALLOW_NONDETERMINISTIC_ALGO=1
export CUDA_LAUNCH_BLOCKING=1
NCCL_IB_DISABLE=1 # not exported
NVTE_FUSED_ATTN=0 torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 \
    --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 \
    --global-batch-size 8 --vocab-size 32000 --bf16
