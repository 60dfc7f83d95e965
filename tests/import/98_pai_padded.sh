# Pai-Megatron-Patch's programs of 2023 pad samples of pre-training too.
torchrun --nproc_per_node 8 pretrain_megatron_llama.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 --max-padding-length 512 --vocab-size 32000 --bf16
