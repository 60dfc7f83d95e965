# ZeRO keeps gradients of bf16 in 16 bits.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --bf16 --deepspeed --use-flash-attn --zero-stage 1
