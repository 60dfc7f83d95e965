# A pattern whose symbols are the program's own: experts must not vanish.
torchrun --nproc_per_node 8 pretrain_qwen3_next.py --hybrid-override-pattern M-M-M-*- --num-experts 64 \
    --moe-router-topk 4 --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 32000 --bf16
