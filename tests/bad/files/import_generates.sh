torchrun run.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --bf16 \
    --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 8 --inference-rng-tracker
