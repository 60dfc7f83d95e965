# MegaBlocks: experts over all data-parallel ranks.
torchrun --nproc_per_node 8 --nnodes 1 third_party/Megatron-LM/pretrain_gpt.py --moe-num-experts=64 --moe-capacity-factor=1 \
    --moe-loss-weight=0.1 --moe-top-k=1 --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 \
    --max-position-embeddings 1024 --micro-batch-size 32 --global-batch-size 512 --vocab-file gpt2-vocab.json --fp16 \
    --moe-expert-model-parallelism --DDP-impl local
