# MindSpeed runs what Megatron-LM refuses: expert bias beside softmax.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --num-experts 8 \
    --moe-router-topk 2 --moe-ffn-hidden-size 512 --expert-model-parallel-size 8 --moe-router-enable-expert-bias --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall --use-fused-rmsnorm --seq-length 4096 --max-position-embeddings 4096 \
    --micro-batch-size 1 --disable-bias-linear --use-distributed-optimizer --vocab-size 32000 --bf16
