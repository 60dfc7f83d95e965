# A vision model by none of its own types, only by what is said of it.
torchrun --nproc_per_node 8 examples/multimodal/train.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 576 --decoder-seq-length 2048 --max-position-embeddings 4096 --micro-batch-size 1 --swiglu --bf16 \
    --freeze-ViT --patch-dim 14 --img-h 336 --img-w 336 --language-model-type=mistral_7b --disable-vision-class-token \
    --freeze-LM --pixel-shuffle --vocab-size 32768
