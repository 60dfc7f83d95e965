# Pai's Adam on both sides, and its words for it.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 50000 --bf16 --optimizer hybridadam \
    --optimizer-offload-policy static --optimizer-offload-fraction 1.0 --use-distributed-optimizer
