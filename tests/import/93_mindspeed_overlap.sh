# What MindSpeed calls by other names and Megatron has: shared weights, exchange of experts beside another micro-batch.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 50000 --bf16 --num-experts 8 --moe-router-topk 2 \
    --moe-ffn-hidden-size 512 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --disable-bias-linear \
    --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --pipeline-model-parallel-size 2 \
    --num-layers-per-virtual-pipeline-stage 2 --use-distributed-optimizer --reuse-fp32-param --moe-fb-overlap \
    --global-batch-size 64 --use-fused-rmsnorm
