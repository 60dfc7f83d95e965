# Takes arguments that the README beside it shows.
TP=$1
MBS=$2
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --bf16 --tensor-model-parallel-size $TP \
    --micro-batch-size $MBS
