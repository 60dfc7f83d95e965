launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--grad-reduce-in-bf16
--use-megatron-fsdp
--data-parallel-sharding-strategy optim_grads_params
--use-distributed-optimizer
--ckpt-format fsdp_dtensor
--init-model-with-meta-device
--optimizer-cpu-offload
--num-layers 32
--hidden-size 4096
--num-attention-heads 32
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 50257
--micro-batch-size 2
--global-batch-size 64
--bf16
note: --zero-stage is 1, DeepSpeed's settings say 3: these count
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: gradients are planned in 16 bits, as ZeRO keeps those of bf16
note: line 2: --zero-stage: ZeRO stage 3 is planned as Megatron-FSDP, optim_grads_params
note: left out, no effect on time or memory: --no-pipeline-parallel, --deepspeed, --deepspeed_config
