megatron sft --model Qwen/Qwen3-VL-8B-Instruct --tensor_model_parallel_size 2 --micro_batch_size 1 --max_length 2048
