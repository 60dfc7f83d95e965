#!/bin/bash
#SBATCH --ntasks-per-node=1 --gpus-per-node=8
BATCH=$1
cat >node.sh <<EOF
export OMP_NUM_THREADS=1
torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py $MODEL_ARGS_TEXT \
    --tensor-model-parallel-size \$TP --global-batch-size $BATCH --bf16
EOF
srun --kill-on-bad-exit=1 bash node.sh
