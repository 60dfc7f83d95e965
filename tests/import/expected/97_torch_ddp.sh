launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--overlap-grad-reduce
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--fp16
note: --DDP-impl: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --DDP-impl: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: line 4: --DDP-impl: torch's buckets are not planned beside the gradients: memory is too low by up to 2 bytes a parameter of a rank
