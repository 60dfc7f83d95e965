# DeepSpeed exchanges tokens of experts all to all; layers of such a release are planned as others', which is said.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --fp16 --num-experts 8 --expert-interval 3 \
    --moe-expert-parallel-size 8 --deepspeed
