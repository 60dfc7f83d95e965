# An earlier release, flash attention asked for.
python -m torch.distributed.launch --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 24 \
    --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 \
    --vocab-size 50257 --bf16 --no-query-key-layer-scaling --use-flash-attn
