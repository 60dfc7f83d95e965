#!/bin/bash
#SBATCH --job-name=moe-pretrain
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00   # a day
#SBATCH --output=logs/%x-%j.out
#SBATCH --exclusive

set -euo pipefail
nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node=${nodes[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)
export MASTER_ADDR=$head_node_ip

MOE_ARGS=(--num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 8 --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall)

srun --container-image="$IMAGE" python -m torch.distributed.run \
    --nproc-per-node=${SLURM_GPUS_ON_NODE:-8} --nnodes=$SLURM_NNODES \
    --rdzv-backend=c10d --rdzv-endpoint="$head_node_ip:29500" \
    pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 \
    --seq-length 4096 --max-position-embeddings 32768 --position-embedding-type rope \
    --normalization RMSNorm --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --vocab-size 32000 \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4 \
    --micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer \
    "${MOE_ARGS[@]}" --wandb-project ${WANDB_PROJECT} --exit-duration-in-mins 235
