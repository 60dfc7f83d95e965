# Fine-tuning pads its samples to a length of their own, which is not --seq-length.
torchrun --nproc_per_node 8 finetune_huggingface_llama.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --bf16 \
    --max-padding-length 80 --transformer-impl transformer_engine
