# ms-swift: DPO of an MoE; where torchrun is started is said by variables.
export NNODES=2
PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' NPROC_PER_NODE=8 \
megatron rlhf \
    --rlhf_type dpo --model Qwen/Qwen3-30B-A3B-Instruct-2507 --tuner_type full --dataset pairs.jsonl \
    --tensor_model_parallel_size 2 --expert_model_parallel_size 8 --sequence_parallel true \
    --moe_grouped_gemm true --recompute_granularity none --max_length 8192 \
    --micro_batch_size 1 --global_batch_size 64 --num_labels 1 --output_dir out
