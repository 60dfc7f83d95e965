launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--group-query-attention
--num-query-groups 1
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 49152
--bf16
note: --attention-head-type: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --attention-head-type: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
