launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend flash
--tensor-model-parallel-size 2
--num-layers 24
--hidden-size 2048
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--micro-batch-size 2
--vocab-size 50257
--bf16
note: --no-query-key-layer-scaling: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: left out, no effect on time or memory: --no-query-key-layer-scaling
