python tasks/main.py --task LAMBADA --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 \
    --max-position-embeddings 1024 --micro-batch-size 8 --vocab-size 50257 --fp16
