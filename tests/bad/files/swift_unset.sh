NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tuner_type lora --lora_rank "$RANK" --target_modules linear_qkv $MORE
