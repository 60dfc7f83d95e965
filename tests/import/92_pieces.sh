# MindSpeed's products in pieces, of which nothing says how many: nothing is overlapped.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 50000 --bf16 --use-ascend-coc \
    --tensor-model-parallel-size 2 --use-fused-rmsnorm
