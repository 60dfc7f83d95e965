# MindSpeed's fine-tuning pads a batch to its own longest sample, not to --seq-length.
torchrun --nproc_per_node 8 posttrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32000 --micro-batch-size 1 --bf16 \
    --stage sft --no-pad-to-seq-lengths
