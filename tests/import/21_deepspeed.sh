#!/bin/bash
# Megatron-DeepSpeed: ZeRO, experts in every other layer, old names of recompute.
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
ZERO_STAGE=1
ds_args=" --deepspeed ${ds_args}"
ds_args=" --deepspeed_config=ds_config.json ${ds_args}"
ds_args=" --zero-stage=$ZERO_STAGE ${ds_args}"
ds_args=" --deepspeed-activation-checkpointing ${ds_args}"
deepspeed pretrain_gpt.py --tensor-model-parallel-size 2 --no-pipeline-parallel \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --num-key-value-heads 4 \
    --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 256 \
    --num-experts 16 --moe-expert-parallel-size 4 --create-moe-param-group --topk 2 \
    --checkpoint-activations --checkpoint-num-layers 2 --train-tokens 300000000000 \
    --lr-decay-tokens 260000000000 --data-impl mmap --fp16 --use-mpi --vocab-file gpt2-vocab.json $ds_args
