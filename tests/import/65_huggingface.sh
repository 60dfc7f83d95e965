#!/bin/bash
# Pai-Megatron-Patch around a model of Hugging Face: its flags do not say all of it.
torchrun --nproc_per_node 8 finetune_huggingface_llama.py --transformer-type huggingface \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --bf16 --patch-tokenizer-type LLamaTokenizer
