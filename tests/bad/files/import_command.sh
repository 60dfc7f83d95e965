TP=$(ls -d /dev/nvidia[0-9]* | wc -l)
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 \
    --seq-length 64 --max-position-embeddings 64 --vocab-size 256 --bf16 \
    --tensor-model-parallel-size ${TP}
