torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64
