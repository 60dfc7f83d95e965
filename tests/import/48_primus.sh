#!/bin/bash
# A launcher of Primus: the model and the rest of the settings are in a YAML file of its own tree.
export EXP="examples/megatron/configs/MI355X/llama3.1_8B-BF16-pretrain.yaml"
TP=${TP:-1}
MBS=${MBS:-2}
export NNODES=${NNODES:-1}
bash ./examples/run_slurm_pretrain.sh \
    --micro_batch_size "$MBS" \
    --global_batch_size $((MBS * 64)) \
    --seq_length 8192 \
    --tensor_model_parallel_size "$TP" \
    --pipeline_model_parallel_size 1 \
    --recompute_granularity full --recompute_method block --recompute_num_layers 4
