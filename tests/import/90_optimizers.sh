# An optimizer that Megatron's parser does not know, of a fork; no precision is said.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 50000 --optimizer ademamix
srun -n 8 pretrain_gpt.py --num-layers 4 --optimizer shampoo
