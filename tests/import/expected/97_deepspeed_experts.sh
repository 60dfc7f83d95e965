launch script, program pretrain_gpt.py, line 2, 8 GPUs (1 x 8)
--attention-backend unfused
--moe-token-dispatcher-type alltoall
--moe-router-topk 1
--num-layers 8
--hidden-size 1024
--num-attention-heads 16
--seq-length 2048
--max-position-embeddings 2048
--vocab-size 32000
--micro-batch-size 1
--fp16
--num-experts 8
--moe-layer-freq 3
--expert-model-parallel-size 8
--moe-layer-freq [0,0,1,0,0,1,0,0]
note: DeepSpeed's settings are not read: ZeRO is planned as stage 0 (-- --use-distributed-optimizer plans stage 1)
note: --deepspeed: of a release that builds its own layers, which are planned as TransformerEngine's: where Apex' fused kernels are missing a step is longer (-- --transformer-impl local)
note: --deepspeed: of a release whose attention is unfused unless flash attention is asked for, which is planned so (-- --attention-backend flash)
note: left out, no effect on time or memory: --deepspeed
