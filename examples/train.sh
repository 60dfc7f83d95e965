#!/bin/bash
#SBATCH --job-name=llama3-70b
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
# Llama 3 70B on 16 nodes of eight GPUs, as many start out: the manual reads and improves this script.

export CUDA_DEVICE_MAX_CONNECTIONS=1
MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

MODEL=(
    --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672
    --num-attention-heads 64 --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 8192
    --position-embedding-type rope --rotary-base 500000 --normalization RMSNorm
    --swiglu --disable-bias-linear --untie-embeddings-and-output-weights
    --tokenizer-type NullTokenizer --vocab-size 128255
)
TRAINING=(
    --micro-batch-size 1 --global-batch-size 512 --train-samples 1000000
    --bf16 --lr 1.5e-4 --min-lr 1.5e-5 --lr-decay-style cosine
    --use-distributed-optimizer
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
)
PARALLEL=(
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel
)

srun torchrun --nnodes "$SLURM_NNODES" --nproc-per-node 8 \
    --rdzv-backend c10d --rdzv-endpoint "$MASTER:29500" \
    pretrain_gpt.py "${MODEL[@]}" "${TRAINING[@]}" "${PARALLEL[@]}" \
    --mock-data --save checkpoints --save-interval 500 --log-interval 10
