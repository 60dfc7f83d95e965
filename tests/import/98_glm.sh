# Pai-Megatron-Patch's program for GLM-130B fixes the width of the gated MLP.
torchrun --nproc_per_node 8 pretrain_megatron_glm130b.py --num-layers 6 --hidden-size 1536 --num-attention-heads 16 \
    --seq-length 512 --max-position-embeddings 512 --geglu --vocab-size 150528 --fp16 --DDP-impl local
