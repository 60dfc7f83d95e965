# Torch's data parallelism reduces gradients beside the backward pass, from buckets of its own.
python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 \
    --fp16 --DDP-impl torch
