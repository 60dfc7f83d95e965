launch script, program pretrain_gpt.py, line 5, 0 GPUs (0 x 0)
--attention-backend unfused
--recompute-num-layers 1
--num-layers 24
--hidden-size 1024
--num-attention-heads 16
--seq-length 1024
--max-position-embeddings 1024
--micro-batch-size 4
--vocab-file <PATH TO gpt-vocab.json>
--merge-file <path/to/merges>
--tensorboard-dir <TENSORBOARD DIRECTORY>
--fp16
--recompute-method uniform
--recompute-granularity full
note: --data-impl: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --data-impl: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --data-impl
