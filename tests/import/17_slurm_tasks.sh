#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:h100:8,nvme:1
# One task on each node, which starts a process on each of its GPUs.
[ -f /etc/profile ] && . /etc/profile
read -r -d '' CMD <<EOF
torchrun --nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE pretrain_gpt.py \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
    --micro-batch-size 1 --global-batch-size $((SLURM_NTASKS * 64))
EOF
srun --ntasks-per-node $SLURM_NTASKS_PER_NODE bash -c "${CMD}"
