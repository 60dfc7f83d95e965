# A comment between the lines ends the command: what stands behind it reaches no program.
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --bf16 \
    # half of the ranks
    --tensor-model-parallel-size 4 \
    --micro-batch-size 2
