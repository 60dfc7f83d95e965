# ms-swift with experts: its expert tensor parallelism is 1, not tp; what is said to be off stays off.
NPROC_PER_NODE=8 megatron pt --num_layers 24 --hidden_size 2048 --ffn_hidden_size 6144 --num_attention_heads 16 \
    --num_experts 64 --moe_ffn_hidden_size 768 --moe_router_topk 4 --vocab_size 151936 --swiglu true \
    --tensor_model_parallel_size 2 --expert_model_parallel_size 4 --pipeline_model_parallel_size 1 \
    --recompute_granularity none --cross_entropy_loss_fusion false --micro_batch_size 2 --max_length 4096 \
    --virtual_pipeline_model_parallel_size 1 --packing true --bf16 true
