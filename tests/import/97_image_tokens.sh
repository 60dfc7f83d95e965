# The decoder runs over 2048 tokens of text and 576 of the image, more than the positions that are said.
torchrun --nproc_per_node 8 examples/multimodal/train.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --bf16 \
    --position-embedding-type rope --patch-dim 14 --img-h 336 --img-w 336 --disable-vision-class-token \
    --language-model-type=mistral_7b --freeze-ViT
