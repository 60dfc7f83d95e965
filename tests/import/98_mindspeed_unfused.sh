# MindSpeed's attention is unfused unless it is asked for another.
torchrun --nproc_per_node 8 pretrain_gpt.py --use-fused-rmsnorm --num-layers 6 --hidden-size 1536 \
    --num-attention-heads 16 --seq-length 512 --max-position-embeddings 512 --vocab-size 32000 --bf16
