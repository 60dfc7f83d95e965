# A vision-language model: --seq-length counts the tokens of its images, the decoder has its own.
torchrun --nproc_per_node 8 examples/multimodal/train.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --vocab-size 32768 --swiglu \
    --seq-length 576 --decoder-seq-length 2048 --max-position-embeddings 4096 --img-h 336 --img-w 336 --patch-dim 14 \
    --tensor-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 128 --bf16 --freeze-ViT --vision-model-type clip
