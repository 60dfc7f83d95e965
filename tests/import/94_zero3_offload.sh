# ZeRO 3 with an optimizer on the host: nothing of Megatron-FSDP's is said of it, and no rank ever holds the whole model.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 24 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --deepspeed --zero-stage 3 --cpu-optimizer --vocab-size 50257 --fp16
