#!/bin/bash
#SBATCH -N 2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:h100:8
# Every rank is a task of Slurm.
ARGS="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
      --max-position-embeddings 2048 --vocab-size 50304 --bf16"
ARGS+=" --micro-batch-size 2 --global-batch-size 64"
srun --label bash -c "
  export RANK=\$SLURM_PROCID
  export LOCAL_RANK=\$SLURM_LOCALID
  python3 -u /workspace/megatron/pretrain_gpt.py $ARGS \
      --tensor-model-parallel-size 2 --use-distributed-optimizer
"
