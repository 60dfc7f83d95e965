launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--grad-reduce-in-bf16
--attention-backend flash
--use-distributed-optimizer
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--bf16
note: DeepSpeed's settings are not read: the flags alone count, offloading or a curriculum that is on there is not planned
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: gradients are planned in 16 bits, as ZeRO keeps those of bf16 unless data_types of its settings say another type
note: left out, no effect on time or memory: --deepspeed
