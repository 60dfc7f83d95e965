# No training.
torchrun --nproc_per_node 8 tasks/humaneval/eval_humaneval.py --num-layers 8 --hidden-size 1024 \
    --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --bf16 --temp 1
