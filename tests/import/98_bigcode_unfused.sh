# bigcode's fork of 2023: unfused attention, for it does not ask for another one.
torchrun --nproc_per_node 8 pretrain_gpt.py --attention-head-type multiquery --num-layers 8 --hidden-size 1024 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 49152 --bf16
