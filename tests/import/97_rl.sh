# Reinforcement learning: graphs are for generation, and generation's buffers are not planned.
torchrun --nproc_per_node 8 train_rl.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 64 \
    --vocab-size 32000 --bf16 --transformer-impl transformer_engine --cuda-graph-impl=local \
    --rl-persist-cuda-graphs --rl-offload-optimizer-during-inference --grpo-group-size 8 \
    --grpo-prompts-per-step 128 --inference-dynamic-batching-buffer-size-gb 20
