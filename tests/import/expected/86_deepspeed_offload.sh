launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--use-distributed-optimizer
--optimizer-cpu-offload
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--vocab-size 50257
--fp16
note: DeepSpeed's settings are not read: the flags alone count, offloading or a curriculum that is on there is not planned
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --deepspeed
