#!/bin/bash
# Names with underscores whose values are not known: the flag is Megatron's all the same.
torchrun --nproc-per-node 8 pretrain_gpt.py --num_layers=4 --hidden_size 512 --num_attention_heads 8 \
    --seq_length=1024 --max_position_embeddings 1024 --vocab_size 32000 --bf16 \
    --tensor_model_parallel_size=${TP} --pipeline_model_parallel_size ${PP} --no_shared_fs=$(hostname)
