# DeepSpeed's pipeline takes any number of layers.
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 10 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --vocab-size 32000 --micro-batch-size 1 --fp16 --deepspeed --use-flash-attn \
    --pipeline-model-parallel-size 4
