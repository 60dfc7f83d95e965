launch script, program pretrain_gpt.py, line 15, 16 GPUs (2 x 8)
--attention-backend unfused
--grad-reduce-in-bf16
--use-megatron-fsdp
--data-parallel-sharding-strategy optim_grads
--use-distributed-optimizer
--ckpt-format fsdp_dtensor
--init-model-with-meta-device
--optimizer-cpu-offload
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--vocab-size 50257
--global-batch-size 512
--bf16
note: --zero-stage is 1, DeepSpeed's settings say 2: these count
note: --micro-batch-size is 2, DeepSpeed's train_micro_batch_size_per_gpu is 4: the flag counts
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: gradients are planned in 16 bits, as ZeRO keeps those of bf16
note: line 15: --zero-stage: ZeRO stage 2 is planned as Megatron-FSDP, optim_grads
note: left out, no effect on time or memory: --deepspeed, --deepspeed_config
