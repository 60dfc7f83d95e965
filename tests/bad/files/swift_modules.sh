NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tuner_type lora --modules_to_save embed_tokens
