# The stage of ZeRO is what DeepSpeed's own file says, whatever the flag repeats.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 50257 --micro-batch-size 2 --global-batch-size 64 --bf16 \
    --no-pipeline-parallel --zero-stage 1 --deepspeed --deepspeed_config deepspeed/zero3.json
