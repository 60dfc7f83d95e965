launch script, program pretrain_gpt.py, line 5, 8 GPUs (1 x 8)
--attention-backend unfused
--recompute-num-layers 1
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 1
--vocab-size 50000
--bf16
--use-distributed-optimizer
--recompute-method uniform
--recompute-granularity full
note: Megatron-LM-231007: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: Megatron-LM-231007: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
