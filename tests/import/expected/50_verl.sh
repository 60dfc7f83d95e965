launch script, program verl, line 22, 32 GPUs (4 x 8)
--bf16
--sequence-parallel
--use-distributed-optimizer
--attention-backend flash
--moe-token-dispatcher-type alltoall
--moe-grouped-gemm
--attention-dropout 0.0
--hidden-dropout 0.0
--no-overlap-p2p-communication
--moe-shared-expert-overlap
--global-batch-size 1024
--seq-length 8192
--micro-batch-size 2
--tensor-model-parallel-size 4
--pipeline-model-parallel-size 2
--expert-model-parallel-size 8
--expert-tensor-parallel-size 1
--recompute-granularity full
--recompute-method uniform
--recompute-num-layers 1
note: use_dynamic_bsz: micro-batches of 2 of the longest sequences are planned (16384 tokens of each rank), shorter ones are packed
note: line 19: actor_rollout_ref.actor.megatron.override_transformer_config.deallocate_pipeline_outputs has no flag and is left out
note: param_offload: planned on the GPU, where it is while the actor trains; the time to load and store it around every update is left out
note: verl: activation and rotary positions are planned fused: without use_mbridge, the default of earlier releases, dense models run them unfused, and time and memory are a few percent too low
note: verl: the actor's training step is planned, every sequence at its longest (prompt and answer); rollout, reference, critic and reward models are not, nor the memory that they keep on the same GPUs
