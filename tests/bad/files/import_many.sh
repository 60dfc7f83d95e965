MODEL_SIZE=$1
TP=$2
if [ $MODEL_SIZE = 7B ]; then
    NUM_LAYERS=32
fi
torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size $MBS --tensor-model-parallel-size $TP \
    --num-layers $NUM_LAYERS --num-attention-heads 4 --seq-length 64
