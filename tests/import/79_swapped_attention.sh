# MindSpeed: attention on the host, some layers recomputed.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 \
    --max-position-embeddings 4096 --micro-batch-size 1 --vocab-size 32000 --bf16 --swap-attention --recompute-num-layers 4
