# The first Megatron-DeepSpeed: stages, accumulation and saved activations have names of their own, the stage of ZeRO is
# in a file, and layers have different numbers of experts.
python -m torch.distributed.launch --nnodes 2 --nproc_per_node 8 pretrain_gpt2.py --model-parallel-size 2 --pipe-parallel-size 2 --gas 32 \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \
    --batch-size 4 --vocab-size 50257 --fp16 --no-position-embedding --checkpoint-activations --partition-activations \
    --num-experts 32 32 64 --topk 1 --create-moe-param-group --moe-expert-parallel-size 4 \
    --deepspeed --deepspeed_config ds_config.json --zero-contigious-gradients
