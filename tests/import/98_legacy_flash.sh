# Layers of old releases are local ones and take flash attention all the same.
torchrun --nproc_per_node 8 pretrain_gpt.py --use-legacy-models --transformer-impl local --use-flash-attn \
    --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
    --vocab-size 32000 --bf16 --tensor-model-parallel-size 2 --sequence-parallel --micro-batch-size 1
