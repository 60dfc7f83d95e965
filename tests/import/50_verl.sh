#!/usr/bin/env bash
# verl with Megatron: Hydra's words; only the actor's training step is planned.
set -xeuo pipefail
CKPTS=${CKPTS:-"${HOME}/ckpts"}
MODEL=$CKPTS/Qwen3-30B-A3B-Instruct-2507
prompt=$((1024 * 1))
answer=$((1024 * 7))
tokens=$(((prompt + answer) * 2))
TP=${TP:-4}
PARALLEL=(
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=$TP
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2
    actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size=null
    actor_rollout_ref.actor.megatron.expert_model_parallel_size=8
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.deallocate_pipeline_outputs=True
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size=8
)
ray job submit --address http://localhost:8265 -- python3 -m verl.trainer.main_ppo \
    --config-path=config --config-name='ppo_megatron_trainer.yaml' \
    data.train_files="$HOME/data/train.parquet" data.train_batch_size=512 \
    data.max_prompt_length=$prompt data.max_response_length=$answer \
    actor_rollout_ref.model.path="$MODEL" \
    actor_rollout_ref.actor.ppo_mini_batch_size=128 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \
    actor_rollout_ref.actor.use_dynamic_bsz=True \
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=$tokens \
    actor_rollout_ref.actor.megatron.param_offload=True \
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    "${PARALLEL[@]}" trainer.logger='["console"]' trainer.n_gpus_per_node=8 trainer.nnodes=4 "$@"
