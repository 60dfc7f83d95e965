# DeepSpeed's own Adam on the host.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --deepspeed --zero-stage 1 --cpu-optimizer --vocab-size 50257 --fp16
