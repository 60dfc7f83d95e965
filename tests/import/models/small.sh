[ -n "$SEQ" ] || SEQ=128
MODEL_ARGS=(
    --num-layers ${MODEL_LAYERS:-4}
    --hidden-size 64
    --num-attention-heads 4
    --vocab-size 256
)
return 0
MODEL_ARGS=()
