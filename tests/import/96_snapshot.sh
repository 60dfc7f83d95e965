# A copy of Megatron of 2023: its layers are its own, attention unfused, and one layer is recomputed at a time.
MEGATRON_PATCH_PATH=$1
MEGATRON_PATH=${MEGATRON_PATCH_PATH}/Megatron-LM-231007
export PYTHONPATH=${MEGATRON_PATH}:${MEGATRON_PATCH_PATH}:$PYTHONPATH
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 \
    --max-position-embeddings 2048 --micro-batch-size 1 --vocab-size 50000 --bf16 --use-distributed-optimizer \
    --recompute-method uniform --recompute-granularity full
