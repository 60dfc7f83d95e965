# verl without Megatron is refused by its kind.
python3 -m verl.trainer.main_ppo data.train_batch_size=256 data.max_prompt_length=512 data.max_response_length=1024 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.fsdp_config.param_offload=False trainer.n_gpus_per_node=8 trainer.nnodes=1
