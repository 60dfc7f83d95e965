# A list of layers without quotes, as an element of an array.
ARGS=(
    --num-layers 4
    --hidden-size 64
    --num-attention-heads 4
    --num-experts 8
    --moe-layer-freq [0]*1+[1]*3
    --seq-length 64
    --vocab-size 256
    --bf16
)
torchrun --nproc_per_node 8 pretrain_gpt.py "${ARGS[@]}"
