# Flags of another program that are there or not: the note names them.
EXTRA_ARGS=""
if [[ $(hostname) == frozen* ]]; then
    EXTRA_ARGS+="--freeze-LM"
fi
torchrun --nproc_per_node 8 train.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 576 \
    --decoder-seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --bf16 \
    --img-h 336 --img-w 336 --patch-dim 14 --language-model-type qwen2.5_7B $EXTRA_ARGS
