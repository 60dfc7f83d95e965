launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend flash
--use-legacy-models
--transformer-impl local
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--bf16
--tensor-model-parallel-size 2
--sequence-parallel
--micro-batch-size 1
--transformer-impl transformer_engine
note: --use-legacy-models: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
