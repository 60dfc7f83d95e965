launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend flash
--num-layers 10
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--fp16
--pipeline-model-parallel-size 4
--pipeline-model-parallel-layout Et*3|t*3|t*2|t*2L
note: DeepSpeed's settings are not read: ZeRO is planned as stage 0 (-- --use-distributed-optimizer plans stage 1)
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: left out, no effect on time or memory: --deepspeed
