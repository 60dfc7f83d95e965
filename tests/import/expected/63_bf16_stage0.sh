launch script, program pretrain_gpt.py, line 6, 16 GPUs (2 x 8)
--attention-backend unfused
--use-distributed-optimizer
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--bf16
--vocab-size 50257
--global-batch-size 256
note: bf16 with ZeRO stage 0: DeepSpeed's optimizer for bf16 is sharded all the same, which is planned as stage 1
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --deepspeed, --deepspeed_config
